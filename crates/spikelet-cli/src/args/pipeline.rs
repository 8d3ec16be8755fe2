//! Pipelines on the command line.

use super::{DeviceArgs, count, open_device, words};
use crate::failure::Failure;
use spikelet::encoder::Direct;
use spikelet::graph::Backend;
use spikelet::pipeline::{PipelineConfig, PipelineSchedule, StageReplicas};
use spikelet::pipeline::{PipelineOptions, Stages};
use spikelet::train::experiment::Experiment;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// A pipeline of stages on devices.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Pipeline")]
pub struct PipelineArgs {
    /// Train as a pipeline of stages on these devices, as in 0,1,2,3
    ///
    /// In 0,1,2,0,3 GPU 0 has two stages; cpu:0,cpu:1 share the cores. In 0+1+2,3 the first stage
    /// has three devices, which process micro-batches in turn.
    #[arg(long, value_name = "DEVICES", value_delimiter = ',')]
    pub pipeline: Vec<String>,

    /// Number of images per micro-batch [default: the batch size divided by the number of devices]
    #[arg(hide_short_help = true, long, value_name = "N", value_parser = count, requires = "pipeline")]
    pub split_size: Option<usize>,

    /// Boundaries of the stages: auto, or the first module of each stage but the first, as in
    /// 2,3,6,7
    #[arg(hide_short_help = true, long, value_name = "CUTS", default_value = "auto", value_parser = stages, requires = "pipeline")]
    stages: Stages,

    /// Number of time steps per chunk: stages process successive chunks of a sequence concurrently
    /// [default: all]
    #[arg(hide_short_help = true, long, value_name = "STEPS", value_parser = count, requires = "pipeline")]
    time_chunk: Option<usize>,

    /// Order of forward and backward passes; auto is 1f1b, which needs less memory, unless
    /// fill-drain is predicted to be at least 10 % faster
    #[arg(hide_short_help = true, long, value_name = "ORDER", default_value = "auto", value_parser = words::<PipelineSchedule>(), requires = "pipeline")]
    pipeline_schedule: PipelineSchedule,

    /// Feed the image itself at each time step: the same as --encoder direct
    #[arg(hide_short_help = true, long)]
    pub static_input: bool,
}

fn stages(text: &str) -> Result<Stages, String> {
    if text == "auto" {
        return Ok(Stages::Auto);
    }
    let numbers = text.split(',').map(|n| n.trim().parse().ok());
    let numbers: Option<Vec<usize>> = numbers.collect();
    let numbers = numbers.ok_or("give auto, or numbers of modules as in 2,3,6,7")?;
    Ok(Stages::At(numbers))
}

impl PipelineArgs {
    /// Sets the given options in an experiment.
    pub fn put(&self, experiment: &mut Experiment) {
        if self.static_input {
            experiment.settings.encoder = Direct.into();
        }
        let device = &mut experiment.device;
        if !self.pipeline.is_empty() {
            device.pipeline.clone_from(&self.pipeline);
        }
        device.split_size = self.split_size.or(device.split_size);
    }

    /// The pipeline of an experiment, if it has one.
    ///
    /// # Errors
    /// When a device is not known or cannot be used.
    pub fn options(
        &self,
        experiment: &Experiment,
        own: &DeviceArgs,
        trace: Option<PathBuf>,
    ) -> Result<Option<PipelineOptions>, Failure> {
        let pipeline = &experiment.device.pipeline;
        if pipeline.is_empty() {
            return Ok(None);
        }
        let name = |name: &str| match name.trim().parse::<usize>() {
            Ok(number) if own.name() == "cpu" => format!("cpu:{number}"),
            Ok(number) => format!("cuda:{number}"),
            Err(_) => name.trim().to_string(),
        };
        let teams: Vec<Vec<String>> = (pipeline.iter())
            .map(|team| team.split('+').map(name).collect())
            .collect();
        let names: Vec<String> = teams.concat();
        let mut open: BTreeMap<String, Arc<dyn Backend>> = BTreeMap::new();
        let on_cpu = |name: &&String| name.starts_with("cpu");
        let cpus = names
            .iter()
            .filter(on_cpu)
            .collect::<std::collections::BTreeSet<_>>();
        let threads = (own.thread_count() / cpus.len().max(1)).max(1);
        for name in &names {
            if !open.contains_key(name) {
                open.insert(name.clone(), open_device(name, threads)?);
            }
        }
        let team = |names: &Vec<String>| {
            let devices = names.iter().map(|name| open[name].clone());
            StageReplicas::from(devices.collect::<Vec<_>>())
        };
        let devices: Vec<StageReplicas> = teams.iter().map(team).collect();
        let whole = experiment.settings.batch_size.div_ceil(names.len());
        Ok(Some(PipelineOptions {
            devices,
            stages: self.stages.clone(),
            config: PipelineConfig {
                split_size: experiment.device.split_size.unwrap_or(whole),
                time_chunk: self.time_chunk,
                schedule: self.pipeline_schedule,
            },
            timeline: trace,
        }))
    }
}
