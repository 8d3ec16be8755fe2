//! Leaky integrator that never fires: for the readout of a membrane.

use super::readout::membrane;
use super::{Lif, Neuron, Readout, Scope};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Leaky integrator that never fires: for the readout of a membrane.
///
/// V is charged as in the leaky integrate-and-fire neuron; the output is V, or one value for all time steps.
///
/// In Rust `tau` and `decay_input` are fields of `neuron`, a [`Lif`]: `NonSpikingLif { neuron: Lif::new(30.0),
/// ..NonSpikingLif::default() }`. In files they are on the same level as the others.
///
/// Source: SpikingJelly's `NonSpikingLIFNode`; as an output layer, Bellec et al., Long short-term memory and
/// learning-to-learn in networks of spiking neurons, NeurIPS 2018.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let v = NonSpikingLif::default().run(&[[0.5], [0.75]])?;
/// assert_eq!(v, [[0.25], [0.5]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[schema(name = "non_spiking_lif")]
#[doc(alias = "NonSpikingLIFNode")]
pub struct NonSpikingLif {
    /// The neuron that charges; its threshold and surrogate do not matter.
    #[schema(flatten)]
    pub neuron: Lif,
    /// Last, max, max_abs or mean over time; none: every step is returned.
    pub readout: Option<Readout>,
}

impl Neuron for NonSpikingLif {
    membrane!();

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        self.neuron.charge(n, x)
    }
}
