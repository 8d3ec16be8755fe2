//! Quadratic integrate-and-fire.
//!
//! τ dV/dt = a₀·(V − v_rest)·(V − v_c) + X. Discretized with a step of one:
//!
//! H[t] = V[t−1] + (X[t] + a₀·(V[t−1] − v_rest)·(V[t−1] − v_c)) / τ
//!
//! Above v_c the potential grows without input.
//!
//! Source: Gerstner et al., Neuronal Dynamics, ch. 5.3; the discretization is SpikingJelly's.

use super::common::base;
use super::{Common, Neuron, Scope};
use crate::domain::{Domain, domains};
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// Quadratic integrate-and-fire neuron.
///
/// | field | unit | default | |
/// |---|---|---|---|
/// | `tau` | steps | 2 | membrane time constant, > 1 |
/// | `v_c` | | 0.8 | critical potential |
/// | `a0` | | 1 | strength of the quadratic term, > 0 |
/// | `v_rest` | | 0 | resting potential |
/// | `v_reset` | | −0.1 | |
///
/// ```
/// use spikelet_nn::prelude::*;
/// let spikes = Qif::new(2.0).run(&[[1.0], [1.0], [1.0]])?; // H = 0.445, 0.866, 1.395
/// assert_eq!(spikes, [[0.0], [0.0], [1.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[doc(alias = "QIFNode")]
pub struct Qif {
    /// Membrane time constant, in steps.
    pub tau: f64,
    /// Critical potential.
    pub v_c: f64,
    /// Strength of the quadratic term.
    pub a0: f64,
    /// Resting potential.
    pub v_rest: f64,
    /// Threshold, reset, surrogate.
    #[serde(flatten)]
    pub common: Common,
}

impl Default for Qif {
    fn default() -> Self {
        Self::new(2.0)
    }
}

impl Qif {
    /// A neuron with time constant `tau`, in steps.
    pub fn new(tau: f64) -> Self {
        let v_reset = Some(-0.1);
        Self {
            tau,
            v_c: 0.8,
            a0: 1.0,
            v_rest: 0.0,
            common: Common {
                v_reset,
                ..Common::default()
            },
        }
    }
}

impl Neuron for Qif {
    base!("qif");
    domains! { tau: Domain::above(1.0), a0: Domain::above(0.0) }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let (v, v_rest) = (n.state("v"), n.constant("v_rest", self.v_rest));
        let (v_c, a0) = (n.constant("v_c", self.v_c), n.constant("a0", self.a0));
        let drive = x + a0 * (&v - v_rest) * (&v - v_c);
        v + drive / n.constant("tau", self.tau)
    }
}
