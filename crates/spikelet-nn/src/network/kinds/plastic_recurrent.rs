//! `{ plastic-recurrent = "lif", rule = "pair-stdp" }`: neurons with recurrent connections whose weights change by a learning
//! rule.

use super::keys::{BOUNDS, LEARNING_RATE, RULE, UPDATE, key};
use super::rule_settings::RuleSettings;
use super::{Kind, MainValue};
use crate::layer::Feedback;
use crate::learning::PlasticRecurrent;

pub(super) const PLASTIC_RECURRENT: Kind = Kind {
    name: "plastic-recurrent",
    types: &["PlasticRecurrent"],
    summary: "neurons with recurrent connections that have a learning rule",
    main: MainValue::Required(
        key!(neuron: "neuron", "the name of a neuron, or a table with `name` and constants"),
    ),
    keys: &[
        RULE,
        UPDATE,
        LEARNING_RATE,
        BOUNDS,
        key!(normalize: "number" = "null", "the sum of the recurrent weights of each neuron at the beginning of a call"),
        key!(zero_diagonal: "flag" = "false", "whether neurons have no connection to themselves"),
        key!(init: "text or table" = "null", "initial weights, as of `Linear`; by default orthogonal"),
    ],
    example: (&[8], r#"{ plastic-recurrent = "lif", rule = "stdp" }"#),
    build: |layer, b| {
        let fields = &layer.fields;
        let neuron = b.neuron_of(layer.main)?;
        let [features] = b.shape[..] else {
            return Err(b.wrong_axes("plastic-recurrent", "[features]"));
        };
        let settings = RuleSettings::of(fields, false)?;
        let zero_diagonal = fields.flag("zero_diagonal")?.unwrap_or(false);
        let mut feedback = Feedback::new(features).zero_diagonal(zero_diagonal);
        if let Some(init) = layer.init(features)? {
            feedback = feedback.weight_init(init);
        }
        let mut module = PlasticRecurrent::new(feedback, neuron, settings.rule);
        module = module.update(settings.update);
        if let Some(rate) = settings.learning_rate {
            module = module.learning_rate(rate);
        }
        if let Some([low, high]) = settings.bounds {
            module = module.bounds(low, high);
        }
        if let Some(sum) = settings.normalize {
            module = module.normalize(sum);
        }
        b.expect_trainable(&module)?;
        let weights = features.checked_mul(features);
        b.leaf("plastic-recurrent", module, weights, |_| weights)
    },
};
