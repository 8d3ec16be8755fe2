//! Exponential integrate-and-fire.
//!
//! τ dV/dt = −(V − v_rest) + Δ_T·exp((V − θ_rh)/Δ_T) + X. Discretized with a step of one:
//!
//! H[t] = V[t−1] + (X[t] + v_rest − V[t−1] + Δ_T·exp((V[t−1] − θ_rh)/Δ_T)) / τ
//!
//! Source: Fourcaud-Trocmé et al., How spike generation mechanisms determine the neuronal response
//! to fluctuating inputs, Journal of Neuroscience 23:11628, 2003; the discretization is
//! SpikingJelly's.

use super::common::base;
use super::{Common, Neuron, Scope};
use crate::domain::{Domain, domains};
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// Exponential integrate-and-fire neuron.
///
/// | field | unit | default | |
/// |---|---|---|---|
/// | `tau` | steps | 2 | membrane time constant, > 1 |
/// | `delta_t` | | 1 | sharpness of the onset of a spike, > 0 |
/// | `theta_rh` | | 0.8 | rheobase threshold, where the onset begins |
/// | `v_rest` | | 0 | resting potential |
/// | `v_reset` | | −0.1 | |
///
/// ```
/// use spikelet_nn::prelude::*;
/// let spikes = Eif::new(2.0).run(&[[0.5], [0.5], [0.5]])?; // H = 0.403, 0.788, 1.138
/// assert_eq!(spikes, [[0.0], [0.0], [1.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[doc(alias = "EIFNode")]
pub struct Eif {
    /// Membrane time constant, in steps.
    pub tau: f64,
    /// Sharpness of the onset of a spike.
    pub delta_t: f64,
    /// Rheobase threshold.
    pub theta_rh: f64,
    /// Resting potential.
    pub v_rest: f64,
    /// Threshold, reset, surrogate.
    #[serde(flatten)]
    pub common: Common,
}

impl Default for Eif {
    fn default() -> Self {
        Self::new(2.0)
    }
}

impl Eif {
    /// A neuron with time constant `tau`, in steps.
    pub fn new(tau: f64) -> Self {
        let v_reset = Some(-0.1);
        Self {
            tau,
            delta_t: 1.0,
            theta_rh: 0.8,
            v_rest: 0.0,
            common: Common {
                v_reset,
                ..Common::default()
            },
        }
    }
}

impl Neuron for Eif {
    base!("eif");
    domains! { tau: Domain::above(1.0), delta_t: Domain::above(0.0) }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let (v, v_rest) = (n.state("v"), n.constant("v_rest", self.v_rest));
        let delta_t = n.constant("delta_t", self.delta_t);
        let theta_rh = n.constant("theta_rh", self.theta_rh);
        let onset = &delta_t * ((&v - theta_rh) / &delta_t).exp();
        &v + (x + v_rest - &v + onset) / n.constant("tau", self.tau)
    }
}
