//! `spikelet plan`

use super::{StepProgram, examples, plan_json, say_table};
use crate::args::{
    DeviceArgs, NetworkArgs, PresetArgs, SettingsArgs, capability, count, sample_of,
};
use crate::failure::Failure;
use crate::table::Table;
use serde_json::json;
use spikelet::graph::op::Operation;
use spikelet::graph::pass::PIPELINE;
use spikelet::graph::{Graph, Plan, Target};
use spikelet::human::{bytes, thousands};
use spikelet::log::Console;
use spikelet::train::memory::RunPlans;
use spikelet_cuda::{OfflineTarget, Properties};
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Test images of MNIST, Fashion-MNIST and CIFAR-10.
const TESTED: usize = 10_000;

/// Show the plan of a training step: every kernel with its work and memory
///
/// Nothing is allocated unless kernels are timed, so a plan of any size can be shown.
///
/// Each line is a kernel: its layer, its floating-point operations, the bytes it reads and writes,
/// and the addresses of its results and operands (`@` is an offset in the arena). ∂ marks the backward
/// pass.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet plan mnist-fc" => "the plan of the default network",
    "spikelet plan mnist-fc --preset spikingflow --batch-size 64" => "with other settings",
    "spikelet plan csnn --channels 16" => "for another network",
    "spikelet plan net.toml" => "for a list of layers in a file",
    "spikelet plan cifar10-net --preset spikingflow --arch 9.0" => "for a GPU that is not installed",
    "spikelet plan mnist-fc --profile 20" => "with the time of each kernel",
    "spikelet plan --passes" => "what is done to every graph",
])]
pub struct ShowPlan {
    #[command(flatten)]
    network: NetworkArgs,

    #[command(flatten)]
    start: PresetArgs,

    #[command(flatten)]
    settings: SettingsArgs,

    /// Run N steps on random images and show the median time of each kernel
    #[arg(help_heading = "Measurement", long, value_name = "N", value_parser = count)]
    profile: Option<usize>,

    /// List the passes over a graph, in the order in which they run, instead of a plan
    #[arg(long, exclusive = true)]
    passes: bool,

    /// Show the plan of a graph in its printed form, as in a report of a bug
    #[arg(hide_short_help = true, help_heading = "Network", long, value_name = "FILE", conflicts_with_all = ["name", "profile"])]
    graph: Option<PathBuf>,

    /// Plan for a large GPU of this compute capability, which need not be installed; the workspace
    /// of convolutions is an upper bound
    #[arg(hide_short_help = true, help_heading = "Device", long, value_name = "ARCH", value_parser = capability, conflicts_with_all = ["profile", "device"])]
    arch: Option<(i32, i32)>,

    #[command(flatten)]
    device: DeviceArgs,
}

impl ShowPlan {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        if self.passes {
            say_passes(console);
            return Ok(ExitCode::SUCCESS);
        }
        let mut experiment = self.network.build(self.start)?;
        experiment.settings = self.settings.build(experiment.settings)?;
        if let Some(samples) = experiment.data.train_images {
            let settings = &mut experiment.settings;
            settings.batch_size = settings.batch_of(settings.training_samples(samples), 1);
        }
        let (module, sample) = (experiment.network.module()?, sample_of(&experiment));
        let (settings, network) = (experiment.settings, experiment.network);
        let place = self.device.over(&experiment.device);
        if let Some(path) = &self.graph {
            let plan = match self.arch {
                Some(arch) => plan_of(path, &OfflineTarget::new(Properties::large(arch)))?,
                None => plan_of(path, &*place.open()?)?,
            };
            console.say_json(&plan_json(&plan));
            console.say(plan.to_string().trim_end());
            return Ok(ExitCode::SUCCESS);
        }
        let planned =
            |device: &dyn Target| RunPlans::new(&*module, &settings, sample, &[TESTED], device);
        let (run, timed) = match (self.arch, self.profile) {
            (Some(arch), _) => {
                let gpu = OfflineTarget::new(Properties::large(arch));
                (planned(&gpu)?, None)
            }
            (None, None) => (planned(&*place.open()?)?, None),
            (None, Some(runs)) => {
                let device = place.open()?;
                let run = planned(&*device)?;
                let mut program = StepProgram::compile(&network, sample, &settings, device)?;
                let times = program.profile(runs)?;
                (run, Some((program, times)))
            }
        };
        let plan = timed
            .as_ref()
            .map_or(run.step(), |(program, _)| program.plan());
        let times = timed.as_ref().map(|(_, times)| times);
        let mut object = plan_json(plan);
        let kernels = plan.kernels.iter().enumerate().map(|(k, kernel)| {
            let node = &plan.graph.nodes[kernel.node];
            json!({
                "name": node.op.name(), "layer": &*node.layer, "backward": node.backward,
                "flops": kernel.flops, "bytes": kernel.bytes,
                "ms": times.as_ref().map(|t| 1e3 * t[k]),
            })
        });
        object["kernels"] = kernels.collect();
        let memory = run.memory();
        object["run_peak_bytes"] = json!(memory.peak);
        object["evaluation_batch"] = json!(memory.evaluation_batch);
        object["network"] = json!(network);
        object["settings"] = json!(settings);
        console.say_json(&object);

        console.say(format!("{}\n", network.module()?));
        console.say(plan.to_string().trim_end());
        console.say(format!(
            "a run's peak, with {} of {} test images evaluated at once: {}",
            memory.evaluation_batch,
            thousands(TESTED as u64),
            bytes(memory.peak as u64),
        ));
        if let Some(times) = times {
            let total: f64 = times.iter().sum();
            let mut table = Table::new(&["#", "kernel", "layer", "ms", "share", "GB/s", "GFLOP/s"])
                .right(&[0, 3, 4, 5, 6]);
            for (k, (kernel, seconds)) in plan.kernels.iter().zip(times).enumerate() {
                let node = &plan.graph.nodes[kernel.node];
                let mark = if node.backward { "∂ " } else { "" };
                let rate = |amount: u64| format!("{:.1}", amount as f64 / seconds.max(1e-9) / 1e9);
                table.row([
                    (k + 1).to_string(),
                    format!("{mark}{}", node.op.name()),
                    node.layer.to_string(),
                    format!("{:.3}", 1e3 * seconds),
                    format!("{:.1} %", 100.0 * seconds / total),
                    rate(kernel.bytes),
                    rate(kernel.flops),
                ]);
            }
            console.say("");
            say_table(console, &table);
            console.say(format!("\none step: {:.3} ms", 1e3 * total));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Says what is done to every graph.
fn say_passes(console: &Console) {
    let mut before = None;
    for pass in PIPELINE {
        let stage = pass.stage();
        if before.replace(stage) != Some(stage) {
            console.say(format!("{stage}:"));
        }
        console.say_wrapped(format!("  {:<22}{}", pass.name, pass.what));
        let (name, stage, what) = (pass.name, stage.to_string(), pass.what);
        console.say_json(&json!({ "pass": name, "stage": stage, "what": what }));
    }
}

/// The plan of a printed graph.
fn plan_of(path: &Path, device: &dyn Target) -> Result<Plan, Failure> {
    let wrong = |error: &dyn Display| {
        Failure::argument(
            format!("--graph {}: {error}", path.display()),
            "give a file with a graph as it is printed: one line for each input, node and output",
        )
    };
    let text = fs::read_to_string(path).map_err(|error| wrong(&error))?;
    let graph: Graph = text.parse().map_err(|error| wrong(&error))?;
    let plan = Plan::new(graph, device);
    plan.check().map_err(|error| wrong(&error))?;
    Ok(plan)
}
