//! `spikelet bench pipeline`

use super::measure::Repeats;
use crate::args::{DeviceArgs, NetworkArgs, PipelineArgs, PresetArgs, SettingsArgs, count};
use crate::command::program::random_batch;
use crate::command::{StepProgram, examples, median, pipeline_text, say_table};
use crate::failure::Failure;
use crate::table::Table;
use serde_json::json;
use spikelet::data::Batch;
use spikelet::human::{bytes, thousands};
use spikelet::log::Console;
use spikelet::network::Network;
use spikelet::pipeline::{PipelineOptions, PipelineStep};
use spikelet::runtime::VarStore;
use spikelet::train::Settings;
use spikelet::train::engine::BuildEngine;
use spikelet::train::experiment::Experiment;
use std::process::ExitCode;
use std::time::Instant;

/// Measure pipelined training against one device
///
/// Prints images per minute for each micro-batch size, and the memory of each device in addition to
/// the parameters. With `--preset` the neuron is `lif`, whose reset has the surrogate's gradient.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet bench pipeline cifar10-net --preset spikingflow --batch-size 64 --pipeline 0,1,2,3 --splits 2,4,8,16,32" => "SpikingFlow's network over four GPUs",
    "spikelet bench pipeline mnist-fc --pipeline cpu:0,cpu:1 --splits 32,64" => "on the two halves of the CPU cores",
])]
pub struct Pipeline {
    #[command(flatten)]
    network: NetworkArgs,

    #[command(flatten)]
    start: PresetArgs,

    #[command(flatten)]
    settings: SettingsArgs,

    #[command(flatten)]
    pipeline: PipelineArgs,

    /// Micro-batch sizes, separated by commas, in place of --split-size
    #[arg(long, help_heading = "Pipeline", value_name = "N,N", value_delimiter = ',', value_parser = count)]
    splits: Vec<usize>,

    /// Skip the measurement on one device
    #[arg(hide_short_help = true, long, help_heading = "Pipeline")]
    no_single: bool,

    #[command(flatten)]
    repeats: Repeats,

    #[command(flatten)]
    device: DeviceArgs,
}

/// The result of one configuration.
struct Row {
    name: String,
    ms: f64,
    idle: Option<(f64, f64)>,
    held: Vec<usize>,
}

impl Pipeline {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let mut experiment = self.network.build(self.start.compared())?;
        experiment.settings = self.settings.build(experiment.settings)?;
        self.pipeline.put(&mut experiment);
        let device = self.device.clone().over(&experiment.device);
        let Some(mut options) = self.pipeline.options(&experiment, &device, None)? else {
            return Err(Failure::argument(
                "no devices were given",
                "give --pipeline 0,1",
            ));
        };
        let Experiment {
            network, settings, ..
        } = experiment;
        let mut rows = vec![];
        if !self.no_single {
            rows.push(self.single(&network, &settings, &options)?);
        }
        let splits = match &self.splits[..] {
            [] => vec![options.config.split_size],
            splits => splits.to_vec(),
        };
        for split in splits {
            options.config.split_size = split;
            rows.push(self.through(&network, &settings, &options, console)?);
        }
        let mut table = Table::new(&[
            "configuration",
            "ms a step",
            "images/min",
            "idle",
            "expected",
            "held by each",
        ]);
        for row in &rows {
            let speed = settings.batch_size as f64 / row.ms * 60e3;
            let share = |x: f64| format!("{:.0} %", 100.0 * x);
            let held: Vec<String> = row.held.iter().map(|b| bytes(*b as u64)).collect();
            table.row([
                row.name.clone(),
                format!("{:.2}", row.ms),
                thousands(speed as u64),
                row.idle.map_or(String::new(), |(real, _)| share(real)),
                row.idle
                    .map_or(String::new(), |(_, expected)| share(expected)),
                held.join(", "),
            ]);
            console.say_json(&json!({
                "configuration": row.name, "median_ms": row.ms, "images_per_minute": speed,
                "idle": row.idle.map(|(real, _)| real), "predicted_idle": row.idle.map(|(_, p)| p),
                "device_bytes": row.held, "batch_size": settings.batch_size,
                "time_steps": settings.time_steps, "precision": settings.precision,
                "encoder": settings.encoder.to_string(),
            }));
        }
        console.say(format!(
            "{}, {} time steps, batches of {}, {}, {}",
            network.name(),
            settings.time_steps,
            settings.batch_size,
            settings.encoder,
            settings.precision,
        ));
        say_table(console, &table);
        Ok(ExitCode::SUCCESS)
    }

    fn single(
        &self,
        network: &Network,
        settings: &Settings,
        options: &PipelineOptions,
    ) -> Result<Row, Failure> {
        let first = options.first_device().expect("stages have devices");
        let backend = first.clone();
        let mut program =
            StepProgram::compile(network, network.image().into(), settings, backend.clone())?;
        let parameters = program.parameter_bytes();
        let held = program.plan().peak_bytes().saturating_sub(parameters);
        let ms = self.time(|_| {
            program.run()?;
            program.finish()
        })?;
        Ok(Row {
            name: format!("one device ({})", backend.name()),
            ms,
            idle: None,
            held: vec![held],
        })
    }

    fn through(
        &self,
        network: &Network,
        settings: &Settings,
        options: &PipelineOptions,
        console: &Console,
    ) -> Result<Row, Failure> {
        let image = network.image();
        let partition = options.partition(&network.module()?, settings, image)?;
        let mut store = VarStore::new(partition.devices()[0].clone());
        let mut step = PipelineStep::new(&partition, settings, image, &mut store)?;
        console.say(format!("split size {}", options.config.split_size));
        console.say(pipeline_text::describe(&step, &partition, None));
        let batch: Batch = random_batch(settings.batch_size, image.into());
        let ms = self.time(|k| Ok(step.run(&batch, k, 1.0).map(|_| ())?))?;
        step.record_timeline();
        step.run(&batch, 1_000_000, 1.0)?;
        let idle = step
            .timeline()
            .map_or(f64::NAN, spikelet::pipeline::Timeline::idle);
        Ok(Row {
            name: format!("split size {}", options.config.split_size),
            ms,
            idle: Some((idle, step.predicted_idle())),
            held: step.bytes(),
        })
    }

    /// The median of the steps' milliseconds.
    fn time(&self, mut step: impl FnMut(u64) -> Result<(), Failure>) -> Result<f64, Failure> {
        let mut k = 0;
        for _ in 0..self.repeats.warm_up.max(1) {
            k += 1;
            step(k)?;
        }
        let (mut times, begun) = (vec![], Instant::now());
        for done in 0..self.repeats.repeats {
            if done >= 3 && begun.elapsed().as_secs() >= 10 {
                break;
            }
            k += 1;
            let start = Instant::now();
            step(k)?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
        Ok(median(&mut times))
    }
}
