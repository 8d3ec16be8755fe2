//! `{ rnn = 128, cell = "lif" }`: a linear layer and a neuron with recurrent connections. `"recurrent"`: a neuron with
//! recurrent connections, without the linear layer.

use super::keys::{BIAS, CELL_KEY, LAST, LOCAL_GRADIENT, key};
use super::{Kind, MainValue};
use crate::layer::{Linear, Recurrent, Rnn};
use crate::network::Layers;

pub(super) const RNN: Kind = Kind {
    name: "rnn",
    types: &["Rnn"],
    summary: "fully connected layer and neurons with recurrent connections",
    main: MainValue::Required(key!(features: "integer", "the number of neurons")),
    keys: &[CELL_KEY, BIAS, LAST, LOCAL_GRADIENT],
    example: (&[8], "{ rnn = 6 }"),
    build: |layer, b| {
        let hidden = layer.main()?.integer("rnn", 1..=Layers::MAX_SIZE)?;
        let [inputs] = b.shape[..] else {
            return Err(b.wrong_axes("rnn", "[features]"));
        };
        let neuron = b.neuron_of(layer.fields.get("cell"))?;
        let bias = layer.fields.flag("bias")?.unwrap_or(false);
        let mut module = Rnn::new(neuron, inputs, hidden).bias(bias);
        if layer.fields.flag("last")? == Some(true) {
            module = module.last();
        }
        if layer.fields.flag("local_gradient")? == Some(true) {
            module = module.local_gradient();
        }
        let rows = inputs.checked_add(hidden);
        let weights = rows.and_then(|rows| rows.checked_mul(hidden));
        b.leaf("rnn", module, weights, |_| weights)
    },
};

pub(super) const RECURRENT: Kind = Kind {
    name: "recurrent",
    types: &["Recurrent"],
    summary: "neurons with recurrent connections",
    main: MainValue::Optional(
        key!(neuron: "neuron" = "null", "the name of a neuron, or a table with `name` and constants"),
    ),
    keys: &[BIAS, LAST, LOCAL_GRADIENT],
    example: (&[8], r#"{ recurrent = "lif" }"#),
    build: |layer, b| {
        let neuron = b.neuron_of(layer.main)?;
        let [features] = b.shape[..] else {
            return Err(b.wrong_axes("recurrent", "[features]"));
        };
        let bias = layer.fields.flag("bias")?.unwrap_or(false);
        let feedback = Linear::new(features, features).bias(bias);
        let mut module = Recurrent::through(neuron, feedback);
        if layer.fields.flag("last")? == Some(true) {
            module = module.last();
        }
        if layer.fields.flag("local_gradient")? == Some(true) {
            module = module.local_gradient();
        }
        let weights = features.checked_mul(features);
        b.leaf("recurrent", module, weights, |_| weights)
    },
};
