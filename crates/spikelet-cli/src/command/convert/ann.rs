//! A network without spikes becomes a spiking network.

use super::super::content::Content;
use super::ann_report;
use crate::args::{CheckpointPath, DataArgs, DataName, DeviceArgs, NetworkName, count};
use crate::command::{path_text, same_file};
use crate::failure::Failure;
use clap::Arg;
use serde_json::json;
use spikelet::data::{DataLoader, Dataset, Split};
use spikelet::log::Console;
use spikelet::network::Network;
use spikelet::train::checkpoint::{DatasetId, Progress};
use spikelet::train::conversion::{self, Converter, MaxPooling, Threshold, TrainedLayers};
use spikelet::train::experiment::Experiment;
use spikelet::train::weights::InitialWeights;
use spikelet::train::{Checkpoint, Settings};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// The number of images of a batch. The statistic of a batch behind the first counts with the momentum.
const BATCH: usize = 100;

/// The time steps of the report, unless others are given.
const REPORTED: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// Options of a network without spikes.
#[derive(clap::Args)]
#[command(next_help_heading = "Networks without spikes", mut_args = data_and_device_require_ann)]
pub struct AnnArgs {
    /// Convert this network without spikes: a checkpoint of `spikelet train` or the folder of a run, or weights with --network
    #[arg(id = "ann", long = "ann", value_name = "FILE", value_parser = CheckpointPath::parser())]
    file: Option<CheckpointPath>,

    /// Network of the weights: an experiment file or a recipe
    #[arg(long, value_name = "NETWORK", requires = "ann", value_parser = NetworkName::parser())]
    network: Option<NetworkName>,

    /// Data set whose training samples set the thresholds, and on whose test samples the networks are compared [default: that of the training]
    #[arg(long, value_name = "DATA", requires = "ann", value_parser = crate::args::data_name())]
    calibrate: Option<DataName>,

    /// Thresholds: max, a percentile such as 99.9%, or a factor of the maximum such as 0.8
    #[arg(long, value_name = "HOW", requires = "ann", default_value = "max", value_parser = threshold)]
    threshold: Threshold,

    /// A threshold for each channel
    #[arg(long, requires = "ann")]
    each_channel: bool,

    /// Neurons start at half their threshold [default: those of qcfs]
    #[arg(long, requires = "ann", value_name = "YES", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    half_threshold: Option<bool>,

    /// Max pooling: refuse, before-neuron (of currents) or spikes (of the spikes of a step)
    #[arg(long, requires = "ann", value_name = "HOW", default_value = "refuse", value_parser = max_pooling)]
    max_pool: MaxPooling,

    /// Time steps with which the result is evaluated
    #[arg(long, requires = "ann", value_name = "T", default_value_t = 32, value_parser = count)]
    time_steps: usize,

    /// Number of training samples that set the thresholds: the first N
    #[arg(hide_short_help = true, long, requires = "ann", value_name = "N", default_value_t = 1000, value_parser = count)]
    calibration_images: usize,

    /// Weight of a batch of 100 behind the first in the thresholds, from 0 to 1
    #[arg(
        hide_short_help = true,
        long,
        requires = "ann",
        value_name = "X",
        default_value_t = 0.1
    )]
    momentum: f64,

    /// Time steps of the report, separated by commas [default: 1,2,4,8,16,32,64]
    #[arg(hide_short_help = true, long, requires = "ann", value_name = "LIST", value_delimiter = ',', value_parser = count)]
    report_steps: Vec<usize>,

    #[command(flatten)]
    data: DataArgs,

    #[command(flatten)]
    device: DeviceArgs,
}

/// The options that commands share: no other conversion reads samples or runs a network.
fn data_and_device_require_ann(arg: Arg) -> Arg {
    match arg.get_help_heading() {
        Some("Data" | "Device") => arg.requires("ann"),
        _ => arg,
    }
}

fn threshold(text: &str) -> Result<Threshold, String> {
    let number = |text: &str| text.parse::<f64>().ok().filter(|x| x.is_finite());
    let found = match (text, text.strip_suffix('%')) {
        ("max", _) => Some(Threshold::Max),
        (_, Some(q)) => {
            (number(q).filter(|q| (0.0..=100.0).contains(q))).map(Threshold::Percentile)
        }
        (factor, None) => number(factor).filter(|f| *f > 0.0).map(Threshold::Factor),
    };
    found.ok_or_else(|| "give max, a percentile from 0% to 100%, or a factor above 0".to_string())
}

fn max_pooling(text: &str) -> Result<MaxPooling, String> {
    match text {
        "refuse" => Ok(MaxPooling::Refuse),
        "before-neuron" => Ok(MaxPooling::BeforeNeuron),
        "spikes" => Ok(MaxPooling::OfSpikes),
        _ => Err("use refuse, before-neuron or spikes".to_string()),
    }
}

/// The network without spikes, and how it was trained.
struct Ann {
    layers: TrainedLayers,
    network: Network,
    settings: Settings,
    /// Whether the images are normalized as the settings say; otherwise by the experiment.
    experiment: Option<Experiment>,
    /// The progress and the data of its training.
    run: Option<(Progress, DatasetId)>,
}

impl AnnArgs {
    /// The network that is converted.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Converts the network of `file`, compares, and writes the checkpoint.
    pub fn run(&self, file: &Path, out: &Path, console: &Console) -> Result<ExitCode, Failure> {
        if same_file(file, out) {
            return Err(Failure::argument(
                format!("{} is both the input and the output", out.display()),
                "give another file for the output",
            ));
        }
        let converter = Converter {
            threshold: self.threshold,
            each_channel: self.each_channel,
            momentum: self.momentum,
            half_threshold: self.half_threshold,
            max_pooling: self.max_pool,
            ..Converter::default()
        };
        converter.check().map_err(spikelet::Error::from)?;
        let mut ann = self.read(file)?;
        // A layer that cannot be converted is found before the data set is read.
        converter.prepare(&ann.layers)?;
        let data_args = self.data_of(&ann);
        let data = self.load(&data_args, &ann, console)?;
        if let Some(experiment) = &ann.experiment {
            ann.settings.normalize = crate::args::normalization_of(experiment, &data)?.into();
        }
        let [train, test] = parts(&data)?;
        let [train, test] = [train, test].map(|part| loader(part, &ann.settings));
        let (train, test) = (train?, test?);
        let backend = self.device.open()?;
        let calibration = conversion::images(&train, self.calibration_images);
        let calibration = calibration.map(|batch| batch.map(|(images, _)| images));
        let made = converter.convert(&ann.layers, calibration, &backend)?;
        let steps = match self.report_steps.as_slice() {
            [] => &REPORTED[..],
            given => given,
        };
        let compared = made.compare(conversion::images(&test, usize::MAX), steps, &backend)?;
        let dataset = match &ann.run {
            Some((_, dataset)) => dataset.clone(),
            None => DatasetId::of_split(&data)?,
        };
        let dataset = data_args.with_folder(dataset, &data);
        let progress = ann.run.as_ref().map(|(progress, _)| progress);
        let checkpoint = made
            .snn
            .checkpoint(&ann.settings, self.time_steps, progress, &dataset)?;
        checkpoint.write(out)?;
        console.say_json(&json!({
            "ann": path_text(file), "out": path_text(out), "network": ann.network.name(), "dataset": data.name(),
            "calibration_images": self.calibration_images.min(train.dataset().len()), "time_steps": self.time_steps,
            "comparison": compared,
        }));
        ann_report::say(&compared, console);
        console.say(format!(
            "\nwritten: {} · {} time steps",
            out.display(),
            self.time_steps
        ));
        console.say(format!("evaluate it: spikelet eval {}", out.display()));
        Ok(ExitCode::SUCCESS)
    }

    /// Reads the network and its tensors.
    fn read(&self, file: &Path) -> Result<Ann, Failure> {
        match (Content::of(file)?, &self.network) {
            (Content::Checkpoint, None) => of_checkpoint(file),
            (Content::Checkpoint, Some(_)) => Err(Failure::argument(
                format!("{} is a checkpoint, which has its network", file.display()),
                "leave --network out",
            )),
            (Content::Weights, Some(network)) => of_weights(file, network),
            (Content::Weights, None) => Err(Failure::argument(
                format!("{} has weights and no network", file.display()),
                "give an experiment file with the network: --network FILE.toml",
            )),
            _ => Err(Failure::other(
                format!("{} is no checkpoint and has no weights", file.display()),
                "give a checkpoint of `spikelet train`, or weights with --network FILE.toml",
            )),
        }
    }

    /// The options of the data set.
    fn data_of(&self, ann: &Ann) -> DataArgs {
        let mut data = self.data.clone();
        data.data = self.calibrate.or(data.data);
        match &ann.run {
            Some((_, id)) => data.in_folder_of(id),
            None => data,
        }
    }

    fn load(&self, data: &DataArgs, ann: &Ann, console: &Console) -> Result<Split, Failure> {
        let trained = ann
            .run
            .as_ref()
            .and_then(|(_, id)| DataName::of_dataset(&id.name));
        let named = ann
            .experiment
            .as_ref()
            .and_then(|e| e.data.dataset.as_deref());
        let otherwise = trained.or(named.and_then(DataName::find));
        // The statistics of an automatic normalization are those of all training images.
        let images = (ann.experiment.is_none()).then_some(self.calibration_images);
        data.load(otherwise, &ann.settings, images, &ann.network, console)
    }
}

/// The network of a checkpoint.
fn of_checkpoint(file: &Path) -> Result<Ann, Failure> {
    let checkpoint = Checkpoint::read(file)?;
    let Some(network) = checkpoint.network().cloned() else {
        return Err(Failure::other(
            format!("{}: its network is a program's own", file.display()),
            "convert it in that program with `spikelet::train::conversion`",
        ));
    };
    let settings = checkpoint.settings()?.clone();
    check_encoder(&settings)?;
    let tensors = checkpoint.model_tensors().into_iter();
    let tensors = tensors.map(|(name, tensor)| (name.to_string(), tensor.clone()));
    Ok(Ann {
        layers: TrainedLayers::new(&network, tensors.collect())?,
        network,
        settings,
        experiment: None,
        run: Some((checkpoint.progress.clone(), checkpoint.dataset.clone())),
    })
}

/// Weights of a network in an experiment file or a recipe.
fn of_weights(file: &Path, named: &NetworkName) -> Result<Ann, Failure> {
    let experiment = named.experiment()?;
    let (network, settings) = (experiment.network.clone(), experiment.settings.clone());
    check_encoder(&settings)?;
    let module = network.module()?;
    let input = [&[1, 1][..], &network.image()].concat();
    let read = InitialWeights::read(file, &*module, &input)?;
    if !read.new_head.is_empty() {
        return Err(Failure::other(
            format!(
                "{}: {} has another number of classes than the network",
                file.display(),
                read.new_head.join(", ")
            ),
            "give the last layer as many outputs as the weights have",
        ));
    }
    Ok(Ann {
        layers: TrainedLayers::new(&network, read.tensors)?,
        network,
        settings,
        experiment: Some(experiment),
        run: None,
    })
}

fn check_encoder(settings: &Settings) -> Result<(), Failure> {
    match settings.encoder.name() {
        "direct" => Ok(()),
        other => Err(Failure::other(
            format!("the network takes images that the encoder {other} encodes"),
            "train it with --encoder direct: the input of a network without spikes is the image itself",
        )),
    }
}

/// The training and the test part of a data set of images.
fn parts(data: &Split) -> Result<[Arc<dyn Dataset>; 2], Failure> {
    match data.has_images() {
        true => Ok([data.train.clone(), data.test.clone()]),
        false => Err(Failure::argument(
            format!(
                "{} has sequences; a network without spikes has no time steps",
                data.name()
            ),
            "name a data set of images with --calibrate",
        )),
    }
}

fn loader(part: Arc<dyn Dataset>, settings: &Settings) -> Result<DataLoader, Failure> {
    let made = DataLoader::new(part, settings.test_batches(BATCH));
    Ok(made.map_err(spikelet::Error::from)?)
}
