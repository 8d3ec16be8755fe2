//! Leaky integrate-and-fire.
//!
//! τ dV/dt = −(V − v_rest) + X. Discretized with a step of one:
//!
//! H[t] = V[t−1] + (X[t] − (V[t−1] − v_rest)) / τ, or, if the input does not decay,
//! H[t] = V[t−1] − (V[t−1] − v_rest) / τ + X[t].
//!
//! Source: SpikingFlow's softbp tutorial; Gerstner & Kistler, Spiking Neuron Models, ch. 4.

use super::common::base;
use super::{Common, Neuron, Scope};
use crate::domain::{Domain, domains};
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// Leaky integrate-and-fire neuron.
///
/// | field | unit | default | |
/// |---|---|---|---|
/// | `tau` | steps | 2 | membrane time constant, > 1 |
/// | `decay_input` | | true | whether X is divided by τ as well |
///
/// ```
/// use spikelet_nn::prelude::*;
/// let spikes = Lif::new(2.0).run(&[[0.6], [0.9], [2.0]])?; // [T, N]
/// assert_eq!(spikes, [[0.0], [0.0], [1.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[doc(alias = "LIFNode")]
pub struct Lif {
    /// Membrane time constant, in steps.
    pub tau: f64,
    /// Whether X is divided by τ as well.
    pub decay_input: bool,
    /// Threshold, reset, surrogate.
    #[serde(flatten)]
    pub common: Common,
}

impl Default for Lif {
    fn default() -> Self {
        Self::new(2.0)
    }
}

impl Lif {
    /// A neuron with time constant `tau`, in steps.
    pub fn new(tau: f64) -> Self {
        Self {
            tau,
            decay_input: true,
            common: Common::default(),
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
    base!("lif");
    domains! { tau: Domain::above(1.0) }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        self.charge_from(n, n.state("v"), x)
    }
}
