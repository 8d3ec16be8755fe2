//! Networks on the command line.

use super::names::unknown;
use super::{NeuronArgs, PresetArgs, neuron_names, per_network, up_to, value};
use crate::failure::Failure;
use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::{ContextKind, ContextValue};
use spikelet::data;
use spikelet::document::Document;
use spikelet::network::{Model, Network};
use spikelet::recipes::{self, Recipe};
use spikelet::suggest::find;
use spikelet::train::experiment::Experiment;
use std::ffi::OsStr;
use std::path::{Path, PathBuf, is_separator};

/// A network: one of [`Network::all_names`], that of a recipe, or a TOML file.
#[derive(Clone, Debug)]
pub enum NetworkName {
    /// The name.
    Named(String),
    /// An experiment by its name.
    Recipe(&'static Recipe),
    /// The path of the file, and its name without the extension.
    File(PathBuf, String),
}

impl NetworkName {
    /// The parser of an argument: names, and paths. A path ends in `.toml` or has a separator.
    pub fn parser() -> impl TypedValueParser<Value = Self> {
        NetworkNames
    }

    /// The name; of a file, that of the file without its extension.
    pub fn text(&self) -> &str {
        match self {
            Self::Named(name) | Self::File(_, name) => name,
            Self::Recipe(recipe) => recipe.name,
        }
    }

    /// The network.
    ///
    /// # Errors
    /// When the file cannot be read or is wrong.
    pub fn network(&self) -> Result<Network, Failure> {
        Ok(match self {
            Self::Named(name) => Network::find(name)?,
            Self::Recipe(recipe) => recipe.experiment()?.network,
            Self::File(path, _) => read_experiment(path)?.network,
        })
    }

    /// The experiment: that of the recipe or the file, or the defaults of the network.
    ///
    /// # Errors
    /// When the file cannot be read or is wrong.
    pub fn experiment(&self) -> Result<Experiment, Failure> {
        Ok(match self {
            Self::Named(name) => Experiment::of_network(Network::find(name)?),
            Self::Recipe(recipe) => recipe.experiment()?,
            Self::File(path, _) => read_experiment(path)?,
        })
    }

    /// The names that are no files.
    fn names() -> Vec<&'static str> {
        let recipes = recipes::all().iter().map(|recipe| recipe.name);
        Network::all_names().chain(recipes).collect()
    }
}

/// Reads an experiment file, unless the path is plainly that of something else.
fn read_experiment(path: &Path) -> Result<Experiment, Failure> {
    let is_image = path.extension().is_some_and(|end| {
        let images = ["png", "jpg", "jpeg", "bmp", "webp", "gif", "npy"];
        images.iter().any(|image| end.eq_ignore_ascii_case(image))
    });
    let (problem, help) = match (path.is_dir(), is_image) {
        (false, false) => return Ok(Experiment::read(path)?),
        (true, _) => (
            "is a folder, not an experiment file",
            "name a network or a TOML file; train on the images of a folder with --data-dir FOLDER",
        ),
        (false, true) => (
            "is an image, not an experiment file",
            "name a network or a TOML file; classify images with `spikelet predict CHECKPOINT IMAGE`",
        ),
    };
    Err(Failure::argument(
        format!("{} {problem}", path.display()),
        help,
    ))
}

#[derive(Clone)]
struct NetworkNames;

impl TypedValueParser for NetworkNames {
    type Value = NetworkName;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<NetworkName, clap::Error> {
        let path = Path::new(value);
        let is_file = path
            .extension()
            .is_some_and(|extension| extension == "toml");
        if is_file || value.to_string_lossy().contains(is_separator) {
            let stem = path.file_stem().unwrap_or(value).to_string_lossy();
            // Runs are in a folder of this name.
            let stem = stem.trim_start_matches('.').replace(is_separator, "-");
            let name = if stem.is_empty() {
                "network".to_string()
            } else {
                stem
            };
            return Ok(NetworkName::File(path.to_path_buf(), name));
        }
        let given = value.to_string_lossy();
        let Some(name) = find(&given, NetworkName::names()) else {
            // The folder of a run, or a checkpoint, in this folder.
            if path.is_dir() || path.extension().is_some_and(|end| end == "safetensors") {
                return Ok(NetworkName::File(path.to_path_buf(), given.into_owned()));
            }
            let mut error = unknown(command, arg, &given, NetworkName::names().into_iter());
            let dataset = data::entries()
                .into_iter()
                .find(|entry| find(&given, [entry.name]).is_some());
            if let Some(entry) = dataset {
                error.insert(
                    ContextKind::Suggested,
                    ContextValue::StyledStrs(vec![
                        format!(
                            "a data set is named by its option: --dataset {}",
                            entry.name
                        )
                        .into(),
                    ]),
                );
            }
            return Err(error);
        };
        Ok(match recipes::find(name) {
            Some(recipe) => NetworkName::Recipe(recipe),
            None => NetworkName::Named(name.to_string()),
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let file = PossibleValue::new("FILE.toml").help("a list of layers, see `spikelet models`");
        let named = Network::NAMES.into_iter().map(PossibleValue::new);
        let recipes = recipes::all().iter();
        let recipes = recipes.map(|recipe| PossibleValue::new(recipe.name).hide(true));
        let models = Model::names().map(|name| PossibleValue::new(name).hide(true));
        let model = PossibleValue::new("MODEL").help("a deep network, see `spikelet models`");
        let recipe = PossibleValue::new("RECIPE")
            .help("an experiment of the literature, see `spikelet models`");
        Some(Box::new(
            named
                .chain(models)
                .chain(recipes)
                .chain([model, recipe, file]),
        ))
    }
}

/// A network with its settings.
#[derive(clap::Args, Debug)]
pub struct NetworkArgs {
    /// Network [default: mnist-fc]
    #[arg(value_name = "NETWORK", value_parser = NetworkName::parser())]
    name: Option<NetworkName>,

    #[arg(hide_short_help = true, help = per_network("Number of neurons in the hidden layer", hidden_default), long, help_heading = "Network", value_name = "N", value_parser = size)]
    hidden: Option<usize>,

    #[arg(hide_short_help = true, help = per_network("Number of channels of the convolutions", channels_default), long, help_heading = "Network", value_name = "N", value_parser = size)]
    channels: Option<usize>,

    /// Join of block and shortcut of SEW-ResNets [possible values: add, and, iand]
    ///
    /// Other options of models: --set network.OPTION=VALUE, see `spikelet models MODEL`
    #[arg(
        hide_short_help = true,
        long,
        help_heading = "Network",
        value_name = "JOIN"
    )]
    connect: Option<String>,

    /// Convolutions without bias, which batch norm cancels anyway: cifar10-net
    #[arg(hide_short_help = true, long, help_heading = "Network")]
    no_conv_bias: bool,

    /// Neuron model (see `spikelet neuron list`)
    #[arg(long = "neuron", help_heading = "Neuron", value_name = "NEURON", value_parser = neuron_names(), hide_possible_values = true)]
    neuron_name: Option<String>,

    #[command(flatten)]
    neuron: NeuronArgs,
}

/// The default network.
const DEFAULT: &str = "mnist-fc";

/// The largest number of neurons of a layer. No machine has memory for the weights of more.
const MOST: usize = 1 << 20;

fn size(text: &str) -> Result<usize, String> {
    up_to(MOST, text)
}

impl NetworkArgs {
    /// The experiment of the network with its settings: those of the file, of the preset or the defaults, with the
    /// given options.
    ///
    /// # Errors
    /// When a file is wrong, the network does not have an option, or a constant of the neuron or a key of `--set` is
    /// unknown or of the wrong kind.
    pub fn build(&self, start: PresetArgs) -> Result<Experiment, Failure> {
        self.build_with(start, |_| Ok(()))
    }

    /// As [`NetworkArgs::build`]; `data` sets the data set before the keys of `--set`, which may be those of its samples.
    ///
    /// # Errors
    /// As [`NetworkArgs::build`].
    pub fn build_with(
        &self,
        start: PresetArgs,
        data: impl Fn(&mut Experiment) -> Result<(), Failure>,
    ) -> Result<Experiment, Failure> {
        let experiment = match &self.name {
            Some(name @ NetworkName::File(path, _)) => {
                start.check(name)?;
                read_experiment(path)?
            }
            Some(name @ NetworkName::Recipe(recipe)) => {
                start.check(name)?;
                recipe.experiment()?
            }
            Some(NetworkName::Named(name)) => start.start(Network::find(name)?)?,
            None => start.start(Network::find(DEFAULT)?)?,
        };
        self.over(experiment, data)
    }

    /// The name of the network; of one in a file, that of the file without its extension.
    pub fn name(&self) -> &str {
        self.name.as_ref().map_or(DEFAULT, NetworkName::text)
    }

    /// Whether it is named as a recipe.
    pub fn is_recipe(&self) -> bool {
        matches!(self.name, Some(NetworkName::Recipe(_)))
    }

    /// Whether `--set` has this key.
    pub fn sets(&self, key: &str) -> bool {
        self.neuron.set.iter().any(|setting| setting.key == key)
    }

    /// Removes the name or the file.
    pub fn forget_name(&mut self) {
        self.name = None;
    }

    /// The path of a network in a file.
    pub fn path(&self) -> Option<&Path> {
        match &self.name {
            Some(NetworkName::File(path, _)) => Some(path),
            _ => None,
        }
    }

    /// As [`NetworkArgs::build`], starting from the experiment of a resumed run.
    ///
    /// # Errors
    /// As [`NetworkArgs::build`].
    pub fn build_resumed(
        &self,
        start: PresetArgs,
        run: Experiment,
        data: impl Fn(&mut Experiment) -> Result<(), Failure>,
    ) -> Result<Experiment, Failure> {
        let mut resumed = run;
        let document = match &self.name {
            _ if start.is_given() => return self.build_with(start, data),
            None => None,
            Some(NetworkName::Named(name)) if name == resumed.network.name() => None,
            Some(NetworkName::Named(_)) => return self.build_with(start, data),
            Some(NetworkName::File(path, _)) => Some(Document::read(path)?),
            Some(NetworkName::Recipe(recipe)) => Some(recipe.document()?),
        };
        if let Some(document) = document {
            let mut given = Experiment::from_document(&document)?.network;
            // The neuron of the run may have been set by options.
            given
                .neuron_mut()
                .clone_from(resumed.network.clone().neuron_mut());
            if given != resumed.network {
                return self.build_with(start, data);
            }
            resumed.change_settings(&document)?;
        }
        self.over(resumed, data)
    }

    /// Applies the given options to an experiment.
    fn over(
        &self,
        mut experiment: Experiment,
        data: impl Fn(&mut Experiment) -> Result<(), Failure>,
    ) -> Result<Experiment, Failure> {
        data(&mut experiment)?;
        let (keys, neuron) = self.neuron.split();
        if !keys.is_empty() {
            let changed = experiment.change(&value::document(&keys)?);
            changed.map_err(|error| Failure::wrong(&error.into()))?;
        }
        let network = &mut experiment.network;
        if let Some(hidden) = self.hidden {
            *part(network, "--hidden", hidden_of)? = hidden;
        }
        if let Some(channels) = self.channels {
            *part(network, "--channels", channels_of)? = channels;
        }
        if let Some(connect) = &self.connect {
            *network = connected(network, connect)?;
        }
        if self.no_conv_bias {
            *part(network, "--no-conv-bias", bias_of)? = false;
        }
        let own = network.neuron_mut();
        *own = neuron.spec_over(self.neuron_name.as_deref(), own)?;
        Ok(experiment)
    }
}

/// The model with another join.
fn connected(network: &Network, join: &str) -> Result<Network, Failure> {
    match network {
        Network::Model(model) if model.values().contains_key("connect") => {
            Ok(Network::Model(model.clone().with("connect", join)?))
        }
        other => {
            let has = |name: &&str| {
                let model = Model::find(name);
                model.is_ok_and(|model| model.values().contains_key("connect"))
            };
            let others: Vec<&str> = Model::names().filter(has).collect();
            Err(Failure::argument(
                format!("{} has no --connect", other.name()),
                format!("leave it out; networks that have it: {}", others.join(", ")),
            ))
        }
    }
}

fn hidden_of(network: &mut Network) -> Option<&mut usize> {
    match network {
        Network::MnistFc(net) => Some(&mut net.hidden),
        Network::Csnn(net) => Some(&mut net.hidden),
        Network::PlifNet(net) => Some(&mut net.hidden),
        _ => None,
    }
}

fn channels_of(network: &mut Network) -> Option<&mut usize> {
    match network {
        Network::Csnn(net) => Some(&mut net.channels),
        Network::Cifar10Net(net) => Some(&mut net.channels),
        Network::PlifNet(net) => Some(&mut net.channels),
        Network::ResNet18(net) => Some(&mut net.channels),
        _ => None,
    }
}

/// The default in the help.
fn hidden_default(network: &Network) -> Option<String> {
    let hidden = *hidden_of(&mut network.clone())?;
    Some(match hidden {
        0 => "16 times the channels".to_string(),
        hidden => hidden.to_string(),
    })
}

/// The default in the help.
fn channels_default(network: &Network) -> Option<String> {
    channels_of(&mut network.clone()).map(|channels| channels.to_string())
}

fn bias_of(network: &mut Network) -> Option<&mut bool> {
    match network {
        Network::Cifar10Net(net) => Some(&mut net.bias),
        _ => None,
    }
}

/// The field that `option` sets; an error with the networks that have it, if this one has not.
fn part<'a, T>(
    network: &'a mut Network,
    option: &str,
    of: fn(&mut Network) -> Option<&mut T>,
) -> Result<&'a mut T, Failure> {
    let name = network.name().to_string();
    of(network).ok_or_else(|| {
        let has = |name: &&str| Network::find(name).is_ok_and(|mut other| of(&mut other).is_some());
        let others: Vec<&str> = Network::NAMES.into_iter().filter(has).collect();
        Failure::argument(
            format!("{name} has no {option}"),
            format!("leave it out; networks that have it: {}", others.join(", ")),
        )
    })
}
