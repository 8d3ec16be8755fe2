//! Integrate-and-fire.

use super::{Common, Neuron, Scope};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Integrate-and-fire.
///
/// `H[t] = V[t−1] + X[t]`
///
/// Source: SpikingFlow's softbp tutorial.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let spikes = If::new().run(&[[0.6], [0.6], [0.6]])?; // [T, N]
/// assert_eq!(spikes, [[0.0], [1.0], [0.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[doc(alias = "IFNode")]
pub struct If {
    /// Threshold, reset, surrogate.
    #[schema(flatten)]
    pub common: Common,
}

impl If {
    /// A neuron with the defaults of [`Common`].
    pub fn new() -> Self {
        Self::default()
    }
}

impl Neuron for If {
    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        n.state("v") + x
    }
}
