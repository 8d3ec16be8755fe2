//! The evaluation of a recording, batch by batch, into its file.

use super::content::{Content, LABELS, SCORES, Source};
use super::{LARGEST, RecordedFile, Recording, RecordingError};
use crate::evaluation::load_together;
use crate::forward::Forward;
use crate::interrupt::{self, Listening};
use crate::metric::predicted;
use crate::step::{EvalPlan, EvalStep, Purpose, RecordedLayers, RecordedValue, Step};
use spikelet_core::files::{AtomicFile, FileError};
use spikelet_core::{Error, Result};
use spikelet_data::{ArrayFormat, ArrayWriter, Batch, BatchValues, DataLoader, Shard};
use spikelet_graph::{DType, Tensor};
use spikelet_nn::runtime::VarStore;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::path::Path;

/// The recorded bytes of a batch that are aimed at.
const BATCH_BYTES: u64 = 256 << 20;

/// Checks the request, and writes the file.
pub(super) fn write(
    step: &Step<'_>,
    batch: Option<usize>,
    recording: &Recording,
    data: &DataLoader,
    store: &mut VarStore,
    path: &Path,
) -> Result<RecordedFile> {
    let unknown = || RecordingError::Format { path: path.into() };
    let format = ArrayFormat::of_path(path).ok_or_else(unknown)?;
    let samples = chosen(recording, data)?;
    let of_rule = recording.values.iter().find(|value| value.is_of_rule());
    if let (Some(value), None) = (of_rule, recording.learning) {
        let value = value.name();
        return Err(RecordingError::Fixed { value }.into());
    }
    let layers = RecordedLayers::new(
        &recording.layers,
        &recording.values,
        recording.learning.is_some(),
        recording.at_rest,
    );
    let step = step.clone().recording(layers);
    let batches = (recording.learning).map(|batch| samples.len().div_ceil(batch.max(1)));
    let purpose = purpose(&step, data);
    let content = Content::new(&step, purpose, &**data.dataset(), samples.len(), batches)?;
    let bytes = content.bytes();
    if bytes > LARGEST {
        let samples = samples.len();
        let fitting = LARGEST / bytes.div_ceil(samples as u64).max(1);
        return Err(RecordingError::TooLarge {
            samples,
            bytes,
            fitting,
        }
        .into());
    }
    let batch = recording.learning.or(batch);
    let batch = batch_size(&step, batch, &samples, content.sample_bytes, store)?;
    let starts = || samples.clone().step_by(batch);
    // Layers learn from the samples of the recording only. Otherwise those behind it save another program.
    let data = match recording.learning {
        Some(_) => data.first(samples.end)?,
        None => data.clone(),
    };
    let sizes = starts().map(|first| batch.min(data.dataset().len() - first));
    let mut programs = load(&step, purpose, &sizes.collect(), store)?;

    // A killed process would leave an incomplete file.
    let _listening = Listening::start();
    let mut file = AtomicFile::create(path)?;
    let disk = Disk { path, bytes };
    let writer = ArrayWriter::new(file.file_mut(), format, content.specs.clone());
    let mut writing = Writing {
        writer: disk.check(writer)?,
        content: &content,
        disk,
        correct: Some(0),
        written: 0,
    };
    let shard = Shard {
        first_sample: samples.start,
        ..Shard::default()
    };
    let mut batches = data.in_order(batch)?.shard(0, shard);
    for first in starts() {
        if interrupt::requested() {
            return Err(RecordingError::Interrupted.into());
        }
        let Some(batch) = batches.next().transpose()? else {
            break;
        };
        let Some(program) = programs.get_mut(&batch.len()) else {
            break;
        };
        program.launch_batch(&batch)?;
        // The last batch may have samples behind those of the recording.
        let place =
            first - samples.start..batch.len().min(samples.end - first) + first - samples.start;
        writing.add(program, &batch, place, samples.len())?;
        batches.recycle(batch);
    }
    let correct = writing.correct;
    let finished = writing.writer.finish();
    disk.check(finished)?;
    file.commit()?;
    Ok(RecordedFile {
        path: path.into(),
        bytes,
        accuracy: correct.map(|correct| correct as f64 / samples.len() as f64),
        samples,
        arrays: content.specs,
        left_out: content.left_out,
    })
}

/// An evaluation, or a prediction if the data set has no labels.
fn purpose(step: &Step<'_>, data: &DataLoader) -> Purpose {
    let fields = data.dataset().fields();
    match fields.iter().any(|field| field.name == LABELS) || !step.has_input(LABELS) {
        true => Purpose::EVALUATE,
        false => Purpose::PREDICT,
    }
}

/// The samples of the request.
fn chosen(recording: &Recording, data: &DataLoader) -> Result<Range<usize>> {
    let len = data.dataset().len();
    let given = recording.samples.clone().unwrap_or(0..len);
    if given.is_empty() || given.end > len {
        let dataset = data.dataset().name().to_string();
        return Err(RecordingError::Samples {
            given,
            dataset,
            len,
        }
        .into());
    }
    Ok(given)
}

/// The batch size: the given one, or one that fits into the memory of a training step, and whose values have at most
/// [`BATCH_BYTES`].
fn batch_size(
    step: &Step<'_>,
    given: Option<usize>,
    samples: &Range<usize>,
    sample_bytes: u64,
    store: &VarStore,
) -> Result<usize> {
    if let Some(batch) = given {
        return Ok(batch.clamp(1, samples.len()));
    }
    let device = store.backend().clone();
    let forward = Forward {
        step,
        batch: None,
        device: &*device,
    };
    let free = device
        .memory()
        .map_or(usize::MAX, |memory| memory.available);
    let most = (BATCH_BYTES / sample_bytes.max(1)).max(1);
    let most = usize::try_from(most)
        .unwrap_or(usize::MAX)
        .min(samples.len());
    forward.batch_alone(step, &[most], free)
}

/// Loads the evaluation of each of these batch sizes.
fn load(
    step: &Step<'_>,
    purpose: Purpose,
    sizes: &BTreeSet<usize>,
    store: &mut VarStore,
) -> Result<BTreeMap<usize, EvalStep>> {
    let device = store.backend().clone();
    let plan = |size: &usize| {
        let step = step.with_batch(*size);
        step.plan_forward(purpose, &*device, step.bytes_of_budget())
    };
    let plans = sizes.iter().map(plan).collect::<Result<Vec<EvalPlan>>>()?;
    let programs = load_together("the recording", plans, store)?;
    Ok(sizes.iter().copied().zip(programs).collect())
}

/// The file in errors.
#[derive(Clone, Copy)]
struct Disk<'a> {
    path: &'a Path,
    bytes: u64,
}

impl Disk<'_> {
    fn check<T>(self, result: io::Result<T>) -> Result<T> {
        result.map_err(|error| {
            let full = matches!(
                error.kind(),
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge
            );
            let source = FileError::io("write", self.path)(error);
            match full {
                true => {
                    let bytes = self.bytes;
                    RecordingError::Disk { bytes, source }.into()
                }
                false => Error::from(source),
            }
        })
    }
}

/// A file that is being written.
struct Writing<'a> {
    writer: ArrayWriter<&'a mut File>,
    content: &'a Content,
    disk: Disk<'a>,
    /// The number of predictions that are the labels; `None` without either.
    correct: Option<usize>,
    /// The number of batches.
    written: usize,
}

impl Writing<'_> {
    /// Writes the first samples of a batch that ran to the places `place` of `samples` samples.
    fn add(
        &mut self,
        program: &EvalStep,
        batch: &Batch,
        place: Range<usize>,
        samples: usize,
    ) -> Result<()> {
        let mut predictions: Option<Vec<i64>> = None;
        for (k, source) in self.content.sources.iter().enumerate() {
            let first = place.start as u64;
            match source {
                Source::Layer(value) => {
                    let sequence = program.output(&value.output)?;
                    self.add_sequence(k, value, sequence, batch.len(), &place, samples)?;
                }
                Source::Batch(value) => {
                    let sequence = program.output(&value.output)?;
                    let row: usize = sequence.shape.iter().skip(1).product();
                    let batches = self.content.specs[k].shape[1];
                    for (t, step) in f32s(sequence).chunks_exact(row.max(1)).enumerate() {
                        let place = (t * batches + self.written) * row;
                        self.write(k, place as u64, &bytes_of(step))?;
                    }
                }
                Source::Output(name) => {
                    let values = f32s(program.output(name)?);
                    let row = values.len() / batch.len().max(1);
                    let bytes = bytes_of(&values[..place.len() * row]);
                    self.write(k, first * row as u64, &bytes)?;
                }
                Source::Predictions => {
                    let scores = f32s(program.output(SCORES)?);
                    let classes = scores.len() / batch.len().max(1);
                    let rows = scores.chunks_exact(classes.max(1)).take(place.len());
                    let found: Vec<i64> = rows.map(|row| predicted(row) as i64).collect();
                    self.write(k, first, &bytes_of_integers(&found))?;
                    predictions = Some(found);
                }
                Source::Input(name) => {
                    let Some(values) = integers(batch, name) else {
                        continue;
                    };
                    let values = &values[..place.len().min(values.len())];
                    self.write(k, first, &bytes_of_integers(values))?;
                }
                Source::Indices => {
                    let indices = batch.indices.iter().take(place.len());
                    let indices: Vec<i64> = indices.map(|index| i64::from(*index)).collect();
                    self.write(k, first, &bytes_of_integers(&indices))?;
                }
            }
        }
        let labels = integers(batch, LABELS);
        let right = predictions.zip(labels).map(|(predictions, labels)| {
            let both = predictions.iter().zip(&labels);
            both.filter(|(a, b)| a == b).count()
        });
        self.correct = self.correct.zip(right).map(|(sum, right)| sum + right);
        self.written += 1;
        Ok(())
    }

    /// Writes `[T, N, …]` of a batch: a piece of each time step.
    fn add_sequence(
        &mut self,
        array: usize,
        value: &RecordedValue,
        sequence: Tensor,
        batch: usize,
        place: &Range<usize>,
        samples: usize,
    ) -> Result<()> {
        let row: usize = sequence.shape.iter().skip(2).product();
        let sequence = f32s(sequence);
        for (t, step) in sequence.chunks_exact((batch * row).max(1)).enumerate() {
            let step = &step[..place.len() * row];
            let bytes = match value.binary {
                true => spikes(&value.path, step)?,
                false => bytes_of(step),
            };
            let first = (t * samples + place.start) * row;
            self.write(array, first as u64, &bytes)?;
        }
        Ok(())
    }

    fn write(&mut self, array: usize, first: u64, bytes: &[u8]) -> Result<()> {
        self.disk.check(self.writer.write(array, first, bytes))
    }
}

/// The elements as f32, in which f16 and bf16 are exact.
fn f32s(tensor: Tensor) -> Vec<f32> {
    let tensor = match tensor.as_f32() {
        Some(_) => tensor,
        None => tensor.cast(DType::F32),
    };
    match tensor.data {
        spikelet_graph::Data::F32(values) => values,
        _ => tensor
            .to_f64()
            .into_iter()
            .map(|value| value as f32)
            .collect(),
    }
}

fn bytes_of(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

fn bytes_of_integers(values: &[i64]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

/// Spikes as bytes.
fn spikes(path: &str, values: &[f32]) -> Result<Vec<u8>> {
    let byte = |value: &f32| match *value {
        0.0 => Ok(0),
        1.0 => Ok(1),
        value => {
            let path = path.to_string();
            Err(RecordingError::NotBinary { path, value }.into())
        }
    };
    values.iter().map(byte).collect()
}

/// The integers of the samples of a batch.
fn integers(batch: &Batch, name: &str) -> Option<Vec<i64>> {
    match &batch.get(name)?.values {
        BatchValues::I64(values) => Some(values.clone()),
        BatchValues::U8(values) => Some(values.iter().map(|&byte| i64::from(byte)).collect()),
        _ => None,
    }
}
