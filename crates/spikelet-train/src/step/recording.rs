//! The values of layers that a recording writes.

use super::Step;
use super::error::StepError;
use super::groups::Names;
use super::monitors::layers_with;
use super::trace::{Purpose, check_all};
use spikelet_core::Result;
use spikelet_graph::{DType, TensorType, Var};
use spikelet_nn::module::{Context, Traced};

/// A value of the neurons or of the synapses of a layer at every time step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Recorded {
    /// The spikes: `LAYER.spike_seq`.
    Spikes,
    /// The membrane potentials V after the reset: `LAYER.v_seq`.
    Potentials,
    /// The inputs X of the neurons, the results of the layers before them: `LAYER.x_seq`.
    Inputs,
    /// The weights of a plastic layer after each step, or after the call: `LAYER.weight_seq`.
    Weights,
    /// The changes of these weights by the learning rule, before the learning rate: `LAYER.change_seq`.
    Changes,
    /// The traces of the learning rule of a plastic layer, `LAYER.TRACE` with the names of the rule.
    Traces,
}

impl Recorded {
    /// The values of neurons, `[T, N, …]`.
    pub const NEURONS: [Self; 3] = [Self::Spikes, Self::Potentials, Self::Inputs];

    /// All values.
    pub const ALL: [Self; 6] = [
        Self::Spikes,
        Self::Potentials,
        Self::Inputs,
        Self::Weights,
        Self::Changes,
        Self::Traces,
    ];

    /// The name, as on the command line.
    ///
    /// ```
    /// use spikelet_train::Recorded;
    /// assert_eq!(Recorded::NEURONS.map(Recorded::name), ["spikes", "potentials", "inputs"]);
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Spikes => "spikes",
            Self::Potentials => "potentials",
            Self::Inputs => "inputs",
            Self::Weights => "weights",
            Self::Changes => "changes",
            Self::Traces => "traces",
        }
    }

    /// Whether it is a value of a learning rule, which layers have only while they learn.
    pub fn is_of_rule(self) -> bool {
        !Self::NEURONS.contains(&self)
    }

    /// The name under which layers record it; `None` for traces, which rules name.
    fn suffix(self) -> Option<&'static str> {
        match self {
            Self::Spikes => Some("spike_seq"),
            Self::Potentials => Some("v_seq"),
            Self::Inputs => Some("x_seq"),
            Self::Weights => Some("weight_seq"),
            Self::Changes => Some("change_seq"),
            Self::Traces => None,
        }
    }

    /// The layers that recorded it: their paths, those of the values, and the values.
    fn of_layers(self, traced: &Traced) -> Vec<(String, String, Var)> {
        if let Some(suffix) = self.suffix() {
            let layers = layers_with(&traced.recorded, suffix).into_iter();
            let with_path = layers.map(|(layer, var)| {
                let path = super::monitors::path_of(&layer, suffix);
                (layer, path, var)
            });
            return with_path.collect();
        }
        // A plastic layer itself records its traces, and the two values above.
        let others = [Self::Weights, Self::Changes].map(Self::suffix);
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
}

impl RecordedLayers {
    pub(crate) fn new(patterns: &[String], values: &[Recorded], learns: bool) -> Self {
        Self {
            layers: patterns.iter().map(Names::new).collect(),
            values: values.to_vec(),
            learns,
        }
    }

    /// Whether layers must record more than their spikes.
    pub(super) fn watches(&self) -> bool {
        self.values.iter().any(|value| *value != Recorded::Spikes)
    }
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
    pub(crate) values: Vec<RecordedValue>,
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
    pub(super) fn record_layers(&self, cx: &Context) -> Result<Vec<RecordedValue>> {
        let Some(recording) = &self.recording else {
            return Ok(vec![]);
        };
        let traced = cx.traced();
        if recording.learns && traced.plastic.is_empty() {
            return Err(StepError::NothingLearns.into());
        }
        let chosen = |layer: &str| recording.layers.iter().any(|names| names.matches(layer));
        let mut found: Vec<RecordedValue> = vec![];
        let mut known: Vec<String> = vec![];
        for value in &recording.values {
            let layers = value.of_layers(&traced);
            let names = layers.iter().map(|(layer, ..)| layer.as_str());
            if !names.clone().any(chosen) {
                check_all(&recording.layers, names.clone())?;
            }
            known.extend(names.map(String::from));
            for (layer, path, var) in layers {
                if !chosen(&layer) {
                    continue;
                }
                let binary = traced.binary.contains(&path);
                let output = format!("recorded {}", found.len());
                cx.tracer().output(&output, &var);
                let earlier = found.iter().filter(|other| other.is_of(&path)).count();
                found.push(RecordedValue {
                    path: match earlier {
                        0 => path,
                        n => format!("{path}.{}", n + 1),
                    },
                    output,
                    ty: var.ty().clone(),
                    binary,
                });
            }
        }
        check_all(&recording.layers, known.iter().map(String::as_str))?;
        Ok(found)
    }

    /// The types of the recorded values and of the outputs for batches of this size.
    pub(crate) fn recorded_types(&self, samples: usize) -> Result<RecordedTypes> {
        let (_, info) = self
            .with_batch(samples)
            .trace_forward(Purpose::EVALUATE, false)?;
        Ok(RecordedTypes {
            values: info.recorded,
            outputs: info.outputs,
        })
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
