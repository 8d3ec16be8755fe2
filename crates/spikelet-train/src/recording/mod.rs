//! Recorded values of layers, written to a file.

mod content;
mod write;

use super::Settings;
use super::evaluation::classifier_loader;
use super::step::{LeftOut, Recorded, Step};
use spikelet_core::files::FileError;
use spikelet_core::{Result, human};
use spikelet_data::{ArraySpec, DataLoader, Dataset};
use spikelet_nn::module::Module;
use spikelet_nn::runtime::VarStore;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The largest file: 16 GiB.
const LARGEST: u64 = spikelet_core::files::LARGEST;

/// A choice of layers, values and samples to write to a file: [`Step::record`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    layers: Vec<String>,
    values: Vec<Recorded>,
    samples: Option<Range<usize>>,
    /// The samples of a batch from which plastic layers learn.
    learning: Option<usize>,
    at_rest: bool,
}

impl Recording {
    /// The spikes of the layers whose paths match `pattern`, in which `*` stands for any characters.
    pub fn new(pattern: impl Into<String>) -> Self {
        Self {
            layers: vec![pattern.into()],
            values: vec![Recorded::Spikes],
            samples: None,
            learning: None,
            at_rest: false,
        }
    }

    /// Adds the layers whose paths match `pattern`.
    #[must_use]
    pub fn layers(mut self, pattern: impl Into<String>) -> Self {
        self.layers.push(pattern.into());
        self
    }

    /// Records these values of the layers, instead of their spikes alone.
    #[must_use]
    pub fn values(mut self, values: impl IntoIterator<Item = Recorded>) -> Self {
        self.values.clear();
        for value in values {
            if !self.values.contains(&value) {
                self.values.push(value);
            }
        }
        self
    }

    /// Records these samples of the data set, instead of all.
    #[must_use]
    pub fn samples(mut self, samples: Range<usize>) -> Self {
        self.samples = Some(samples);
        self
    }

    /// Lets [plastic layers](spikelet_nn::learning::Plastic) learn from the samples while they are recorded, from
    /// `batch_size` samples at a time, in the order of the data set: the store has the changed weights afterwards. All
    /// other layers run as in an evaluation. The values of rules ([`Recorded::is_of_rule`]) need it.
    ///
    /// ```
    /// use spikelet_train::{Recorded, Recording};
    /// let values = [Recorded::Weights, Recorded::Traces];
    /// let recording = Recording::new("features").values(values).samples(0..10).learning(1);
    /// ```
    #[must_use]
    pub fn learning(mut self, batch_size: usize) -> Self {
        self.learning = Some(batch_size);
        self
    }

    /// Lets states that start from random values, as those of [`RadLif`](spikelet_nn::layer::RadLif), begin at rest, as in
    /// a stream and in a network that another program runs.
    #[must_use]
    pub fn at_rest(mut self) -> Self {
        self.at_rest = true;
        self
    }
}

/// A file of recorded values.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedFile {
    /// The file.
    pub path: PathBuf,
    /// Its arrays.
    pub arrays: Vec<ArraySpec>,
    /// The requested values that it does not have.
    pub left_out: Vec<LeftOut>,
    /// The bytes of the arrays.
    pub bytes: u64,
    /// The recorded samples of the data set.
    pub samples: Range<usize>,
    /// The fraction of the predictions that are the labels, if there are both.
    pub accuracy: Option<f64>,
}

/// A recording that cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The path has the ending of neither format.
    #[error(
        "recording: the ending of {} is of no known format\n  help: use .npz, for NumPy, or .safetensors", .path.display()
    )]
    Format {
        /// The path.
        path: PathBuf,
    },
    /// The samples are not those of the data set.
    #[error(
        "recording: the samples {}..{} were requested, `{dataset}` has {len}\n  help: use START..END; samples are \
         counted from 0, and END is not included", .given.start, .given.end
    )]
    Samples {
        /// The samples.
        given: Range<usize>,
        /// The name of the data set.
        dataset: String,
        /// The number of its samples.
        len: usize,
    },
    /// The file would be too large.
    #[error(
        "recording: {samples} samples take {}, a file has at most {}\n  help: record fewer layers, or spikes only \
         (one byte each; other values take four), or write several files of up to {fitting} samples",
        human::bytes(*.bytes), human::bytes(LARGEST)
    )]
    TooLarge {
        /// The number of samples.
        samples: usize,
        /// The bytes that they take.
        bytes: u64,
        /// The number of samples that fit.
        fitting: u64,
    },
    /// The disk has no space for the file.
    #[error(
        "{source}\n  the arrays take {}: fewer samples, layers or values make them smaller",
        human::bytes(*.bytes)
    )]
    Disk {
        /// The size of the file.
        bytes: u64,
        /// The error of the file.
        source: FileError,
    },
    /// A value of a learning rule, without learning.
    #[error(
        "recording: `{value}` are values of layers that learn, and weights are fixed in an evaluation\n  help: let the \
         layers learn while they are recorded (`Recording::learning`, --learn)"
    )]
    Fixed {
        /// The name of the value.
        value: &'static str,
    },
    /// No value has a place in the file.
    #[error(
        "recording: no layer has one of the values{}\n  help: `outputs` are those of all layers of a list, with neurons or \
         without",
        .left_out.iter().map(|value| format!("\n  {value}")).collect::<String>()
    )]
    Nothing {
        /// The values that were left out.
        left_out: Vec<LeftOut>,
    },
    /// A neuron that should emit 0 or 1 has another output.
    #[error(
        "recording: `{path}` has the element {value}, but its neuron is defined with outputs of 0 and 1\n  help: \
         correct `output_kind` of the neuron"
    )]
    NotBinary {
        /// The path of the value.
        path: String,
        /// The element.
        value: f32,
    },
    /// Ctrl-C, SIGTERM or SIGHUP.
    #[error("recording: interrupted\n  help: nothing was written; run it again")]
    Interrupted,
}

impl spikelet_core::OtherError for RecordingError {}

/// Records a classifier on a data set: [`Step::record`] with `labels`, `scores` and `predictions`. Images are
/// encoded as in [`evaluate`](crate::evaluate).
///
/// # Errors
/// As [`Step::record`].
pub fn record(
    module: &dyn Module,
    settings: &Settings,
    recording: &Recording,
    data: &Arc<dyn Dataset>,
    store: &mut VarStore,
    path: impl AsRef<Path>,
) -> Result<RecordedFile> {
    let (step, loader) = classifier_loader(module, settings, data)?;
    let batch = settings.evaluation_batch;
    write::write(&step, batch, recording, &loader, store, path.as_ref())
}

impl Step<'_> {
    /// Evaluates samples of a data set and writes values of layers to a file, `.npz` or `.safetensors`.
    ///
    /// | array | elements | |
    /// |---|---|---|
    /// | `LAYER.spike_seq` | u8, or f32 for neurons whose outputs are not 0 or 1 | `[T, N, …]`: the spikes of N samples |
    /// | `LAYER.v_seq` | f32 | the membrane potentials V after the reset |
    /// | `LAYER.x_seq` | f32 | the inputs X of the neurons |
    /// | `LAYER.h_seq` | f32 | the potentials H before the reset |
    /// | `LAYER.output_seq` | f32 | the outputs of the layers of lists, also of layers without neurons; `output_seq` of the network |
    /// | `input_seq` | f32 | the input of the network |
    /// | `LAYER.weight_seq`, `LAYER.change_seq` | f32 | `[T, C, …]`: weights after each step and their changes, in C batches from which a plastic layer [learns](Recording::learning); weights that change after the last step are `[1, C, …]` |
    /// | `LAYER.TRACE` | f32 | the traces of its rule, such as `LAYER.r1`: `[T, N, …]` of neurons, `[T, C, …]` of synapses without a value for each sample |
    /// | the outputs of the step's function by their names, such as `scores` | f32 | `[N, …]` |
    /// | `predictions` | i64 | `[N]`: the indices of the largest `scores`, if there are any |
    /// | the inputs that are one integer of each sample, such as `labels` | i64 | `[N]` |
    /// | `indices` | i64 | `[N]`: the indices of the samples in the data set |
    ///
    /// The values are those of an evaluation of the complete data set, also if random numbers are drawn. Without labels in
    /// the data set there are predictions alone. Values that a layer does not have, or not as `[T, N, …]`, are left out:
    /// [`RecordedFile::left_out`]. The neurons of a layer of neurons and of layers such as `rnn` and `recurrent` have the
    /// path `LAYER.neuron`; a neuron in a list, `LAYER`. The file is written batch by batch, and appears when it is
    /// complete.
    ///
    /// ```
    /// use spikelet_data::{ArrayFiles, DType, DataLoader, Dataset, Field, InMemory, LoaderConfig};
    /// use spikelet_train::prelude::*;
    /// use spikelet_train::{Outputs, Recorded, Recording, Step};
    /// use std::sync::Arc;
    /// let net = Sequential::new().add(Linear::new(2, 3)).add(Lif::new(2.0));
    /// let step = Step::new(|cx, inputs| {
    ///     let y = net.forward(cx, &inputs["x"].repeat_over_time(4))?;
    ///     Ok(Outputs::loss(y.mean_all()))
    /// })
    /// .input("x", DType::F32, [2])
    /// .optimizer(Sgd::new(0.1));
    /// let data = InMemory::new("ones").with(Field::new("x", DType::F32, [2]), vec![1.0_f32; 20])?;
    /// let loader = DataLoader::new(Arc::new(data), LoaderConfig::default())?;
    /// let mut store = VarStore::new(spikelet_nn::device::cpu()?);
    /// # let folder = tempfile::tempdir().expect("a folder");
    /// # let path = folder.path().join("spikes.npz");
    /// let recording = Recording::new("*").values([Recorded::Spikes, Recorded::Potentials]).samples(0..5);
    /// let file = step.record(&recording, &loader, &mut store, &path)?;
    /// assert_eq!(file.arrays[0].name, "1.spike_seq");
    /// assert_eq!(file.arrays[0].shape, [4, 5, 3]); // [T, N, neurons]
    /// # Ok::<(), spikelet_core::Error>(())
    /// ```
    ///
    /// In Python: `numpy.load("spikes.npz")["1.spike_seq"]`.
    ///
    /// # Errors
    /// [`RecordingError`]; [`StepError`](crate::StepError) for a pattern that matches no layer with such a value; as
    /// [`Step::evaluate`].
    pub fn record(
        &self,
        recording: &Recording,
        data: &DataLoader,
        store: &mut VarStore,
        path: impl AsRef<Path>,
    ) -> Result<RecordedFile> {
        write::write(self, None, recording, data, store, path.as_ref())
    }
}
