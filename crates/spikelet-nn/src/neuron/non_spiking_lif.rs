//! Leaky integrator that never fires: for the readout of a membrane.
//!
//! V is charged as in the leaky integrate-and-fire neuron; the output is V, or one value for all
//! time steps.
//!
//! Source: SpikingJelly's `NonSpikingLIFNode`; as an output layer, Bellec et al., Long short-term
//! memory and learning-to-learn in networks of spiking neurons, NeurIPS 2018.

use super::common::base;
use super::readout::membrane;
use super::{Lif, Neuron, Readout, Scope};
use crate::domain::domains;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// Leaky integrator that never fires.
///
/// | field | unit | default | |
/// |---|---|---|---|
/// | `tau` | steps | 2 | membrane time constant, > 1 |
/// | `decay_input` | | true | whether X is divided by τ as well |
/// | `readout` | | none | last, max, max_abs or mean over time; none: every step is returned |
///
/// In Rust `tau` and `decay_input` are fields of `neuron`, a [`Lif`]:
/// `NonSpikingLif { neuron: Lif::new(30.0), ..NonSpikingLif::default() }`. In files they are on the same level as the others.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let v = NonSpikingLif::default().run(&[[0.5], [0.75]])?;
/// assert_eq!(v, [[0.25], [0.5]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[doc(alias = "NonSpikingLIFNode")]
pub struct NonSpikingLif {
    /// The neuron that charges; its threshold and surrogate do not matter.
    #[serde(flatten)]
    pub neuron: Lif,
    /// The readout of the membrane over time.
    pub readout: Option<Readout>,
}

impl Neuron for NonSpikingLif {
    base!("non_spiking_lif", neuron.common);
    domains! { in neuron; }
    membrane!();

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        self.neuron.charge(n, x)
    }
}
