//! Exponential integrate-and-fire.

use super::{Common, Neuron, Scope};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Exponential integrate-and-fire.
///
/// τ dV/dt = −(V − v_rest) + Δ_T·exp((V − θ_rh)/Δ_T) + X. Discretized with a step of one:
///
/// `H[t] = V[t−1] + (X[t] + v_rest − V[t−1] + Δ_T·exp((V[t−1] − θ_rh)/Δ_T)) / τ`
///
/// Source: Fourcaud-Trocmé et al., How spike generation mechanisms determine the neuronal response to fluctuating
/// inputs, Journal of Neuroscience 23:11628, 2003; the discretization is SpikingJelly's.
///
/// ```
/// use spikelet_nn::neuron::Eif;
/// use spikelet_nn::prelude::*;
/// let spikes = Eif::new(2.0).run(&[[0.5], [0.5], [0.5]])?; // H = 0.403, 0.788, 1.138
/// assert_eq!(spikes, [[0.0], [0.0], [1.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[doc(alias = "EIFNode")]
pub struct Eif {
    /// Membrane time constant.
    #[schema(default = 2.0, above = 1.0, unit = "steps")]
    pub tau: f64,
    /// Sharpness of the onset of a spike.
    #[schema(default = 1.0, above = 0.0)]
    pub delta_t: f64,
    /// Rheobase threshold, where the onset begins.
    #[schema(default = 0.8)]
    pub theta_rh: f64,
    /// Resting potential.
    pub v_rest: f64,
    /// Threshold, reset, surrogate.
    #[schema(flatten, default = Common { v_reset: Some(-0.1), ..Common::default() })]
    pub common: Common,
}

impl Eif {
    /// A neuron with time constant `tau`, in steps.
    pub fn new(tau: f64) -> Self {
        Self {
            tau,
            ..Self::default()
        }
    }
}

impl Neuron for Eif {
    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let (v, v_rest) = (n.state("v"), n.constant("v_rest", self.v_rest));
        let delta_t = n.constant("delta_t", self.delta_t);
        let theta_rh = n.constant("theta_rh", self.theta_rh);
        let onset = &delta_t * ((&v - theta_rh) / &delta_t).exp();
        &v + (x + v_rest - &v + onset) / n.constant("tau", self.tau)
    }
}
