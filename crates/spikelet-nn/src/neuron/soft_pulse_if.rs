//! Integrate-and-fire of SpikingFlow's softbp.
//!
//! H[t] = V[t−1] + X[t]; backward, the reset is the soft one:
//! V_soft = v_reset·g(H − v_threshold) + H·(1 − g(H − v_threshold)).
//!
//! Source: SpikingFlow's softbp tutorial.

use super::common::base;
use super::{Common, If, Neuron, ResetGrad, Scope};
use crate::surrogate::Sigmoid;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;
use std::sync::Arc;

/// [`If`] with softbp's defaults: sigmoid with α = 1, [`ResetGrad::Soft`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SoftPulseIf {
    /// The neuron.
    #[serde(flatten)]
    pub neuron: If,
}

/// The shared constants of softbp's neurons.
pub(super) fn soft_pulse() -> Common {
    Common {
        surrogate: Arc::new(Sigmoid { alpha: 1.0 }),
        reset_grad: ResetGrad::Soft,
        ..Common::default()
    }
}

impl Default for SoftPulseIf {
    fn default() -> Self {
        let common = soft_pulse();
        Self {
            neuron: If { common },
        }
    }
}

impl Neuron for SoftPulseIf {
    base!("soft_pulse_if", neuron.common);

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        self.neuron.charge(n, x)
    }
}
