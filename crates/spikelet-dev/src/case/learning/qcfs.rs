//! The activation of quantization-clip-floor-shift with its gradients, and the neuron in its place.

use super::Given;
use crate::case::{Results, bounded, expect, wrong};
use serde::Deserialize;
use spikelet::graph::Tensor;
use spikelet::layer::{Qcfs, Rescale, spiking};
use spikelet::neuron::HalfThresholdIf;
use spikelet::prelude::*;
use spikelet::runtime::host;

#[derive(Deserialize)]
struct Constants {
    #[serde(rename = "L")]
    levels: usize,
}

/// The path of the activation.
const LAYER: &str = "activation";

pub fn run(given: &Given<'_>) -> Result<Results> {
    let Constants { levels } = given.constants()?;
    let x = given.input("in.x")?;
    bounded(&[&[levels], x.shape.as_slice()].concat())?;
    let lambda = given.input_of("param.lambda", &[1])?;
    let threshold = lambda.to_f64()[0];
    if !(threshold.is_finite() && threshold > 0.0) {
        return Err(wrong(
            format!("`param.lambda` is {threshold}"),
            "give a finite threshold above 0",
        ));
    }
    let mut results = activation(given, levels, &x, &lambda)?;
    let x_seq = given.input("in.x_seq")?;
    expect(
        "in.x_seq",
        x_seq.shape.get(1..).unwrap_or_default(),
        &x.shape,
    )?;
    let (y, v) = neuron(given, threshold, &x_seq)?;
    results.insert("out.y".to_string(), y);
    results.insert("out.v".to_string(), v);
    let repeated: Vec<f64> = (0..levels).flat_map(|_| x.to_f64()).collect();
    let constant = Tensor::f64([&[levels], x.shape.as_slice()].concat(), repeated);
    let (y, _) = neuron(given, threshold, &constant.cast(given.dtype))?;
    results.insert(
        "out.constant_mean".to_string(),
        mean(&y, &x.shape).cast(given.dtype),
    );
    Ok(results)
}

/// The output and the gradients of the activation.
fn activation(given: &Given<'_>, levels: usize, x: &Tensor, lambda: &Tensor) -> Result<Results> {
    let grad = given.input_of("in.grad_ann", &x.shape)?;
    let cx = Context::new(Mode::TRAIN, given.dtype);
    let input = |name, tensor: &Tensor| cx.tracer().input(name, given.dtype, tensor.shape.clone());
    let (input_x, input_grad) = (input("x", x), input("grad", &grad));
    let sequence = [&[1, 1], x.shape.as_slice()].concat();
    let layer = Qcfs::new(levels);
    let y = cx.child(LAYER, |cx| layer.forward(cx, &input_x.reshape(sequence)))?;
    let y = y.reshape(x.shape.clone());
    let loss = (&y * &input_grad).sum_all();
    let name = format!("{LAYER}.lambda");
    let Some(parameter) = cx.tracer().find_input(&name) else {
        return Err(wrong("the activation has no lambda", "correct the layer"));
    };
    let grads = cx.tracer().gradients(&loss, &[&input_x, &parameter]);
    for (name, value) in [("y", &y), ("grad.x", &grads[0]), ("grad.lambda", &grads[1])] {
        cx.tracer().output(name, value);
    }
    let mut store = VarStore::new(given.backend.clone());
    let of_layer = Tensor::f64([], lambda.to_f64()).cast(given.dtype);
    store.insert(&name, &of_layer)?;
    let mut program = cx.compile(&mut store, 0)?;
    program.run_with([("x", host(x)), ("grad", host(&grad))])?;
    let of_lambda = Tensor::f64([1], program.get("grad.lambda")?.to_f64());
    Ok(Results::from([
        ("out.ann".to_string(), program.get("y")?),
        ("grad.x".to_string(), program.get("grad.x")?),
        ("grad.lambda".to_string(), of_lambda.cast(given.dtype)),
    ]))
}

/// The output λ·S of the neuron at each step, and its last potential.
fn neuron(given: &Given<'_>, threshold: f64, x_seq: &Tensor) -> Result<(Tensor, Tensor)> {
    bounded(&x_seq.shape)?;
    let neuron = HalfThresholdIf::default().v_threshold(threshold);
    let cx = Context::new(Mode::EVAL, given.dtype);
    let x = cx.tracer().input("x_seq", given.dtype, x_seq.shape.clone());
    let made = spiking(&neuron, &cx, &x)?;
    let Some(v_seq) = made.state_seq("v") else {
        return Err(wrong("the neuron has no potential", "correct the neuron"));
    };
    let last = v_seq.dim(0) - 1;
    let v = v_seq.slice(0, last..last + 1).reshape(&x_seq.shape[1..]);
    cx.tracer()
        .output("y", &cx.trace(&Rescale::new(threshold), made.out.clone())?);
    cx.tracer().output("v", &v);
    let mut program = cx.compile(&mut VarStore::new(given.backend.clone()), 0)?;
    program.run_with([("x_seq", host(x_seq))])?;
    Ok((program.get("y")?, program.get("v")?))
}

/// The mean over time.
fn mean(sequence: &Tensor, shape: &[usize]) -> Tensor {
    let (values, each) = (sequence.to_f64(), shape.iter().product::<usize>());
    let steps = values.len() / each.max(1);
    let sum = |k: usize| values.iter().skip(k).step_by(each).sum::<f64>();
    Tensor::f64(
        shape,
        (0..each).map(|k| sum(k) / steps as f64).collect::<Vec<_>>(),
    )
}
