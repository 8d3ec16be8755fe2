//! Second-order leaky integrate-and-fire: a synaptic current that decays, and a membrane.

use super::{Common, Neuron, ResetGrad, Scope, State};
use crate::surrogate::Atan;
use spikelet_expr::Expr;
use spikelet_schema::Schema;
use std::sync::Arc;

/// Leaky integrate-and-fire with a synaptic current, as in snnTorch.
///
/// `I[t] = α·I[t−1] + X[t]`
///
/// `H[t] = β·V[t−1] + I[t] − S[t−1]·v_threshold`, or v_reset where `S[t−1]` is 1; `V[t] = H[t]`
///
/// The reset comes one step after the spike, as in snnTorch.
///
/// Source: Eshraghian et al., Training spiking neural networks using lessons from deep learning, Proceedings of the
/// IEEE 111:1016, 2023 (snnTorch's `Synaptic`).
///
/// ```
/// use spikelet_nn::neuron::Synaptic;
/// use spikelet_nn::prelude::*;
/// let spikes = Synaptic::default().run(&[[0.6], [0.0], [0.0]])?; // H = 0.6, 1.02, 0.302
/// assert_eq!(spikes, [[0.0], [1.0], [0.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
pub struct Synaptic {
    /// Decay factor of the current.
    #[schema(default = 0.9, from = 0.0, to = 1.0)]
    pub alpha: f64,
    /// Decay factor of the potential.
    #[schema(default = 0.8, from = 0.0, to = 1.0)]
    pub beta: f64,
    /// Threshold, reset, surrogate.
    #[schema(flatten, default = subtracting())]
    pub common: Common,
}

/// The shared constants of snnTorch's neurons.
pub(super) fn subtracting() -> Common {
    Common {
        v_reset: None,
        reset_grad: ResetGrad::Detach,
        surrogate: Arc::new(Atan::default()),
        ..Common::default()
    }
}

impl Neuron for Synaptic {
    fn states(&self) -> Vec<State> {
        let rest = ["syn", "fired"].map(|name| State::new(name, 0.0));
        [vec![State::v(&self.common)], rest.to_vec()].concat()
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let current = n.constant("alpha", self.alpha) * n.state("syn") + x;
        n.set_state("syn", current.clone());
        let charged = n.constant("beta", self.beta) * n.state("v") + current;
        n.reset(&charged, &n.state("fired"))
    }

    fn reset(&self, n: &Scope, h: &Expr, s: &Expr) -> Expr {
        n.set_state("fired", s.clone());
        h.clone()
    }
}
