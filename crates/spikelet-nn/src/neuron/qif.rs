//! Quadratic integrate-and-fire.

use super::{Common, Neuron, Scope};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Quadratic integrate-and-fire.
///
/// τ dV/dt = a₀·(V − v_rest)·(V − v_c) + X. Discretized with a step of one:
///
/// `H[t] = V[t−1] + (X[t] + a₀·(V[t−1] − v_rest)·(V[t−1] − v_c)) / τ`
///
/// Above v_c the potential grows without input.
///
/// Source: Gerstner et al., Neuronal Dynamics, ch. 5.3; the discretization is SpikingJelly's.
///
/// ```
/// use spikelet_nn::neuron::Qif;
/// use spikelet_nn::prelude::*;
/// let spikes = Qif::new(2.0).run(&[[1.0], [1.0], [1.0]])?; // H = 0.445, 0.866, 1.395
/// assert_eq!(spikes, [[0.0], [0.0], [1.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[doc(alias = "QIFNode")]
pub struct Qif {
    /// Membrane time constant.
    #[schema(default = 2.0, above = 1.0, unit = "steps")]
    pub tau: f64,
    /// Critical potential.
    #[schema(default = 0.8)]
    pub v_c: f64,
    /// Strength of the quadratic term.
    #[schema(default = 1.0, above = 0.0)]
    pub a0: f64,
    /// Resting potential.
    pub v_rest: f64,
    /// Threshold, reset, surrogate.
    #[schema(flatten, default = Common { v_reset: Some(-0.1), ..Common::default() })]
    pub common: Common,
}

impl Qif {
    /// A neuron with time constant `tau`, in steps.
    pub fn new(tau: f64) -> Self {
        Self {
            tau,
            ..Self::default()
        }
    }
}

impl Neuron for Qif {
    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let (v, v_rest) = (n.state("v"), n.constant("v_rest", self.v_rest));
        let (v_c, a0) = (n.constant("v_c", self.v_c), n.constant("a0", self.a0));
        let drive = x + a0 * (&v - v_rest) * (&v - v_c);
        v + drive / n.constant("tau", self.tau)
    }
}
