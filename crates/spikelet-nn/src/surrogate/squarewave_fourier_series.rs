//! Fourier series of a square wave.

use super::Surrogate;
use spikelet_expr::Expr;
use spikelet_schema::Schema;
use std::f64::consts::{FRAC_1_PI, TAU};

/// The maximal number of terms: more would not compile in reasonable time.
const MOST_TERMS: u32 = 256;

/// First terms of the Fourier series of a square wave.
///
/// g(x) = ½ + (2/π) Σ sin((2i − 1)2πx/T) / (2i − 1), g′(x) = (4/T) Σ cos((2i − 1)2πx/T), both for i from 1 to n − 1
///
/// Source: SpikingJelly, `surrogate.SquarewaveFourierSeries`.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[schema(name = "squarewave_fourier_series")]
pub struct SquarewaveFourierSeries {
    /// Number of terms plus one.
    #[schema(default = 2, from = 1, to = MOST_TERMS)]
    pub n: u32,
    /// Period T of the wave.
    #[schema(default = 8.0, above = 0.0)]
    pub t_period: f64,
}

impl Surrogate for SquarewaveFourierSeries {
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
