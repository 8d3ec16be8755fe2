//! Reductions over axes, running sums, softmax.

use super::Var;
use crate::error::InvalidOp;
use crate::op::{CumProd, LogSoftmax, Recurrence, Reduce};
use crate::types::elements;
use spikelet_expr::Expr;
use std::sync::Arc;

impl Var {
    /// The sum over axes, which are removed.
    pub fn sum(&self, axes: &[usize]) -> Var {
        self.tracer.apply1(Reduce::sum(axes), &[self])
    }

    /// The maximum over axes, which are removed. Equal elements share the gradient.
    pub fn max(&self, axes: &[usize]) -> Var {
        self.tracer.apply1(Reduce::max(axes), &[self])
    }

    /// The minimum over axes, which are removed. Equal elements share the gradient.
    pub fn min(&self, axes: &[usize]) -> Var {
        -(-self).max(axes)
    }

    /// The mean over axes, which are removed.
    pub fn mean(&self, axes: &[usize]) -> Var {
        self.sum(axes) / self.count(axes)
    }

    /// The sum of all elements, a scalar.
    pub fn sum_all(&self) -> Var {
        self.sum(&self.axes())
    }

    /// The mean of all elements, a scalar.
    pub fn mean_all(&self) -> Var {
        self.sum_all() / self.ty.len() as f64
    }

    /// The largest element, a scalar.
    pub fn max_all(&self) -> Var {
        self.max(&self.axes())
    }

    /// The smallest element, a scalar.
    pub fn min_all(&self) -> Var {
        self.min(&self.axes())
    }

    /// The variance over axes, which are removed: Σ (x − mean)² / (n − `correction`). With a correction of
    /// 1 it is unbiased, which is PyTorch's default; with 0 it is that of a population. The mean is
    /// subtracted before squaring. A correction of n or more is an error of the trace.
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// let x = tracer.input("x", DType::F32, [8, 5, 3]);
    /// assert_eq!(x.var(&[0, 2], 1).shape(), [5]);
    /// ```
    #[doc(alias = "variance")]
    pub fn var(&self, axes: &[usize], correction: usize) -> Var {
        let mean = self.kept(&self.mean(axes), axes);
        let (count, subtracted) = (self.count(axes), correction as f64);
        if subtracted >= count {
            let error = InvalidOp::new(
                format!(
                    "the variance of {count} elements with a correction of {correction} divides by 0 or less"
                ),
                "use a smaller correction, or take the variance over more elements",
            );
            return self.refuse("var", error);
        }
        (self - mean).square().sum(axes) / (count - subtracted)
    }

    /// The standard deviation over axes, √[`Var::var`]; its derivative is 0 where it is 0.
    #[doc(alias = "standard_deviation")]
    pub fn std(&self, axes: &[usize], correction: usize) -> Var {
        root(&self.var(axes, correction))
    }

    /// The Euclidean norm √Σx² over axes, which are removed; its derivative is 0 where it is 0.
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// let x = tracer.input("x", DType::F32, [8, 3]);
    /// let unit = &x / x.norm(&[1]).unsqueeze(1).maximum(1e-12);
    /// assert_eq!(unit.shape(), [8, 3]);
    /// ```
    pub fn norm(&self, axes: &[usize]) -> Var {
        root(&self.square().sum(axes))
    }

    /// ln Σ eˣ over axes, which are removed. The maximum is subtracted first, so that large elements do
    /// not overflow; it is −∞ where all elements are.
    #[doc(alias = "logsumexp")]
    pub fn log_sum_exp(&self, axes: &[usize]) -> Var {
        let most = self.max(axes).map1(|x| {
            // An infinite maximum would give ∞ − ∞.
            let finite = x.abs().lt(f64::INFINITY);
            Expr::select(finite, x, 0.0).detach()
        });
        let sum = (self - self.kept(&most, axes)).exp().sum(axes);
        sum.ln() + most
    }

    /// The running sum along an axis: `y[k] = x[0] + … + x[k]`. Over time it is one neuron scan without
    /// threshold.
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// let spikes = tracer.input("spikes", DType::F32, [20, 8, 10]);
    /// let counts = spikes.cumsum(0); // [T, N, C], the spikes so far
    /// assert_eq!(counts.shape(), [20, 8, 10]);
    /// ```
    pub fn cumsum(&self, axis: usize) -> Var {
        let shape = self.shape();
        let Some(&length) = shape.get(axis) else {
            return self.no_axis("cumsum", axis);
        };
        if self.ty.is_empty() {
            return self.clone();
        }
        if shape.len() == 1 {
            let column = self.reshape([length, 1]).cumsum(0);
            return column.reshape([length]);
        }
        if axis > 0 {
            return self.transpose(0, axis).cumsum(0).transpose(0, axis);
        }
        let sum = Expr::symbol("sum") + Expr::symbol("x");
        let step = Recurrence::new("cumsum", ["x"], ["sum"]).output("y", sum.clone(), false);
        let start = self.tracer.fill(self.ty.dtype.arithmetic(), [], 0.0);
        let results = Var::scan(
            &Arc::new(step.next(vec![sum])),
            length,
            &[self],
            &[&start],
            &[],
        );
        results.into_iter().next().unwrap_or_else(|| self.clone())
    }

    /// The running product along an axis: `y[k] = x[0] · … · x[k]`. Its derivative is exact where elements are 0.
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// let decay = tracer.input("decay", DType::F32, [20, 8, 10]);
    /// let weight = decay.cumprod(0); // of each step, relative to the first one
    /// assert_eq!(weight.shape(), [20, 8, 10]);
    /// ```
    pub fn cumprod(&self, axis: usize) -> Var {
        self.tracer.apply1(CumProd { axis }, &[self])
    }

    /// Logarithm of the softmax over the last axis.
    pub fn log_softmax(&self) -> Var {
        self.tracer.apply1(LogSoftmax, &[self])
    }

    /// Softmax over the last axis.
    pub fn softmax(&self) -> Var {
        self.log_softmax().exp()
    }

    /// Logarithm of the softmax along any axis.
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// let x = tracer.input("x", DType::F32, [20, 8, 10]); // [T, N, C]
    /// let attention = x.log_softmax_along(0).exp(); // over time
    /// assert_eq!(attention.shape(), [20, 8, 10]);
    /// # tracer.check()?;
    /// # Ok::<(), spikelet_graph::Error>(())
    /// ```
    pub fn log_softmax_along(&self, axis: usize) -> Var {
        let rank = self.rank();
        if axis >= rank {
            return self.no_axis("log_softmax", axis);
        }
        match rank - 1 {
            last if axis == last => self.log_softmax(),
            last => self
                .transpose(axis, last)
                .log_softmax()
                .transpose(axis, last),
        }
    }

    /// Softmax along any axis.
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// let x = tracer.input("x", DType::F32, [8, 10, 32, 32]); // [N, C, H, W]
    /// let classes = x.softmax_along(1); // of each pixel
    /// assert_eq!(classes.shape(), [8, 10, 32, 32]);
    /// # tracer.check()?;
    /// # Ok::<(), spikelet_graph::Error>(())
    /// ```
    pub fn softmax_along(&self, axis: usize) -> Var {
        self.log_softmax_along(axis).exp()
    }

    fn axes(&self) -> Vec<usize> {
        (0..self.rank()).collect()
    }

    /// The number of elements along some axes.
    fn count(&self, axes: &[usize]) -> f64 {
        let lengths: Vec<usize> = axes.iter().map(|&k| self.dim(k)).collect();
        elements(&lengths) as f64
    }

    /// A result of a reduction of `self` over `axes`, with these axes as axes of length 1.
    fn kept(&self, reduced: &Var, axes: &[usize]) -> Var {
        if reduced.id.is_none() {
            return reduced.clone();
        }
        reduced.reshape(Reduce::sum(axes).kept_shape(self.shape()))
    }

    /// The result of an operation along an axis that the tensor does not have.
    pub(super) fn no_axis(&self, operation: &str, axis: usize) -> Var {
        self.refuse(operation, InvalidOp::no_axis(axis, self.rank()))
    }
}

/// √x with the derivative 0 at 0.
fn root(x: &Var) -> Var {
    x.map1(|x| {
        let root = x.sqrt();
        Expr::custom_gradient(&root, Expr::select(x.gt(0.0), &root, 0.0))
    })
}
