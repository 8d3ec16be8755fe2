//! `{ online-eprop = 100, outputs = 10, cell = "eprop_alif", readout_decay = 0.95 }`: recurrent neurons and a readout that
//! learn by e-prop while time passes. The target of each step is the class of the sample.

use super::keys::{CELL_KEY, LEARNING_RATE, key};
use super::rule_settings::update;
use super::{Kind, MainValue, number};
use crate::domain::Domain;
use crate::learning::{EpropError, EpropFeedback, OnlineEprop, RateRegularization, Update};
use crate::module::Module;
use crate::network::Layers;
use crate::network::build::Builder;
use crate::network::layer_fields::LayerFields;
use spikelet_core::document::{Fields, Located, Node};
use std::sync::Arc;

pub(super) const ONLINE_EPROP: Kind = Kind {
    name: "online-eprop",
    types: &["OnlineEprop"],
    summary: "recurrent neurons and a readout that learn by e-prop in each step",
    main: MainValue::Required(key!(features: "integer", "the number of neurons")),
    keys: &[
        key!(outputs: "integer", "the number of outputs"),
        CELL_KEY,
        key!(readout_decay: "number" = "0.0", "what the outputs keep in a step, below 1"),
        key!(error: "text" = "\"cross-entropy\"", "how the outputs are compared with the class: `cross-entropy` or `squared`"),
        key!(feedback: "text" = "\"symmetric\"", "the weights by which errors reach the neurons: `symmetric`, `random` or `adaptive`"),
        key!(regularization: "table" = "null", "a rate that neurons keep: `strength = 1e-3, rate = 0.02, tau = 100.0`"),
        key!(update: "text" = "\"gradient\"", "when the weights change: `gradient`, `each-step` or `end-of-call`"),
        LEARNING_RATE,
    ],
    example: (
        &[8],
        r#"{ online-eprop = 6, outputs = 3, cell = "eprop_alif", feedback = "random" }"#,
    ),
    build,
};

fn build(layer: &LayerFields<'_>, b: &mut Builder) -> Result<Arc<dyn Module>, Located> {
    let fields = &layer.fields;
    let size = 1..=Layers::MAX_SIZE;
    let neurons = layer.main()?.integer("online-eprop", size.clone())?;
    let outputs = fields.require("outputs", "the number of outputs")?;
    let outputs = outputs.integer("outputs", size)?;
    let [inputs] = b.shape[..] else {
        return Err(b.wrong_axes("online-eprop", "[features]"));
    };
    let neuron = b.neuron_of(fields.get("cell"))?;
    let mut module = OnlineEprop::of([inputs, neurons, outputs], neuron);
    if let Some(node) = fields.get("readout_decay") {
        let decay = Domain::at_least(0.0).below(1.0);
        module = module.readout_decay(number(node, "readout_decay", decay)?);
    }
    let error = fields.get("error");
    let words = &["cross-entropy", "squared"];
    let error = error.map(|node| node.choice("error", words)).transpose()?;
    module = module.error(match error {
        Some("squared") => EpropError::Squared,
        _ => EpropError::CrossEntropy,
    });
    if let Some(node) = fields.get("feedback") {
        let words = &["symmetric", "random", "adaptive"];
        module = module.feedback(match node.choice("feedback", words)? {
            "random" => EpropFeedback::Random,
            "adaptive" => EpropFeedback::Adaptive,
            _ => EpropFeedback::Symmetric,
        });
    }
    if let Some(node) = fields.get("regularization") {
        module = module.regularization(regularization(node)?);
    }
    let (update, learning_rate) = update(fields, Update::Gradient)?;
    module = module.update(update);
    if let Some(rate) = learning_rate {
        module = module.learning_rate(rate);
    }
    b.expect_trainable(&module)?;
    let weights = || {
        let rows = inputs.checked_add(neurons)?.checked_add(outputs)?;
        rows.checked_mul(neurons)?.checked_add(outputs)
    };
    b.leaf("online-eprop", module, weights(), |_| weights())
}

/// `{ strength = 1e-3, rate = 0.02, tau = 100.0 }`.
fn regularization(node: &Node) -> Result<RateRegularization, Located> {
    let fields = Fields::new(node, "`regularization`", &["strength", "rate", "tau"])?;
    let read = |key, what, domain| number(fields.require(key, what)?, key, domain);
    Ok(RateRegularization {
        strength: read(
            "strength",
            "the factor of the change",
            Domain::at_least(0.0),
        )?,
        rate: read(
            "rate",
            "the spikes of a neuron in a step",
            Domain::at_least(0.0),
        )?,
        tau: read(
            "tau",
            "the time constant of the mean rate, in steps",
            Domain::above(0.0),
        )?,
    })
}
