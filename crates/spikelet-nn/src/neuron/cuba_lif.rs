//! Current-based leaky integrate-and-fire.

use super::{Common, Neuron, Scope, State};
use crate::surrogate::Rect;
use spikelet_expr::Expr;
use spikelet_schema::Schema;
use std::sync::Arc;

/// Leaky integrate-and-fire with a current that decays too.
///
/// `I[t] = I[t−1]·c_decay + X[t]`, `H[t] = V[t−1]·v_decay + I[t]`
///
/// Source: Davies et al., Loihi: a neuromorphic manycore processor with on-chip learning, IEEE Micro 38:82, 2018; the
/// discretization and the defaults are SpikingJelly's.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let spikes = CubaLif::default().run(&[[0.3], [0.3]])?; // H = 0.3, 0.225 + 0.45
/// assert_eq!(spikes, [[0.0], [1.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[schema(name = "cuba_lif")]
#[doc(alias = "CubaLIFNode")]
pub struct CubaLif {
    /// Decay factor of the current.
    #[schema(default = 0.5, from = 0.0, to = 1.0)]
    pub c_decay: f64,
    /// Decay factor of the potential.
    #[schema(default = 0.75, from = 0.0, to = 1.0)]
    pub v_decay: f64,
    /// Threshold, reset, surrogate.
    #[schema(flatten, default = Common { v_threshold: 0.5, surrogate: Arc::new(Rect::default()), ..Common::default() })]
    pub common: Common,
}

impl Neuron for CubaLif {
    fn states(&self) -> Vec<State> {
        vec![State::v(&self.common), State::new("i", 0.0)]
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let current = n.state("i") * n.constant("c_decay", self.c_decay) + x;
        n.set_state("i", current.clone());
        n.state("v") * n.constant("v_decay", self.v_decay) + current
    }
}
