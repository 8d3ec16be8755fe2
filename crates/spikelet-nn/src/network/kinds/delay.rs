//! `{ dcls = 256, kernel_size = 25 }`, `{ delayed-linear = 256, max_delay = 10 }`, `{ axonal-delay = 30 }`,
//! `{ delayed-recurrent = "lif", max_delay = 30 }`, `{ pad-time = 12 }`

use super::keys::{BIAS, DROPOUT_P, INPUTS, MAX_DELAY_KEY, key};
use super::{Kind, MainValue};
use crate::layer::{
    AxonalDelay, Dcls1d, DclsVersion, DelayInterpolation, DelayedFeedback, DelayedLinear, PadTime,
    Recurrent,
};
use crate::network::Layers;
use crate::network::build::Builder;
use crate::network::layer_fields::LayerFields;
use spikelet_core::document::Located;

/// The largest delay of a file.
const MAX_DELAY: usize = 4096;

const STEPS: MainValue = MainValue::Required(key!(steps: "integer", "the number of steps"));

pub(super) const DCLS: Kind = Kind {
    name: "dcls",
    types: &["Dcls1d"],
    summary: "fully connected layer with a learned delay for each synapse",
    main: MainValue::Required(key!(out_features: "integer", "the number of output features")),
    keys: &[
        INPUTS,
        key!(kernel_size: "integer", "the number of steps that delays cover"),
        key!(kernel_count: "integer" = "1", "the number of kernels of a synapse"),
        key!(version: "text" = "\"gaussian\"", "the shape of kernels: `gaussian`, `max` or `v1`"),
        key!(width: "number" = "0.23", "the width of the kernels in time steps"),
        BIAS,
    ],
    example: (&[8], "{ dcls = 6, kernel_size = 5 }"),
    build: |layer, b| {
        let (inputs, outputs) = sizes(layer, b)?;
        let fields = &layer.fields;
        let taps = fields.require("kernel_size", "the number of steps that delays cover")?;
        let taps = taps.integer("kernel_size", 1..=MAX_DELAY)?;
        let count = fields.integer("kernel_count", 1..=64)?.unwrap_or(1);
        let mut module = Dcls1d::new(inputs, outputs, taps).kernel_count(count);
        module.bias = fields.flag("bias")?.unwrap_or(false);
        if let Some(node) = fields.get("version") {
            module.version = match node.choice("version", &["gaussian", "max", "v1"])? {
                "gaussian" => DclsVersion::Gaussian,
                "max" => DclsVersion::Max,
                _ => DclsVersion::V1,
            };
        }
        if let Some(width) = width(layer)? {
            module.width = width;
        }
        let weights = inputs.checked_mul(outputs);
        let weights = weights.and_then(|all| all.checked_mul(count));
        // A position for each weight.
        let all = weights.and_then(|weights| weights.checked_mul(2));
        b.leaf("dcls", module, all, |_| weights)
    },
};

pub(super) const DELAYED_LINEAR: Kind = Kind {
    name: "delayed-linear",
    types: &["DelayedLinear"],
    summary: "fully connected layer with a fixed delay for each synapse",
    main: MainValue::Required(key!(out_features: "integer", "the number of output features")),
    keys: &[INPUTS, MAX_DELAY_KEY, BIAS],
    example: (&[8], "{ delayed-linear = 6, max_delay = 3 }"),
    build: |layer, b| {
        let (inputs, outputs) = sizes(layer, b)?;
        let bias = layer.fields.flag("bias")?.unwrap_or(false);
        let module = DelayedLinear::new(inputs, outputs, max_delay(layer)?).bias(bias);
        let weights = inputs.checked_mul(outputs);
        b.leaf("delayed-linear", module, weights, |_| weights)
    },
};

pub(super) const AXONAL_DELAY: Kind = Kind {
    name: "axonal-delay",
    types: &["AxonalDelay"],
    summary: "a learned delay for each channel",
    main: MainValue::Required(key!(max_delay: "integer", "the longest delay")),
    keys: &[
        key!(sigma: "number" = "null", "the width of the kernels; by default linear interpolation"),
        key!(trainable: "flag" = "true", "whether the delays are trained"),
    ],
    example: (&[8], "{ axonal-delay = 3 }"),
    build: |layer, b| {
        let most = layer.main()?.integer("axonal-delay", 0..=MAX_DELAY)?;
        let channels = b.shape[0];
        let trainable = layer.fields.flag("trainable")?.unwrap_or(true);
        let mut module = AxonalDelay::new(channels, most).trainable(trainable);
        if let Some(node) = layer.fields.get("sigma") {
            let sigma = node.number("sigma")?;
            if !(sigma > 0.0 && sigma.is_finite()) {
                return Err(node.wrong("sigma", "a number above 0"));
            }
            module = module.interpolation(DelayInterpolation::Gaussian { sigma });
        }
        b.leaf("axonal-delay", module, Some(channels), |elements| {
            elements.checked_mul(most + 1)
        })
    },
};

pub(super) const DELAYED_RECURRENT: Kind = Kind {
    name: "delayed-recurrent",
    types: &["DelayedRecurrent"],
    summary: "neurons with recurrent connections with learned delays",
    main: MainValue::Optional(
        key!(neuron: "neuron" = "null", "the name of a neuron, or a table with `name` and constants"),
    ),
    keys: &[
        MAX_DELAY_KEY,
        key!(synaptic: "flag" = "false", "whether each synapse has a delay; else each neuron that fires"),
        key!(spread: "flag" = "false", "whether each neuron that fires has a learned spread"),
        key!(width: "number" = "0.0", "the width of the kernels in time steps"),
        DROPOUT_P,
    ],
    example: (&[8], r#"{ delayed-recurrent = "lif", max_delay = 3 }"#),
    build: |layer, b| {
        let neuron = b.neuron_of(layer.main)?;
        let [features] = b.shape[..] else {
            return Err(b.wrong_axes("delayed-recurrent", "[features]"));
        };
        let fields = &layer.fields;
        let mut feedback = DelayedFeedback::new(features, max_delay(layer)?)
            .synaptic(fields.flag("synaptic")?.unwrap_or(false))
            .spread(fields.flag("spread")?.unwrap_or(false));
        if let Some(width) = width(layer)? {
            feedback.width = width;
        }
        if let Some(node) = fields.get("dropout_p") {
            feedback.dropout = node.number("dropout_p")?;
            if !(0.0..1.0).contains(&feedback.dropout) {
                return Err(node.wrong("dropout_p", "at least 0 and below 1"));
            }
        }
        let weights = features.checked_mul(features);
        let delays = match feedback.synaptic {
            true => weights,
            false => Some(features),
        };
        let all = weights.and_then(|weights| weights.checked_add(delays?));
        let module = Recurrent::through(neuron, feedback);
        b.leaf("delayed-recurrent", module, all, |_| weights)
    },
};

pub(super) const PAD_TIME: Kind = Kind {
    name: "pad-time",
    types: &["PadTime"],
    summary: "steps of zeros behind a sequence, in which delayed spikes arrive",
    main: STEPS,
    keys: &[],
    example: (&[8], "{ pad-time = 2 }"),
    build: |layer, b| {
        let steps = layer.main()?.integer("pad-time", 0..=MAX_DELAY)?;
        b.leaf("pad-time", PadTime::new(steps), Some(0), |_| Some(0))
    },
};

/// The input and output features of a fully connected layer.
fn sizes(layer: &LayerFields<'_>, b: &Builder) -> Result<(usize, usize), Located> {
    let kind = layer.kind.name;
    let outputs = layer.main()?.integer(kind, 1..=Layers::MAX_SIZE)?;
    match b.shape[..] {
        [inputs] => {
            layer.expect_inputs(inputs)?;
            Ok((inputs, outputs))
        }
        _ => Err(b.wrong_axes(kind, "[features]")),
    }
}

fn max_delay(layer: &LayerFields<'_>) -> Result<usize, Located> {
    let most = layer.fields.require("max_delay", "the longest delay")?;
    most.integer("max_delay", 0..=MAX_DELAY)
}

fn width(layer: &LayerFields<'_>) -> Result<Option<f64>, Located> {
    let Some(node) = layer.fields.get("width") else {
        return Ok(None);
    };
    let width = node.number("width")?;
    match (0.0..=MAX_DELAY as f64).contains(&width) {
        true => Ok(Some(width)),
        false => Err(node.wrong("width", format!("a number from 0 to {MAX_DELAY}"))),
    }
}
