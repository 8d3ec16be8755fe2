//! A network without spikes is converted as by SpikingJelly's `RateCodingRecipe`.

use super::Given;
use crate::case::{MOST_PRODUCTS, Results, bounded, limited, wrong};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use spikelet::graph::Tensor;
use spikelet::network::{Layers, Network};
use spikelet::prelude::*;
use spikelet::runtime::host;
use spikelet::train::conversion::{
    Conversion, Converter, Factor, MaxPooling, Threshold, TrainedLayers,
};
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Constants {
    layers: Vec<(String, String, Map<String, Value>)>,
    mode: Value,
    momentum: f64,
    channel_wise: bool,
    half_threshold: bool,
    eps: f64,
    #[serde(rename = "T")]
    time_steps: usize,
}

pub fn run(given: &Given<'_>) -> Result<Results> {
    let constants: Constants = given.constants()?;
    let x = given.input("in.x")?;
    let &[batch, ..] = x.shape.as_slice() else {
        return Err(wrong("`in.x` is not [N, …]", "give samples"));
    };
    bounded(&x.shape)?;
    if constants.time_steps == 0 {
        return Err(wrong("the constant `T` is 0", "use at least one time step"));
    }
    let layers = layers(given, &constants, &x.shape[1..])?;
    let network = Network::Layers(layers.clone());
    let cost = layers.cost(constants.time_steps.max(1))?;
    for row in &cost.rows {
        bounded(&[&[constants.time_steps, batch], row.output.as_slice()].concat())?;
        let products = [constants.time_steps, batch, row.macs.max(1) as usize];
        limited(&products, MOST_PRODUCTS, "products")?;
    }
    let parameters = given.case.tensors.iter().filter_map(|(name, tensor)| {
        let name = name.strip_prefix("param.")?;
        Some((name.to_string(), tensor.cast(given.dtype)))
    });
    let ann = TrainedLayers::new(&network, parameters.collect())?;
    let converter = Converter {
        threshold: threshold(&constants.mode)?,
        each_channel: constants.channel_wise,
        momentum: constants.momentum,
        epsilon: constants.eps,
        half_threshold: Some(constants.half_threshold),
        max_pooling: MaxPooling::OfSpikes,
    };
    let batches = batches(&given.input("in.calibration")?, &x.shape[1..])?;
    let made = converter.convert(&ann, batches.into_iter().map(Ok), &given.backend)?;
    results(given, &constants, &made, &x)
}

/// The statistic of a mode: `max`, a percentile such as `99.9%`, or a factor.
fn threshold(mode: &Value) -> Result<Threshold> {
    let unknown = || {
        wrong(
            format!("the constant `mode` is {mode}"),
            "use max, a percentile from 0% to 100%, or a factor above 0",
        )
    };
    match mode {
        Value::Number(factor) => {
            let factor = factor.as_f64().filter(|factor| *factor > 0.0);
            factor.map(Threshold::Factor).ok_or_else(unknown)
        }
        Value::String(text) if text.eq_ignore_ascii_case("max") => Ok(Threshold::Max),
        Value::String(text) => {
            let percentile = text.strip_suffix('%').and_then(|text| text.parse().ok());
            let percentile = percentile.filter(|q| (0.0..=100.0).contains(q));
            percentile.map(Threshold::Percentile).ok_or_else(unknown)
        }
        _ => Err(unknown()),
    }
}

/// The layers of the case as a list of the library.
fn layers(given: &Given<'_>, constants: &Constants, input: &[usize]) -> Result<Layers> {
    let mut list = vec![];
    for (kind, name, options) in &constants.layers {
        let mut layer = match kind.as_str() {
            "linear" | "conv" => weighted(given, kind, name, options)?,
            "batchnorm" => json!({"layer": "batch-norm", "epsilon": option(name, options, "eps")?}),
            "relu" => json!({"layer": "relu"}),
            "avgpool" => json!({"avg-pool": option(name, options, "kernel")?}),
            "maxpool" => json!({"max-pool": option(name, options, "kernel")?}),
            "flatten" => json!({"layer": "flatten"}),
            other => {
                return Err(wrong(
                    format!("the constant `layers` has the type `{other}`"),
                    "use linear, conv, batchnorm, relu, avgpool, maxpool or flatten",
                ));
            }
        };
        layer["name"] = json!(name);
        list.push(layer);
    }
    let network =
        json!({"version": Layers::VERSION, "name": "case", "input": input, "layers": list});
    Ok(Layers::from_json(&network)?)
}

/// A layer with weights, whose sizes are those of its parameters.
fn weighted(
    given: &Given<'_>,
    kind: &str,
    name: &str,
    options: &Map<String, Value>,
) -> Result<Value> {
    let weight = format!("param.{name}.weight");
    let shape = given.input(&weight)?.shape;
    let bias = given
        .case
        .tensors
        .contains_key(&format!("param.{name}.bias"));
    match (kind, shape.as_slice()) {
        ("linear", &[outputs, inputs]) => {
            Ok(json!({"linear": outputs, "inputs": inputs, "bias": bias}))
        }
        ("conv", &[outputs, inputs, height, width]) => {
            for (key, plain) in [("dilation", json!([1, 1])), ("groups", json!(1))] {
                let value = options.get(key);
                if value.is_some_and(|value| *value != plain && *value != json!(1)) {
                    return Err(wrong(
                        format!("`{key}` of `{name}` is not 1"),
                        "give a convolution with dilation 1 and groups 1",
                    ));
                }
            }
            Ok(json!({
                "conv": outputs, "inputs": inputs, "kernel": [height, width], "bias": bias,
                "stride": option(name, options, "stride")?, "padding": option(name, options, "padding")?,
            }))
        }
        _ => Err(wrong(
            format!("`{weight}` is {shape:?}"),
            "give [out, in] for linear, [out, in, height, width] for conv",
        )),
    }
}

/// An option of a layer.
fn option(name: &str, options: &Map<String, Value>, key: &str) -> Result<Value> {
    let missing = || {
        wrong(
            format!("the layer `{name}` has no `{key}`"),
            "give all options",
        )
    };
    options.get(key).cloned().ok_or_else(missing)
}

/// The batches `[N, …]` of `[batches, N, …]`.
fn batches(all: &Tensor, sample: &[usize]) -> Result<Vec<Tensor>> {
    bounded(&all.shape)?;
    match all.shape.as_slice() {
        [_, batch, rest @ ..] if rest == sample => {
            let shape = [&[*batch], sample].concat();
            let each: usize = shape.iter().product();
            let values = all.to_f64();
            let batch = |values: &[f64]| Tensor::f64(shape.clone(), values).cast(all.ty().dtype);
            Ok(values.chunks(each).map(batch).collect())
        }
        shape => Err(wrong(
            format!("`in.calibration` is {shape:?}, the samples are {sample:?}"),
            "give [batches, batch, …]",
        )),
    }
}

fn results(
    given: &Given<'_>,
    constants: &Constants,
    made: &Conversion,
    x: &Tensor,
) -> Result<Results> {
    let mut results = Results::new();
    let mut before = "";
    for (kind, name, _) in &constants.layers {
        if kind == "batchnorm" {
            for part in ["weight", "bias"] {
                let fused = made.ann.tensors.get(&format!("{before}.{part}"));
                if let Some(fused) = fused {
                    results.insert(format!("out.fused.{before}.{part}"), fused.clone());
                }
            }
        }
        before = name;
    }
    for (k, own) in made.scales.iter().enumerate() {
        let scale = match &own.scale {
            Factor::Channel(values) => Tensor::f64([values.len()], values.clone()),
            one => Tensor::f64([], one.values()),
        };
        results.insert(format!("out.scale.{k}"), scale.cast(given.dtype));
    }
    let ann = outputs(given, &made.ann, x, 1, &[])?;
    let output = &ann["output"];
    let classes = output.shape[1..].to_vec();
    results.insert(
        "out.ann".to_string(),
        Tensor::f64(classes, output.to_f64()).cast(given.dtype),
    );
    let paths: Vec<String> = (made.scales.iter())
        .map(|own| format!("{}.spike_seq", own.layer))
        .collect();
    let mut snn = outputs(given, &made.snn, x, constants.time_steps, &paths)?;
    for (k, path) in paths.iter().enumerate() {
        if let Some(spikes) = snn.remove(path) {
            results.insert(format!("out.s.{k}"), spikes.cast(given.dtype));
        }
    }
    if let Some(y) = snn.remove("output") {
        results.insert("out.y".to_string(), y);
    }
    Ok(results)
}

/// The output of a network for an input that is the same at all time steps, and recorded values.
fn outputs(
    given: &Given<'_>,
    network: &TrainedLayers,
    x: &Tensor,
    time_steps: usize,
    recorded: &[String],
) -> Result<BTreeMap<String, Tensor>> {
    let cx = Context::new(Mode::EVAL, given.dtype);
    let input = cx.tracer().input("x", given.dtype, x.shape.clone());
    let output = cx.trace(&*network.module()?, input.repeat_over_time(time_steps))?;
    cx.tracer().output("output", &output);
    for path in recorded {
        cx.tracer().output(path, &cx.recorded(path)?);
    }
    let mut store = VarStore::new(given.backend.clone());
    for (name, tensor) in &network.tensors {
        store.insert(name, tensor)?;
    }
    let mut program = cx.compile(&mut store, 0)?;
    program.run_with([("x", host(x))])?;
    let names = recorded.iter().map(String::as_str).chain(["output"]);
    let value = |name: &str| Ok((name.to_string(), program.get(name)?));
    names.map(value).collect()
}
