//! Multi-Gaussian.

use super::Surrogate;
use spikelet_expr::Expr;
use spikelet_schema::Schema;
use std::f64::consts::{SQRT_2, TAU};

/// Gaussian with slightly negative flanks.
///
/// g′(x) = γ·((1 + h)·N(x; 0, σ) − h·N(x; σ, s·σ) − h·N(x; −σ, s·σ)), with N(x; μ, σ) the normal density: slightly
/// negative away from the threshold.
///
/// g(x) = γ·((1 + h)·Φ(x/σ) − h·Φ((x − σ)/(s·σ)) − h·Φ((x + σ)/(s·σ))), with Φ the normal distribution
///
/// Source: Yin, Corradi & Bohté, Accurate and efficient time-domain classification with adaptive spiking recurrent
/// neural networks, Nature Machine Intelligence 3:905, 2021.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[schema(name = "multi_gaussian")]
pub struct MultiGaussian {
    /// Width of the center.
    #[schema(default = 0.5, above = 0.0)]
    pub sigma: f64,
    /// H, weight of the flanks.
    #[schema(default = 0.15, at_least = 0.0)]
    pub height: f64,
    /// S, width of the flanks in units of `sigma`.
    #[schema(default = 6.0, above = 0.0)]
    pub scale: f64,
    /// Factor of the gradient.
    #[schema(default = 0.5, above = 0.0)]
    pub gamma: f64,
}

impl MultiGaussian {
    /// The center and the two flanks: weight, mean and standard deviation.
    fn parts(&self) -> [[f64; 3]; 3] {
        let wide = self.scale * self.sigma;
        let flank = -self.gamma * self.height;
        [
            [self.gamma * (1.0 + self.height), 0.0, self.sigma],
            [flank, self.sigma, wide],
            [flank, -self.sigma, wide],
        ]
    }
}

/// The sum of a function of each part.
fn sum(parts: [[f64; 3]; 3], part: impl Fn([f64; 3]) -> Expr) -> Expr {
    let [center, right, left] = parts.map(part);
    center + right + left
}

impl Surrogate for MultiGaussian {
    fn derivative(&self, x: &Expr) -> Expr {
        sum(self.parts(), |[weight, mean, deviation]| {
            let z = (x - mean) / deviation;
            weight / (TAU.sqrt() * deviation) * (-0.5 * (&z * &z)).exp()
        })
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        Some(sum(self.parts(), |[weight, mean, deviation]| {
            let z = (x - mean) / (SQRT_2 * deviation);
            0.5 * weight * (1.0 + z.erf())
        }))
    }
}
