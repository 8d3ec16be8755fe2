//! `spikelet record`

use super::trained::Trained;
use super::{examples, path_text, say_table};
use crate::args::{EvaluationArgs, range};
use crate::failure::Failure;
use crate::table::Table;
use clap::ValueEnum;
use clap::builder::PossibleValue;
use serde_json::json;
use spikelet::data::ArraySpec;
use spikelet::human::{bytes, duration, percent, thousands};
use spikelet::log::Console;
use spikelet::train::{Recorded, Recording, record};
use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Write the spikes, potentials, weights and traces of chosen layers to a file, for plots of your own
///
/// The arrays are LAYER.spike_seq (bytes), LAYER.v_seq (membrane potentials after the reset) and
/// LAYER.x_seq (inputs of the neurons), each [T, N, …] for N test images, with labels, scores,
/// predictions and indices of the images. The file is written batch by batch; it has at most 16 GiB.
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
        value_enum
    )]
    values: Vec<Value>,

    /// Test images, counted from 0, without END [default: the first 100]
    #[arg(long, value_name = "START..END", value_parser = range)]
    samples: Option<Range<usize>>,

    /// Let plastic layers learn while they are recorded, from as many images at a time as in training, or
    /// --eval-batch-size; for the values weights, changes and traces
    #[arg(long)]
    learn: bool,

    #[command(flatten)]
    evaluation: EvaluationArgs,
}

/// [`Recorded`] on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Value(Recorded);

impl ValueEnum for Value {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [Value; 6] = [
            Value(Recorded::Spikes),
            Value(Recorded::Potentials),
            Value(Recorded::Inputs),
            Value(Recorded::Weights),
            Value(Recorded::Changes),
            Value(Recorded::Traces),
        ];
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name()))
    }
}

/// The number of images if none are chosen.
const FEW: usize = 100;

impl Record {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let (mut trained, settings, test) = Trained::evaluated(&self.evaluation, console)?;
        let network = &trained.network;
        let (first, others) = self.layers.split_first().ok_or_else(|| {
            Failure::argument("no layers were named", "name some, or use --layers \"*\"")
        })?;
        let recording = others.iter().fold(Recording::new(first), Recording::layers);
        let mut recording = recording
            .values(self.values.iter().map(|value| value.0))
            .samples(self.samples.unwrap_or(0..test.len().min(FEW)));
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
            &test,
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
            "checkpoint": path_text(&trained.path), "network": network, "dataset": test.name(),
            "first": file.samples.start, "images": file.samples.len(), "accuracy": file.accuracy,
            "arrays": file.arrays.iter().map(array).collect::<Vec<_>>(), "bytes": file.bytes,
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
        let accuracy = file.accuracy.map(|share| {
            let share = percent(share);
            format!(" · accuracy {}", console.green(share.trim_start()))
        });
        console.say(format!(
            "{} on {} ({}s {} to {}){} · {}\nfile: {}",
            network.name(),
            test.name(),
            test.kind(),
            thousands(file.samples.start as u64),
            thousands(file.samples.end as u64 - 1),
            accuracy.unwrap_or_default(),
            duration(seconds),
            file.path.display(),
        ));
        Ok(ExitCode::SUCCESS)
    }
}
