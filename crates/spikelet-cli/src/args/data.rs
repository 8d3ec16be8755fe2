//! Data sets on the command line.

use super::data_name::{DataName, data_name, no_fitting};
use super::{count, variable};
use crate::failure::Failure;
use spikelet::data::{self, DataOptions, ImageError, Progress, Split, StepShape};
use spikelet::distributed::RankGroup;
use spikelet::log::{Console, Output};
use spikelet::network::Network;
use spikelet::train::checkpoint::DatasetId;
use spikelet::train::experiment::{DataSettings, Experiment};
use spikelet::train::{SampleShape, Settings};
use std::path::{Path, PathBuf};

/// The environment variable of the data set folder.
pub const DATA_VARIABLE: &str = "SPIKELET_DATA";

/// The default folder of data sets.
const FOLDER: &str = "data";

/// A data set and its folder.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Data")]
pub struct DataArgs {
    /// Data set, also of `spikelet data list`
    ///
    /// The default is that of the preset or of the checkpoint; otherwise cifar10 for cifar10-net
    /// and resnet18, and synthetic for the other networks.
    #[arg(
        long = "dataset",
        visible_alias = "data",
        value_name = "NAME",
        value_parser = data_name()
    )]
    pub data: Option<DataName>,

    /// Folder of the data, or of data sets [default: $SPIKELET_DATA, else ./data]
    ///
    /// The folder that a checkpoint names comes before the default. Without --dataset, the files in it tell the data set: PNG and JPEG files in a folder for each class,
    /// recordings of events, or the files of a known data set.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,

    /// The data folder of a checkpoint.
    #[arg(skip)]
    stored: Option<PathBuf>,

    /// Download the files if they are missing
    #[arg(long)]
    download: bool,

    /// Split of a data set of sequences, such as held-out-theo of fsdd [default: that of the checkpoint, or
    /// the first of the data set]
    #[arg(hide_short_help = true, long, value_name = "NAME")]
    split: Option<String>,

    /// Number of test samples: the first N [default: all]
    #[arg(hide_short_help = true, long, value_name = "N", value_parser = count)]
    test_images: Option<usize>,
}

/// A data set to train on.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Data")]
pub struct TrainingDataArgs {
    #[command(flatten)]
    of: DataArgs,

    /// Number of training samples: the first N [default: all]
    #[arg(hide_short_help = true, long, value_name = "N", value_parser = count)]
    train_images: Option<usize>,
}

impl DataArgs {
    /// The data set for a network: that of `--dataset`, or else `otherwise`, or else the first that fits.
    fn name(&self, otherwise: Option<DataName>, network: &Network) -> Option<DataName> {
        let named = self.data.or(otherwise);
        named.or_else(|| DataName::fitting(network.image()).next())
    }

    /// Reads or generates the test samples. Without `--dataset` the data set is `otherwise`, or else the first that fits the
    /// network; split and frames are those of the settings.
    ///
    /// # Errors
    /// When its samples do not fit the network, or its files are missing or damaged.
    pub fn load_test(
        &self,
        otherwise: Option<DataName>,
        settings: &Settings,
        network: &Network,
        console: &Console,
    ) -> Result<Split, Failure> {
        self.load(otherwise, settings, Some(0), network, console)
    }

    /// The first `train_samples` and the test samples. Of sequences, no training samples are left out for 0.
    ///
    /// # Errors
    /// As [`DataArgs::load_test`].
    pub fn load(
        &self,
        otherwise: Option<DataName>,
        settings: &Settings,
        train_samples: Option<usize>,
        network: &Network,
        console: &Console,
    ) -> Result<Split, Failure> {
        let name = self.name(otherwise, network);
        let name = name.ok_or_else(|| no_fitting(network))?;
        name.check_fits(network, settings)?;
        let options = DataOptions {
            folder: self.folder(),
            split: self.split.clone().or(settings.split.clone()),
            train: train_samples,
            test: self.test_images,
            image: network.image(),
            classes: network.classes(),
            frames: settings.frames.clone(),
            time_steps: settings.time_steps,
            seed: 0,
            download: self.download,
            progress: match console.output() == Output::Text {
                true => Progress::Bar,
                false => Progress::Quiet,
            },
        };
        let loaded = name.dataset().load(&options);
        let loaded = loaded.map_err(|error| failed(error, name, network))?;
        check_read(&loaded, name, network)?;
        let mut notes = loaded.notes().to_vec();
        if let [class] = loaded.class_names() {
            notes.push(format!(
                "all samples are of one class, {class:?}: there is nothing to tell apart"
            ));
        }
        for note in notes {
            console.say(console.yellow(format!("note: {note}")));
        }
        Ok(loaded)
    }

    /// The same with the data folder of a checkpoint, unless another is given. Nothing is written into that folder: it may be
    /// the word of someone else.
    #[must_use]
    pub fn in_folder_of(&self, run: &DatasetId) -> Self {
        let reads_only = |folder: &&Path| {
            let known = DataName::of_dataset(&run.name);
            known.is_some_and(|name| !name.dataset().writes_into(folder))
        };
        let own = self.data.is_none() || self.data == DataName::of_dataset(&run.name);
        let stored = run.usable_folder().filter(|_| own && !self.download);
        Self {
            stored: stored.filter(reads_only).map(Path::to_path_buf),
            ..self.clone()
        }
    }

    /// An identity with the folder of the data that was loaded with these options, if it is that of this data.
    pub fn with_folder(&self, id: DatasetId, loaded: &Split) -> DatasetId {
        let known = DataName::of_dataset(loaded.name());
        let has_files = known.is_some_and(|name| name.dataset().has_files());
        match id.name == loaded.name() && has_files {
            true => id.in_folder(&self.folder()),
            false => id,
        }
    }

    /// The folder of data sets.
    fn folder(&self) -> PathBuf {
        let folder = self.data_dir.clone().or_else(|| self.stored.clone());
        let folder = folder.or_else(|| variable(DATA_VARIABLE).map(PathBuf::from));
        folder.unwrap_or_else(|| PathBuf::from(FOLDER))
    }
}

/// Checks what only files tell: the classes, and the shape of frames.
fn check_read(read: &Split, name: DataName, network: &Network) -> Result<(), Failure> {
    let (classes, taken) = (read.class_names().len(), network.classes());
    let (own, is_images) = (name.word(), name.dataset().is_resized());
    if classes > taken || is_images && classes != taken {
        return Err(Failure::argument(
            format!(
                "{} has {taken} outputs, {own} has {classes} classes",
                network.name()
            ),
            "give the last layer an output for each class; a trained network keeps its classes",
        ));
    }
    let sample = SampleShape::of_dataset(&*read.test)?;
    let (given, taken) = match sample {
        SampleShape::Sequence { shape, .. } => (shape.sizes().to_vec(), network.input()),
        _ => return Ok(()),
    };
    if network.takes(&given) {
        return Ok(());
    }
    let [own, needed] = [&given, &taken].map(|sizes| StepShape::of(sizes));
    let transposed = own
        .zip(needed)
        .and_then(|(own, needed)| own.transposed_help(needed));
    Err(Failure::argument(
        format!(
            "{} takes {taken:?} at a time step, the frames are {given:?}",
            network.name()
        ),
        transposed.unwrap_or(
            "resize the frames with --set data.frame_size=[HEIGHT,WIDTH], or change `input` of the network",
        ),
    ))
}

impl TrainingDataArgs {
    /// The same with the data folder of a checkpoint, unless another is given.
    #[must_use]
    pub fn in_folder_of(&self, run: &DatasetId) -> Self {
        Self {
            of: self.of.in_folder_of(run),
            ..self.clone()
        }
    }

    /// The folder of these data, which is kept in checkpoints, if they are read from files.
    pub fn folder_of(&self, loaded: &Split) -> Option<PathBuf> {
        let known = DataName::of_dataset(loaded.name())?;
        let has_files = known.dataset().has_files();
        has_files.then(|| self.of.folder().to_path_buf())
    }

    /// Sets the given options in an experiment. Without a data set, the one in --data-dir is used if `detects`.
    ///
    /// # Errors
    /// When no data set, or several, are in that folder.
    pub fn put(&self, experiment: &mut Experiment, detects: bool) -> Result<(), Failure> {
        let named = match (&self.of.data, &self.of.data_dir) {
            (None, Some(folder)) if detects && experiment.data.dataset.is_none() => {
                DataName::found_in(folder, &experiment.network)?
            }
            (named, _) => *named,
        };
        if let Some(name) = named {
            experiment.use_dataset(Some(name.word().to_string()));
        }
        let Experiment { data, settings, .. } = experiment;
        settings.split = self.of.split.clone().or(settings.split.take());
        data.train_images = self.train_images.or(data.train_images);
        data.test_images = self.of.test_images.or(data.test_images);
        Ok(())
    }

    /// Reads or generates the data set of an experiment. One that does not name it takes the first with images that fit
    /// the network.
    ///
    /// # Errors
    /// When its samples do not fit the network, or its files are missing or damaged.
    pub fn load(&self, experiment: &Experiment, console: &Console) -> Result<Split, Failure> {
        let Experiment { data, network, .. } = experiment;
        let of = DataArgs {
            test_images: data.test_images,
            ..self.of.clone()
        };
        let name = DataName::of_experiment(data);
        let (train, settings) = (data.train_images, &experiment.settings);
        DataArgs { data: name, ..of }.load(None, settings, train, network, console)
    }

    /// As [`TrainingDataArgs::load`], on one of several ranks: the first of each host downloads for
    /// the others, and all must have the same samples.
    ///
    /// # Errors
    /// As [`TrainingDataArgs::load`]; when a rank has other samples.
    pub fn load_on_rank(
        &self,
        experiment: &Experiment,
        console: &Console,
        group: &RankGroup,
    ) -> Result<Split, Failure> {
        let first = group.world().local_rank == 0;
        let load = || self.load(experiment, console);
        let split = match (self.of.download, first) {
            (false, _) => load()?,
            (true, true) => {
                let split = load()?;
                group.process_group().barrier()?;
                split
            }
            (true, false) => {
                group.process_group().barrier()?;
                load()?
            }
        };
        group.check_same(
            "the data set",
            &split.digest().map_err(spikelet::Error::from)?,
            "copy the files of one host to the others, or name the same folder with --data-dir",
        )?;
        Ok(split)
    }
}

/// The data set of an experiment and the numbers of images, as far as they are known before reading.
pub fn data_text(data: &DataSettings) -> String {
    let name = data.dataset.as_deref().unwrap_or("default");
    let first = |images: Option<usize>| images.map_or("all".to_string(), |n| n.to_string());
    let [train, test] = [data.train_images, data.test_images].map(first);
    format!("{name} ({train} + {test})")
}

/// The network of an experiment that begins, with as many classes as the data set has in the folder of `data`. A list of layers is changed if it is
/// that of a recipe, not if it is the user's own.
pub fn with_classes_of_data(
    mut experiment: Experiment,
    data: &TrainingDataArgs,
    is_recipe: bool,
) -> Experiment {
    let named = DataName::of_experiment(&experiment.data);
    let image = experiment.network.image();
    let name = named.or_else(|| DataName::fitting(image).next());
    let classes = name.map_or(0, |name| name.classes_in(&data.of.folder()).len());
    if classes > 0 {
        experiment.network = match experiment.network {
            Network::Layers(layers) if is_recipe => Network::Layers(layers.with_classes(classes)),
            other => other.with_classes(classes),
        };
    }
    experiment
}

/// The library's error with the options of this program in its help.
fn failed(error: data::Error, name: DataName, network: &Network) -> Failure {
    match &error {
        data::Error::MissingFiles { folder, .. } => {
            let message = error.to_string();
            let problem = message.split("  help: ").next().unwrap_or_default();
            let mut help = format!(
                "fetch them with --download, put them into {}, or name their folder with --data-dir",
                folder.display()
            );
            let mut fitting = DataName::fitting(network.image());
            if fitting.any(|other| !other.dataset().has_files()) {
                help += "; --dataset synthetic needs no files";
            }
            Failure::other(problem.trim_end(), help)
        }
        data::Error::Image(ImageError::MissingFolder { path }) => Failure::other(
            format!("{} is no folder", path.display()),
            "name a folder with train/CLASS/FILE and test/CLASS/FILE (or val), or with CLASS/FILE, with --data-dir; \
             --dataset synthetic-images needs no files",
        ),
        data::Error::UnknownSplit { known, given, .. } if known.is_empty() => Failure::argument(
            format!("{} has no split `{given}`", name.word()),
            "leave --split out: only data sets of sequences have splits",
        ),
        _ => spikelet::Error::from(error).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        data: TrainingDataArgs,
    }

    #[test]
    fn a_new_network_has_the_classes_of_its_data_set() {
        for (network, words, classes) in [
            ("resnet18", &["x"][..], 10),
            ("resnet18", &["x", "--dataset", "cifar-100"], 100),
            ("cifar10-net", &["x", "--dataset", "cifar10"], 10),
            ("mnist-fc", &["x", "--dataset", "fashion-mnist"], 10),
        ] {
            let words = Words::try_parse_from(words).unwrap_or_else(|e| panic!("{e}"));
            let network = Network::find(network).expect("it is known");
            let mut experiment = Experiment::of_network(network);
            let put = words.data.put(&mut experiment, true);
            put.expect("no folder is given");
            let experiment = with_classes_of_data(experiment, &words.data, false);
            assert_eq!(experiment.network.classes(), classes);
        }
    }
}
