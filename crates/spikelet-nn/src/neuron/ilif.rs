//! Integer leaky integrate-and-fire.

use super::{Common, Neuron, Scope};
use crate::surrogate::MultiLevelSpikeCount;
use spikelet_expr::Expr;
use spikelet_schema::Schema;
use std::sync::Arc;

/// Leaky integrate-and-fire with integer spike counts.
///
/// It always has a soft reset. With a surrogate of single spikes it fires one spike if H ≥ v_threshold.
///
/// `H[t] = V[t−1] − V[t−1]/τ + X[t]`
///
/// `S[t] = round(clamp(H[t]/v_threshold, 0, D))`, ties to even; `V[t] = H[t] − S[t]·v_threshold`
///
/// Source: Luo et al., Integer-valued training and spike-driven inference spiking neural network for high-performance
/// and energy-efficient object detection, ECCV 2024.
///
/// ```
/// use spikelet_nn::neuron::Ilif;
/// use spikelet_nn::prelude::*;
/// let counts = Ilif::default().run(&[[1.6], [0.5], [9.0]])?; // V = −0.4 after the first step
/// assert_eq!(counts, [[2.0], [0.0], [4.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[doc(alias = "ILIFNode")]
pub struct Ilif {
    /// Membrane time constant.
    #[schema(default = 4.0 / 3.0, above = 1.0, unit = "steps")]
    pub tau: f64,
    /// Threshold, surrogate.
    #[schema(flatten, default = Common { v_reset: None, surrogate: Arc::new(MultiLevelSpikeCount::default()), ..Common::default() })]
    pub common: Common,
}

impl Neuron for Ilif {
    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let v = n.state("v");
        &v - &v / n.constant("tau", self.tau) + x
    }

    fn fire(&self, n: &Scope, h: &Expr) -> Expr {
        let level = h / n.v_threshold();
        n.spike(if n.is_binary() { level - 1.0 } else { level })
    }

    fn reset(&self, n: &Scope, h: &Expr, s: &Expr) -> Expr {
        n.soft_reset(h, s, &n.v_threshold())
    }
}
