//! Fourier series of a square wave.
//!
//! g(x) = ½ + (2/π) Σ sin((2i − 1)2πx/T) / (2i − 1), g′(x) = (4/T) Σ cos((2i − 1)2πx/T),
//! both for i from 1 to n − 1
//!
//! Source: SpikingJelly, `surrogate.SquarewaveFourierSeries`.

use super::Surrogate;
use crate::domain::{Domain, domains};
use crate::registry::spec;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;
use std::f64::consts::{FRAC_1_PI, TAU};

/// The maximal number of terms: more would not compile in reasonable time.
const MOST_TERMS: u32 = 256;

/// The first terms of the Fourier series of a square wave.
///
/// | field | default | |
/// |---|---|---|
/// | `n` | 2 | number of terms plus one |
/// | `t_period` | 8 | period T of the wave |
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SquarewaveFourierSeries {
    /// Number of terms plus one.
    pub n: u32,
    /// Period T of the wave.
    pub t_period: f64,
}

impl Default for SquarewaveFourierSeries {
    fn default() -> Self {
        Self {
            n: 2,
            t_period: 8.0,
        }
    }
}

impl Surrogate for SquarewaveFourierSeries {
    spec!("squarewave_fourier_series");
    domains! { n: Domain::whole(1, MOST_TERMS), t_period: Domain::above(0.0) }

    fn derivative(&self, x: &Expr) -> Expr {
        let turns = self.turns(x);
        let sum = self.sum(|k| (&turns * (k * TAU)).cos());
        (4.0 / self.t_period) * sum
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        let turns = self.turns(x);
        let sum = self.sum(|k| (&turns * (k * TAU)).sin() / k);
        Some(0.5 + (2.0 * FRAC_1_PI) * sum)
    }
}

impl SquarewaveFourierSeries {
    /// The fractional part of x in periods, so that angles are small and accurate.
    fn turns(&self, x: &Expr) -> Expr {
        let turns = x / self.t_period;
        &turns - turns.round()
    }

    /// The sum of `term` over the odd harmonics k = 1, 3, ….
    fn sum(&self, term: impl Fn(f64) -> Expr) -> Expr {
        (1..self.n).fold(Expr::constant(0.0), |sum, i| {
            sum + term(2.0 * f64::from(i) - 1.0)
        })
    }
}
