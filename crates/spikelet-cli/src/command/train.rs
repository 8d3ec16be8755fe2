//! `spikelet train`

pub mod arguments;
mod seeds;

use super::command_line::command_line;
use super::{
    examples, labeled_text, network_text, path_text, pipeline_text, plan_json, settings_text,
    summary,
};
use crate::args::{DeviceArgs, ExperimentArgs, data_text, normalization_of};
use crate::failure::{Failure, INTERRUPTED};
use seeds::Seeds;
use serde_json::json;
use spikelet::data::Split;
use spikelet::distributed::{RankGroup, Role};
use spikelet::human::{duration, percent, thousands};
use spikelet::log::{Console, Output};
use spikelet::pipeline::PipelineEngine;
use spikelet::train::engine::BuildEngine;
use spikelet::train::experiment::{Experiment, LayerMonitors};
use spikelet::train::metric::MetricValues;
use spikelet::train::run::latest_run;
use spikelet::train::{Checkpoint, EpochRecord, FitReport, Settings, TrainStep, Trainer};
use std::any::Any;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// Train a network
///
/// Each run writes into its own folder, such as runs/mnist-fc/2026-11-22-001; runs/mnist-fc/latest
/// is a link to the newest. Files: best.safetensors (the weights of the epoch with the best
/// validation accuracy), last.safetensors (the complete state for `--resume`), epochs.jsonl,
/// TensorBoard curves, report.html, report.svg. Ctrl-C saves and ends the run (exit code 130); `--resume`
/// continues it.
///
/// With `--data-parallel N`, or under torchrun, srun or mpirun, several processes train one network;
/// if one fails, all end with its message (exit code 4 for the others).
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet train" => "mnist-fc on generated digits: needs no files",
    "spikelet train --dataset mnist --download --epochs 20" => "on MNIST, downloaded if it is missing",
    "spikelet train --preset spikingflow --download" => "with the settings of SpikingFlow: 1000 epochs of MNIST",
    "spikelet train csnn --dataset fashion-mnist --amp" => "a convolutional network in 16 bits",
    "spikelet train cifar10-net --augment crop=4,flip --normalize auto" => "with augmentation",
    "spikelet train resnet18 --normalize auto --validation 0 --amp" => "a residual network on all images of CIFAR-10",
    "spikelet train run.toml --set optimizer.lr=3e-3" => "an experiment in a file (see `spikelet config`), with another learning rate",
    "spikelet train --neuron plif --set init_tau=4 --surrogate sigmoid" => "with another neuron",
    "spikelet train csnn --data-parallel 4 --batch-size 64" => "on four GPUs of this host, 256 images a step",
    "spikelet train --data-parallel 2 --device cpu" => "in two processes that share the cores",
    "spikelet train cifar10-net --pipeline 0,1,2,0,3 --split-size 16" => "as a pipeline of five stages on four GPUs",
    "spikelet train cifar10-net --pipeline cpu:0,cpu:1 --static-input" => "as a pipeline on the two halves of the cores, without an encoder",
    "spikelet train --init-from runs/mnist-fc/latest/best.safetensors --epochs 2" => "fine-tune the weights of another run, or of PyTorch",
    "spikelet train --resume" => "continue the latest run of mnist-fc",
    "spikelet train --seeds 0..3 --epochs 2" => "with three seeds: mean and standard deviation",
    "spikelet train --resume runs/csnn/latest" => "continue that run, with its network, settings and data",
    "spikelet train --out runs/mine --force" => "into a given folder, replacing the run in it",
])]
pub struct Train {
    #[command(flatten)]
    experiment: ExperimentArgs,

    /// Train once with each of these seeds: 0..5 (0 to 4), 0..=4, or 1,5,7
    ///
    /// The runs are trained one after another, in folders such as
    /// runs/mnist-fc/seeds/2026-11-22-001/seed-0. Prints the accuracy of each seed, the mean and the
    /// sample standard deviation (n − 1). Runs that were interrupted or killed are continued by
    /// `--resume` with the folder of all seeds.
    #[arg(help_heading = "Training", long, value_name = "SEEDS", conflicts_with_all = ["seed", "force"])]
    seeds: Option<Seeds>,

    /// Folder of the run [default: a new one in runs/NETWORK]
    ///
    /// The default is named by date and number.
    #[arg(help_heading = "Output", long, short, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Replace the run in --out
    #[arg(
        hide_short_help = true,
        help_heading = "Output",
        long,
        requires = "out",
        conflicts_with = "resume"
    )]
    force: bool,

    /// Resume a run from its last checkpoint [default: the latest run]
    ///
    /// RUN is a folder or one of its checkpoints; without it, the run in --out, or else the latest
    /// run of the network. Network, settings and data are those of the run.
    #[arg(help_heading = "Output", long, value_name = "RUN", num_args = 0..=1)]
    resume: Option<Option<PathBuf>>,

    /// Write a timeline of one step of the pipeline, in Chrome's trace format
    #[arg(
        hide_short_help = true,
        help_heading = "Pipeline",
        long,
        value_name = "FILE",
        requires = "pipeline"
    )]
    trace: Option<PathBuf>,
}

/// One of several processes.
struct Rank {
    group: Arc<RankGroup>,
    device: String,
}

/// The folder of a run.
enum Target {
    /// This folder.
    At(PathBuf),
    /// A new folder in this one.
    NewIn(PathBuf),
    /// That of the resumed run: a folder, or a checkpoint in it.
    Resume(PathBuf),
}

/// The checkpoint of a resumed run. Ranks other than 0 may have no access to the file: they take the
/// options of the command line, which rank 0 compares.
fn resumed(run: &Path, leads: bool) -> Result<Option<Checkpoint>, Failure> {
    match Checkpoint::from_run(run) {
        Ok(checkpoint) => Ok(Some(checkpoint)),
        Err(_) if !leads => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl Train {
    /// The folder of the run.
    fn target(&self, leads: bool) -> Result<Target, Failure> {
        let runs = || Path::new("runs").join(self.experiment.network.name());
        Ok(match (&self.resume, &self.out) {
            (None, Some(folder)) => Target::At(folder.clone()),
            (None, None) => Target::NewIn(runs()),
            (Some(None), Some(folder)) => Target::Resume(folder.clone()),
            (Some(Some(run)), None) => Target::Resume(run.clone()),
            (Some(None), None) => match latest_run(runs()) {
                Ok(run) => Target::Resume(run),
                // Only rank 0 reads the folder.
                Err(_) if !leads => Target::Resume(runs()),
                Err(error) => return Err(error.into()),
            },
            (Some(Some(run)), Some(folder)) => {
                return Err(Failure::argument(
                    format!(
                        "--resume names the run {}, --out the folder {}",
                        run.display(),
                        folder.display()
                    ),
                    "a run continues in its own folder: leave --out out",
                ));
            }
        })
    }

    pub fn run(mut self, console: &Console) -> Result<ExitCode, Failure> {
        let parallel = &self.experiment.parallel;
        let role = parallel.role()?;
        let series = seeds::Request {
            seeds: self.seeds.as_ref(),
            out: self.out.as_deref(),
            resume: self.resume.as_ref().map(Option::as_deref),
            parent: Path::new("runs")
                .join(self.experiment.network.name())
                .join("seeds"),
            is_rank: matches!(&role, Role::Rank(_)),
        };
        if let Some(code) = series.run(console)? {
            return Ok(code);
        }
        let leads = !matches!(&role, Role::Rank(world) if world.rank > 0);
        let target = self.target(leads)?;
        let run = match &target {
            Target::Resume(run) => Some(run.as_path()),
            _ => None,
        };
        let checkpoint = run.map(|run| resumed(run, leads)).transpose()?.flatten();
        if let Some(checkpoint) = &checkpoint {
            self.experiment.data = self.experiment.data.in_folder_of(&checkpoint.dataset);
        }
        let parallel = &self.experiment.parallel;
        let experiment = self.experiment.build(run.zip(checkpoint.as_ref()))?;
        match parallel.launched(role, &experiment) {
            Role::Single => self.train(experiment, target, None, console),
            Role::Launch(ranks) => parallel.launch(ranks, &self.device(&experiment)),
            Role::Rank(world) => {
                let quiet = world.rank > 0;
                let (group, device) = parallel.meet(
                    world,
                    &self.device(&experiment),
                    &experiment.network,
                    &experiment.settings,
                    &data_text(&experiment.data),
                )?;
                let quiet = quiet.then(|| Console::new(Output::Quiet));
                let rank = Rank {
                    group: group.clone(),
                    device,
                };
                let console = quiet.as_ref().unwrap_or(console);
                group.run(|| self.train(experiment, target, Some(rank), console))
            }
        }
    }

    fn device(&self, experiment: &Experiment) -> DeviceArgs {
        self.experiment.device.clone().over(&experiment.device)
    }

    fn train(
        self,
        mut experiment: Experiment,
        target: Target,
        rank: Option<Rank>,
        console: &Console,
    ) -> Result<ExitCode, Failure> {
        let args = &self.experiment;
        let data = match &rank {
            None => args.data.load(&experiment, console)?,
            Some(rank) => args.data.load_on_rank(&experiment, console, &rank.group)?,
        };
        let ranks = rank.as_ref().map_or(1, |rank| rank.group.world().size);
        // An error of the division is told where the samples are divided.
        let parts = data.parts(experiment.settings.validation);
        let samples = parts.map_or(usize::MAX, |(train, _)| train.len());
        let batch_size = experiment.settings.batch_of(samples, ranks);
        let wanted = std::mem::replace(&mut experiment.settings.batch_size, batch_size);
        if wanted != batch_size {
            console.say(console.yellow(format!(
                "note: {batch_size} samples a batch, as many as there are for training ({wanted} were asked for)"
            )));
        }
        let network = &experiment.network;
        let settings = Settings {
            normalize: normalization_of(&experiment, &data)?.into(),
            ..experiment.settings.clone()
        };
        let own_device = self.device(&experiment);
        let trace = self.trace.clone();
        let pipeline = args.pipeline.options(&experiment, &own_device, trace)?;
        let first = pipeline.as_ref().and_then(|p| p.first_device().cloned());
        let (device, backend) = match &rank {
            None => {
                let backend = first.map_or_else(|| own_device.open(), Ok)?;
                (own_device, backend)
            }
            Some(Rank { group, device }) => {
                let own = own_device.of_rank(device.clone(), group.world().ranks_on_host());
                let backend = spikelet::device::open_in_group(group, device, own.threads)?;
                (own, backend)
            }
        };
        console.say_wrapped(format!(
            "spikelet {} · {} on {} · {}",
            env!("CARGO_PKG_VERSION"),
            args.start.describe(network.name()),
            describe(&data),
            device.describe(&*backend),
        ));
        if let Some(rank) = &rank {
            console.say_wrapped(describe_ranks(&rank.group, settings.batch_size));
        }
        if let Some(text) = settings_text(network, &settings) {
            console.say_wrapped(console.dim(text));
        }
        let sizes = data.sizes();
        let mut start = json!({
            "event": "start", "version": env!("CARGO_PKG_VERSION"), "network": network, "settings": settings,
            "dataset": data.name(), "train_images": sizes[0], "test_images": sizes[1],
            "device": backend.name(), "threads": device.thread_count(),
            "ranks": rank.as_ref().map_or(1, |rank| rank.group.world().size),
        });
        let mut trainer = Trainer::network(network, settings)?.command(command_line());
        for LayerMonitors { monitors, pattern } in &experiment.output.monitor {
            for monitor in monitors {
                trainer = trainer.monitor_layers(*monitor, pattern);
            }
        }
        if let Some(file) = &experiment.init_from {
            trainer = trainer.init_from(file);
        }
        if let Some(folder) = args.data.folder_of(&data) {
            trainer = trainer.data_folder(folder);
        }
        if let Some(rank) = rank {
            trainer = trainer.group(rank.group);
        }
        if let Some(pipeline) = pipeline {
            trainer = trainer.engine(pipeline);
        }
        trainer = match target {
            Target::Resume(run) => trainer.resume_from(run),
            Target::At(folder) => trainer.folder(folder).force(self.force),
            Target::NewIn(parent) => trainer.new_folder_in(parent),
        };
        let output = &experiment.output;
        let outcome = trainer
            .backend(backend)
            .experiment(&experiment)
            .loader_threads(experiment.data.loader_threads.unwrap_or(0))
            .curve_steps(output.curve_steps as u64)
            .checkpoint_every(Duration::from_secs_f64(output.checkpoint_seconds.min(1e9)))
            .output(console.output())
            .interruptible(true)
            .fit_with(&data, |run| {
                let (engine, memory) = (run.engine, &run.memory);
                start["folder"] = json!(run.folder.map(path_text));
                let engine: &dyn Any = engine;
                if let Some(step) = engine.downcast_ref::<TrainStep>() {
                    let plan = step.program().plan();
                    let parameters = step.tensors().parameters.iter();
                    let sizes = parameters.map(|p| p.shape.iter().product::<usize>());
                    console.say_wrapped(console.dim(network_text(network, sizes.sum())));
                    console.say_wrapped(summary(plan, memory));
                    start["plan"] = plan_json(plan);
                    let warnings = &step.tensors().warnings;
                    for warning in warnings {
                        console.say(format!("warning: {warning}"));
                    }
                    start["warnings"] = json!(warnings);
                }
                if let Some(weights) = run.initial_weights {
                    console.say_wrapped(weights.to_string());
                    start["init_from"] = json!({
                        "file": path_text(&weights.file), "framework": weights.framework.name(),
                        "tensors": weights.tensors.len(), "new_head": weights.new_head,
                        "left_over": weights.left_over, "differing": weights.differing,
                    });
                }
                start["peak_bytes"] = json!(memory.peak);
                start["evaluation_batch"] = json!(memory.evaluation_batch);
                if let Some(pipeline) = engine.downcast_ref::<PipelineEngine>() {
                    let (step, partition) = (pipeline.step(), pipeline.partition());
                    console.say_wrapped(pipeline_text::describe(step, partition, Some(memory)));
                    start["pipeline"] = pipeline_text::json_of(step, partition);
                }
                console.say_json(&start);
            })?;
        finish(console, &outcome, args.start.is_given());
        Ok(if outcome.interrupted {
            ExitCode::from(INTERRUPTED)
        } else {
            ExitCode::SUCCESS
        })
    }
}

fn describe(data: &Split) -> String {
    let [train, test] = data.sizes().map(|samples| thousands(samples as u64));
    format!("{} ({train} + {test})", data.name())
}

/// `data parallel: 4 ranks on 2 hosts · 4 × 64 = 256 images a step`
fn describe_ranks(group: &RankGroup, batch_size: usize) -> String {
    let ranks = group.world().size;
    let hosts = group.hosts().iter().collect::<BTreeSet<_>>().len();
    format!(
        "data parallel: {ranks} ranks on {hosts} host{} · {ranks} × {batch_size} = {} images a step",
        if hosts == 1 { "" } else { "s" },
        thousands((ranks * batch_size) as u64),
    )
}

fn finish(console: &Console, outcome: &FitReport, preset: bool) {
    let path = |path: &Option<PathBuf>| path.as_deref().map(path_text);
    let best = outcome.best();
    let highest = preset.then(|| outcome.highest_test_accuracy());
    console.say_json(&json!({
        "event": if outcome.interrupted { "interrupted" } else { "done" },
        "epochs": outcome.history.len(),
        "epochs_trained": outcome.epochs_trained,
        "test_accuracy": outcome.test_accuracy(),
        "best": best.map(|best| json!({
            "epoch": best.epoch,
            "validation_accuracy": best.validation_accuracy(),
            "test_accuracy": best.test_accuracy(),
        })),
        "highest_test_accuracy": highest,
        "seconds": outcome.seconds,
        "samples_per_second": outcome.samples_per_second,
        "peak_bytes": outcome.peak_bytes,
        "folder": path(&outcome.folder),
        "checkpoint": path(&outcome.checkpoint),
        "picture": path(&outcome.picture),
        "report": path(&outcome.report),
        "findings": outcome.findings,
    }));
    let epochs = match outcome.history.len() {
        1 => "1 epoch".to_string(),
        many => format!("{many} epochs"),
    };
    if outcome.interrupted {
        let run = path(&outcome.folder).unwrap_or_default();
        console.say(format!(
            "interrupted after {epochs} and saved; resume with: spikelet train --resume {run}"
        ));
        if let Some(report) = path(&outcome.report) {
            console.say(format!("report: {report}"));
        }
        return;
    }
    let test = |accuracy: f64| format!("test accuracy {}", percent(accuracy).trim_start());
    let tested = |epoch: &EpochRecord| {
        let labeled = epoch.test.as_ref().and_then(MetricValues::labeled_accuracy);
        test(epoch.test_accuracy()) + &labeled_text(labeled)
    };
    match outcome.epochs_trained {
        0 => console.say_wrapped(format!(
            "nothing to do: the run has completed its {epochs}; with a constant learning rate, --epochs can be increased"
        )),
        _ => console.say_wrapped(format!(
            "{} in {} · {} after the last epoch",
            console.green("done"),
            duration(outcome.seconds),
            outcome.last().map(tested).unwrap_or_default(),
        )),
    }
    for finding in &outcome.findings {
        console.say_wrapped(console.yellow(finding));
    }
    if let Some(best) = best {
        let validation = percent(best.validation_accuracy().unwrap_or_default());
        console.say_wrapped(format!(
            "best by validation: epoch {} · validation accuracy {} · {}",
            best.epoch,
            validation.trim_start(),
            tested(best),
        ));
    }
    if let Some(highest) = highest {
        console.say_wrapped(format!(
            "highest {} (selected on the test set, as SpikingJelly reports it)",
            test(highest)
        ));
    }
    if let Some(checkpoint) = path(&outcome.checkpoint) {
        console.say(format!("checkpoint: {checkpoint}"));
    }
    if let Some(picture) = path(&outcome.picture) {
        console.say(format!("picture: {picture}"));
    }
    if let Some(report) = path(&outcome.report) {
        console.say(format!("report: {report}"));
    }
}
