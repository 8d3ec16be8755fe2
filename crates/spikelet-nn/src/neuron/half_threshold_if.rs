//! Integrate-and-fire that starts at half its threshold.
//!
//! H[t] = V[t−1] + X[t], soft reset, V[0] = v_threshold/2
//!
//! The number of spikes over T steps is the sum of the inputs rounded to the nearest integer instead of rounded
//! down. Used in the conversion of non-spiking networks.
//!
//! Source: Bu et al., Optimal ANN-SNN conversion for high-accuracy and ultra-low-latency spiking
//! neural networks, ICLR 2022.

use super::common::base;
use super::{Common, Neuron, Scope, State};
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// Integrate-and-fire neuron that starts at half its threshold.
///
/// | field | default | |
/// |---|---|---|
/// | `v_reset` | none | soft reset |
///
/// ```
/// use spikelet_nn::prelude::*;
/// let spikes = HalfThresholdIf::default().run(&[[0.6], [0.6]])?; // H = 1.1, 0.7
/// assert_eq!(spikes, [[1.0], [0.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HalfThresholdIf {
    /// Threshold, reset, surrogate.
    #[serde(flatten)]
    pub common: Common,
}

impl Default for HalfThresholdIf {
    fn default() -> Self {
        let v_reset = None;
        Self {
            common: Common {
                v_reset,
                ..Common::default()
            },
        }
    }
}

impl Neuron for HalfThresholdIf {
    base!("half_threshold_if");

    fn states(&self) -> Vec<State> {
        vec![State::new("v", 0.5 * self.common.v_threshold)]
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        n.state("v") + x
    }
}
