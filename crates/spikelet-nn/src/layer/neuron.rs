//! The network's neuron as a layer of files; in programs, a neuron is a layer.

use crate::network::keys::NEURON as ANY_NEURON;
use crate::network::kind::Kind;

/// `"neuron"`: the network's neuron. `{ neuron = { name = "plif", init_tau = 2.0 } }`: another one.
pub(crate) const NEURON: Kind = Kind {
    names: &["neuron", "spike", "lif"],
    types: &[],
    summary: "the network's neuron, or another one",
    main: ANY_NEURON,
    keys: &[],
    example: (&[8], r#"{ neuron = "plif" }"#),
    build: |layer, b| {
        let neuron = b.neuron_of(layer.main)?;
        b.without_weights(layer, neuron)
    },
};
