//! Data-parallel processes.

use super::Context;

/// The processes that run the program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    /// The number of processes, each with a part of the batch.
    ranks: usize,
    /// Whether batch norm uses the statistics of all of them.
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
    /// Sets the number of processes that run the program together, each with an equal part of the
    /// batch; before anything is traced. With `sync_batch_norm`, batch norm uses mean and variance of
    /// the full batch, and its gradients are those of the full batch too; otherwise each rank uses
    /// those of its own part.
    ///
    /// The device must then be in a group of as many ranks, and all of them must run the program
    /// together.
    ///
    /// ```
    /// use spikelet_nn::prelude::*;
    /// let cx = Context::new(Mode::TRAIN, DType::F32).in_group(4, true);
    /// let x = cx.tracer().input("x_seq", DType::F32, [4, 2, 8, 5, 5]);
    /// cx.trace(&BatchNorm2d::new(8), x)?;
    /// assert!(cx.tracer().traced().to_string().contains("all_reduce_start[4 ranks]"));
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    #[must_use]
    pub fn in_group(mut self, ranks: usize, sync_batch_norm: bool) -> Self {
        self.group = Group {
            ranks: ranks.max(1),
            sync_batch_norm,
        };
        self
    }

    /// The number of processes that run the program together: 1 without [`Context::in_group`].
    pub fn ranks(&self) -> usize {
        self.group.ranks
    }

    /// Whether batch norm uses the statistics of all ranks.
    pub fn syncs_batch_norm(&self) -> bool {
        self.group.sync_batch_norm && self.group.ranks > 1
    }
}
