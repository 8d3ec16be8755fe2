//! Data sets by name.

use super::{count, data_names, variable};
use crate::failure::Failure;
use clap::builder::TypedValueParser;
use spikelet::data::{self, ImageDataset, Progress, Source, Split, synthetic};
use spikelet::distributed::RankGroup;
use spikelet::log::{Console, Output};
use spikelet::network::Network;
use spikelet::train::experiment::{DataSettings, Experiment};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The environment variable of the data set folder.
pub const DATA_VARIABLE: &str = "SPIKELET_DATA";

/// The default folder of data sets.
const FOLDER: &str = "data";

/// The seed of the synthetic digits. It is not the seed of the run, so that runs are comparable.
const SYNTHETIC_SEED: u64 = 0;

/// A data set.
#[derive(Clone, Copy, Debug)]
pub struct DataName(data::Entry);

impl PartialEq for DataName {
    fn eq(&self, other: &Self) -> bool {
        self.word() == other.word()
    }
}

/// A data set and its folder.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Data")]
pub struct DataArgs {
    /// Data set
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

    /// Folder of data sets [default: $SPIKELET_DATA, else ./data]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,

    /// Download the files if they are missing
    #[arg(long)]
    download: bool,

    /// Number of test images: the first N [default: all]
    #[arg(hide_short_help = true, long, value_name = "N", value_parser = count)]
    test_images: Option<usize>,
}

/// A data set to train on.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Data")]
pub struct TrainingDataArgs {
    #[command(flatten)]
    of: DataArgs,

    /// Number of training images: the first N [default: all]
    #[arg(hide_short_help = true, long, value_name = "N", value_parser = count)]
    train_images: Option<usize>,
}

fn data_name() -> impl TypedValueParser<Value = DataName> {
    data_names().try_map(|name| DataName::find(&name).ok_or("it is unknown"))
}

impl DataName {
    /// The data set of this name.
    pub fn find(name: &str) -> Option<Self> {
        Self::all().find(|known| known.word() == name)
    }

    /// The data sets of images; the networks by name do not take sequences.
    fn all() -> impl Iterator<Item = Self> {
        let entries = data::entries().into_iter();
        entries.filter(data::Entry::is_images).map(Self)
    }

    /// The data set of this name in checkpoints.
    pub fn of_dataset(title: &str) -> Option<Self> {
        Self::all().find(|known| known.0.title() == title)
    }

    /// The data set of an experiment, if it names one.
    fn of_experiment(data: &DataSettings) -> Option<Self> {
        data.dataset.as_deref().and_then(Self::find)
    }

    /// The data sets whose images are of this shape.
    fn fitting(image: [usize; 3]) -> impl Iterator<Item = Self> {
        Self::all().filter(move |name| name.image() == image)
    }

    /// The source of its files, if it has any.
    fn source(self) -> Option<Source> {
        self.0.source()
    }

    /// The names of its classes.
    pub fn classes(self) -> Vec<String> {
        let drawn = || no_digits().classes.clone();
        self.source().map_or_else(drawn, |source| source.classes)
    }

    /// Channels, height and width of its images.
    fn image(self) -> [usize; 3] {
        self.source()
            .map_or_else(|| no_digits().shape, |source| source.shape)
    }

    /// The name, as on the command line.
    fn word(self) -> &'static str {
        self.0.name
    }
}

/// The synthetic digits without images: name, shape and classes.
fn no_digits() -> Arc<ImageDataset> {
    synthetic::digits_of(SYNTHETIC_SEED, 0, 0).train
}

/// `1 × 28 × 28`
fn sizes(image: [usize; 3]) -> String {
    image.map(|size| size.to_string()).join(" × ")
}

impl DataArgs {
    /// The data set for a network: that of `--dataset`, or else `otherwise`, or else the first that fits.
    fn name(&self, otherwise: Option<DataName>, network: &Network) -> Option<DataName> {
        let named = self.data.or(otherwise);
        named.or_else(|| DataName::fitting(network.image()).next())
    }

    /// Reads or generates the test images. Without `--dataset` the data set is `otherwise`, or else the
    /// first that fits the network.
    ///
    /// # Errors
    /// When its images do not fit the network, or its files are missing or damaged.
    pub fn load_test(
        &self,
        otherwise: Option<DataName>,
        network: &Network,
        console: &Console,
    ) -> Result<Arc<ImageDataset>, Failure> {
        Ok(self.load(otherwise, Some(0), network, console)?.test)
    }

    /// The first `train_images` and the test images.
    fn load(
        &self,
        otherwise: Option<DataName>,
        train_images: Option<usize>,
        network: &Network,
        console: &Console,
    ) -> Result<Split, Failure> {
        let name = self.name(otherwise, network);
        let name = name.ok_or_else(|| no_fitting(network))?;
        check_fits(name, network)?;
        let mut split = match name.source() {
            Some(source) => self.read(&source, network, console)?,
            None => synthetic::digits_of(
                SYNTHETIC_SEED,
                train_images.unwrap_or(60_000).min(60_000),
                self.test_images.unwrap_or(10_000).min(10_000),
            ),
        };
        keep_first(&mut split.train, train_images);
        keep_first(&mut split.test, self.test_images);
        Ok(split)
    }

    fn read(
        &self,
        source: &Source,
        network: &Network,
        console: &Console,
    ) -> Result<Split, Failure> {
        let folder = self
            .data_dir
            .clone()
            .or_else(|| variable(DATA_VARIABLE).map(PathBuf::from));
        let folder = folder.unwrap_or_else(|| PathBuf::from(FOLDER));
        let loaded = if self.download {
            let bar = console.output() == Output::Text;
            source.load_or_download(&folder, if bar { Progress::Bar } else { Progress::Quiet })
        } else {
            source.load(&folder)
        };
        loaded.map_err(|error| match &error {
            data::Error::MissingFiles { folder, .. } => missing(&error, folder, network),
            _ => spikelet::Error::from(error).into(),
        })
    }
}

impl TrainingDataArgs {
    /// Sets the given options in an experiment.
    pub fn put(&self, data: &mut DataSettings) {
        if let Some(name) = self.of.data {
            data.dataset = Some(name.word().to_string());
        }
        data.train_images = self.train_images.or(data.train_images);
        data.test_images = self.of.test_images.or(data.test_images);
    }

    /// Reads or generates the data set of an experiment. One that does not name it takes the first that fits the
    /// network.
    ///
    /// # Errors
    /// When its images do not fit the network, or its files are missing or damaged.
    pub fn load(&self, experiment: &Experiment, console: &Console) -> Result<Split, Failure> {
        let Experiment { data, network, .. } = experiment;
        let of = DataArgs {
            test_images: data.test_images,
            ..self.of.clone()
        };
        let name = DataName::of_experiment(data);
        let train = data.train_images;
        DataArgs { data: name, ..of }.load(None, train, network, console)
    }

    /// As [`TrainingDataArgs::load`], on one of several ranks: the first of each host downloads for
    /// the others, and all must have the same images.
    ///
    /// # Errors
    /// As [`TrainingDataArgs::load`]; when a rank has other images.
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
            &split.digest(),
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

/// The network of an experiment that begins, with as many classes as the data set has.
pub fn with_classes_of_data(mut experiment: Experiment) -> Experiment {
    let named = DataName::of_experiment(&experiment.data);
    let image = experiment.network.image();
    if let Some(name) = named.or_else(|| DataName::fitting(image).next()) {
        experiment.network = experiment.network.with_classes(name.classes().len());
    }
    experiment
}

/// The library's error with the options of this program in its help.
fn missing(error: &data::Error, folder: &Path, network: &Network) -> Failure {
    let message = error.to_string();
    let problem = message.split("  help: ").next().unwrap_or_default();
    let mut help = format!(
        "fetch them with --download, put them into {}, or name their folder with --data-dir",
        folder.display()
    );
    if no_digits().shape == network.image() {
        help += "; --dataset synthetic needs no files";
    }
    Failure::other(problem.trim_end(), help)
}

/// The error where no data set has the network's images.
fn no_fitting(network: &Network) -> Failure {
    let taken = sizes(network.image());
    Failure::argument(
        format!(
            "no data set has images of {taken}, as {} takes",
            network.name()
        ),
        "train it from a program, with images in IDX files",
    )
}

/// Checks that the network takes images of this data set, before they are read.
fn check_fits(name: DataName, network: &Network) -> Result<(), Failure> {
    let (given, taken) = (name.image(), network.image());
    if given == taken {
        return check_classes(name, network);
    }
    let fitting: Vec<&str> = DataName::fitting(taken).map(DataName::word).collect();
    if fitting.is_empty() {
        return Err(no_fitting(network));
    }
    let help = format!(
        "data sets that fit {}: {}",
        network.name(),
        fitting.join(", ")
    );
    Err(Failure::argument(
        format!(
            "{} takes images of {} (channels × height × width), those of {} are {}",
            network.name(),
            sizes(taken),
            name.word(),
            sizes(given),
        ),
        help,
    ))
}

/// Checks that the network has an output for each class.
fn check_classes(name: DataName, network: &Network) -> Result<(), Failure> {
    let (given, taken) = (name.classes().len(), network.classes());
    if given <= taken {
        return Ok(());
    }
    Err(Failure::argument(
        format!(
            "this {} has {taken} classes, {} has {given}",
            network.name(),
            name.word()
        ),
        "a trained network keeps its classes: use a data set with as many, or train a new network",
    ))
}

fn keep_first(dataset: &mut Arc<ImageDataset>, images: Option<usize>) {
    let kept = images.unwrap_or(usize::MAX).min(dataset.len());
    // The data set was just loaded and has no other owner: nothing is copied.
    let dataset = Arc::make_mut(dataset);
    dataset.images.truncate(kept * dataset.image_len());
    dataset.labels.truncate(kept);
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
            words.data.put(&mut experiment.data);
            let experiment = with_classes_of_data(experiment);
            assert_eq!(experiment.network.classes(), classes);
        }
    }

    #[test]
    fn a_trained_network_refuses_data_with_more_classes() {
        let network = Network::find("resnet18").expect("it is known");
        let name = DataName::find("cifar100").expect("it is known");
        let error = check_fits(name, &network).expect_err("it has ten");
        let message = error.to_string();
        assert!(
            message.contains("this resnet18 has 10 classes, cifar100 has 100"),
            "{message}"
        );
        check_fits(name, &network.with_classes(100)).unwrap_or_else(|e| panic!("{e}"));
    }
}
