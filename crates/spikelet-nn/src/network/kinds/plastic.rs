//! `{ plastic = { linear = 100 }, rule = { name = "pair-stdp", a2_plus = 2e-3 }, cell = "lif" }`: a linear layer or a
//! convolution whose weights change by a learning rule, and neurons. `homeostasis = { increase = 0.02, tau = 1e4 }` adds to
//! the threshold of the neurons; `reward = { classes = 10, right = 1.0, wrong = -1.0 }` rewards those of the sample's class.

use super::keys::{BOUNDS, CELL_KEY, LEARNING_RATE, RULE, UPDATE, key};
use super::rule_settings::RuleSettings;
use super::{Kind, MainValue, conv, linear, number};
use crate::domain::Domain;
use crate::learning::{ClassReward, Homeostasis, Plastic, PlasticSynapses};
use crate::module::Module;
use crate::network::Layers;
use crate::network::build::Builder;
use crate::network::layer_fields::{LayerFields, inner_layer};
use crate::network::neuron::{neuron_of, neuron_problem, neuron_spec};
use crate::neuron::Neuron;
use serde_json::{Map, Value};
use spikelet_core::document::{Fields, Located, Node};
use std::sync::Arc;

pub(super) const PLASTIC: Kind = Kind {
    name: "plastic",
    types: &["Plastic"],
    summary: "a linear layer or a convolution with a learning rule, and neurons",
    main: MainValue::Required(key!(synapses: "layer", "a layer `linear` or `conv`")),
    keys: &[
        RULE,
        CELL_KEY,
        UPDATE,
        LEARNING_RATE,
        BOUNDS,
        key!(normalize: "number" = "null", "the sum of the input weights of each neuron at the beginning of a call"),
        key!(inhibition: "number" = "0.0", "what a spike subtracts from the input of the other neurons in the next step"),
        key!(single_winner: "flag" = "false", "whether of the neurons that fire in a step only the one with the largest input does"),
        key!(homeostasis: "table" = "null", "a threshold that rises with each spike: `increase = 0.02, tau = 1e4`"),
        key!(reward: "table or text" = "null", "the reward of a rule by the classes of the samples, `classes = 10, right = 1.0, wrong = -1.0`, or `signal`: see `graph.give_signal`"),
    ],
    example: (
        &[8],
        r#"{ plastic = { linear = 6 }, rule = "stdp", cell = "lif" }"#,
    ),
    build,
};

/// Synapses, their weights, and those between the inputs and one output.
struct Synapses {
    layer: Box<dyn PlasticSynapses>,
    weights: Option<usize>,
    /// The weights of one output.
    window: Option<usize>,
}

fn build(layer: &LayerFields<'_>, b: &mut Builder) -> Result<Arc<dyn Module>, Located> {
    let fields = &layer.fields;
    let synapses = synapses(layer.main()?, b)?;
    let settings = RuleSettings::of(fields, fields.get("reward").is_some())?;
    let homeostasis = fields.get("homeostasis");
    let neuron = neuron(fields.get("cell"), homeostasis.is_some(), b)?;
    let threshold = neuron.common().v_threshold;
    let mut module = Plastic::new(synapses.layer, neuron, settings.rule);
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
    if let Some(node) = fields.get("inhibition") {
        module = module.inhibition(number(node, "inhibition", Domain::at_least(0.0))?);
    }
    if let Some(yes) = fields.flag("single_winner")? {
        module = module.single_winner(yes);
    }
    if let Some(node) = homeostasis {
        module = module.homeostasis(homeostasis_of(node, threshold)?);
    }
    if let Some(reward) = fields.get("reward").map(reward).transpose()?.flatten() {
        module = module.reward(reward);
    }
    b.expect_trainable(&module)?;
    b.leaf("plastic", module, synapses.weights, |elements| {
        synapses.window?.checked_mul(elements)
    })
}

/// The layer whose weights change.
fn synapses(node: &Node, b: &Builder) -> Result<Synapses, Located> {
    let layer = inner_layer(node)?;
    let axes = b.shape.len();
    match layer.kind.name {
        "linear" => {
            let linear = linear::linear(&layer, b)?;
            Ok(Synapses {
                weights: linear.inputs.checked_mul(linear.outputs),
                window: Some(linear.inputs),
                layer: Box::new(linear),
            })
        }
        "conv" if axes == 2 => convolution::<1>(&layer, b),
        "conv" if axes == 3 => convolution::<2>(&layer, b),
        "conv" => {
            b.spatial_axes("conv")?;
            convolution::<3>(&layer, b)
        }
        _ => Err(node.wrong("plastic", "a layer `linear` or `conv`")),
    }
}

fn convolution<const D: usize>(layer: &LayerFields<'_>, b: &Builder) -> Result<Synapses, Located> {
    let conv = conv::fitting::<D>(layer, b)?;
    let window = conv::window(&conv, conv.inputs);
    Ok(Synapses {
        weights: window.and_then(|window| window.checked_mul(conv.outputs)),
        window,
        layer: Box::new(conv),
    })
}

/// The neuron of the layer, or that of the network. With homeostasis its threshold has a value for each channel.
fn neuron(node: Option<&Node>, homeostasis: bool, b: &Builder) -> Result<Arc<dyn Neuron>, Located> {
    let mut spec = match node {
        Some(node) => neuron_spec(node)?,
        None => b.neuron_spec.clone(),
    };
    if homeostasis {
        let trainable = inner(&mut spec, "params").and_then(|all| inner(all, "trainable"));
        if let Some(Value::Object(trainable)) = trainable {
            let by_channel = || Value::from("channel");
            trainable.entry("v_threshold").or_insert_with(by_channel);
        }
    }
    neuron_of(&spec).map_err(|error| neuron_problem(error, node))
}

/// The object of a key, empty if it is not there.
fn inner<'a>(value: &'a mut Value, key: &str) -> Option<&'a mut Value> {
    let empty = || Value::Object(Map::new());
    Some(value.as_object_mut()?.entry(key).or_insert_with(empty))
}

/// `{ increase = 0.02, tau = 1e4 }`. The threshold without activity is that of the neuron.
fn homeostasis_of(node: &Node, v_threshold: f64) -> Result<Homeostasis, Located> {
    let fields = Fields::new(node, "`homeostasis`", &["increase", "tau"])?;
    let increase = fields.require("increase", "the increase of the threshold by a spike")?;
    let tau = fields.require("tau", "the time constant of the decay, in steps")?;
    Ok(Homeostasis {
        increase: number(increase, "increase", Domain::at_least(0.0))?,
        tau: number(tau, "tau", Domain::above(0.0))?,
        v_threshold,
    })
}

/// `{ classes = 10, right = 1.0, wrong = -1.0 }`, or `"signal"`: a program gives the reward.
fn reward(node: &Node) -> Result<Option<ClassReward>, Located> {
    if node.as_text().is_some() {
        node.choice("reward", &["signal"])?;
        return Ok(None);
    }
    let fields = Fields::new(node, "`reward`", &["classes", "right", "wrong"])?;
    let classes = fields.require("classes", "the number of classes")?;
    Ok(Some(ClassReward {
        classes: classes.integer("classes", 2..=Layers::MAX_SIZE)?,
        right: fields.number("right")?.unwrap_or(1.0),
        wrong: fields.number("wrong")?.unwrap_or(-1.0),
    }))
}
