//! Leaky integrate-and-fire.

use super::{Common, Neuron, Scope};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Leaky integrate-and-fire.
///
/// τ dV/dt = −(V − v_rest) + X. Discretized with a step of one:
///
/// `H[t] = V[t−1] + (X[t] − (V[t−1] − v_rest)) / τ`, or, if the input does not decay, `H[t] = V[t−1] − (V[t−1] −
/// v_rest) / τ + X[t]`.
///
/// Source: SpikingFlow's softbp tutorial; Gerstner & Kistler, Spiking Neuron Models, ch. 4.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let spikes = Lif::new(2.0).run(&[[0.6], [0.9], [2.0]])?; // [T, N]
/// assert_eq!(spikes, [[0.0], [0.0], [1.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[doc(alias = "LIFNode")]
pub struct Lif {
    /// Membrane time constant.
    #[schema(default = 2.0, above = 1.0, unit = "steps")]
    pub tau: f64,
    /// Whether X is divided by τ as well.
    #[schema(default = true)]
    pub decay_input: bool,
    /// Threshold, reset, surrogate.
    #[schema(flatten)]
    pub common: Common,
}

impl Lif {
    /// A neuron with time constant `tau`, in steps.
    pub fn new(tau: f64) -> Self {
        Self {
            tau,
            ..Self::default()
        }
    }

    /// H for a potential V, which may differ from the state.
    pub(super) fn charge_from(&self, n: &Scope, v: Expr, x: Expr) -> Expr {
        let tau = n.constant("tau", self.tau);
        let leak = &v - n.v_rest();
        if self.decay_input {
            &v + (x - leak) / tau
        } else {
            &v - leak / tau + x
        }
    }
}

impl Neuron for Lif {
    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        self.charge_from(n, n.state("v"), x)
    }
}
