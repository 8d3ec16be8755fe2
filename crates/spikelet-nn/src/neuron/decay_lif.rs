//! Leaky integrate-and-fire with an exact decay and time constants between limits.

use super::{Common, Granularity, Neuron, ResetGrad, Scope, Trainable};
use crate::surrogate::Slayer;
use spikelet_expr::Expr;
use spikelet_schema::Schema;
use std::sync::Arc;

/// Leaky integrate-and-fire with an exact decay and trained time constants between limits.
///
/// `H[t] = d·V[t−1] + (1 − d)·X[t]` with d = e^(−1/τ)
///
/// `S[t] = Θ(H[t] − v_threshold)`, which is 0 at the threshold; hard reset
///
/// τ is trained for each neuron: τ = p·τ_max + (1 − p)·τ_min, with p clamped to 0 and 1 after each update.
///
/// Source: Baronig et al., Advancing spatio-temporal processing through adaptation in spiking neural networks, Nature
/// Communications 16:5776, 2025.
///
/// ```
/// use spikelet_nn::neuron::DecayLif;
/// use spikelet_nn::prelude::*;
/// let mut lif = DecayLif { tau_u: 0.1, ..DecayLif::default() }; // H = X, nearly
/// lif.common.trainable.clear();
/// assert_eq!(lif.run(&[[0.9], [1.1], [0.0]])?, [[0.0], [1.0], [0.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[schema(name = "decay_lif")]
pub struct DecayLif {
    /// Membrane time constant (trained: 5 … 25).
    #[schema(default = 15.0, above = 0.0, unit = "steps")]
    pub tau_u: f64,
    /// Threshold, reset, surrogate.
    #[schema(flatten, default = slayer([("tau_u", between(5.0, 25.0))]))]
    pub common: Common,
}

/// One time constant for each neuron, linear between two limits and uniform before training.
pub(super) fn between(low: f64, high: f64) -> Trainable {
    let each = Trainable::new(Granularity::Neuron);
    each.interpolate(low, high).uniform(low, high)
}

/// SLAYER's surrogate, a detached hard reset, and trainable constants.
pub(super) fn slayer<const N: usize>(trainable: [(&str, Trainable); N]) -> Common {
    Common {
        surrogate: Arc::new(Slayer::default()),
        reset_grad: ResetGrad::Detach,
        strict: true,
        trainable: trainable.map(|(name, how)| (name.to_string(), how)).into(),
        ..Common::default()
    }
}

impl Neuron for DecayLif {
    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let d = (-1.0 / n.constant("tau_u", self.tau_u)).exp();
        &d * n.state("v") + (1.0 - &d) * x
    }
}
