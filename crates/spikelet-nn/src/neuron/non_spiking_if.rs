//! Integrator that never fires: for the readout of a membrane.

use super::readout::membrane;
use super::{Common, Neuron, Readout, Scope};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Integrator that never fires: for the readout of a membrane.
///
/// `V[t] = V[t−1] + X[t]`; the output is V, or one value for all time steps.
///
/// Source: SpikingJelly's `NonSpikingIFNode`; as an output layer, Lee et al., Enabling spike-based backpropagation for
/// training deep neural network architectures, Frontiers in Neuroscience 14:119, 2020.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let v = NonSpikingIf::default().run(&[[0.5], [0.75]])?;
/// assert_eq!(v, [[0.5], [1.25]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[schema(name = "non_spiking_if")]
#[doc(alias = "NonSpikingIFNode")]
pub struct NonSpikingIf {
    /// Last, max, max_abs or mean over time; none: every step is returned.
    pub readout: Option<Readout>,
    /// V starts from `v_reset`; the other fields are unused.
    #[schema(flatten)]
    pub common: Common,
}

impl Neuron for NonSpikingIf {
    membrane!();

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        n.state("v") + x
    }
}
