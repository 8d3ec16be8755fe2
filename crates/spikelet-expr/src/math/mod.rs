//! Elementary functions with the same bits on every device.
//!
//! At a threshold the last bit of a membrane potential decides whether a neuron spikes, so the
//! result must not depend on the platform's mathematics library. Each function here is a short
//! polynomial with a fixed order of operations:
//!
//! * only `+ − × ÷`, comparisons with selections, and integer arithmetic on the bit pattern; no
//!   fused multiply-add that rounds differently, no calls to the platform's mathematics library;
//! * no branches and no lookup tables, so that loops over slices compile to SIMD code;
//! * subnormal numbers are supported: a device has to run with them enabled (CUDA's default,
//!   `--ftz=false`, together with `--fmad=false --prec-div=true --prec-sqrt=true`).
//!
//! A function transcribed operation by operation to another language therefore gives the same
//! bits. Only the sign and payload of a NaN are unspecified; whether a result is NaN is specified.
//!
//! | function | largest error found, ulp | |
//! |---|---|---|
//! | [`exp`] | 0.8 | |
//! | [`ln`], [`ln_1p`] | 0.9, 1.5 | |
//! | [`tanh`], [`sigmoid`] | 1.4, 1.9 | |
//! | [`atan`] | 1.9 | |
//! | [`erf`], [`erfc`] | 1.2, 4.7 | |
//! | [`sin`], [`cos`] | 1.0 | for \|x\| ≤ 25 000 |
//! | [`sin_2pi`], [`cos_2pi`] | 1.7 | |
//! | [`pow`] | 0.51 | f64 inside |
//!
//! (Against f64 functions, over at least every seventeenth bit pattern; `pow` over every 629th, for
//! thirteen bases and exponents.)
//!
//! The polynomials are minimax fits computed for this project (Remez exchange in 50-digit
//! arithmetic). Their coefficients were rounded to the working type one after the other, and the
//! remaining ones were fitted again after each rounding.
//!
//! ```
//! use spikelet_expr::math;
//!
//! assert_eq!(math::exp(0.0), 1.0);
//! assert_eq!(math::sigmoid(0.0), 0.5);
//! assert_eq!(math::pow(-2.0, 3.0), -8.0);
//! ```

pub(crate) mod atan;
pub(crate) mod bits;
pub(crate) mod erf;
pub(crate) mod exponential;
#[cfg(test)]
mod fingerprint;
pub(crate) mod logarithm;
pub(crate) mod logistic;
pub(crate) mod power;
mod real;
pub(crate) mod source;
pub(crate) mod trigonometric;
#[cfg(test)]
mod ulp;

pub use self::atan::atan;
pub use self::erf::{erf, erfc};
pub use self::exponential::exp;
pub use self::logarithm::{ln, ln_1p};
pub use self::logistic::{sigmoid, tanh};
pub use self::power::pow;
pub use self::real::Real;
pub use self::trigonometric::{cos, cos_2pi, sin, sin_2pi};

/// The elementary functions of one argument, passed to the macro `callback` after
/// `[context]`. To add one, write its file, the text for devices beside it, and an entry here.
///
/// | | |
/// |---|---|
/// | `Exp: exp` | the variant of [`Unary`](crate::Unary); the method of [`Expr`](crate::Expr) and [`Real`], and the function in this module |
/// | `name` | printed in equations |
/// | `f64` | the reference in f64 |
/// | `gradient` | g · ∂y/∂x as an expression, from the adjoint g, the argument x and the result y |
/// | `source` | the text for devices, which defines `spk_exp` |
/// | `calls` | the parts of the [library](crate::text::Function) that the text calls |
/// | `fingerprint` | hash of the function's bits, see `fingerprint.rs` |
macro_rules! elementary_functions {
    ($callback:ident $($context:tt)*) => {
        $callback! {
            [$($context)*]
            /// eˣ
            Exp: exp {
                name: "exp",
                f64: f64::exp,
                gradient: |g, _, y| g * y,
                source: crate::math::exponential::EXP, calls: [Bits, ExpNearZero],
                fingerprint: 0x4f50_2855_1b14_1788,
            }
            /// Natural logarithm.
            Ln: ln {
                name: "ln",
                f64: f64::ln,
                gradient: |g, x, _| g / x,
                source: crate::math::logarithm::LN, calls: [],
                fingerprint: 0x6aae_2ef3_9d6b_a553,
            }
            /// Hyperbolic tangent.
            Tanh: tanh {
                name: "tanh",
                f64: f64::tanh,
                gradient: |g, _, y| g * (1.0 - y * y),
                source: crate::math::logistic::TANH, calls: [Exp],
                fingerprint: 0xc244_d74d_051f_400a,
            }
            /// 1 / (1 + e⁻ˣ)
            Sigmoid: sigmoid {
                name: "σ",
                f64: crate::math::logistic::sigmoid_f64,
                gradient: |g, _, y| g * (y * (1.0 - y)),
                source: crate::math::logistic::SIGMOID, calls: [ExpNearZero],
                fingerprint: 0x9530_a5b2_ef16_6867,
            }
            /// Arc tangent.
            Atan: atan {
                name: "atan",
                f64: f64::atan,
                gradient: |g, x, _| g / (1.0 + x * x),
                source: crate::math::atan::ATAN, calls: [],
                fingerprint: 0xca3f_2dd1_1903_399e,
            }
            /// Error function 2/√π ∫₀ˣ e^(−t²) dt.
            Erf: erf {
                name: "erf",
                f64: libm::erf,
                gradient: |g, x, _| g * (std::f64::consts::FRAC_2_SQRT_PI * (-(x * x)).exp()),
                source: crate::math::erf::ERF, calls: [Exp],
                fingerprint: 0xcd35_2690_6912_c0ec,
            }
            /// Complementary error function 1 − erf(x), accurate where it is small.
            Erfc: erfc {
                name: "erfc",
                f64: libm::erfc,
                gradient: |g, x, _| g * (-std::f64::consts::FRAC_2_SQRT_PI * (-(x * x)).exp()),
                source: crate::math::erf::ERFC, calls: [Exp],
                fingerprint: 0x20b1_4b8f_77f5_ff32,
            }
            /// Sine, x in radians.
            Sin: sin {
                name: "sin",
                f64: f64::sin,
                gradient: |g, x, _| g * x.cos(),
                source: crate::math::trigonometric::SIN, calls: [Radians],
                fingerprint: 0xabd6_d592_c7ba_c1af,
            }
            /// Cosine, x in radians.
            Cos: cos {
                name: "cos",
                f64: f64::cos,
                gradient: |g, x, _| -(g * x.sin()),
                source: crate::math::trigonometric::COS, calls: [Radians],
                fingerprint: 0x960a_165d_bdc5_a6a8,
            }
        }
    };
}
pub(crate) use elementary_functions;
