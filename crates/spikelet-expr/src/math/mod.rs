//! Elementary functions with the same bits on every device.
//!
//! A threshold turns the last bit of a membrane potential into a spike or no spike, so the
//! functions in front of it must not depend on whose `exp` is linked in. Each function here is a
//! short polynomial with one fixed order of operations:
//!
//! * only `+ − × ÷`, comparisons with selects, integer arithmetic on the bit pattern; never a
//!   fused multiply-add, never the platform's mathematics library;
//! * no branches, so a loop over a slice becomes SIMD code, and no tables;
//! * subnormal numbers are numbers: a device has to run with them switched on (CUDA's default,
//!   `--ftz=false`, together with `--fmad=false --prec-div=true --prec-sqrt=true`).
//!
//! A function transcribed operation by operation to another language therefore gives the same
//! bits. The one thing left open is which NaN is returned: that a result *is* NaN is part of the
//! contract, its sign and payload are not.
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
//! The polynomials are minimax fits (Remez exchange in 50-digit arithmetic) made for this
//! project, their coefficients rounded to the working type one after the other and the remaining
//! ones fitted again after each rounding.
//!
//! ```
//! use spikelet_expr::math;
//!
//! assert_eq!(math::exp(0.0), 1.0);
//! assert_eq!(math::sigmoid(0.0), 0.5);
//! assert_eq!(math::pow(-2.0, 3.0), -8.0);
//! ```

mod atan;
mod bits;
mod erf;
mod erf64;
mod exponential;
#[cfg(test)]
mod fingerprint;
mod logarithm;
mod logistic;
mod power;
mod real;
mod trigonometric;
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
