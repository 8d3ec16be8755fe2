//! Multi-Gaussian.
//!
//! g′(x) = γ·((1 + h)·N(x; 0, σ) − h·N(x; σ, s·σ) − h·N(x; −σ, s·σ)), with N(x; μ, σ) the normal density: slightly
//! negative away from the threshold.
//!
//! g(x) = γ·((1 + h)·Φ(x/σ) − h·Φ((x − σ)/(s·σ)) − h·Φ((x + σ)/(s·σ))), with Φ the normal distribution
//!
//! Source: Yin, Corradi & Bohté, Accurate and efficient time-domain classification with adaptive spiking recurrent
//! neural networks, Nature Machine Intelligence 3:905, 2021.

use super::Surrogate;
use crate::domain::{Domain, domains};
use crate::registry::spec;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;
use std::f64::consts::{SQRT_2, TAU};

/// A Gaussian with negative flanks.
///
/// | field | default | |
/// |---|---|---|
/// | `sigma` | 0.5 | width of the center |
/// | `height` | 0.15 | h, weight of the flanks |
/// | `scale` | 6 | s, width of the flanks in units of `sigma` |
/// | `gamma` | 0.5 | factor of the gradient |
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MultiGaussian {
    /// Width of the center.
    pub sigma: f64,
    /// Weight of the flanks.
    pub height: f64,
    /// Width of the flanks in units of `sigma`.
    pub scale: f64,
    /// Factor of the gradient.
    pub gamma: f64,
}

impl Default for MultiGaussian {
    fn default() -> Self {
        Self {
            sigma: 0.5,
            height: 0.15,
            scale: 6.0,
            gamma: 0.5,
        }
    }
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
    spec!("multi_gaussian");
    domains! {
        sigma: Domain::above(0.0),
        height: Domain::at_least(0.0),
        scale: Domain::above(0.0),
        gamma: Domain::above(0.0),
    }

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
