//! Class numbers and indices.

use super::Var;
use crate::op::{ArgMax, EventFrames, Gather, Indexed, OneHot, TopK};

impl Var {
    /// One-hot vectors of class numbers.
    pub fn one_hot(&self, classes: usize) -> Var {
        self.one_hot_ignoring(classes, None)
    }

    /// One-hot vectors of class numbers, zeros for a label that is ignored: a class, or a number outside the classes.
    pub fn one_hot_ignoring(&self, classes: usize, ignored: Option<i64>) -> Var {
        let one_hot = OneHot {
            classes,
            dtype: self.tracer.float(),
            ignored,
        };
        self.tracer.apply1(one_hot, &[self])
    }

    /// Frames f32 `[T, N, 2, H, W]` of events i64 `[N, M]`, packed by [`EventFrames::pack`], of which `lengths`, i64 `[N]`,
    /// are used.
    ///
    /// ```
    /// use spikelet_graph::op::{EventFrames, EventSlicing};
    /// use spikelet_graph::{DType, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// let events = tracer.input("events", DType::I64, [16, 5000]);
    /// let lengths = tracer.input("events_length", DType::I64, [16]);
    /// let frames = EventFrames { slicing: EventSlicing::Number, frames: 10, sensor: [34, 34], size: [34, 34] };
    /// assert_eq!(events.event_frames(&lengths, frames).shape(), [10, 16, 2, 34, 34]);
    /// # tracer.check()?;
    /// # Ok::<(), spikelet_graph::Error>(())
    /// ```
    pub fn event_frames(&self, lengths: &Var, frames: EventFrames) -> Var {
        self.tracer.apply1(frames, &[self, lengths])
    }

    /// The index of the largest element of the last axis, the first of equal ones.
    pub fn argmax(&self) -> Var {
        self.tracer.apply1(ArgMax, &[self])
    }

    /// The index of the smallest element of the last axis, the first of equal ones.
    pub fn argmin(&self) -> Var {
        (-self).argmax()
    }

    /// The index of the largest element along any axis, which is removed; the first of equal ones.
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// let x = tracer.input("x", DType::F32, [8, 10, 32, 32]); // [N, C, H, W]
    /// assert_eq!(x.argmax_along(1).shape(), [8, 32, 32]);
    /// # tracer.check()?;
    /// # Ok::<(), spikelet_graph::Error>(())
    /// ```
    pub fn argmax_along(&self, axis: usize) -> Var {
        let rank = self.rank();
        if axis >= rank {
            return self.no_axis("argmax", axis);
        }
        if axis + 1 == rank {
            return self.argmax();
        }
        let others = (0..rank).filter(|&k| k != axis);
        let order: Vec<usize> = others.chain([axis]).collect();
        self.permute(&order).argmax()
    }

    /// The index of the smallest element along any axis, which is removed; the first of equal ones.
    pub fn argmin_along(&self, axis: usize) -> Var {
        (-self).argmax_along(axis)
    }

    /// The `k` largest elements of the last axis, the largest first, and their indices (i64): each
    /// `[…, k]`. Of equal elements the first is taken first; NaN counts as larger than all numbers. With
    /// k = n it sorts. The gradient of an element of the result is that of the selected one.
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// let scores = tracer.input("scores", DType::F32, [8, 10]);
    /// let labels = tracer.input("labels", DType::I64, [8]);
    /// let [_, best] = scores.topk(5);
    /// let candidates = labels.unsqueeze(1).expand([8, 5]);
    /// let top5 = best.equals(&candidates).sum_all() / 8.0;
    /// # tracer.check()?;
    /// # Ok::<(), spikelet_graph::Error>(())
    /// ```
    #[doc(alias = "sort")]
    pub fn topk(&self, k: usize) -> [Var; 2] {
        let mut made = self.tracer.apply(TopK { k }, &[self]);
        let indices = made.pop().unwrap_or_else(|| self.clone());
        [made.pop().unwrap_or_else(|| self.clone()), indices]
    }

    /// One element for each index along an axis: `y[i, j, k] = self[i, index[i, j, k], k]` for axis 1 of
    /// three. The index (i64) has the shape of the tensor; along the axis it may have another length.
    ///
    /// Inputs of a program that are indices are checked when they are set. Elsewhere an index below 0
    /// counts as 0, one beyond the end as the last.
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// let scores = tracer.input("scores", DType::F32, [8, 10]);
    /// let labels = tracer.input("labels", DType::I64, [8]);
    /// let picked = scores.log_softmax().gather(1, &labels.unsqueeze(1)); // [8, 1]
    /// let loss = -picked.mean_all();
    /// # tracer.check()?;
    /// # Ok::<(), spikelet_graph::Error>(())
    /// ```
    pub fn gather(&self, axis: usize, index: &Var) -> Var {
        let indexed = Indexed::Elements;
        self.tracer.apply1(Gather { axis, indexed }, &[self, index])
    }

    /// The slices of an axis at the indices (i64), whose axes take the place of the axis:
    /// `[a, n, b]` at `[k, l]` along axis 1 is `[a, k, l, b]`. Indices are checked as by [`Var::gather`].
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// let x = tracer.input("x", DType::F32, [8, 10, 3]);
    /// let chosen = tracer.input("chosen", DType::I64, [4]);
    /// assert_eq!(x.index_select(1, &chosen).shape(), [8, 4, 3]);
    /// ```
    pub fn index_select(&self, axis: usize, index: &Var) -> Var {
        let indexed = Indexed::Slices;
        self.tracer.apply1(Gather { axis, indexed }, &[self, index])
    }

    /// The rows of a table `[n, …]` for a tensor of indices (i64): `[T, N]` gives `[T, N, …]`. The
    /// gradient of a row is the sum over its occurrences, in a fixed order. Indices are checked as by
    /// [`Var::gather`].
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// let table = tracer.parameter("embedding", [1000, 64]);
    /// let tokens = tracer.input("tokens", DType::I64, [20, 8]);
    /// assert_eq!(tokens.embedding(&table).shape(), [20, 8, 64]);
    /// ```
    pub fn embedding(&self, table: &Var) -> Var {
        table.index_select(0, self)
    }
}
