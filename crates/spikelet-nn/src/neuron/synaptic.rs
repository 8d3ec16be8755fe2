//! Second-order leaky integrate-and-fire: a synaptic current that decays, and a membrane.
//!
//! I[t] = α·I[t−1] + X[t]
//!
//! H[t] = β·V[t−1] + I[t] − S[t−1]·v_threshold, or v_reset where S[t−1] is 1; V[t] = H[t]
//!
//! The reset comes one step after the spike, as in snnTorch.
//!
//! Source: Eshraghian et al., Training spiking neural networks using lessons from deep learning,
//! Proceedings of the IEEE 111:1016, 2023 (snnTorch's `Synaptic`).

use super::common::base;
use super::{Common, Neuron, ResetGrad, Scope, State};
use crate::domain::{Domain, domains};
use crate::surrogate::Atan;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;
use std::sync::Arc;

/// Second-order leaky integrate-and-fire neuron.
///
/// | field | default | |
/// |---|---|---|
/// | `alpha` | 0.9 | decay factor of the current, 0 to 1 |
/// | `beta` | 0.8 | decay factor of the potential, 0 to 1 |
/// | `v_reset` | none | soft reset |
/// | `reset_grad` | detach | |
/// | `surrogate` | atan, α = 2 | |
///
/// ```
/// use spikelet_nn::prelude::*;
/// let spikes = Synaptic::default().run(&[[0.6], [0.0], [0.0]])?; // H = 0.6, 1.02, 0.302
/// assert_eq!(spikes, [[0.0], [1.0], [0.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Synaptic {
    /// Decay factor of the current.
    pub alpha: f64,
    /// Decay factor of the potential.
    pub beta: f64,
    /// Threshold, reset, surrogate.
    #[serde(flatten)]
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

impl Default for Synaptic {
    fn default() -> Self {
        Self {
            alpha: 0.9,
            beta: 0.8,
            common: subtracting(),
        }
    }
}

impl Neuron for Synaptic {
    base!("synaptic");
    domains! { alpha: Domain::at_least(0.0).at_most(1.0), beta: Domain::at_least(0.0).at_most(1.0) }

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
