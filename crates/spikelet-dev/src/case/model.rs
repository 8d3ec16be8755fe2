//! Cases of deep networks: a model with its sizes, and parameters and inputs by a formula.

mod numbers;

use super::{MOST_PRODUCTS, Results, bounded, fields, limited, wrong};
use numbers::Numbers;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use spikelet::graph::op::HostTensor;
use spikelet::graph::{Backend, DType, Tensor};
use spikelet::loss::CrossEntropy;
use spikelet::module::Trace;
use spikelet::network::{Layers, Model};
use spikelet::prelude::*;
use spikelet::runtime::host;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The elements of a gradient that are results.
const HEAD: usize = 64;

#[derive(Deserialize)]
struct Spec {
    model: ModelSpec,
    time_steps: usize,
    input: Numbers,
    labels: Vec<i64>,
    loss: LossKind,
    parameters: Vec<Numbers>,
    batch_norms: Vec<Named>,
    neurons: Vec<Named>,
}

#[derive(Deserialize)]
struct ModelSpec {
    zoo: String,
    #[serde(default)]
    sizes: Map<String, Value>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LossKind {
    CrossEntropy,
    LabelSmoothing,
    OneHotMse,
    Tet,
}

impl LossKind {
    /// The loss of scores `[T, N, classes]`.
    fn of(self, logits: &Var, labels: &Var) -> Var {
        let mean = logits.mean(&[0]);
        match self {
            Self::CrossEntropy => loss::cross_entropy(&mean, labels),
            Self::LabelSmoothing => CrossEntropy::new().label_smoothing(0.1).loss(&mean, labels),
            Self::OneHotMse => loss::mse_one_hot(&mean, labels),
            Self::Tet => loss::regularized_tet(logits, labels, 1e-3, 1.0),
        }
    }
}

pub fn run(spec: Value, backend: &Arc<dyn Backend>, dtype: DType) -> Result<Results> {
    let spec: Spec = fields(spec)?;
    let layers = layers(&spec)?;
    let given = Given::new(&spec, dtype)?;
    let mut results = trained(&spec, &layers, &given, backend)?;
    results.extend(evaluated(&spec, &layers, &given, backend)?);
    Ok(results)
}

/// The values of a case.
struct Given {
    x: Tensor,
    parameters: Vec<(String, Tensor)>,
    dtype: DType,
}

impl Given {
    fn new(spec: &Spec, dtype: DType) -> Result<Self> {
        let tensor = |numbers: &Numbers| Ok::<_, Error>(numbers.tensor()?.cast(dtype));
        let named = |numbers: &Numbers| Ok((numbers.name.clone(), tensor(numbers)?));
        Ok(Self {
            x: tensor(&spec.input)?,
            parameters: spec.parameters.iter().map(named).collect::<Result<_>>()?,
            dtype,
        })
    }

    /// The parameters of a trace, in a store.
    fn store(&self, cx: &Trace, backend: &Arc<dyn Backend>) -> Result<VarStore> {
        let mut store = VarStore::new(backend.clone());
        let values: BTreeMap<&str, &Tensor> = (self.parameters.iter())
            .map(|(name, v)| (name.as_str(), v))
            .collect();
        let traced = cx.traced().parameters;
        let known: BTreeSet<&str> = traced.iter().map(|p| p.name.as_str()).collect();
        if let Some(unknown) = values.keys().find(|name| !known.contains(*name)) {
            let problem = format!("the network has no parameter `{unknown}`");
            return Err(wrong(problem, "give the parameters of the network"));
        }
        for parameter in &traced {
            let name = parameter.name.as_str();
            let value = values.get(name).ok_or_else(|| {
                wrong(
                    format!("it has no parameter `{name}`"),
                    "give all parameters",
                )
            })?;
            // A single value may be `[]` or `[1]`.
            let one = value.len() == 1 && parameter.shape.iter().product::<usize>() == 1;
            if !one {
                super::expect(name, &value.shape, &parameter.shape)?;
            }
            let shaped = Tensor {
                shape: parameter.shape.clone(),
                ..(*value).clone()
            };
            store.insert(name, &shaped)?;
        }
        Ok(store)
    }
}

/// The network of the specification, with the sizes of its input.
fn layers(spec: &Spec) -> Result<Layers> {
    let shape = &spec.input.shape;
    let (time_steps, image) = match shape[..] {
        [_, inputs, height, width] => (spec.time_steps, [inputs, height, width]),
        [steps, _, inputs, height, width] => (steps, [inputs, height, width]),
        _ => {
            return Err(wrong(
                format!("the input is {shape:?}"),
                "give images [N, C, H, W] or frames [T, N, C, H, W]",
            ));
        }
    };
    let [inputs, height, width] = image;
    if time_steps != spec.time_steps {
        return Err(wrong(
            format!("the input is {shape:?} at {} time steps", spec.time_steps),
            "give images, or frames of all time steps",
        ));
    }
    bounded(shape)?;
    bounded(&[time_steps, spec.labels.len(), inputs, height, width])?;
    let zoo = &spec.model.zoo;
    let mut model = Model::find(&zoo.replace('_', "-"))
        .map_err(|error| wrong(error.to_string(), "name a network of the zoo"))?;
    model = model.with("inputs", inputs)?;
    model = model.with("size", [height, width])?;
    if model.values().contains_key("dropout") {
        model = model.with("dropout", 0.0)?;
    }
    for (size, value) in &spec.model.sizes {
        model = option(model, size, value.clone())?;
    }
    let layers = model.layers()?;
    let macs = layers.cost(time_steps)?.macs();
    let macs = usize::try_from(macs).unwrap_or(usize::MAX);
    limited(
        &[macs.max(1), time_steps, spec.labels.len()],
        MOST_PRODUCTS,
        "products",
    )?;
    Ok(layers)
}

/// Sets a size of the specification.
fn option(model: Model, size: &str, value: Value) -> Result<Model> {
    let wide = model.name() == "sew-wide-7b-net";
    match (size, value) {
        // Time steps are those of the input, and dropout is off.
        ("time_steps" | "dropout" | "size", _) => Ok(model),
        ("connect", Value::String(name)) => model.with("connect", name.to_lowercase()),
        ("once", value) => model.with("static_stem", value),
        ("leak", value) => model.with("state_across_samples", value),
        ("layers", value) => {
            let depth = if value.is_array() { "blocks" } else { "depth" };
            model.with(depth, value)
        }
        ("channels", Value::Number(channels)) if model.values()["channels"].is_array() => {
            let channels = channels.as_u64().unwrap_or_default();
            let double = channels.saturating_mul(2);
            let each = (0..7).map(|k| if wide && k >= 4 { double } else { channels });
            model.with("channels", each.collect::<Vec<u64>>())
        }
        ("dvs", value) => model.with("filters", value),
        ("pools", Value::String(which)) => {
            let each: Vec<bool> = which.chars().map(|c| c == '1').collect();
            model.with("pools", each)
        }
        ("tau", value) => {
            let mut neuron = model.values()["neuron"].clone();
            neuron["params"]["tau"] = value;
            model.with("neuron", neuron)
        }
        ("neuron", Value::String(kind)) => {
            let mut neuron = model.values()["neuron"].clone();
            neuron["neuron"] = kind.into();
            model.with("neuron", neuron)
        }
        (size, value) => model.with(size, value),
    }
}

/// The sequence of a case's input.
fn sequence(spec: &Spec, x: &Var) -> Var {
    match x.rank() {
        4 => x.repeat_over_time(spec.time_steps),
        _ => x.clone(),
    }
}

/// One training pass: scores, loss, rates, gradients, running statistics.
fn trained(
    spec: &Spec,
    layers: &Layers,
    given: &Given,
    backend: &Arc<dyn Backend>,
) -> Result<Results> {
    let cx = Context::new(Mode::TRAIN, given.dtype);
    let tracer = cx.tracer().clone();
    let x = tracer.input("x", given.dtype, given.x.shape.clone());
    let module = layers.module()?;
    let logits = cx.trace(&*module, sequence(spec, &x))?;
    let &[_, batch, classes] = logits.shape() else {
        return Err(wrong("the network has no classes", "give a classifier"));
    };
    expect_labels(&spec.labels, batch, classes)?;
    let label = tracer.input("label", DType::I64, [batch]);
    let loss = spec.loss.of(&logits, &label);
    let mut wrt: Vec<Var> = vec![];
    for (name, _) in &given.parameters {
        let unknown = || wrong(format!("no parameter `{name}`"), "name one of the network");
        wrt.push(tracer.find_input(name).ok_or_else(unknown)?);
    }
    wrt.push(x);
    let gradients = tracer.gradients(&loss, &wrt.iter().collect::<Vec<_>>());
    let mut sizes = vec![];
    for (k, neuron) in spec.neurons.iter().enumerate() {
        let spikes = cx.recorded(&format!("{}.spike_seq", neuron.name))?;
        sizes.push(spikes.ty().len());
        let axes: Vec<usize> = (2..spikes.rank()).collect();
        tracer.output(&format!("count.{k}"), &spikes.sum(&axes));
    }
    tracer.output("logits", &logits);
    tracer.output("loss", &loss);
    for (k, gradient) in gradients.iter().enumerate() {
        tracer.output(&format!("gradient.{k}"), gradient);
    }
    let mut store = given.store(&cx, backend)?;
    let mut program = cx.compile(&mut store, 0)?;
    program.run_with([
        ("x", host(&given.x)),
        ("label", HostTensor::I64(&spec.labels)),
    ])?;

    let vector = |values: Vec<f64>| Tensor::f64([values.len()], values).cast(given.dtype);
    let mut rates = vec![];
    for (k, size) in sizes.into_iter().enumerate() {
        let counts = program.get(&format!("count.{k}"))?.to_f64();
        rates.push(counts.iter().sum::<f64>() / size.max(1) as f64);
    }
    let (mut norms, mut heads) = (vec![], vec![]);
    for k in 0..gradients.len() {
        let values = program.get(&format!("gradient.{k}"))?.to_f64();
        norms.push(values.iter().map(|x| x * x).sum::<f64>().sqrt());
        heads.push(values.into_iter().take(HEAD).collect::<Vec<f64>>());
    }
    let (input_norm, input_head) = (norms.pop(), heads.pop());
    let total = norms.iter().map(|x| x * x).sum::<f64>().sqrt();
    let statistics = |name: &str| {
        let mut all = vec![];
        for norm in &spec.batch_norms {
            all.extend(store.get(&format!("{}.{name}", norm.name))?.to_f64());
        }
        Ok::<_, Error>(vector(all))
    };
    let mut results = Results::from([
        ("logits".to_string(), program.get("logits")?),
        ("loss".to_string(), vector(program.get("loss")?.to_f64())),
        ("rates".to_string(), vector(rates)),
        ("grad_norm".to_string(), vector(norms)),
        ("grad_norm_total".to_string(), vector(vec![total])),
        ("grad_head".to_string(), vector(heads.concat())),
        ("running_mean".to_string(), statistics("running_mean")?),
        ("running_var".to_string(), statistics("running_var")?),
    ]);
    if given.x.shape.len() == 4 {
        let of_input = [("norm", input_norm.map(|n| vec![n])), ("head", input_head)];
        for (what, values) in of_input {
            results.insert(
                format!("input_grad_{what}"),
                vector(values.unwrap_or_default()),
            );
        }
    }
    Ok(results)
}

/// The scores in evaluation, with the running statistics of this batch: those of a training pass with momentum 1.
fn evaluated(
    spec: &Spec,
    layers: &Layers,
    given: &Given,
    backend: &Arc<dyn Backend>,
) -> Result<Results> {
    let mut layers = layers.clone();
    layers.layers.iter_mut().for_each(follow_at_once);
    let module = layers.module()?;
    let trace = |mode| -> Result<Trace> {
        let cx = Context::new(mode, given.dtype);
        let x = cx.tracer().input("x", given.dtype, given.x.shape.clone());
        let logits = cx.trace(&*module, sequence(spec, &x))?;
        cx.tracer().output("logits", &logits);
        Ok(cx)
    };
    let cx = trace(Mode::TRAIN)?;
    let mut store = given.store(&cx, backend)?;
    cx.compile(&mut store, 0)?
        .run_with([("x", host(&given.x))])?;
    let mut program = trace(Mode::EVAL)?.compile(&mut store, 0)?;
    program.run_with([("x", host(&given.x))])?;
    Ok(Results::from([(
        "eval_logits".to_string(),
        program.get("logits")?,
    )]))
}

/// Sets the momentum of all batch norms to 1.
fn follow_at_once(layer: &mut Value) {
    const ATTENTION: [&str; 3] = [
        "self-attention",
        "token-attention",
        "spike-driven-attention",
    ];
    match layer {
        Value::Array(list) => list.iter_mut().for_each(follow_at_once),
        Value::Object(keys) => {
            let norm = keys.get("layer").is_some_and(|name| name == "batch-norm");
            if norm || ATTENTION.iter().any(|name| keys.contains_key(*name)) {
                keys.insert("momentum".to_string(), json!(1.0));
            }
            keys.values_mut().for_each(follow_at_once);
        }
        _ => {}
    }
}

fn expect_labels(labels: &[i64], batch: usize, classes: usize) -> Result<()> {
    super::expect("labels", &[labels.len()], &[batch])?;
    match labels
        .iter()
        .find(|&&label| !(0..classes as i64).contains(&label))
    {
        None => Ok(()),
        Some(outside) => Err(wrong(
            format!("label {outside} with {classes} classes"),
            "give labels from 0 to the number of classes − 1",
        )),
    }
}
