//! Handles to traced values.

use super::Tracer;
use crate::graph::ValueId;
use crate::op::{
    ArgMax, Concat, Conv, Custom, CustomOp, Equal, Expand, LogSoftmax, Map, MatMul, MeanVar,
    OneHot, Permute, Pool, Pooling, Recurrence, Reduce, Reshape, Scan, Slice, Window,
};
use crate::types::{DType, TensorType, broadcast, elements};
use spikelet_expr::Expr;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A traced value: its type is known, its elements are not.
///
/// Operators and methods build graph nodes. Operands that do not fit record an error (see
/// [`Tracer::check`]); the result is a value that further operations ignore.
#[derive(Clone)]
pub struct Var {
    pub(super) tracer: Tracer,
    pub(super) id: Option<ValueId>,
    pub(super) ty: TensorType,
}

impl fmt::Debug for Var {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.id {
            Some(id) => write!(f, "%{} {}", id.0, self.ty),
            None => write!(f, "% invalid"),
        }
    }
}

impl Var {
    /// Element type and shape.
    pub fn ty(&self) -> &TensorType {
        &self.ty
    }

    /// The axes, slowest first.
    pub fn shape(&self) -> &[usize] {
        &self.ty.shape
    }

    /// The length of an axis; 1 for an axis that the tensor does not have.
    pub fn dim(&self, axis: usize) -> usize {
        self.ty.shape.get(axis).copied().unwrap_or(1)
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.ty.shape.len()
    }

    /// Its tracer.
    pub fn tracer(&self) -> &Tracer {
        &self.tracer
    }

    /// The id of the value in the graph; `None` after an error.
    pub fn id(&self) -> Option<ValueId> {
        self.id
    }

    /// One elementwise expression of several tensors, broadcast to one shape.
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer, Var};
    /// let tracer = Tracer::new(DType::F32);
    /// let (a, b) = (tracer.input("a", DType::F32, [4, 3]), tracer.input("b", DType::F32, [3]));
    /// let y = Var::map(&[&a, &b], |x| (&x[0] - &x[1]).exp());
    /// assert_eq!(y.shape(), [4, 3]);
    /// ```
    ///
    /// # Panics
    /// When no operand is given.
    pub fn map(operands: &[&Var], build: impl FnOnce(&[Expr]) -> Expr) -> Var {
        Self::map_many(operands, |x| vec![build(x)]).swap_remove(0)
    }

    /// Several elementwise expressions computed together.
    ///
    /// # Panics
    /// When no operand is given.
    pub fn map_many(operands: &[&Var], build: impl FnOnce(&[Expr]) -> Vec<Expr>) -> Vec<Var> {
        let first = operands.first().expect("a map has at least one operand");
        let symbols: Vec<Expr> = (0..operands.len()).map(Map::operand).collect();
        let mut shape = first.shape().to_vec();
        for operand in &operands[1..] {
            // If this fails, the error of the operation names the operand that does not fit.
            shape = broadcast(&shape, operand.shape()).unwrap_or(shape);
        }
        let expressions = build(&symbols);
        first.tracer.apply(Map::new(expressions, shape), operands)
    }

    /// One elementwise expression of this tensor.
    pub fn map1(&self, build: impl FnOnce(&Expr) -> Expr) -> Var {
        Self::map(&[self], |x| build(&x[0]))
    }

    /// x²
    pub fn square(&self) -> Var {
        self.map1(|x| x * x)
    }

    /// √x
    pub fn sqrt(&self) -> Var {
        self.map1(Expr::sqrt)
    }

    /// eˣ
    pub fn exp(&self) -> Var {
        self.map1(Expr::exp)
    }

    /// max(x, 0)
    pub fn relu(&self) -> Var {
        self.map1(|x| Expr::select(x.gt(0.0), x, 0.0))
    }

    /// The value cast to another floating-point type, rounded to the nearest. Casts from and to f64 are
    /// not supported.
    pub fn cast(&self, dtype: DType) -> Var {
        if self.ty.dtype == dtype {
            return self.clone();
        }
        self.tracer.apply1(Map::cast(self.shape(), dtype), &[self])
    }

    /// The same value without a gradient (stop-gradient).
    pub fn detach(&self) -> Var {
        self.map1(Expr::detach)
    }

    /// `self · weightᵀ` over the last axis: `[…, in] × [out, in] → […, out]`.
    pub fn linear(&self, weight: &Var) -> Var {
        self.tracer
            .apply1(MatMul::new(false, true), &[self, weight])
    }

    /// `self · other`: `[…, k] × [k, n] → […, n]`.
    pub fn matmul(&self, other: &Var) -> Var {
        self.tracer
            .apply1(MatMul::new(false, false), &[self, other])
    }

    /// A convolution of `self`, `[…, spatial…, in]`, with a weight `[out, kernel…, in / groups]`; or
    /// one of its gradients, as `op` says.
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer, op::Conv};
    /// let tracer = Tracer::new(DType::F32);
    /// let x = tracer.input("x", DType::F32, [8, 28, 28, 1]);
    /// let w = tracer.parameter("w", [16, 3, 3, 1]);
    /// assert_eq!(x.conv(&w, Conv::new(2)).shape(), [8, 26, 26, 16]);
    /// ```
    pub fn conv(&self, weight: &Var, op: Conv) -> Var {
        self.tracer.apply1(op, &[self, weight])
    }

    /// Max or average pooling of `[…, spatial…, channels]`.
    pub fn pool(&self, pooling: Pooling, windows: impl Into<Vec<Window>>) -> Var {
        let windows = windows.into();
        self.tracer.apply1(Pool { pooling, windows }, &[self])
    }

    /// Mean and biased variance over all axes but the last, each `[C]`.
    pub fn mean_var(&self) -> [Var; 2] {
        let mut made = self.tracer.apply(MeanVar, &[self]);
        let variance = made.pop().unwrap_or_else(|| self.clone());
        [made.pop().unwrap_or_else(|| self.clone()), variance]
    }

    /// The sum over axes, which are removed.
    pub fn sum(&self, axes: &[usize]) -> Var {
        self.tracer.apply1(Reduce::sum(axes), &[self])
    }

    /// The maximum over axes, which are removed.
    pub fn max(&self, axes: &[usize]) -> Var {
        self.tracer.apply1(Reduce::max(axes), &[self])
    }

    /// The mean over axes, which are removed.
    pub fn mean(&self, axes: &[usize]) -> Var {
        let lengths: Vec<usize> = axes.iter().map(|&k| self.dim(k)).collect();
        self.sum(axes) / elements(&lengths) as f64
    }

    /// The sum of all elements, a scalar.
    pub fn sum_all(&self) -> Var {
        let axes: Vec<usize> = (0..self.rank()).collect();
        self.sum(&axes)
    }

    /// The mean of all elements, a scalar.
    pub fn mean_all(&self) -> Var {
        self.sum_all() / self.ty.len() as f64
    }

    /// The tensor reshaped.
    pub fn reshape(&self, shape: impl Into<Vec<usize>>) -> Var {
        let shape = shape.into();
        if shape == self.shape() {
            return self.clone();
        }
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
        if shape == self.shape() {
            return self.clone();
        }
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

    /// Logarithm of the softmax over the last axis.
    pub fn log_softmax(&self) -> Var {
        self.tracer.apply1(LogSoftmax, &[self])
    }

    /// Softmax over the last axis.
    pub fn softmax(&self) -> Var {
        self.log_softmax().exp()
    }

    /// One-hot vectors of class numbers.
    pub fn one_hot(&self, classes: usize) -> Var {
        let dtype = self.tracer.float();
        self.tracer.apply1(OneHot { classes, dtype }, &[self])
    }

    /// The index of the largest element of the last axis.
    pub fn argmax(&self) -> Var {
        self.tracer.apply1(ArgMax, &[self])
    }

    /// 1 where two integer tensors are equal, else 0.
    pub fn equals(&self, other: &Var) -> Var {
        let dtype = self.tracer.float();
        self.tracer.apply1(Equal { dtype }, &[self, other])
    }

    /// The results of a custom operation; their number is [`CustomOp::outputs`], also after an error.
    ///
    /// # Panics
    /// When no operand is given.
    pub fn custom(op: Arc<dyn CustomOp>, operands: &[&Var]) -> Vec<Var> {
        let first = operands
            .first()
            .expect("a custom operation has at least one operand");
        first.tracer.apply(Custom(op), operands)
    }

    /// Runs a recurrence over the sequences. Returns output sequences, last states and state sequences.
    ///
    /// # Panics
    /// When no sequence is given.
    pub fn scan(
        recurrence: &Arc<Recurrence>,
        time_steps: usize,
        sequences: &[&Var],
        states: &[&Var],
        params: &[&Var],
    ) -> Vec<Var> {
        let first = sequences
            .first()
            .expect("a scan reads at least one sequence");
        let op = Scan::new(recurrence.clone(), time_steps);
        let operands: Vec<&Var> = [sequences, states, params].concat();
        first.tracer.apply(op, &operands)
    }
}
