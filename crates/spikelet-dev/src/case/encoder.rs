//! Cases of encoders: from a value or a sequence to spikes.

use super::{Results, bounded, expect, fields, input, wrong};
use serde::Deserialize;
use serde_json::{Value, json};
use spikelet::encoder::{self, Encoder, Periodic};
use spikelet::graph::{Backend, DType};
use spikelet::prelude::*;
use spikelet::runtime::host;
use spikelet::tensors::TensorFile;
use std::sync::Arc;

#[derive(Deserialize)]
struct Spec {
    encoder: String,
    #[serde(default)]
    params: Params,
    #[serde(rename = "T")]
    time_steps: usize,
    #[serde(rename = "N")]
    elements: Option<usize>,
}

/// SpikingJelly's names.
#[derive(Default, Deserialize)]
struct Params {
    #[serde(rename = "T")]
    period: Option<usize>,
    #[serde(rename = "K")]
    bits: Option<usize>,
    enc_function: Option<String>,
}

/// A network that returns its input.
struct Identity;

impl Module for Identity {
    fn forward(&self, _: &Context, x: &Var) -> Result<Var> {
        Ok(x.clone())
    }
}

pub fn run(
    case: &TensorFile,
    spec: Value,
    backend: Arc<dyn Backend>,
    dtype: DType,
) -> Result<Results> {
    let spec: Spec = fields(spec)?;
    let x = input(case, "x", dtype)?;
    let step = match spec.encoder.as_str() {
        "periodic" => x.shape.get(1..).unwrap_or_default(),
        _ => &x.shape[..],
    };
    let elements = bounded(step)?;
    expect("x", &[elements], &[spec.elements.unwrap_or(elements)])?;
    bounded(&[spec.time_steps, elements])?;
    let encoder = build(&spec, &x)?;
    let cx = Context::new(Mode::EVAL, dtype);
    let var = cx.tracer().input("x", dtype, x.shape.clone());
    let encoded = cx.trace_encoded(&Identity, &*encoder, &var, spec.time_steps)?;
    cx.tracer().output("spike_seq", &encoded.join());
    let mut store = VarStore::new(backend);
    let mut program = cx.compile(&mut store, 0)?;
    program.run_with([("x", host(&x))])?;
    let name = "spike_seq".to_string();
    let spike_seq = program.get(&name)?;
    Ok(Results::from([(name, spike_seq)]))
}

fn build(spec: &Spec, x: &Tensor) -> Result<Arc<dyn Encoder>> {
    let Params {
        period,
        bits,
        enc_function,
    } = &spec.params;
    let spec = match spec.encoder.as_str() {
        "periodic" => {
            let steps = x.shape.first().copied().unwrap_or(0);
            expect("x", &[steps], &[period.unwrap_or(steps)])?;
            return Ok(Arc::new(Periodic));
        }
        "latency" => {
            let code = enc_function.as_deref().unwrap_or("linear");
            json!({"name": "latency", "time_steps": period, "code": code})
        }
        "weighted_phase" => json!({"name": "weighted_phase", "k": bits.unwrap_or(8)}),
        other => {
            return Err(wrong(
                format!("its encoder is `{other}`"),
                "use latency, weighted_phase or periodic",
            ));
        }
    };
    encoder::from_spec(&spec)
        .map_err(|problem| wrong(problem.to_string(), "correct the encoder's `params`"))
}
