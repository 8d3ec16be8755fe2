//! Integrate-and-fire that starts at half its threshold.

use super::{Common, Neuron, Scope, State};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Integrate-and-fire that starts at half its threshold, for converted networks.
///
/// `H[t] = V[t−1] + X[t]`, soft reset, `V[0] = v_threshold/2`
///
/// The number of spikes over T steps is the sum of the inputs rounded to the nearest integer instead of rounded down.
/// Used in the conversion of non-spiking networks.
///
/// Source: Bu et al., Optimal ANN-SNN conversion for high-accuracy and ultra-low-latency spiking neural networks, ICLR
/// 2022.
///
/// ```
/// use spikelet_nn::neuron::HalfThresholdIf;
/// use spikelet_nn::prelude::*;
/// let spikes = HalfThresholdIf::default().run(&[[0.6], [0.6]])?; // H = 1.1, 0.7
/// assert_eq!(spikes, [[1.0], [0.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[schema(name = "half_threshold_if")]
pub struct HalfThresholdIf {
    /// Threshold, reset, surrogate.
    #[schema(flatten, default = Common { v_reset: None, ..Common::default() })]
    pub common: Common,
}

impl Neuron for HalfThresholdIf {
    fn states(&self) -> Vec<State> {
        vec![State::new("v", 0.5 * self.common.v_threshold)]
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        n.state("v") + x
    }
}
