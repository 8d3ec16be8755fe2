//! Adaptive exponential integrate-and-fire.

use super::{Common, Neuron, Scope, State};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Exponential integrate-and-fire with an adaptation current.
///
/// τ dV/dt = v_rest − V + Δ_T·exp((V − θ_rh)/Δ_T) − W + X, τ_w dW/dt = a·(V − v_rest) − W, and W grows by b with each
/// spike. Discretized with a step of dt:
///
/// `H[t] = V[t−1] + dt/τ·(v_rest − V[t−1] + Δ_T·exp((V[t−1] − θ_rh)/Δ_T) − W[t−1] + X[t])`
///
/// `W[t] = W[t−1] + dt/τ_w·(a·(V[t−1] − v_rest) − W[t−1]) + b·S[t]`
///
/// The defaults are the paper's, with time in ms and potentials counted from rest (−70.6 mV) in units of the distance
/// to the rheobase threshold (−50.4 mV). Without the exponential term and the adaptation, X = 1 would charge V to that
/// threshold.
///
/// `v_threshold` is where a spike that has begun is counted.
///
/// Source: Brette & Gerstner, Adaptive exponential integrate-and-fire model as an effective description of neuronal
/// activity, Journal of Neurophysiology 94:3637, 2005.
///
/// ```
/// use spikelet_nn::neuron::Adex;
/// use spikelet_nn::prelude::*;
/// let spikes = Adex::default().run(&[[10.0], [10.0], [10.0]])?; // H = 1.07, then 1.9 and more
/// assert_eq!(spikes, [[0.0], [1.0], [0.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
pub struct Adex {
    /// Membrane time constant.
    #[schema(default = 9.37, above = 0.0, unit = "ms")]
    pub tau: f64,
    /// Sharpness of the onset of a spike.
    #[schema(default = 0.099, above = 0.0)]
    pub delta_t: f64,
    /// Rheobase threshold, where the onset begins.
    #[schema(default = 1.0)]
    pub theta_rh: f64,
    /// Resting potential.
    pub v_rest: f64,
    /// Time constant of the adaptation.
    #[schema(default = 144.0, above = 0.0, unit = "ms")]
    pub tau_w: f64,
    /// Coupling of the adaptation to the potential.
    #[schema(default = 0.133)]
    pub a: f64,
    /// Increment of the adaptation at each spike.
    #[schema(default = 0.133)]
    pub b: f64,
    /// Length of a step.
    #[schema(default = 1.0, above = 0.0, unit = "ms")]
    pub dt: f64,
    /// Threshold, reset, surrogate.
    #[schema(flatten, default = Common { v_threshold: 2.0, ..Common::default() })]
    pub common: Common,
}

impl Neuron for Adex {
    fn states(&self) -> Vec<State> {
        vec![State::v(&self.common), State::new("w", 0.0)]
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let (v, v_rest) = (n.state("v"), n.constant("v_rest", self.v_rest));
        let delta_t = n.constant("delta_t", self.delta_t);
        let theta_rh = n.constant("theta_rh", self.theta_rh);
        let onset = &delta_t * ((&v - theta_rh) / &delta_t).exp();
        let rate = n.constant("dt", self.dt) / n.constant("tau", self.tau);
        &v + rate * (v_rest - &v + onset - n.state("w") + x)
    }

    fn reset(&self, n: &Scope, h: &Expr, s: &Expr) -> Expr {
        let (w, v_rest) = (n.state("w"), n.constant("v_rest", self.v_rest));
        let (a, b) = (n.constant("a", self.a), n.constant("b", self.b));
        let rate = n.constant("dt", self.dt) / n.constant("tau_w", self.tau_w);
        let followed = &w + rate * (a * (n.state("v") - v_rest) - &w);
        n.set_state("w", followed + b * s);
        n.reset(h, s)
    }
}
