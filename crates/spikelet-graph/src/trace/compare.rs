//! Comparisons, conditions and elementwise minima and maxima.
//!
//! A condition is a floating-point tensor: 1 where it holds, else 0. Its derivative is 0.

use super::{Operand, Var};
use crate::op::{Equal, Fill};
use crate::types::{DType, TensorType};
use spikelet_expr::Expr;

/// Methods of this tensor and another operand, `x[0]` and `x[1]`, by the expression of an element.
macro_rules! of_two {
    ($($(#[$attribute:meta])* $name:ident => $expression:expr;)*) => {$(
        $(#[$attribute])*
        pub fn $name<'a>(&self, other: impl Into<Operand<'a>>) -> Var {
            self.with_operands(&[other.into()], $expression)
        }
    )*};
}

impl Var {
    of_two! {
        /// The smaller of two elements; NaN if either is NaN. Of equal elements the first gets the gradient.
        minimum => |x| x[0].min(&x[1]);
        /// The larger of two elements; NaN if either is NaN. Of equal elements the first gets the gradient.
        ///
        /// ```
        /// use spikelet_graph::{DType, Tracer};
        /// let tracer = Tracer::new(DType::F32);
        /// let (x, y) = (tracer.input("x", DType::F32, [4, 3]), tracer.input("y", DType::F32, [3]));
        /// assert_eq!(x.maximum(&y).minimum(6.0).shape(), [4, 3]);
        /// ```
        maximum => |x| x[0].max(&x[1]);
        /// 1 where `self` > `other`, else 0.
        ///
        /// ```
        /// use spikelet_graph::{DType, Tracer};
        /// let tracer = Tracer::new(DType::F32);
        /// let v = tracer.input("v", DType::F32, [8, 3]);
        /// let rate = v.gt(1.0).mean_all();
        /// assert!(rate.shape().is_empty());
        /// ```
        gt => |x| x[0].gt(&x[1]);
        /// 1 where `self` ≥ `other`, else 0.
        ge => |x| x[0].ge(&x[1]);
        /// 1 where `self` < `other`, else 0.
        lt => |x| x[0].lt(&x[1]);
        /// 1 where `self` ≤ `other`, else 0.
        le => |x| x[0].le(&x[1]);
        /// 1 where both are not 0, else 0.
        logical_and => |x| Expr::select(x[0].differs(0.0), x[1].differs(0.0), 0.0);
        /// 1 where at least one is not 0, else 0.
        logical_or => |x| Expr::select(x[0].differs(0.0), 1.0, x[1].differs(0.0));
        /// 1 where exactly one is not 0, else 0.
        logical_xor => |x| x[0].differs(0.0).differs(x[1].differs(0.0));
    }

    /// 1 where `self` = `other`, else 0: for floating-point tensors with broadcasting, for two integer
    /// tensors of one shape, and for an integer tensor and a number.
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// let scores = tracer.input("scores", DType::F32, [8, 10]);
    /// let labels = tracer.input("labels", DType::I64, [8]);
    /// let accuracy = scores.argmax().equals(&labels).mean_all();
    /// let share_of_class_3 = labels.equals(3.0).mean_all();
    /// # tracer.check()?;
    /// # Ok::<(), spikelet_graph::Error>(())
    /// ```
    #[doc(alias = "eq")]
    pub fn equals<'a>(&self, other: impl Into<Operand<'a>>) -> Var {
        let other = other.into();
        if self.ty.dtype.is_float() {
            return self.with_operands(&[other], |x| x[0].equals(&x[1]));
        }
        let dtype = self.tracer.float();
        match other {
            Operand::Tensor(other) => self.tracer.apply1(Equal { dtype }, &[self, other]),
            Operand::Number(value) => {
                let ty = TensorType::new(DType::I64, self.shape());
                let other = self.tracer.apply1(Fill { ty, value }, &[]);
                self.tracer.apply1(Equal { dtype }, &[self, &other])
            }
        }
    }

    /// 1 where `self` ≠ `other`, else 0; operands as of [`Var::equals`].
    #[doc(alias = "ne")]
    pub fn differs<'a>(&self, other: impl Into<Operand<'a>>) -> Var {
        self.equals(other).logical_not()
    }

    /// 1 where `self` is 0, else 0.
    pub fn logical_not(&self) -> Var {
        self.map1(|x| x.equals(0.0))
    }

    /// `then` where `self` is not 0, else `otherwise`. The operand that is not selected gets the gradient
    /// 0; where its own derivative is infinite, 0·∞ is NaN, so limit its argument first
    /// (`x.maximum(1e-12).sqrt()`).
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// let x = tracer.input("x", DType::F32, [8, 3]);
    /// let y = x.ge(0.0).where_(&x, 0.0);
    /// assert_eq!(y.shape(), [8, 3]);
    /// ```
    #[doc(alias = "select")]
    pub fn where_<'a>(
        &self,
        then: impl Into<Operand<'a>>,
        otherwise: impl Into<Operand<'a>>,
    ) -> Var {
        self.with_operands(&[then.into(), otherwise.into()], |x| {
            Expr::select(&x[0], &x[1], &x[2])
        })
    }
}
