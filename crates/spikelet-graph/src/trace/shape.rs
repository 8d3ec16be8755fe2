//! Shapes and the places of elements.

use super::Var;
use crate::error::InvalidOp;
use crate::op::{Concat, Expand, Flip, Permute, Reshape, Slice};
use crate::types::{ShapeText, elements};
use std::ops::Range;

impl Var {
    /// The tensor reshaped.
    pub fn reshape(&self, shape: impl Into<Vec<usize>>) -> Var {
        let shape = shape.into();
        self.tracer.apply1(Reshape { shape }, &[self])
    }

    /// Axes `start..` folded into one.
    pub fn flatten(&self, start: usize) -> Var {
        let start = start.min(self.rank());
        let mut shape = self.shape()[..start].to_vec();
        shape.push(elements(&self.shape()[start..]));
        self.reshape(shape)
    }

    /// Axes in another order: axis `k` of the result is axis `order[k]`.
    pub fn permute(&self, order: &[usize]) -> Var {
        let order = order.to_vec();
        self.tracer.apply1(Permute { order }, &[self])
    }

    /// The elements `range` of one axis.
    pub fn slice(&self, axis: usize, range: Range<usize>) -> Var {
        let (start, end) = (range.start, range.end);
        self.tracer.apply1(Slice { axis, start, end }, &[self])
    }

    /// Tensors concatenated along an axis.
    ///
    /// # Panics
    /// When no tensor is given.
    pub fn concat(parts: &[&Var], axis: usize) -> Var {
        let first = parts.first().expect("at least one tensor is concatenated");
        first.tracer.apply1(Concat { axis }, parts)
    }

    /// Broadcast to a shape.
    pub fn expand(&self, shape: impl Into<Vec<usize>>) -> Var {
        let shape = shape.into();
        self.tracer.apply1(Expand { shape }, &[self])
    }

    /// The tensor repeated along a new axis 0 of `time_steps` steps, without copies in memory.
    pub fn repeat_over_time(&self, time_steps: usize) -> Var {
        let mut shape = vec![1];
        shape.extend(self.shape());
        let one = self.reshape(shape.clone());
        shape[0] = time_steps;
        one.expand(shape)
    }

    /// The one step `[1, N, …]` that this sequence repeats over time; `None` where its steps may
    /// differ.
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// let x = tracer.input("x", DType::F32, [8, 3]);
    /// let w = tracer.parameter("w", [2, 3]);
    /// let y = x.repeat_over_time(5).linear(&w);
    /// assert_eq!(y.source_over_time().map(|one| one.shape().to_vec()), Some(vec![1, 8, 2]));
    /// ```
    pub fn source_over_time(&self) -> Option<Var> {
        let id = self.id?;
        let repeats = self.tracer.state.borrow_mut().repeats_over_time(id);
        // All steps are equal: `hoist_time` reads the source of this slice.
        repeats.then(|| self.slice(0, 0..1))
    }

    /// Two axes exchanged.
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// let x = tracer.input("x", DType::F32, [2, 5, 3]);
    /// assert_eq!(x.transpose(1, 2).shape(), [2, 3, 5]);
    /// ```
    pub fn transpose(&self, first: usize, second: usize) -> Var {
        if let Some(&axis) = [first, second].iter().find(|&&k| k >= self.rank()) {
            return self.no_axis("transpose", axis);
        }
        let mut order: Vec<usize> = (0..self.rank()).collect();
        order.swap(first, second);
        self.permute(&order)
    }

    /// A new axis of length 1 at the place `axis`.
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// let x = tracer.input("x", DType::F32, [5, 3]);
    /// assert_eq!(x.unsqueeze(1).shape(), [5, 1, 3]);
    /// assert_eq!(x.unsqueeze(2).squeeze(2).shape(), [5, 3]);
    /// ```
    pub fn unsqueeze(&self, axis: usize) -> Var {
        if axis > self.rank() {
            return self.no_axis("unsqueeze", axis);
        }
        let mut shape = self.shape().to_vec();
        shape.insert(axis, 1);
        self.reshape(shape)
    }

    /// The tensor without an axis of length 1. Another length is an error.
    pub fn squeeze(&self, axis: usize) -> Var {
        match self.shape().get(axis) {
            Some(1) => {}
            Some(length) => {
                let error = InvalidOp::new(
                    format!("axis {axis} has {length} elements"),
                    "only an axis of length 1 can be removed; reduce or slice it first",
                );
                return self.refuse("squeeze", error);
            }
            None => return self.no_axis("squeeze", axis),
        }
        let mut shape = self.shape().to_vec();
        shape.remove(axis);
        self.reshape(shape)
    }

    /// Tensors of one shape along a new axis.
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer, Var};
    /// let tracer = Tracer::new(DType::F32);
    /// let (a, b) = (tracer.input("a", DType::F32, [5, 3]), tracer.input("b", DType::F32, [5, 3]));
    /// assert_eq!(Var::stack(&[&a, &b], 0).shape(), [2, 5, 3]);
    /// ```
    ///
    /// # Panics
    /// When no tensor is given.
    pub fn stack(parts: &[&Var], axis: usize) -> Var {
        let parts: Vec<Var> = parts.iter().map(|part| part.unsqueeze(axis)).collect();
        Self::concat(&parts.iter().collect::<Vec<_>>(), axis)
    }

    /// Consecutive parts of the given lengths along an axis; together they are as long as the axis.
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// let x = tracer.input("x", DType::F32, [8, 10]);
    /// let parts = x.split(1, &[4, 6]);
    /// assert_eq!((parts[0].shape(), parts[1].shape()), (&[8, 4][..], &[8, 6][..]));
    /// ```
    pub fn split(&self, axis: usize, lengths: &[usize]) -> Vec<Var> {
        let total = lengths.iter().fold(0_usize, |a, &b| a.saturating_add(b));
        if axis >= self.rank() || total != self.dim(axis) {
            let error = InvalidOp::new(
                format!(
                    "parts of {} elements along axis {axis} of {}",
                    ShapeText(lengths),
                    ShapeText(self.shape())
                ),
                "the lengths of the parts must add up to that of the axis",
            );
            return vec![self.refuse("split", error); lengths.len()];
        }
        let mut start = 0;
        let part = |&length: &usize| {
            start += length;
            self.slice(axis, start - length..start)
        };
        lengths.iter().map(part).collect()
    }

    /// `count` parts of equal length along an axis, whose length must be a multiple of `count`.
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// let x = tracer.input("x", DType::F32, [8, 12]);
    /// assert_eq!(x.chunk(1, 3)[2].shape(), [8, 4]);
    /// ```
    pub fn chunk(&self, axis: usize, count: usize) -> Vec<Var> {
        let length = self.dim(axis);
        if axis >= self.rank() || count == 0 || !length.is_multiple_of(count) {
            let error = InvalidOp::new(
                format!(
                    "{count} equal parts of axis {axis} of {}",
                    ShapeText(self.shape())
                ),
                "the axis must be a multiple of the number of parts; `split` takes any lengths",
            );
            return vec![self.refuse("chunk", error); count];
        }
        self.split(axis, &vec![length / count; count])
    }

    /// The tensor with `before` and `after` more elements along an axis, all of one value.
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// let x = tracer.input("x", DType::F32, [8, 10]);
    /// assert_eq!(x.pad(1, 2, 1, 0.0).shape(), [8, 13]);
    /// ```
    pub fn pad(&self, axis: usize, before: usize, after: usize, value: f64) -> Var {
        if axis >= self.rank() {
            return self.no_axis("pad", axis);
        }
        let side = |length: usize| {
            let mut shape = self.shape().to_vec();
            shape[axis] = length;
            (length > 0).then(|| self.tracer.fill(self.ty.dtype, shape, value))
        };
        let (first, last) = (side(before), side(after));
        let parts: Vec<&Var> = [first.as_ref(), Some(self), last.as_ref()]
            .into_iter()
            .flatten()
            .collect();
        if parts.len() == 1 {
            return self.clone();
        }
        Self::concat(&parts, axis)
    }

    /// The elements of an axis in reverse order.
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// let x = tracer.input("x", DType::F32, [20, 8, 3]);
    /// assert_eq!(x.flip(0).shape(), [20, 8, 3]); // from the last time step to the first
    /// ```
    pub fn flip(&self, axis: usize) -> Var {
        self.tracer.apply1(Flip { axis }, &[self])
    }

    /// The elements of an axis moved by `shift` places towards its end; those that leave it enter at its
    /// start. A negative shift moves towards the start.
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// let x = tracer.input("x", DType::F32, [8, 10]);
    /// assert_eq!(x.roll(1, -3).shape(), [8, 10]);
    /// ```
    pub fn roll(&self, axis: usize, shift: isize) -> Var {
        if axis >= self.rank() {
            return self.no_axis("roll", axis);
        }
        let length = self.dim(axis);
        let first = match isize::try_from(length) {
            Ok(signed) if signed > 0 => length - shift.rem_euclid(signed).unsigned_abs(),
            _ => length,
        };
        if first == length {
            return self.clone();
        }
        let parts = [self.slice(axis, first..length), self.slice(axis, 0..first)];
        Self::concat(&[&parts[0], &parts[1]], axis)
    }
}
