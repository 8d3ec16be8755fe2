//! Elementwise functions of one tensor. Each is one [`Expr`]: neighbors are fused into one kernel, and
//! f32 results have the same bits on the CPU and on GPUs.

use super::{Operand, Var};
use crate::op::Map;
use crate::types::DType;
use spikelet_expr::Expr;
use std::f64::consts::FRAC_1_SQRT_2;

/// ln(1 + x), accurate where x is small: ln(u)·x / (u − 1) with u = 1 + x rounded (Kahan).
fn ln_1p(x: &Expr) -> Expr {
    let u = 1.0 + x;
    let log = u.ln();
    let near = Expr::select(u.equals(1.0), x, &log * (x / (&u - 1.0)));
    Expr::custom_gradient(Expr::select(x.gt(1.0), &log, near), log)
}

/// eˣ − 1, accurate where x is small: tanh(x/2)·(eˣ + 1).
fn exp_m1(x: &Expr) -> Expr {
    let exp = x.exp();
    Expr::custom_gradient((x * 0.5).tanh() * (&exp + 1.0), exp)
}

/// ln(1 + eˣ). The value is max(x, 0) + ln(1 + e^−|x|); the derivative, which is σ(x), is that of the
/// side on which eˣ or e⁻ˣ does not overflow.
fn softplus(x: &Expr) -> Expr {
    let value = x.max(0.0) + ln_1p(&(-x.abs()).exp());
    let (left, right) = (ln_1p(&x.exp()), x + ln_1p(&(-x).exp()));
    Expr::custom_gradient(value, Expr::select(x.le(0.0), left, right))
}

/// Methods by the expression of an element.
macro_rules! functions {
    ($($(#[$attribute:meta])* $name:ident => $expression:expr;)*) => {$(
        $(#[$attribute])*
        pub fn $name(&self) -> Var {
            self.map1($expression)
        }
    )*};
}

impl Var {
    functions! {
        /// x²
        square => |x| x * x;
        /// √x
        sqrt => Expr::sqrt;
        /// 1/√x
        rsqrt => |x| 1.0 / x.sqrt();
        /// 1/x
        reciprocal => |x| 1.0 / x;
        /// |x|, with the derivative 0 at 0.
        ///
        /// ```
        /// use spikelet_graph::{DType, Tracer};
        /// let tracer = Tracer::new(DType::F32);
        /// let x = tracer.input("x", DType::F32, [4, 3]);
        /// let l1 = x.abs().mean_all();
        /// assert!(l1.shape().is_empty());
        /// ```
        abs => Expr::abs;
        /// 1, 0 or −1, the sign of x; its derivative is 0.
        sign => |x| x.gt(0.0) - x.lt(0.0);
        /// The nearest integer, ties to even; its derivative is 0.
        round => Expr::round;
        /// The largest integer not above x; its derivative is 0.
        floor => Expr::floor;
        /// The smallest integer not below x; its derivative is 0.
        ceil => |x| -(-x).floor();
        /// eˣ
        exp => Expr::exp;
        /// eˣ − 1, accurate where x is small. In PyTorch `expm1`.
        #[doc(alias = "expm1")]
        exp_m1 => exp_m1;
        /// The natural logarithm. In PyTorch `log`.
        #[doc(alias = "log")]
        ln => Expr::ln;
        /// ln(1 + x), accurate where x is small. In PyTorch `log1p`.
        #[doc(alias = "log1p")]
        ln_1p => ln_1p;
        /// sin x, x in radians. In f32 accurate for |x| ≤ 25,000.
        sin => Expr::sin;
        /// cos x, x in radians. In f32 accurate for |x| ≤ 25,000.
        cos => Expr::cos;
        /// The arc tangent.
        atan => Expr::atan;
        /// The hyperbolic tangent.
        tanh => Expr::tanh;
        /// σ(x) = 1/(1 + e⁻ˣ)
        sigmoid => Expr::sigmoid;
        /// ln σ(x) = −softplus(−x), accurate where σ(x) is small. In PyTorch `logsigmoid`.
        #[doc(alias = "logsigmoid")]
        log_sigmoid => |x| -softplus(&-x);
        /// The error function 2/√π ∫₀ˣ e^(−t²) dt.
        erf => Expr::erf;
        /// max(x, 0)
        relu => |x| Expr::select(x.gt(0.0), x, 0.0);
        /// ln(1 + eˣ); its derivative is σ(x).
        softplus => softplus;
        /// x·σ(x), also called swish.
        #[doc(alias = "swish")]
        silu => |x| x * x.sigmoid();
        /// x·Φ(x) = x/2 · erfc(−x/√2), Φ the distribution function of the normal distribution; not the
        /// approximation by tanh.
        ///
        /// Hendrycks and Gimpel, Gaussian Error Linear Units, 2016.
        gelu => |x| x * 0.5 * (x * -FRAC_1_SQRT_2).erfc();
        /// The same value without a gradient (stop-gradient).
        detach => Expr::detach;
    }

    /// x where x > 0, else `slope`·x.
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// let x = tracer.input("x", DType::F32, [8, 3]);
    /// assert_eq!(x.leaky_relu(0.01).shape(), [8, 3]);
    /// ```
    pub fn leaky_relu(&self, slope: f64) -> Var {
        self.map1(|x| Expr::select(x.gt(0.0), x, slope * x))
    }

    /// x where x > 0, else `alpha`·(eˣ − 1).
    pub fn elu(&self, alpha: f64) -> Var {
        self.map1(|x| Expr::select(x.gt(0.0), x, alpha * exp_m1(x)))
    }

    /// x limited to −1 … 1; the derivative is 1 inside and at both ends.
    #[doc(alias = "hardtanh")]
    pub fn hard_tanh(&self) -> Var {
        self.clamp(-1.0, 1.0)
    }

    /// x limited to `low` … `high`, numbers or tensors; the derivative is 1 inside and at both ends.
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// let x = tracer.input("x", DType::F32, [8, 3]);
    /// let high = tracer.parameter("high", [3]);
    /// assert_eq!(x.clamp(0.0, &high).shape(), [8, 3]);
    /// ```
    pub fn clamp<'a>(&self, low: impl Into<Operand<'a>>, high: impl Into<Operand<'a>>) -> Var {
        self.with_operands(&[low.into(), high.into()], |x| x[0].clamp(&x[1], &x[2]))
    }

    /// x to the power of a number or of a tensor. At x = 0 the derivative with respect to the exponent
    /// is 0; a negative x has a power if the exponent is an integer.
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// let x = tracer.input("x", DType::F32, [8, 3]);
    /// let gamma = tracer.parameter("gamma", [3]);
    /// let y = x.pow(1.5) + x.pow(&gamma);
    /// assert_eq!(y.shape(), [8, 3]);
    /// ```
    pub fn pow<'a>(&self, exponent: impl Into<Operand<'a>>) -> Var {
        let exponent = exponent.into();
        match exponent {
            Operand::Number(2.0) => return self.square(),
            Operand::Number(exponent) => return self.map1(|x| x.pow(exponent)),
            Operand::Tensor(_) => {}
        }
        self.with_operands(&[exponent], |x| {
            let power = x[0].pow(&x[1]);
            let at_zero = x[0].pow(x[1].detach());
            Expr::custom_gradient(&power, Expr::select(x[0].equals(0.0), at_zero, &power))
        })
    }

    /// The value cast to another floating-point type, rounded to the nearest. Casts from and to f64 are
    /// not supported.
    pub fn cast(&self, dtype: DType) -> Var {
        if self.ty.dtype == dtype {
            return self.clone();
        }
        self.tracer.apply1(Map::cast(self.shape(), dtype), &[self])
    }
}
