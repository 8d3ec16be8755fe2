//! `"neuron"`: the network's neuron. `{ neuron = { name = "plif", init_tau = 2.0 } }`: another one.

use super::keys::key;
use super::{Kind, MainValue};

pub(super) const NEURON: Kind = Kind {
    name: "neuron",
    types: &["NetworkNeuron"],
    summary: "the network's neuron, or another one",
    main: MainValue::Optional(
        key!(neuron: "neuron" = "null", "the name of a neuron, or a table with `name` and constants"),
    ),
    keys: &[],
    example: (&[8], r#"{ neuron = "plif" }"#),
    build: |layer, b| {
        let neuron = b.neuron_of(layer.main)?;
        b.leaf("neuron", neuron, Some(0), |_| Some(0))
    },
};
