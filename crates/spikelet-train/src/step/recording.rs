//! The values of layers that a recording writes.

use super::Step;
use super::error::StepError;
use super::groups::Names;
use super::recorded::{layers_with, path_of};
use super::trace::{Purpose, check_all};
use spikelet_core::Result;
use spikelet_graph::{DType, TensorType, Var};
use spikelet_nn::module::{Trace, Traced, observer};
use spikelet_schema::Schema;
use std::collections::BTreeSet;
use std::fmt;

/// A value of a network, or of a layer of it, at every time step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Schema)]
#[non_exhaustive]
pub enum Recorded {
    /// The spikes: `LAYER.spike_seq`.
    Spikes,
    /// The membrane potentials V after the reset: `LAYER.v_seq`.
    Potentials,
    /// The inputs X of the neurons, the results of the layers before them: `LAYER.x_seq`.
    Inputs,
    /// The potentials H before the reset: `LAYER.h_seq`.
    Charged,
    /// The outputs of the layers of lists ([`Sequential`](spikelet_nn::module::Sequential)), with neurons or without:
    /// `LAYER.output_seq`; of the network, `output_seq`.
    Outputs,
    /// The input of the network, which the encoder of images computes: `input_seq`. It is that of no layer.
    Sequence,
    /// The weights of a plastic layer after each step, or after the call: `LAYER.weight_seq`.
    Weights,
    /// The changes of these weights by the learning rule, before the learning rate: `LAYER.change_seq`.
    Changes,
    /// The traces of the learning rule of a plastic layer, `LAYER.TRACE` with the names of the rule.
    Traces,
}

/// The name of the input of the network.
const SEQUENCE: &str = "input_seq";

impl Recorded {
    /// The values of neurons, `[T, N, …]`, without H, which follows from the others.
    ///
    /// ```
    /// use spikelet_train::Recorded;
    /// assert_eq!(Recorded::NEURONS.map(Recorded::name), ["spikes", "potentials", "inputs"]);
    /// ```
    pub const NEURONS: [Self; 3] = [Self::Spikes, Self::Potentials, Self::Inputs];

    /// Whether it is a value of a learning rule, which layers have only while they learn.
    pub fn is_of_rule(self) -> bool {
        matches!(self, Self::Weights | Self::Changes | Self::Traces)
    }

    /// The name under which layers record it; `None` for traces, which rules name.
    fn suffix(self) -> Option<&'static str> {
        match self {
            Self::Spikes => Some("spike_seq"),
            Self::Potentials => Some("v_seq"),
            Self::Inputs => Some("x_seq"),
            Self::Charged => Some("h_seq"),
            Self::Outputs => Some("output_seq"),
            Self::Sequence => Some(SEQUENCE),
            Self::Weights => Some("weight_seq"),
            Self::Changes => Some("change_seq"),
            Self::Traces => None,
        }
    }

    /// Why a layer of neurons has no such value; `None` for values that not all layers of neurons have.
    fn missing(self) -> Option<&'static str> {
        match self {
            Self::Spikes => Some("its neurons have other outputs than spikes; record `outputs`"),
            Self::Potentials => Some("its neurons have no membrane potential"),
            Self::Charged => Some("its neurons have no state that is charged"),
            _ => None,
        }
    }

    /// The layers that recorded it: their paths, those of the values, and the values.
    fn of_layers(self, traced: &Traced) -> Vec<(String, String, Var)> {
        if let Some(suffix) = self.suffix() {
            let layers = layers_with(&traced.recorded, suffix).into_iter();
            let with_path = layers.map(|(layer, var)| {
                let path = path_of(&layer, suffix);
                (layer, path, var)
            });
            return with_path.collect();
        }
        // A plastic layer itself records its traces, and values above.
        let others = Self::ALL.map(Self::suffix);
        let mut found = vec![];
        for (path, var) in &traced.recorded {
            let (layer, name) = path.rsplit_once('.').unwrap_or(("", path));
            let is_trace = !others.contains(&Some(name));
            if is_trace && traced.plastic.iter().any(|plastic| plastic == layer) {
                found.push((layer.to_string(), path.clone(), var.clone()));
            }
        }
        found
    }
}

/// The values of layers that an evaluation returns.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecordedLayers {
    layers: Vec<Names>,
    values: Vec<Recorded>,
    /// Whether plastic layers learn.
    pub(super) learns: bool,
    /// Whether states with a random start begin at rest.
    at_rest: bool,
}

impl RecordedLayers {
    pub(crate) fn new(
        patterns: &[String],
        values: &[Recorded],
        learns: bool,
        at_rest: bool,
    ) -> Self {
        Self {
            layers: patterns.iter().map(Names::new).collect(),
            values: values.to_vec(),
            learns,
            at_rest,
        }
    }

    /// Whether layers must record more than their spikes.
    pub(super) fn watches(&self) -> bool {
        self.values.iter().any(|value| *value != Recorded::Spikes)
    }

    /// A context in which layers record the values.
    pub(super) fn prepare(&self, cx: Trace) -> Trace {
        let cx = match self.at_rest {
            true => cx.at_rest(),
            false => cx,
        };
        let of_lists = [Recorded::Outputs, Recorded::Sequence];
        match self.values.iter().any(|value| of_lists.contains(value)) {
            true => cx.observer(observer::Sequences),
            false => cx,
        }
    }

    /// Whether a value of a layer was chosen.
    fn chooses(&self, value: Recorded, layer: &str) -> bool {
        value == Recorded::Sequence || self.layers.iter().any(|names| names.matches(layer))
    }
}

/// A requested value that is not recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its path, such as `fc.2.v_seq`.
    pub path: String,
    /// Why it is left out.
    pub why: String,
}

impl RecordedLayers {
    /// The values that chosen layers of neurons do not have, and those that no chosen layer has.
    fn missing(&self, traced: &Traced) -> Vec<LeftOut> {
        let of = |value: Recorded| -> BTreeSet<String> {
            let layers = value.of_layers(traced).into_iter();
            layers.map(|(layer, ..)| layer).collect()
        };
        let neurons: BTreeSet<String> = Recorded::NEURONS.into_iter().flat_map(of).collect();
        let mut missing = vec![];
        for value in &self.values {
            let has = of(*value);
            let before = missing.len();
            if let (Some(why), Some(suffix)) = (value.missing(), value.suffix()) {
                let without = neurons.difference(&has);
                let without = without.filter(|layer| self.chooses(*value, layer));
                missing.extend(without.map(|layer| LeftOut {
                    path: path_of(layer, suffix),
                    why: why.to_string(),
                }));
            }
            let named = missing.len() > before;
            if !named && !has.iter().any(|layer| self.chooses(*value, layer)) {
                let others: Vec<&str> = has.iter().map(String::as_str).collect();
                missing.push(LeftOut {
                    path: value.name().to_string(),
                    why: match others.is_empty() {
                        true => "the network has none".to_string(),
                        false => format!(
                            "no chosen layer has them; they are those of {}",
                            others.join(", ")
                        ),
                    },
                });
            }
        }
        missing
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.why)
    }
}

/// The recorded values of a trace, and those that it does not have.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RecordedValues {
    pub(crate) values: Vec<RecordedValue>,
    pub(crate) left_out: Vec<LeftOut>,
}

/// A recorded value of a trace.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RecordedValue {
    /// Its path, such as `fc.2.spike_seq`; a number follows if a layer runs several times.
    pub(crate) path: String,
    /// The output of the program.
    pub(crate) output: String,
    pub(crate) ty: TensorType,
    /// Whether its elements are 0 or 1.
    pub(crate) binary: bool,
}

/// The types of what an evaluation of a recording returns.
pub(crate) struct RecordedTypes {
    pub(crate) recorded: RecordedValues,
    pub(crate) outputs: Vec<(String, TensorType)>,
}

impl Step<'_> {
    /// The same step whose evaluations return values of layers.
    pub(crate) fn recording(mut self, layers: RecordedLayers) -> Self {
        self.recording = Some(layers);
        self.outputs(true)
    }

    /// Whether readable values of layers are others than spikes, which are recorded on request only.
    pub(super) fn reads_on_request(&self) -> bool {
        let on_request = Recorded::ALL.into_iter().skip(1);
        let suffixes: Vec<_> = on_request.filter_map(Recorded::suffix).collect();
        let mut activations = self.activations.iter();
        activations.any(|names| suffixes.iter().any(|end| names.text().ends_with(end)))
    }

    /// Makes the chosen values of layers outputs.
    pub(super) fn record_layers(&self, cx: &Trace) -> Result<RecordedValues> {
        let Some(recording) = &self.recording else {
            return Ok(RecordedValues::default());
        };
        let traced = cx.traced();
        if recording.learns && traced.plastic.is_empty() {
            return Err(StepError::NothingLearns.into());
        }
        let mut layers: Vec<String> = vec![];
        for (layer, ..) in Recorded::ALL
            .iter()
            .flat_map(|value| value.of_layers(&traced))
        {
            if !layers.contains(&layer) {
                layers.push(layer);
            }
        }
        // The network itself is a layer if it is a neuron.
        if layers.len() > 1 {
            layers.retain(|layer| !layer.is_empty());
        }
        if !layers.is_empty() {
            check_all(&recording.layers, layers.iter().map(String::as_str))?;
        }
        let mut found = RecordedValues::default();
        for value in &recording.values {
            for (layer, path, var) in value.of_layers(&traced) {
                if !recording.chooses(*value, &layer) {
                    continue;
                }
                let values = &mut found.values;
                let output = format!("recorded {}", values.len());
                cx.tracer().output(&output, &var);
                let earlier = values.iter().filter(|other| other.is_of(&path)).count();
                values.push(RecordedValue {
                    binary: traced.binary.contains(&path),
                    path: match earlier {
                        0 => path,
                        n => format!("{path}.{}", n + 1),
                    },
                    output,
                    ty: var.ty().clone(),
                });
            }
        }
        found.left_out = recording.missing(&traced);
        Ok(found)
    }

    /// The types of the recorded values and of the outputs for batches of this size.
    pub(crate) fn recorded_types(&self, samples: usize, purpose: Purpose) -> Result<RecordedTypes> {
        let (_, info) = self.with_batch(samples).trace_forward(purpose, false)?;
        Ok(RecordedTypes {
            recorded: info.recorded,
            outputs: info.outputs,
        })
    }

    /// Whether an input of this name is declared.
    pub(crate) fn has_input(&self, name: &str) -> bool {
        self.inputs.iter().any(|input| input.name == name)
    }

    /// The names of the inputs that are one integer of each sample, such as labels.
    pub(crate) fn integer_inputs(&self) -> Vec<String> {
        let inputs = self.inputs.iter();
        let integers = inputs.filter(|input| {
            input.dtype == DType::I64
                && input.shape.is_empty()
                && input.layout == super::Layout::Batch
        });
        integers.map(|input| input.name.clone()).collect()
    }
}

impl RecordedValue {
    /// Whether it is one of the values of this path.
    fn is_of(&self, path: &str) -> bool {
        let number = self.path.strip_prefix(path);
        let number = number.map(|rest| rest.strip_prefix('.').unwrap_or(rest));
        number.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
    }
}
