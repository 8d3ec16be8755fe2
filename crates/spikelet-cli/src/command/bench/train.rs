//! `spikelet bench train`

use super::copy::{COPY, Copy, USUAL};
use super::measure::Repeats;
use super::{is_cpu, measured, ranks};
use crate::args::{DeviceArgs, NetworkArgs, ParallelArgs, PresetArgs, SettingsArgs, sample_of};
use crate::command::{StepProgram, examples};
use crate::failure::Failure;
use serde_json::json;
use spikelet::distributed::Role;
use spikelet::human::{bytes, thousands};
use spikelet::log::Console;
use spikelet::train::experiment::Experiment;
use std::process::ExitCode;

/// Measure a training step of a network
///
/// The batch is copied to the device, forward pass, backward pass and update run, and loss and
/// accuracy are read back; two steps are in flight at a time, as in training. Network and settings
/// start from the network's preset, with the neuron `lif` in place of `soft_pulse_lif`, because other
/// libraries have it too.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet bench train mnist-fc" => "50 time steps, batches of 256",
    "spikelet bench train csnn --amp" => "a convolutional network in mixed precision",
    "spikelet bench train mnist-fc --time-steps 8 --encoder direct --json" => "other settings, as JSON",
])]
pub struct Train {
    #[command(flatten)]
    network: NetworkArgs,

    #[command(flatten)]
    settings: SettingsArgs<true>,

    #[command(flatten)]
    repeats: Repeats,

    #[command(flatten)]
    device: DeviceArgs,

    #[command(flatten)]
    parallel: ParallelArgs,
}

impl Train {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        // Published figures of other libraries are for the preset.
        let mut experiment = self.network.build(PresetArgs::COMPARED)?;
        experiment.settings = self.settings.build(experiment.settings)?;
        self.parallel.put(&mut experiment);
        let device = self.device.clone().over(&experiment.device);
        let role = self.parallel.launched(self.parallel.role()?, &experiment);
        let sample = sample_of(&experiment);
        let Experiment {
            network, settings, ..
        } = experiment;
        match role {
            Role::Single => {}
            Role::Launch(ranks) => return self.parallel.launch(ranks, &device),
            Role::Rank(world) => {
                let met =
                    self.parallel
                        .meet(world, &device, &network, &settings, "random images")?;
                let group = met.0.clone();
                return group
                    .run(|| ranks::measure(&network, sample, &settings, met, &device, console));
            }
        }
        let name = format!("{}_step", network.name().replace('-', "_"));
        let backend = device.open()?;
        let copy = Copy {
            bytes: USUAL,
            threads: device.threads,
        };
        if self.repeats.only.as_deref() == Some(COPY) {
            console.say_json(&copy.measure(&backend, &self.repeats)?.json());
            return Ok(ExitCode::SUCCESS);
        }
        let mut program = StepProgram::compile(&network, sample, &settings, backend.clone())?;
        let moved = program.plan().moved_bytes();
        let device_bytes = (!is_cpu(&*backend)).then(|| program.plan().peak_bytes());
        let mut here = || {
            let wait = || Ok(backend.synchronize()?);
            let found = self.repeats.measure(&name, wait, || program.run())?;
            program.finish()?;
            Ok(found)
        };
        if self.repeats.only.is_some() {
            console.say_json(&here()?.json());
            return Ok(ExitCode::SUCCESS);
        }
        let found = measured(&*backend, &name, here)?;
        let copied = measured(&*backend, COPY, || copy.measure(&backend, &self.repeats))?;
        let copy_speed = copy.say(&copied, console);
        let share = found.speed(moved) / copy_speed;
        let settings_text = format!(
            "{}, {} time steps, batches of {}, {}, {}",
            network.name(),
            settings.time_steps,
            settings.batch_size,
            settings.propagation,
            settings.precision,
        );
        let speed = settings.batch_size as f64 / (found.median_ms / 1e3);
        let mut line = found.json();
        line["propagation"] = json!(settings.propagation);
        line["precision"] = json!(settings.precision);
        line["time_steps"] = json!(settings.time_steps);
        line["batch_size"] = json!(settings.batch_size);
        line["device_bytes"] = json!(device_bytes);
        line["plan_peak_bytes"] = json!(device_bytes);
        line["images_per_second"] = json!(speed);
        line["bytes"] = json!(moved);
        line["copy_share"] = json!(share);
        console.say_json(&line);
        console.say(format!(
            "{settings_text} · {} · median of {}",
            self.device.describe(&*backend),
            found.repeats,
        ));
        let peak = match (device_bytes, found.peak_mib) {
            (Some(held), _) => format!("{} of the device", bytes(held as u64)),
            (None, Some(mib)) => {
                let held = bytes((mib * 1024.0 * 1024.0) as u64);
                format!("{held} peak of the process")
            }
            (None, None) => "unknown peak".to_string(),
        };
        console.say(format!(
            "{:.3} ms a step · {} img/s · {peak} · moves {}, {:.0} % of copy speed",
            found.median_ms,
            thousands(speed as u64),
            bytes(moved),
            100.0 * share,
        ));
        Ok(ExitCode::SUCCESS)
    }
}
