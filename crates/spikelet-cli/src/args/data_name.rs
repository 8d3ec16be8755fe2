//! Data sets by name, and the networks that take their samples.

use super::data_names;
use crate::failure::Failure;
use clap::builder::TypedValueParser;
use spikelet::data::{DataOptions, Field, NamedDataset, Origin, StepShape, find, named_datasets};
use spikelet::network::Network;
use spikelet::train::experiment::{DataSettings, Experiment};
use spikelet::train::{SampleShape, Settings};
use std::path::Path;

/// A data set.
#[derive(Clone, Copy, Debug)]
pub struct DataName(&'static dyn NamedDataset);

impl PartialEq for DataName {
    fn eq(&self, other: &Self) -> bool {
        self.word() == other.word()
    }
}

/// The parser of an argument.
pub fn data_name() -> impl TypedValueParser<Value = DataName> {
    data_names().try_map(|name| DataName::find(&name).ok_or("it is unknown"))
}

impl DataName {
    /// The data set of this name.
    pub fn find(name: &str) -> Option<Self> {
        find(name).ok().map(Self)
    }

    fn all() -> impl Iterator<Item = Self> {
        named_datasets().map(Self)
    }

    /// The data set of this name in checkpoints.
    pub fn of_dataset(title: &str) -> Option<Self> {
        Self::all().find(|known| known.0.title() == title)
    }

    /// The data set of an experiment, if it names one.
    pub(super) fn of_experiment(data: &DataSettings) -> Option<Self> {
        data.dataset.as_deref().and_then(Self::find)
    }

    /// The data sets whose images are of this shape alone.
    pub(super) fn fitting(image: [usize; 3]) -> impl Iterator<Item = Self> {
        Self::all().filter(move |name| name.image() == Some(image))
    }

    /// The fields of its samples with the default options.
    fn fields(self) -> Vec<Field> {
        self.0.fields(&DataOptions::default()).unwrap_or_default()
    }

    /// The shape of a time step of its sequences with the default options, if it is known before they are read.
    fn step_shape(self) -> Option<StepShape> {
        match SampleShape::of_fields(&self.fields())? {
            SampleShape::Sequence { shape, .. } => Some(shape),
            _ => None,
        }
    }

    /// Whether its samples are sequences.
    fn has_sequences(self) -> bool {
        self.fields().iter().any(|field| field.name == "x")
    }

    /// Whether its images are brought to the shape that the network takes.
    fn is_resized_for(self, network: &Network) -> bool {
        let takes_images =
            matches!(network.input()[..], [channels, _, _] if channels == 1 || channels == 3);
        let fits = match self.0.origin() {
            Origin::Generated => network.features().is_none(),
            Origin::Files | Origin::OwnFiles => takes_images,
        };
        self.0.is_resized() && fits
    }

    /// Whether a network takes its samples: by their shape, as far as it is known before they are read.
    fn is_taken_by(self, network: &Network) -> bool {
        if self.0.is_resized() {
            return self.is_resized_for(network);
        }
        if let Some(image) = self.image() {
            return image == network.image() && network.features().is_none();
        }
        let has_events = self.0.events().is_some();
        match self.step_shape() {
            // Frames are resized.
            Some(StepShape::Frame([channels, ..])) if has_events => {
                network.features().is_none() && network.image()[0] == channels
            }
            Some(StepShape::Features(_)) if has_events => network.features().is_some(),
            shape => shape.is_none_or(|shape| network.takes(shape.sizes())),
        }
    }

    /// The data set in a folder, which no option names. `None` if it has none, and the network is trained on a data set with
    /// files by default: the error is that of reading it.
    ///
    /// # Errors
    /// When none, or more than one that the network takes, is in the folder.
    pub(super) fn found_in(folder: &Path, network: &Network) -> Result<Option<Self>, Failure> {
        let taken = || Self::all().filter(|name| name.is_taken_by(network) && name.0.has_files());
        let found: Vec<Self> = taken().filter(|name| name.0.is_in(folder)).collect();
        // The files of a known data set may also be in a folder for each class.
        let known = found
            .iter()
            .copied()
            .filter(|name| name.0.origin() != Origin::OwnFiles);
        let found = match known.collect::<Vec<_>>() {
            known if known.is_empty() => found,
            known => known,
        };
        let default = Self::fitting(network.image()).next();
        let text = folder.display();
        match found[..] {
            [only] => Ok(Some(only)),
            [] if default.is_some_and(|name| name.0.has_files()) => Ok(None),
            [] => {
                let (name, words) = (network.name(), taken().map(Self::word));
                let words = words.collect::<Vec<_>>().join(", ");
                let problem = match folder.is_dir() {
                    true => format!("{text} of --data-dir has no data set that {name} takes"),
                    false => format!("{text} of --data-dir is no folder"),
                };
                Err(Failure::argument(
                    problem,
                    format!(
                        "looked for: {words}. Name a folder with train/CLASS/FILE and test/CLASS/FILE, with CLASS/FILE, or with \
                         the files of a data set, and the data set with --dataset{}",
                        default.map_or(String::new(), |other| format!(
                            "; without --data-dir, {name} takes {}",
                            other.word()
                        ))
                    ),
                ))
            }
            _ => {
                let words = found.iter().map(|name| name.word());
                Err(Failure::argument(
                    format!(
                        "{text} has {}",
                        words.clone().collect::<Vec<_>>().join(" and ")
                    ),
                    format!(
                        "name one of them: --dataset {}",
                        words.collect::<Vec<_>>().join(" or ")
                    ),
                ))
            }
        }
    }

    /// The names of its classes in this folder of data sets; none, if the network says them.
    pub fn classes_in(self, folder: &Path) -> Vec<String> {
        let options = DataOptions {
            folder: folder.into(),
            ..DataOptions::default()
        };
        // Where there are no files, reading the data set fails later.
        self.0.classes(&options).unwrap_or_default()
    }

    /// The names of its classes; none, if only its files or the network say them.
    pub fn classes(self) -> Vec<String> {
        match self.0.is_resized() {
            true => vec![],
            false => self.classes_in(Path::new("")),
        }
    }

    /// Channels, height and width of its images, if it has images of one shape.
    fn image(self) -> Option<[usize; 3]> {
        match SampleShape::of_fields(&self.fields()) {
            Some(SampleShape::Image(image)) if !self.0.is_resized() => Some(image),
            _ => None,
        }
    }

    /// The shape of the samples of a network that was trained with these settings on the data set of this name in
    /// checkpoints.
    pub fn sample_in_checkpoint(
        title: &str,
        network: &Network,
        settings: &Settings,
    ) -> SampleShape {
        Self::sample_shape(Self::of_dataset(title), network, settings)
    }

    /// The fields of its samples with these settings, where sizes that only files say are those of the network.
    fn fields_for(self, network: &Network, settings: &Settings) -> Result<Vec<Field>, Failure> {
        let options = DataOptions {
            image: network.image(),
            frames: settings.frames.clone(),
            time_steps: settings.time_steps,
            ..DataOptions::default()
        };
        let mut fields = self.0.fields(&options).map_err(spikelet::Error::from)?;
        for x in fields.iter_mut().filter(|field| field.name == "x") {
            if x.shape[1..].contains(&None) {
                x.shape.truncate(1);
                x.shape.extend(network.input().into_iter().map(Some));
            }
        }
        Ok(fields)
    }

    /// The shape of the samples of a data set of sequences; otherwise that of the images that `network` takes.
    fn sample_shape(named: Option<Self>, network: &Network, settings: &Settings) -> SampleShape {
        let named = named.filter(|name| name.has_sequences());
        let fields = named.and_then(|name| name.fields_for(network, settings).ok());
        let sample = fields.and_then(|fields| SampleShape::of_fields(&fields));
        sample.unwrap_or_else(|| network.image().into())
    }

    /// What is known of it.
    pub fn dataset(self) -> &'static dyn NamedDataset {
        self.0
    }

    /// The name, as on the command line.
    pub(super) fn word(self) -> &'static str {
        self.0.name()
    }

    /// Checks that the network takes samples of this data set with these settings, before they are read.
    ///
    /// # Errors
    /// When it does not, with the names of the data sets that fit.
    pub(super) fn check_fits(self, network: &Network, settings: &Settings) -> Result<(), Failure> {
        let sample = SampleShape::of_fields(&self.fields_for(network, settings)?);
        let (fits, samples) = match sample {
            _ if self.0.is_resized() => {
                let fits = self.is_resized_for(network);
                (fits, "images of 1 or 3 channels".to_string())
            }
            Some(SampleShape::Image(image)) => (
                image == network.image(),
                format!("images of {}", sizes(image)),
            ),
            Some(SampleShape::Sequence { shape, .. }) => (
                network.takes(shape.sizes()),
                format!("sequences of {shape}"),
            ),
            _ => (false, "other samples".to_string()),
        };
        if fits {
            return self.check_classes(network);
        }
        let (name, taken) = (network.name(), taken(network));
        let problem = format!("{name} takes {taken}, {} has {samples}", self.word());
        if self.0.events().is_some()
            && let [_, height, width] = network.input()[..]
        {
            let transposed = match sample {
                Some(SampleShape::Sequence { shape, .. }) => {
                    let needed = StepShape::of(&network.input());
                    needed.and_then(|needed| shape.transposed_help(needed))
                }
                _ => None,
            };
            let help = format!("resize the frames: --set data.frame_size=[{height},{width}]");
            return Err(Failure::argument(
                problem,
                transposed.map_or(help, str::to_string),
            ));
        }
        let fitting = fitting(network);
        if fitting.is_empty() {
            return Err(no_fitting(network));
        }
        let help = format!("data sets that fit {name}: {}", fitting.join(", "));
        Err(Failure::argument(problem, help))
    }

    /// Checks that the network has an output for each class.
    fn check_classes(self, network: &Network) -> Result<(), Failure> {
        let (given, taken) = (self.classes().len(), network.classes());
        if given <= taken {
            return Ok(());
        }
        Err(Failure::argument(
            format!(
                "this {} has {taken} classes, {} has {given}",
                network.name(),
                self.word()
            ),
            "a trained network keeps its classes: use a data set with as many, or train a new network",
        ))
    }
}

/// The shape of the samples of the network of an experiment.
pub fn sample_of(experiment: &Experiment) -> SampleShape {
    let Experiment {
        data,
        network,
        settings,
        ..
    } = experiment;
    DataName::sample_shape(DataName::of_experiment(data), network, settings)
}

/// `1 × 28 × 28`
fn sizes(image: [usize; 3]) -> String {
    image.map(|size| size.to_string()).join(" × ")
}

/// The inputs of a network in words.
fn taken(network: &Network) -> String {
    match network.features() {
        Some(features) => format!("sequences of {features} features"),
        None => match network.input()[..] {
            [1, length] => format!("signals of 1 × {length} or sequences of {length} features"),
            _ => format!("images or frames of {}", sizes(network.image())),
        },
    }
}

/// The names of the data sets that a network takes.
fn fitting(network: &Network) -> Vec<&'static str> {
    let takes = |shape: StepShape| network.takes(shape.sizes());
    DataName::fitting(network.image())
        .chain(DataName::all().filter(|name| name.is_resized_for(network)))
        .chain(DataName::all().filter(|name| name.step_shape().is_some_and(takes)))
        .map(DataName::word)
        .collect()
}

/// The error where no data set was named, and the network takes none by default.
pub(super) fn no_fitting(network: &Network) -> Failure {
    let (name, taken) = (network.name(), taken(network));
    match fitting(network).as_slice() {
        [] => Failure::argument(
            format!("no data set has {taken}, as {name} takes"),
            "train it from a program, with a data set of your own",
        ),
        some => Failure::argument(
            format!("{name} takes {taken}, and no data set was named"),
            format!("name one with --dataset: {}", some.join(", ")),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trained_network_refuses_data_with_more_classes() {
        let network = Network::find("resnet18").expect("it is known");
        let name = DataName::find("cifar100").expect("it is known");
        let error = name
            .check_fits(&network, &Settings::default())
            .expect_err("it has ten");
        let message = error.to_string();
        assert!(
            message.contains("this resnet18 has 10 classes, cifar100 has 100"),
            "{message}"
        );
        name.check_fits(&network.with_classes(100), &Settings::default())
            .unwrap_or_else(|e| panic!("{e}"));
    }

    #[test]
    fn images_and_sequences_are_not_mixed() {
        let network = Network::find("mnist-fc").expect("it is known");
        let fsdd = DataName::find("fsdd").expect("it is known");
        let message = fsdd
            .check_fits(&network, &Settings::default())
            .expect_err("images")
            .to_string();
        assert!(
            message.contains("fsdd has sequences of 140 features"),
            "{message}"
        );
        let text = "[network]\ninput = [140]\nlayers = [{ radlif = 8 }, { sparch-readout = 10 }]";
        let network = Network::from_toml("net.toml", text, &[]).expect("it is sound");
        fsdd.check_fits(&network, &Settings::default())
            .unwrap_or_else(|e| panic!("{e}"));
        let mnist = DataName::find("mnist").expect("it is known");
        let message = mnist
            .check_fits(&network, &Settings::default())
            .expect_err("sequences")
            .to_string();
        assert!(
            message.contains("data sets that fit net: fsdd"),
            "{message}"
        );
    }
}
