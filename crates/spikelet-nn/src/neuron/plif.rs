//! Leaky integrate-and-fire with a trainable time constant.

use super::{Common, Granularity, Neuron, Param, Scope};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Leaky integrate-and-fire with a trainable time constant.
///
/// 1/τ = σ(w) in the two forms of the leaky integrate-and-fire neuron:
///
/// `H[t] = V[t−1] + (X[t] − (V[t−1] − v_rest))·σ(w)`, or, if the input does not decay, `H[t] = V[t−1] − (V[t−1] −
/// v_rest)·σ(w) + X[t]`.
///
/// Source: Fang et al., Incorporating Learnable Membrane Time Constant to Enhance Learning of Spiking Neural Networks,
/// ICCV 2021.
#[derive(Clone, Debug, Schema)]
#[doc(alias = "ParametricLIFNode")]
pub struct Plif {
    /// Time constant before training.
    #[schema(default = 2.0, above = 1.0, unit = "steps")]
    pub init_tau: f64,
    /// Whether X is scaled by σ(w) as well.
    #[schema(default = true)]
    pub decay_input: bool,
    /// One w for the layer, each channel or each neuron.
    pub granularity: Granularity,
    /// Threshold, reset, surrogate.
    #[schema(flatten)]
    pub common: Common,
}

impl Plif {
    /// A neuron whose time constant starts at `init_tau` steps.
    pub fn new(init_tau: f64) -> Self {
        Self {
            init_tau,
            ..Self::default()
        }
    }
}

impl Neuron for Plif {
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
