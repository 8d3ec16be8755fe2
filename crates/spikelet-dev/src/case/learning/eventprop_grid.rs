//! EventProp on a grid.

use super::{Given, eventprop::labels};
use crate::case::{Results, bounded, expect, wrong};
use serde::Deserialize;
use spikelet::graph::{DType, Tensor};
use spikelet::layer::{EventPropLif, EventPropReadout, EventPropTime};
use spikelet::prelude::*;
use spikelet::runtime::host;

#[derive(Deserialize)]
struct Constants {
    tau_m: f64,
    tau_s: f64,
    v_threshold: f64,
    dt: f64,
}

/// The parameters of the layers, and the tensors of the case.
const WEIGHTS: [(&str, &str); 3] = [
    ("hidden.weight", "w_in"),
    ("hidden.feedback.weight", "w_rec"),
    ("readout.weight", "w_out"),
];

/// Computes the case.
pub fn run(given: &Given<'_>) -> Result<Results> {
    let constants: Constants = given.constants()?;
    if given.dtype != DType::F64 {
        return Err(wrong(
            format!("the case is compared in f64, not in {}", given.dtype),
            "use --dtype f64",
        ));
    }
    let x = given.input("in.x")?;
    let &[steps, samples, inputs] = &x.shape[..] else {
        return Err(wrong(
            format!("`in.x` is {:?}", x.shape),
            "give [T, N, inputs]",
        ));
    };
    let sizes = |name: &str| {
        let shape = given.input(name)?.shape;
        shape
            .first()
            .copied()
            .filter(|_| shape.len() == 2)
            .ok_or_else(|| {
                wrong(
                    format!("`{name}` is {shape:?}"),
                    "give a matrix [post, pre]",
                )
            })
    };
    let (hidden, outputs) = (sizes("param.w_in")?, sizes("param.w_out")?);
    bounded(&[steps, samples, hidden.max(outputs).max(inputs)])?;
    bounded(&[hidden, hidden.max(inputs).max(outputs)])?;
    let labels: Vec<i64> = labels(given, outputs)?
        .into_iter()
        .map(|label| label as i64)
        .collect();
    expect("in.label", &[labels.len()], &[samples])?;

    let time = EventPropTime {
        tau_m: constants.tau_m,
        tau_s: constants.tau_s,
        dt: constants.dt,
    };
    // The case has the gradient of the diagonal too, as the formula gives it.
    let layer = EventPropLif::new(inputs, hidden, time)
        .recurrent(true)
        .self_connections(true);
    let layer = layer.v_threshold(constants.v_threshold);
    let readout = EventPropReadout::new(hidden, outputs, time);
    let cx = Context::new(Mode::TRAIN, given.dtype);
    let input = cx.tracer().input("x", given.dtype, x.shape.clone());
    let label = cx.tracer().input("label", DType::I64, [samples]);
    let s = cx.child("hidden", |cx| layer.forward(cx, &input))?;
    let v = cx.child("readout", |cx| readout.forward(cx, &s))?;
    let mean_v = v.mean(&[0]);
    let loss = loss::cross_entropy(&mean_v, &label);
    let mut store = VarStore::new(given.backend.clone());
    let mut weights = vec![];
    for ((path, name), shape) in
        WEIGHTS
            .iter()
            .zip([[hidden, inputs], [hidden, hidden], [outputs, hidden]])
    {
        let Some(weight) = cx.tracer().find_input(path) else {
            return Err(wrong(
                format!("the layers have no `{path}`"),
                "correct the layers",
            ));
        };
        store.insert(path, &given.input_of(&format!("param.{name}"), &shape)?)?;
        weights.push(weight);
    }
    let gradients = cx
        .tracer()
        .gradients(&loss, &weights.iter().collect::<Vec<_>>());
    let names = [
        "out.s",
        "out.mean_v",
        "out.loss",
        "grad.w_in",
        "grad.w_rec",
        "grad.w_out",
    ];
    let s = s.cast(given.dtype);
    for (name, value) in names
        .iter()
        .zip([&s, &mean_v, &loss].into_iter().chain(&gradients))
    {
        cx.tracer().output(name, value);
    }
    let mut program = cx.compile(&mut store, 0)?;
    let label = Tensor::i64([samples], labels);
    program.run_with([("x", host(&x)), ("label", host(&label))])?;
    let result = |name: &str| Ok((name.to_string(), program.get(name)?));
    names.into_iter().map(result).collect()
}
