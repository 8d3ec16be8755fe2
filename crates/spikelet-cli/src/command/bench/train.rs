//! `spikelet bench train`

use super::measure::{Measurement, Repeats};
use crate::args::{DeviceArgs, NetworkArgs, SettingsArgs};
use crate::command::plan::IMAGE;
use crate::command::{StepProgram, examples};
use crate::failure::Failure;
use serde_json::json;
use spikelet::log::Console;
use spikelet::log::console::{bytes, thousands};
use spikelet::network::MnistFc;
use std::process::ExitCode;

/// Measure a training step of a network
///
/// The batch is handed over, the step runs forward, backward and update, and loss and accuracy
/// are read back. Without further settings the network is that of SpikingFlow's tutorial.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet bench train mnist-fc" => "50 time steps, batches of 256",
    "spikelet bench train mnist-fc --time-steps 8 --encoder direct --json" => "other settings, for machines",
])]
pub struct Train {
    #[command(flatten)]
    network: NetworkArgs,

    #[command(flatten)]
    settings: SettingsArgs,

    #[command(flatten)]
    repeats: Repeats,

    #[command(flatten)]
    device: DeviceArgs,
}

impl Train {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        // The tutorial's network is what others measure too.
        let network = self.network.build(Some(MnistFc::tutorial()))?;
        let settings = self.settings.build(true);
        let name = format!("{}_step", network.name().replace('-', "_"));
        if self.repeats.only.is_some() {
            let mut program =
                StepProgram::compile(&network, &settings, IMAGE, self.device.open()?)?;
            console.say_json(
                &self
                    .repeats
                    .measure(&name, || Ok(()), || program.run())?
                    .json(),
            );
            return Ok(ExitCode::SUCCESS);
        }
        let found = Measurement::in_own_process(&name)?;
        let settings_text = format!(
            "{}, {} time steps, batches of {}, {}",
            network.name(),
            settings.time_steps,
            settings.batch_size,
            settings.propagation,
        );
        let speed = settings.batch_size as f64 / (found.median_ms / 1e3);
        let mut line = found.json();
        line["propagation"] = json!(settings.propagation);
        line["images_per_second"] = json!(speed);
        console.say_json(&line);
        console.say(format!(
            "{settings_text} · {}, {} threads, {} · median of {}",
            self.device.open()?.name(),
            self.device.thread_count(),
            spikelet_cpu::Cpu::instructions(),
            found.repeats,
        ));
        let peak = found.peak_mib.map_or("–".to_string(), |mib| {
            bytes((mib * 1024.0 * 1024.0) as u64)
        });
        console.say(format!(
            "{:.3} ms a step · {} img/s · {peak} peak of the process",
            found.median_ms,
            thousands(speed as u64),
        ));
        Ok(ExitCode::SUCCESS)
    }
}
