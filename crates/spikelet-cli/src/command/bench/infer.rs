//! `spikelet bench infer`

use super::measure::{Measurement, Repeats};
use super::{is_cpu, measured};
use crate::args::{DeviceArgs, NetworkArgs, PresetArgs, SettingsArgs, count, sample_of};
use crate::command::program::random_batch;
use crate::command::{examples, say_table};
use crate::failure::Failure;
use crate::table::Table;
use serde_json::json;
use spikelet::graph::{Backend, Plan};
use spikelet::human::{bytes, thousands};
use spikelet::log::Console;
use spikelet::network::Network;
use spikelet::runtime::VarStore;
use spikelet::train::engine::InFlight;
use spikelet::train::step::{EvalPlan, SampleBatch};
use spikelet::train::{SampleShape, Settings, Step};
use std::process::ExitCode;
use std::sync::Arc;

/// Measure the inference throughput of a network
///
/// Each batch is copied to the device, the network runs in evaluation mode, and its scores are
/// compared with the labels; two batches are in flight at a time. Network and settings start from
/// the network's preset. Batch norm is fused into the neurons that read it.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet bench infer csnn" => "the network of the preset, batches of 1, 32 and 512 images",
    "spikelet bench infer cifar10-net --batch-sizes 64 --precision bf16" => "another batch size, mixed precision",
])]
pub struct Infer {
    #[command(flatten)]
    network: NetworkArgs,

    /// Batch sizes, separated by commas [default: those of 1, 32 and 512 that fit into the device's
    /// memory]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = count)]
    batch_sizes: Vec<usize>,

    #[command(flatten)]
    settings: SettingsArgs<true>,

    #[command(flatten)]
    repeats: Repeats,

    #[command(flatten)]
    device: DeviceArgs,
}

/// The default batch sizes.
const SIZES: [usize; 3] = [1, 32, 512];

fn key(batch: usize) -> String {
    format!("infer_{batch}")
}

/// The plan of a batch, if the device has kernels and memory for it.
fn planned(
    network: &Network,
    sample: SampleShape,
    settings: &Settings,
    batch: usize,
    device: &dyn Backend,
) -> Result<EvalPlan, Failure> {
    let shape = SampleBatch { batch, sample };
    let module = network.module()?;
    let step = Step::classifier_eval(&*module, settings, shape)?.outputs(false);
    let plan = step.plan_eval(device)?;
    plan.check(device)?;
    Ok(plan)
}

impl Infer {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let mut experiment = self.network.build(PresetArgs::COMPARED)?;
        experiment.settings = self.settings.build(experiment.settings)?;
        let sample = sample_of(&experiment);
        let settings = experiment.settings;
        let network = experiment.network;
        let device = self.device.clone().over(&experiment.device);
        let backend = device.open()?;
        let only = self.repeats.only.clone();
        console.say(format!(
            "{}, {} time steps, {} · {}",
            network.name(),
            settings.time_steps,
            settings.precision,
            device.describe(&*backend),
        ));
        let mut table =
            Table::new(&["batch", "kernels", "ms", "img/s", "memory"]).right(&[0, 1, 2, 3, 4]);
        let (sizes, optional) = match &self.batch_sizes[..] {
            [] => (&SIZES[..], true),
            given => (given, false),
        };
        let mut ended = Ok(ExitCode::SUCCESS);
        for &batch in sizes {
            let name = key(batch);
            if only.as_ref().is_some_and(|only| *only != name) {
                continue;
            }
            let plan = match planned(&network, sample, &settings, batch, &*backend) {
                Ok(plan) => plan,
                Err(failure) if optional => {
                    console.say(format!("batches of {batch} are left out: {failure}"));
                    continue;
                }
                Err(failure) => {
                    // The results so far are printed before the error.
                    ended = Err(failure);
                    break;
                }
            };
            let measured = self.measure(plan, batch, sample, &backend);
            if only.is_some() {
                console.say_json(&measured?.0.json());
                return Ok(ExitCode::SUCCESS);
            }
            let (found, plan) = match measured {
                Ok(measured) => measured,
                Err(failure) => {
                    ended = Err(failure);
                    break;
                }
            };
            let speed = batch as f64 / (found.median_ms / 1e3);
            let mut line = found.json();
            line["batch_size"] = json!(batch);
            line["images_per_second"] = json!(speed);
            line["kernels"] = json!(plan.kernels.len());
            line["device_bytes"] = json!((!is_cpu(&*backend)).then(|| plan.peak_bytes()));
            console.say_json(&line);
            table.row([
                batch.to_string(),
                plan.kernels.len().to_string(),
                format!("{:.3}", found.median_ms),
                thousands(speed as u64),
                bytes(plan.peak_bytes() as u64),
            ]);
        }
        say_table(console, &table);
        ended
    }

    /// Measures one batch size, on the CPU in a separate process, for its peak memory.
    fn measure(
        &self,
        plan: EvalPlan,
        batch: usize,
        sample: SampleShape,
        backend: &Arc<dyn Backend>,
    ) -> Result<(Measurement, Plan), Failure> {
        let name = key(batch);
        let shown = plan.plan().clone();
        let here = || {
            let mut step = plan.load(&mut VarStore::new(backend.clone()))?;
            let mut images = random_batch(batch, sample);
            let mut in_flight = InFlight::new();
            let wait = || Ok(backend.synchronize()?);
            let found = self.repeats.measure(&name, wait, || {
                in_flight.wait_if_full()?;
                for index in &mut images.indices {
                    *index = index.wrapping_add(batch as u32);
                }
                in_flight.push(step.start_batch(&images)?, ());
                Ok(())
            })?;
            while in_flight.wait_for_oldest()?.is_some() {}
            Ok(found)
        };
        let found = match self.repeats.only {
            Some(_) => here()?,
            None => measured(&**backend, &name, here)?,
        };
        Ok((found, shown))
    }
}
