//! Leaky integrate-and-fire of SpikingFlow's softbp.
//!
//! H[t] = V[t−1] + (X[t] − (V[t−1] − v_rest)) / τ; backward, the reset is the soft one:
//! V_soft = v_reset·g(H − v_threshold) + H·(1 − g(H − v_threshold)).
//!
//! Source: SpikingFlow's softbp tutorial.

use super::common::base;
use super::{Lif, Neuron, Scope, soft_pulse_if::soft_pulse};
use crate::domain::domains;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// [`Lif`] with softbp's defaults: sigmoid with α = 1, [`ResetGrad::Soft`](super::ResetGrad::Soft), τ = 100.
///
/// | field | unit | default | |
/// |---|---|---|---|
/// | `tau` | steps | 100 | membrane time constant, > 1 |
/// | `decay_input` | | true | whether X is divided by τ as well |
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SoftPulseLif {
    /// The neuron.
    #[serde(flatten)]
    pub neuron: Lif,
}

impl Default for SoftPulseLif {
    fn default() -> Self {
        let neuron = Lif {
            common: soft_pulse(),
            ..Lif::new(100.0)
        };
        Self { neuron }
    }
}

impl Neuron for SoftPulseLif {
    base!("soft_pulse_lif", neuron.common);
    domains! { in neuron; }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        self.neuron.charge(n, x)
    }
}
