//! `spikelet bench infer`

use super::measure::Repeats;
use super::{is_cpu, measured};
use crate::args::{DeviceArgs, NetworkArgs, SettingsArgs, TutorialArgs, count};
use crate::command::program::random_batch;
use crate::command::{examples, say_table};
use crate::failure::Failure;
use crate::table::Table;
use serde_json::json;
use spikelet::graph::Backend;
use spikelet::log::Console;
use spikelet::log::console::{bytes, thousands};
use spikelet::model::Store;
use spikelet::network::Network;
use spikelet::train::{EvalStep, InFlight, Settings, Shape};
use std::process::ExitCode;
use std::sync::Arc;

/// Measure how many images a second a network classifies
///
/// Batches are handed over, the network runs in evaluation mode, and its scores are compared with
/// labels, two batches under way at a time. Without further settings the network and its settings
/// are those of its tutorial. Batch norm is part of the neurons that read it: it
/// costs no pass over memory and no kernel of its own.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet bench infer csnn" => "batches of 1, 32 and 512 images",
    "spikelet bench infer cifar10-net --batch-sizes 64 --precision bf16" => "other sizes, 16 bits",
])]
pub struct Infer {
    #[command(flatten)]
    network: NetworkArgs,

    /// Images of a batch
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1,32,512", value_parser = count)]
    batch_sizes: Vec<usize>,

    #[command(flatten)]
    settings: SettingsArgs,

    #[command(flatten)]
    repeats: Repeats,

    #[command(flatten)]
    device: DeviceArgs,
}

fn key(batch: usize) -> String {
    format!("infer_{batch}")
}

fn compile(
    network: &Network,
    settings: &Settings,
    batch: usize,
    backend: &Arc<dyn Backend>,
) -> Result<EvalStep, Failure> {
    let shape = Shape {
        batch,
        image: network.image(),
    };
    let mut store = Store::new(backend.clone());
    Ok(EvalStep::new(
        &*network.module()?,
        settings,
        shape,
        false,
        &mut store,
    )?)
}

impl Infer {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let (network, settings) = self.network.build(TutorialArgs::COMPARED)?;
        let settings = self.settings.build(settings)?;
        let backend = self.device.open()?;
        let only = self.repeats.only.clone();
        console.say(format!(
            "{}, {} time steps, {} · {}",
            network.name(),
            settings.time_steps,
            settings.precision,
            self.device.describe(&*backend),
        ));
        let mut table =
            Table::new(&["batch", "kernels", "ms", "img/s", "memory"]).right(&[0, 1, 2, 3, 4]);
        for &batch in &self.batch_sizes {
            let name = key(batch);
            if only.as_ref().is_some_and(|only| *only != name) {
                continue;
            }
            let mut step = compile(&network, &settings, batch, &backend)?;
            let plan = step.program().plan().clone();
            let images = random_batch(batch, network.image());
            let mut here = || {
                let mut in_flight = InFlight::new();
                let mut index = 0;
                let wait = || Ok(backend.synchronize()?);
                let found = self.repeats.measure(&name, wait, || {
                    in_flight.make_room()?;
                    index += 1;
                    in_flight.push(step.start(&images, index)?, ());
                    Ok(())
                })?;
                while in_flight.wait_for_oldest()?.is_some() {}
                Ok(found)
            };
            if only.is_some() {
                console.say_json(&here()?.json());
                return Ok(ExitCode::SUCCESS);
            }
            let found = measured(&*backend, &name, here)?;
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
        Ok(ExitCode::SUCCESS)
    }
}
