//! `spikelet record`

use super::given::{GivenArgs, Labels};
use super::sequences::read_sequences;
use super::trained::{Tested, Trained};
use super::{examples, path_text, say_table};
use crate::args::{EvaluationArgs, range, words};
use crate::failure::Failure;
use crate::table::Table;
use serde_json::json;
use spikelet::data::{ArraySpec, StepShape};
use spikelet::graph::Tensor;
use spikelet::human::{bytes, duration, percent, thousands};
use spikelet::log::Console;
use spikelet::train::{Recorded, Recording, SampleShape, Settings, given_inputs, record};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// Write the spikes, potentials, weights and traces of chosen layers to a file, for plots of your own
///
/// The arrays are LAYER.spike_seq (bytes), LAYER.v_seq and LAYER.h_seq (membrane potentials after and
/// before the reset), LAYER.x_seq (inputs of the neurons), LAYER.output_seq (outputs, also of layers
/// without neurons) and input_seq (the input of the network), each [T, N, …] for N test images, with
/// labels, scores, predictions and indices of the images. LAYER of the neurons in rnn, recurrent and
/// layers of neurons is NAME.neuron, of those in lists NAME. Values that a layer does not have are left
/// out. The file is written batch by batch; it has at most 16 GiB.
///
/// With files, they are recorded in place of test images, as `spikelet predict` reads them; they need no
/// labels, and have those of their folders if each has the name of a class.
///
/// With --input, the network runs on given sequences, without encoder and normalization: an array
/// [T, N, …], or [T, …] of one sample, in a .npy file, or in a .npz or .safetensors file as its only
/// array or as input_seq.
///
/// With --learn, plastic layers learn from the images, batch by batch; the checkpoint stays as it is.
/// Their values are LAYER.weight_seq (after each step, or after the last one) and LAYER.change_seq,
/// [T, C, …] for C batches, and the traces of the rule by its names, such as LAYER.r1: [T, N, …] of
/// neurons, [T, C, …] of synapses.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet record runs/mnist-fc/latest/best.safetensors --out spikes.npz" => "the spikes of all layers for 100 test images, for NumPy",
    "spikelet record best.safetensors --layers \"fc.*\" --values spikes,potentials --out some.npz" => "of some layers, with potentials",
    "spikelet record best.safetensors --learn --layers features --values weights,traces --out learning.npz" => "of a plastic layer while it learns",
    "spikelet record best.safetensors recording.aedat4 --values spikes,potentials --out one.npz" => "of a file of your own: an image, a recording of events, a WAV file",
    "spikelet record best.safetensors --values sequence,outputs --at-rest --out reference.safetensors" => "input and outputs of all layers, to compare with another program",
    "spikelet record best.safetensors --input reference.safetensors --out again.npz" => "on given sequences",
    "spikelet record best.safetensors --samples 500..1000 --out spikes.safetensors --json" => "as safetensors; the arrays as JSON",
])]
pub struct Record {
    /// File to write: .npz for NumPy, or .safetensors
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,

    /// Paths of layers of neurons or plastic layers; `*` stands for any characters; several, separated by commas
    #[arg(
        long,
        value_name = "PATTERN",
        default_value = "*",
        value_delimiter = ','
    )]
    layers: Vec<String>,

    /// Values to write; several, separated by commas
    #[arg(
        long,
        value_name = "VALUES",
        default_value = "spikes",
        value_delimiter = ',',
        value_parser = words::<Recorded>()
    )]
    values: Vec<Recorded>,

    /// Test images, counted from 0, without END [default: the first 100]
    #[arg(long, value_name = "START..END", value_parser = range)]
    samples: Option<Range<usize>>,

    /// Let plastic layers learn while they are recorded, from as many images at a time as in training, or
    /// --eval-batch-size; for the values weights, changes and traces
    #[arg(long)]
    learn: bool,

    /// Run the network on the sequences of a file instead of a data set
    #[arg(long, value_name = "FILE", conflicts_with_all = ["files", "data", "data_dir", "download", "split", "test_images"])]
    input: Option<PathBuf>,

    /// Let states with a random start begin at rest, as in a stream
    #[arg(long)]
    at_rest: bool,

    #[command(flatten)]
    evaluation: EvaluationArgs,

    #[command(flatten)]
    given: GivenArgs,
}

/// The array of a file with others that is the input.
const INPUT: &str = "input_seq";

/// The number of images if none are chosen.
const FEW: usize = 100;

impl Record {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let (mut trained, settings, samples) = self.open(console)?;
        let network = &trained.network;
        let (first, others) = self.layers.split_first().ok_or_else(|| {
            Failure::argument("no layers were named", "name some, or use --layers \"*\"")
        })?;
        let recording = others.iter().fold(Recording::new(first), Recording::layers);
        let all = samples.len();
        let mut recording = recording
            .values(self.values.iter().copied())
            .samples(self.samples.clone().unwrap_or(0..all.min(FEW)));
        if self.at_rest {
            recording = recording.at_rest();
        }
        if self.learn {
            let batch = self.evaluation.eval_batch_size;
            recording = recording.learning(batch.unwrap_or(settings.batch_size));
        }
        let start = Instant::now();
        let module = network.module()?;
        let file = record(
            &*module,
            &settings,
            &recording,
            samples.samples(),
            &mut trained.store,
            &self.out,
        )?;
        let seconds = start.elapsed().as_secs_f64();
        let array = |array: &ArraySpec| {
            json!({
                "name": array.name, "type": array.element.name(), "shape": array.shape, "bytes": array.bytes(),
            })
        };
        console.say_json(&json!({
            "checkpoint": path_text(&trained.path), "network": network, "dataset": samples.name(),
            "first": file.samples.start, "images": file.samples.len(), "accuracy": file.accuracy,
            "arrays": file.arrays.iter().map(array).collect::<Vec<_>>(), "bytes": file.bytes,
            "left_out": file.left_out.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "seconds": seconds, "file": path_text(&file.path),
        }));
        let mut table = Table::new(&["array", "type", "shape", "size"]).right(&[3]);
        for array in &file.arrays {
            let sizes: Vec<String> = array.shape.iter().map(ToString::to_string).collect();
            table.row([
                array.name.clone(),
                array.element.name().to_string(),
                sizes.join(" × "),
                bytes(array.bytes()),
            ]);
        }
        say_table(console, &table);
        for left in &file.left_out {
            console.say(format!("left out: {left}"));
        }
        let accuracy = file.accuracy.map(|share| {
            let share = percent(share);
            format!(" · accuracy {}", console.green(share.trim_start()))
        });
        console.say(format!(
            "{} on {} ({}s {} to {}){} · {}\nfile: {}",
            network.name(),
            samples.name(),
            samples.kind(),
            thousands(file.samples.start as u64),
            thousands(file.samples.end as u64 - 1),
            accuracy.unwrap_or_default(),
            duration(seconds),
            file.path.display(),
        ));
        Ok(ExitCode::SUCCESS)
    }

    /// The network, its settings and its samples.
    fn open(&self, console: &Console) -> Result<(Trained, Settings, Tested), Failure> {
        let Some(path) = &self.input else {
            return self
                .given
                .evaluated(&self.evaluation, Labels::Optional, console);
        };
        let trained = Trained::open(&self.evaluation.checkpoint, &self.evaluation.device)?;
        let inputs = inputs_of(path, &trained)?;
        let settings = trained.evaluation_settings(&self.evaluation)?;
        let settings = settings.of_inputs(inputs.shape[0]);
        let samples = given(path, &inputs, &trained)?;
        Ok((trained, settings, samples))
    }
}

/// The sequences of a file for a network, `[T, N, …]`.
fn inputs_of(path: &Path, trained: &Trained) -> Result<Tensor, Failure> {
    let mut inputs = read_sequences(path, INPUT)?;
    let step = trained.network.input();
    let wrong = || {
        let sizes: Vec<String> = step.iter().map(ToString::to_string).collect();
        let sizes = sizes.join(", ");
        Failure::other(
            format!("{}: an array of shape {:?}", path.display(), inputs.shape),
            format!(
                "{} takes batches [T, N, {sizes}], or one sample [T, {sizes}]",
                trained.network.name()
            ),
        )
    };
    let shape = match inputs.shape.split_first() {
        Some((steps, sizes)) if sizes == step => vec![*steps, 1],
        Some((steps, [samples, sizes @ ..])) if *sizes == step => vec![*steps, *samples],
        _ => return Err(wrong()),
    };
    // A network for other axes reshapes the images that it is given.
    let step = match StepShape::of(&step) {
        Some(_) => step,
        None => trained.network.image().to_vec(),
    };
    inputs.shape = [shape, step].concat();
    Ok(inputs)
}

/// The samples that they are.
fn given(path: &Path, inputs: &Tensor, trained: &Trained) -> Result<Tested, Failure> {
    let step_labels = match trained.sample() {
        SampleShape::Sequence { step_labels, .. } => step_labels,
        _ => None,
    };
    let name = path.display().to_string();
    Ok(Tested {
        samples: given_inputs(&name, inputs, step_labels)?,
        name,
    })
}
