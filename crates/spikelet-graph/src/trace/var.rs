//! Handles to traced values.

use super::Tracer;
use crate::error::InvalidOp;
use crate::graph::ValueId;
use crate::op::{
    BatchMatMul, Conv, Custom, CustomOp, DelayedMatMul, Map, MatMul, MeanVar, Pool, Pooling,
    RankUpdate, Recurrence, Scan, Window,
};
use crate::types::{TensorType, broadcast};
use spikelet_expr::Expr;
use std::fmt;
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

    /// Records an error of a method that is composed of operations, and returns an ignored value.
    pub(super) fn refuse(&self, operation: &str, error: InvalidOp) -> Var {
        let given = std::slice::from_ref(&self.ty);
        let error = error.at(&self.tracer.path(), operation, given);
        self.tracer.poison(error, self.ty.clone())
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

    /// A product over time in which each weight acts on another time step:
    /// `y[t, n, o] = Σ_i weight[i, o] · self[t + lags − lag[i, o], n, i]`. The sequence is `[lags + T, N, in]`, with the steps
    /// before it in front; `weight` and `lag`, whole numbers from 0 to `lags`, are `[in, out]`. The result is `[T, N, out]`.
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// let x = tracer.input("x", DType::F32, [24 + 100, 8, 140]);
    /// let (weight, lag) = (tracer.parameter("w", [140, 256]), tracer.input("lag", DType::F32, [140, 256]));
    /// assert_eq!(x.delayed_matmul(&weight, &lag, 24).shape(), [100, 8, 256]);
    /// ```
    pub fn delayed_matmul(&self, weight: &Var, lag: &Var, lags: usize) -> Var {
        self.tracer
            .apply1(DelayedMatMul { lags }, &[self, weight, lag])
    }

    /// Products of matrices, one for each place of the leading axes: `[…, m, k] × […, k, n] → […, m, n]`.
    /// The leading axes broadcast: a single matrix `[k, n]` multiplies all.
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// let q = tracer.input("q", DType::F32, [20, 8, 64, 32]); // [T, N, tokens, features]
    /// let k = tracer.input("k", DType::F32, [20, 8, 64, 32]);
    /// let scores = q.bmm(&k.transpose(2, 3));
    /// assert_eq!(scores.shape(), [20, 8, 64, 64]);
    /// ```
    #[doc(alias = "batch_matmul")]
    pub fn bmm(&self, other: &Var) -> Var {
        let leading = |v: &Var| v.shape()[..v.rank().saturating_sub(2)].to_vec();
        let (own, its) = (leading(self), leading(other));
        let matrices = self.rank() >= 2 && other.rank() >= 2;
        if matrices && its.iter().all(|&n| n == 1) && its.len() <= own.len() {
            let matrix = &other.shape()[its.len()..];
            return self.matmul(&other.reshape(matrix));
        }
        let expand = |v: &Var, leading: &[usize]| {
            let matrix = &v.shape()[v.rank() - 2..];
            v.expand([leading, matrix].concat())
        };
        let (a, b) = match broadcast(&own, &its) {
            Some(leading) if matrices => (expand(self, &leading), expand(other, &leading)),
            // The operation reports what does not fit.
            _ => (self.clone(), other.clone()),
        };
        self.tracer
            .apply1(BatchMatMul::new(false, false), &[&a, &b])
    }

    /// The outer product of two vectors: `[m] × [n] → [m, n]`.
    pub fn outer(&self, other: &Var) -> Var {
        self.unsqueeze(self.rank()) * other
    }

    /// A matrix `[out, in]` changed by sums of outer products and clamped: `clamp(self + Σₖ aₖᵀ·bₖ)`, where `aₖ` is `[…, out]` and
    /// `bₖ` `[…, in]`. Rows whose factors `a` are all 0 are unchanged, also outside the bounds. The result passes no
    /// gradient.
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// let weight = tracer.state("weight", [400, 784]);
    /// let [spikes, trace] = [("spikes", 400), ("trace", 784)].map(|(name, n)| tracer.input(name, DType::F32, [1, 16, n]));
    /// let next = weight.rank_update(&[[&(spikes * 0.01), &trace]], Some([0.0, 1.0]));
    /// assert_eq!(next.shape(), [400, 784]);
    /// ```
    #[doc(alias = "ger")]
    pub fn rank_update(&self, factors: &[[&Var; 2]], bounds: Option<[f64; 2]>) -> Var {
        let factors = factors.iter().flatten().copied();
        let operands: Vec<&Var> = std::iter::once(self).chain(factors).collect();
        self.tracer.apply1(RankUpdate { bounds }, &operands)
    }

    /// The scalar product of two tensors of one shape: the sum of the products of their elements.
    pub fn dot(&self, other: &Var) -> Var {
        (self * other).sum_all()
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

    /// Runs a recurrence over the sequences. Returns output sequences, last states and state sequences
    /// ([`Recurrence::split_results`]).
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

    /// Runs a recurrence over the sequences, with `x[t] + s[t−1]·Wᵀ` in place of the first sequence, where
    /// `s` is the state of the scan's [`Feedback`](crate::op::Feedback). Returns the results of the scan.
    ///
    /// # Panics
    /// When no sequence is given.
    pub fn recurrent_scan(
        op: Scan,
        sequences: &[&Var],
        states: &[&Var],
        params: &[&Var],
        weight: &Var,
    ) -> Vec<Var> {
        let first = sequences
            .first()
            .expect("a scan reads at least one sequence");
        let feedback = op.feedback.as_ref();
        let spikes = feedback.and_then(|feedback| states.get(feedback.state));
        let spikes = spikes.copied().unwrap_or(first);
        let step = first.shape().get(1..).unwrap_or_default().to_vec();
        let spikes = spikes.expand(step);
        let product = match feedback.is_some_and(|feedback| feedback.continues) {
            true => spikes,
            false => spikes.cast(weight.ty().dtype).linear(weight),
        };
        let product = product.cast(first.ty().dtype.arithmetic());
        let operands: Vec<&Var> = [sequences, states, params, &[&product, weight]].concat();
        first.tracer.apply(op, &operands)
    }
}
