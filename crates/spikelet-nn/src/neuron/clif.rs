//! Complementary leaky integrate-and-fire.

use super::{Common, Neuron, Scope, State};
use crate::surrogate::Rect;
use spikelet_expr::Expr;
use spikelet_schema::Schema;
use std::sync::Arc;

/// Leaky integrate-and-fire with a complementary potential for gradients.
///
/// It always has a soft reset.
///
/// `H[t] = V[t−1] − V[t−1]/τ + X[t]`
///
/// `M[t] = M[t−1]·σ(H[t]/τ) + S[t]`, `V[t] = H[t] − S[t]·(v_threshold + σ(M[t]))`
///
/// M accumulates the part of V that decays, so that gradients reach further back in time.
///
/// Source: Huang et al., CLIF: complementary leaky integrate-and-fire neuron for spiking neural networks, ICML 2024.
///
/// ```
/// use spikelet_nn::neuron::Clif;
/// use spikelet_nn::prelude::*;
/// let spikes = Clif::new(2.0).run(&[[1.5], [1.0], [1.0]])?; // V = −0.231 after the first step
/// assert_eq!(spikes, [[1.0], [0.0], [1.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[doc(alias = "CLIFNode")]
pub struct Clif {
    /// Membrane time constant.
    #[schema(default = 2.0, above = 1.0, unit = "steps")]
    pub tau: f64,
    /// Threshold, surrogate.
    #[schema(flatten, default = Common { v_reset: None, surrogate: Arc::new(Rect::default()), ..Common::default() })]
    pub common: Common,
}

impl Clif {
    /// A neuron with time constant `tau`, in steps.
    pub fn new(tau: f64) -> Self {
        Self {
            tau,
            ..Self::default()
        }
    }
}

impl Neuron for Clif {
    fn states(&self) -> Vec<State> {
        vec![State::v(&self.common), State::new("m", 0.0)]
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let v = n.state("v");
        &v - &v / n.constant("tau", self.tau) + x
    }

    fn reset(&self, n: &Scope, h: &Expr, s: &Expr) -> Expr {
        let m = n.state("m") * (h / n.constant("tau", self.tau)).sigmoid() + s;
        n.set_state("m", m.clone());
        n.soft_reset(h, s, &(n.v_threshold() + m.sigmoid()))
    }
}
