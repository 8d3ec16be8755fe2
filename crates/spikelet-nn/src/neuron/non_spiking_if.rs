//! Integrator that never fires: for the readout of a membrane.
//!
//! V[t] = V[t−1] + X[t]; the output is V, or one value for all time steps.
//!
//! Source: SpikingJelly's `NonSpikingIFNode`; as an output layer, Lee et al., Enabling spike-based
//! backpropagation for training deep neural network architectures, Frontiers in Neuroscience
//! 14:119, 2020.

use super::common::base;
use super::readout::membrane;
use super::{Common, Neuron, Readout, Scope};
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// Integrator that never fires.
///
/// | field | default | |
/// |---|---|---|
/// | `readout` | none | last, max, max_abs or mean over time; none: every step is returned |
///
/// ```
/// use spikelet_nn::prelude::*;
/// let v = NonSpikingIf::default().run(&[[0.5], [0.75]])?;
/// assert_eq!(v, [[0.5], [1.25]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[doc(alias = "NonSpikingIFNode")]
pub struct NonSpikingIf {
    /// The readout of the membrane over time.
    pub readout: Option<Readout>,
    /// V starts from `v_reset`; the other fields are unused.
    #[serde(flatten)]
    pub common: Common,
}

impl Neuron for NonSpikingIf {
    base!("non_spiking_if");
    membrane!();

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        n.state("v") + x
    }
}
