//! Processes that run one program together.

use super::Context;

/// Who runs the program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    /// How many processes, each with a part of the batch.
    ranks: usize,
    /// Whether batch norm measures the parts of all of them.
    sync_batch_norm: bool,
}

impl Default for Group {
    fn default() -> Self {
        Self {
            ranks: 1,
            sync_batch_norm: false,
        }
    }
}

impl Context {
    /// Says that `ranks` processes run the program together, each with an equal part of the batch;
    /// before anything is traced. With `sync_batch_norm`, batch norm measures mean and variance of
    /// the whole batch, and its gradients are those of the whole batch too; otherwise each rank
    /// measures its own part.
    ///
    /// The device must then be in a group of as many ranks, and all of them must run the program
    /// together.
    ///
    /// ```
    /// use spikelet::prelude::*;
    /// let cx = Context::new(Mode::TRAIN, DType::F32).in_group(4, true);
    /// let x = cx.tracer().input("x_seq", DType::F32, [4, 2, 8, 5, 5]);
    /// cx.trace(&BatchNorm2d::new(8), x)?;
    /// assert!(cx.tracer().traced().to_string().contains("all_reduce[4 ranks]"));
    /// # Ok::<(), spikelet::Error>(())
    /// ```
    pub fn in_group(mut self, ranks: usize, sync_batch_norm: bool) -> Self {
        self.group = Group {
            ranks: ranks.max(1),
            sync_batch_norm,
        };
        self
    }

    /// How many processes run the program together: 1 unless [`Context::in_group`] says otherwise.
    pub fn ranks(&self) -> usize {
        self.group.ranks
    }

    /// Whether batch norm measures the parts of the batch of all ranks.
    pub fn syncs_batch_norm(&self) -> bool {
        self.group.sync_batch_norm && self.group.ranks > 1
    }
}
