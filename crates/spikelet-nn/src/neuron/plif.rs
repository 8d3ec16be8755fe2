//! Leaky integrate-and-fire with a trainable time constant.
//!
//! 1/τ = σ(w) in the two forms of the leaky integrate-and-fire neuron:
//!
//! H[t] = V[t−1] + (X[t] − (V[t−1] − v_rest))·σ(w), or, if the input does not decay,
//! H[t] = V[t−1] − (V[t−1] − v_rest)·σ(w) + X[t].
//!
//! Source: Fang et al., Incorporating Learnable Membrane Time Constant to Enhance Learning of
//! Spiking Neural Networks, ICCV 2021.

use super::common::base;
use super::{Common, Granularity, Neuron, Param, Scope};
use crate::domain::{Domain, domains};
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// Parametric leaky integrate-and-fire neuron.
///
/// | field | unit | default | |
/// |---|---|---|---|
/// | `init_tau` | steps | 2 | time constant before training, > 1 |
/// | `decay_input` | | true | whether X is scaled by σ(w) as well |
/// | `granularity` | | layer | one w for the layer, each channel or each neuron |
#[derive(Clone, Debug, Serialize, Deserialize)]
#[doc(alias = "ParametricLIFNode")]
pub struct Plif {
    /// The initial time constant in steps; the initial w is −ln(init_tau − 1).
    pub init_tau: f64,
    /// Whether X is multiplied by σ(w) too.
    pub decay_input: bool,
    /// Granularity of w.
    pub granularity: Granularity,
    /// Threshold, reset, surrogate.
    #[serde(flatten)]
    pub common: Common,
}

impl Default for Plif {
    fn default() -> Self {
        Self::new(2.0)
    }
}

impl Plif {
    /// A neuron whose time constant starts at `init_tau` steps.
    pub fn new(init_tau: f64) -> Self {
        Self {
            init_tau,
            decay_input: true,
            granularity: Granularity::Layer,
            common: Common::default(),
        }
    }
}

impl Neuron for Plif {
    base!("plif");
    domains! { init_tau: Domain::above(1.0) }

    fn params(&self) -> Vec<Param> {
        let init = -(self.init_tau - 1.0).ln();
        vec![Param::new("w", init, self.granularity)]
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let (v, rate) = (n.state("v"), n.param("w").sigmoid());
        let leak = &v - n.v_rest();
        if self.decay_input {
            &v + (x - leak) * rate
        } else {
            &v - leak * rate + x
        }
    }
}
