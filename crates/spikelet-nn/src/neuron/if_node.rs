//! Integrate-and-fire.
//!
//! H[t] = V[t−1] + X[t]
//!
//! Source: SpikingFlow's softbp tutorial.

use super::common::base;
use super::{Common, Neuron, Scope};
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// Integrate-and-fire neuron: an ideal integrator, its potential does not leak.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let spikes = If::new().run(&[[0.6], [0.6], [0.6]])?; // [T, N]
/// assert_eq!(spikes, [[0.0], [1.0], [0.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[doc(alias = "IFNode")]
pub struct If {
    /// Threshold, reset, surrogate.
    #[serde(flatten)]
    pub common: Common,
}

impl If {
    /// A neuron with the defaults of [`Common`].
    pub fn new() -> Self {
        Self::default()
    }
}

impl Neuron for If {
    base!("if");

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        n.state("v") + x
    }
}
