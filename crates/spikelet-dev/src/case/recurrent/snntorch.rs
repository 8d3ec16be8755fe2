//! snnTorch's RLeaky and RSynaptic.

use super::program::{Part, Trace};
use super::{Spec, trained};
use crate::case::wrong;
use serde::Deserialize;
use spikelet::layer::Feedback;
use spikelet::neuron::{RLeakyCell, RSynapticCell};
use spikelet::prelude::*;
use spikelet::surrogate::FastSigmoid;
use std::sync::Arc;

#[derive(Deserialize)]
struct Constants {
    surrogate: String,
    #[serde(default)]
    surrogate_constants: SurrogateConstants,
    /// Absent where it is a parameter.
    threshold: Option<f64>,
    reset_mechanism: String,
    reset_delay: bool,
}

#[derive(Default, Deserialize)]
struct SurrogateConstants {
    alpha: Option<f64>,
    slope: Option<f64>,
}

/// The reset of snnTorch's neurons by its name.
pub(super) fn set_reset(cell: &mut RLeakyCell, mechanism: &str, delay: bool) -> Result<()> {
    cell.reset_delay = delay;
    match mechanism {
        "subtract" => cell.common.v_reset = None,
        "zero" => cell.common.v_reset = Some(0.0),
        "none" => cell.common.resets = false,
        other => {
            return Err(wrong(
                format!("its reset mechanism is `{other}`"),
                "use subtract, zero or none",
            ));
        }
    }
    Ok(())
}

impl Constants {
    fn cell(&self, trace: &Trace<'_>) -> Result<RLeakyCell> {
        let mut cell = RLeakyCell::default();
        set_reset(&mut cell, &self.reset_mechanism, self.reset_delay)?;
        let given = &self.surrogate_constants;
        cell.common.surrogate = match self.surrogate.as_str() {
            "snn_atan" => Arc::new(Atan {
                alpha: given.alpha.unwrap_or(2.0),
            }),
            "fast_sigmoid" => Arc::new(FastSigmoid {
                slope: given.slope.unwrap_or(25.0),
            }),
            other => {
                return Err(wrong(
                    format!("its surrogate is `{other}`"),
                    "use snn_atan or fast_sigmoid",
                ));
            }
        };
        cell.common.v_threshold = self.threshold.unwrap_or(1.0);
        let factor = Bound::Clamp {
            low: 0.0,
            high: 1.0,
        };
        let parameters = [
            ("beta", "param.beta", factor),
            ("v_threshold", "param.threshold", Bound::None),
            ("feedback", "param.V", Bound::None),
        ];
        for (name, theirs, bound) in parameters {
            if trace.has(theirs) {
                trained(&mut cell.common, name, trace.shape(theirs)?, bound);
            }
        }
        cell.one_to_one = trace.has("param.V");
        Ok(cell)
    }
}

const PATH: &str = "layer";

pub fn layer(spec: &Spec, trace: &mut Trace<'_>) -> Result<()> {
    let constants: Constants = spec.constants()?;
    let features = trace.shape("in.x")?.last().copied().unwrap_or(0);
    let x = trace.sequence(features)?;
    let mut cell = constants.cell(trace)?;
    let s = match spec.neuron.as_str() {
        "RLeaky" => trace_neuron(trace, cell, features, x)?,
        "RSynaptic" => {
            if trace.has("param.alpha") {
                let bound = Bound::Clamp {
                    low: 0.0,
                    high: 1.0,
                };
                trained(
                    &mut cell.common,
                    "alpha",
                    trace.shape("param.alpha")?,
                    bound,
                );
            }
            let cell = RSynapticCell {
                neuron: cell,
                ..RSynapticCell::default()
            };
            trace_neuron(trace, cell, features, x)?
        }
        _ => return Err(spec.unknown_neuron("RLeaky or RSynaptic")),
    };
    for (ours, theirs) in [
        ("neuron.beta", "beta"),
        ("neuron.alpha", "alpha"),
        ("neuron.v_threshold", "threshold"),
        ("neuron.feedback", "V"),
        ("feedback.weight", "recurrent.weight"),
        ("feedback.bias", "recurrent.bias"),
    ] {
        let ours = format!("{PATH}.{ours}");
        trace.bind(ours, format!("param.{theirs}"), Part::Whole);
    }
    let states = [
        ("neuron.v", "mem"),
        ("neuron.syn", "syn"),
        ("neuron.fired", "spk"),
        ("spikes", "spk"),
    ];
    trace.bind_all(PATH, "init", "", &states);
    let mem = trace.recorded(&format!("{PATH}.neuron.v_seq"))?;
    trace.output("mem", &mem);
    if let Ok(syn) = trace.recorded(&format!("{PATH}.neuron.syn_seq")) {
        trace.output("syn", &syn);
    }
    trace.output("s", &s);
    trace.weighted_loss(&[("s", &s), ("mem", &mem)])
}

/// A neuron with feedback through weights, if the case has them.
fn trace_neuron(
    trace: &mut Trace<'_>,
    neuron: impl Neuron + 'static,
    features: usize,
    x: Var,
) -> Result<Var> {
    if !trace.has("param.recurrent.weight") {
        return trace.module(PATH, &Sequential::new().add_named("neuron", neuron), x);
    }
    let feedback = Feedback::new(features).bias(trace.has("param.recurrent.bias"));
    trace.module(PATH, &Recurrent::through(neuron, feedback), x)
}
