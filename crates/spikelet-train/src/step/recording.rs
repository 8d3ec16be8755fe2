//! The values of layers that a recording writes.

use super::Step;
use super::groups::Names;
use super::monitors::layers_with;
use super::trace::{Purpose, check_all};
use spikelet_core::Result;
use spikelet_graph::{DType, TensorType};
use spikelet_nn::module::Context;

/// A value of the neurons of a layer at every time step, `[T, N, …]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Recorded {
    /// The spikes: `LAYER.spike_seq`.
    Spikes,
    /// The membrane potentials V after the reset: `LAYER.v_seq`.
    Potentials,
    /// The inputs X of the neurons, the results of the layers before them: `LAYER.x_seq`.
    Inputs,
}

impl Recorded {
    /// All values.
    pub const ALL: [Self; 3] = [Self::Spikes, Self::Potentials, Self::Inputs];

    /// The name, as on the command line.
    ///
    /// ```
    /// use spikelet_train::Recorded;
    /// assert_eq!(Recorded::ALL.map(Recorded::name), ["spikes", "potentials", "inputs"]);
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Spikes => "spikes",
            Self::Potentials => "potentials",
            Self::Inputs => "inputs",
        }
    }

    /// The name under which neurons record it.
    fn suffix(self) -> &'static str {
        match self {
            Self::Spikes => "spike_seq",
            Self::Potentials => "v_seq",
            Self::Inputs => "x_seq",
        }
    }
}

/// The values of layers that an evaluation returns.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecordedLayers {
    layers: Vec<Names>,
    values: Vec<Recorded>,
}

impl RecordedLayers {
    pub(crate) fn new(patterns: &[String], values: &[Recorded]) -> Self {
        Self {
            layers: patterns.iter().map(Names::new).collect(),
            values: values.to_vec(),
        }
    }

    /// Whether neurons must record more than their spikes.
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

    /// Whether readable values of layers are potentials or inputs of neurons, which are recorded on request only.
    pub(super) fn reads_potentials(&self) -> bool {
        let on_request = [Recorded::Potentials, Recorded::Inputs];
        (self.activations.iter()).any(|names| {
            on_request
                .iter()
                .any(|value| names.text().ends_with(value.suffix()))
        })
    }

    /// Makes the chosen values of layers outputs.
    pub(super) fn record_layers(&self, cx: &Context) -> Result<Vec<RecordedValue>> {
        let Some(recording) = &self.recording else {
            return Ok(vec![]);
        };
        let traced = cx.traced();
        let mut found: Vec<RecordedValue> = vec![];
        for value in &recording.values {
            let layers = layers_with(&traced.recorded, value.suffix());
            let names = layers.iter().map(|(layer, _)| layer.as_str());
            check_all(&recording.layers, names)?;
            for (layer, var) in layers {
                if !recording.layers.iter().any(|names| names.matches(&layer)) {
                    continue;
                }
                let path = super::monitors::path_of(&layer, value.suffix());
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
