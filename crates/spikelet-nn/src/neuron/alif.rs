//! Adaptive leaky integrate-and-fire: its threshold rises with each spike.

use super::{Common, Neuron, Scope, State};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Leaky integrate-and-fire whose threshold rises with each spike.
///
/// `H[t] = e^(−1/τ)·V[t−1] + (1 − e^(−1/τ))·X[t]`
///
/// `S[t] = Θ(H[t] − B[t])` with `B[t] = v_threshold + β·A[t−1]`
///
/// `A[t] = e^(−1/τ_a)·A[t−1] + (1 − e^(−1/τ_a))·S[t]`; the soft reset subtracts `B[t]`.
///
/// Source: Bellec et al., Long short-term memory and learning-to-learn in networks of spiking neurons, NeurIPS 2018.
///
/// ```
/// use spikelet_nn::neuron::Alif;
/// use spikelet_nn::prelude::*;
/// let adapting = Alif { tau: 0.1, tau_a: 2.0, ..Alif::default() }; // H = X, nearly
/// assert_eq!(adapting.run(&[[1.5], [1.5], [1.9]])?, [[1.0], [0.0], [1.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
pub struct Alif {
    /// Membrane time constant.
    #[schema(default = 20.0, above = 0.0, unit = "steps")]
    pub tau: f64,
    /// Time constant of the adaptation.
    #[schema(default = 200.0, above = 0.0, unit = "steps")]
    pub tau_a: f64,
    /// Increase of the threshold per unit of adaptation.
    #[schema(default = 1.8)]
    pub beta: f64,
    /// Threshold, reset, surrogate.
    #[schema(flatten, default = Common { v_reset: None, ..Common::default() })]
    pub common: Common,
}

impl Alif {
    /// B, the threshold of the current step.
    fn threshold(&self, n: &Scope) -> Expr {
        n.v_threshold() + n.constant("beta", self.beta) * n.state("a")
    }
}

impl Neuron for Alif {
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
