//! Adaptive leaky integrate-and-fire: its threshold rises with each spike.
//!
//! H[t] = e^(−1/τ)·V[t−1] + (1 − e^(−1/τ))·X[t]
//!
//! S[t] = Θ(H[t] − B[t]) with B[t] = v_threshold + β·A[t−1]
//!
//! A[t] = e^(−1/τ_a)·A[t−1] + (1 − e^(−1/τ_a))·S[t]; the soft reset subtracts B[t].
//!
//! Source: Bellec et al., Long short-term memory and learning-to-learn in networks of spiking
//! neurons, NeurIPS 2018.

use super::common::base;
use super::{Common, Neuron, Scope, State};
use crate::domain::{Domain, domains};
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// Adaptive leaky integrate-and-fire neuron.
///
/// | field | unit | default | |
/// |---|---|---|---|
/// | `tau` | steps | 20 | membrane time constant |
/// | `tau_a` | steps | 200 | time constant of the adaptation |
/// | `beta` | | 1.8 | increase of the threshold per unit of adaptation |
/// | `v_reset` | | none | soft reset |
///
/// ```
/// use spikelet_nn::prelude::*;
/// let adapting = Alif { tau: 0.1, tau_a: 2.0, ..Alif::default() }; // H = X, nearly
/// assert_eq!(adapting.run(&[[1.5], [1.5], [1.9]])?, [[1.0], [0.0], [1.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Alif {
    /// Membrane time constant, in steps.
    pub tau: f64,
    /// Time constant of the adaptation, in steps.
    pub tau_a: f64,
    /// Increase of the threshold per unit of adaptation.
    pub beta: f64,
    /// Threshold, reset, surrogate.
    #[serde(flatten)]
    pub common: Common,
}

impl Default for Alif {
    fn default() -> Self {
        let v_reset = None;
        Self {
            tau: 20.0,
            tau_a: 200.0,
            beta: 1.8,
            common: Common {
                v_reset,
                ..Common::default()
            },
        }
    }
}

impl Alif {
    /// B, the threshold of the current step.
    fn threshold(&self, n: &Scope) -> Expr {
        n.v_threshold() + n.constant("beta", self.beta) * n.state("a")
    }
}

impl Neuron for Alif {
    base!("alif");
    domains! { tau: Domain::above(0.0), tau_a: Domain::above(0.0) }

    fn states(&self) -> Vec<State> {
        vec![State::v(&self.common), State::new("a", 0.0)]
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let kept = (-1.0 / n.constant("tau", self.tau)).exp();
        &kept * n.state("v") + (1.0 - &kept) * x
    }

    fn fire(&self, n: &Scope, h: &Expr) -> Expr {
        n.spike(h - self.threshold(n))
    }

    fn reset(&self, n: &Scope, h: &Expr, s: &Expr) -> Expr {
        let kept = (-1.0 / n.constant("tau_a", self.tau_a)).exp();
        n.set_state("a", &kept * n.state("a") + (1.0 - &kept) * s);
        n.reset_by(h, s, &self.threshold(n))
    }
}
