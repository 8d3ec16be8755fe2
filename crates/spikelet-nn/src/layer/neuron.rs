//! The network's neuron as a layer of files; in programs, a neuron is a layer.

use crate::network::kind::{Builder, Built, LayerFields, LayerKeys};
use crate::network::values::LayerNeuron;
use spikelet_schema::Schema;

/// The network's neuron, or another one.
///
/// `"neuron"`: the network's neuron. `{ neuron = { name = "plif", init_tau = 2.0 } }`: another one.
#[derive(Debug, Schema)]
#[schema(name = "neuron")]
pub(crate) struct NetworkNeuronKeys {
    /// The name of a neuron, or a table with `name` and constants.
    #[schema(main)]
    neuron: LayerNeuron,
}

impl LayerKeys for NetworkNeuronKeys {
    const OTHER_NAMES: &[&str] = &["spike", "lif"];
    const HAS_TYPE: bool = false;
    const EXAMPLE: (&[usize], &str) = (&[8], r#"{ neuron = "plif" }"#);

    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
        b.without_weights(layer, self.neuron.neuron(b))
    }
}
