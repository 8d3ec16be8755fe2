//! Networks on the command line.

use super::names::unknown;
use super::{NeuronArgs, PresetArgs, neuron_names, per_network, up_to};
use crate::failure::Failure;
use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::{ContextKind, ContextValue};
use serde_json::Value;
use spikelet::data;
use spikelet::document::Document;
use spikelet::network::{Model, Network};
use spikelet::recipes::{self, Recipe};
use spikelet::schema::words;
use spikelet::suggest::find;
use spikelet::train::experiment::Experiment;
use std::ffi::OsStr;
use std::path::{Path, PathBuf, is_separator};

/// A network: one of [`Model::names`], that of a recipe, or a TOML file.
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
        Model::names().chain(recipes).collect()
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
            if let Ok(dataset) = data::find(&given) {
                error.insert(
                    ContextKind::Suggested,
                    ContextValue::StyledStrs(vec![
                        format!(
                            "a data set is named by its option: --dataset {}",
                            dataset.name()
                        )
                        .into(),
                    ]),
                );
            }
            return Err(error);
        };
        Ok(match recipes::find(name) {
            Ok(recipe) => NetworkName::Recipe(recipe),
            Err(_) => NetworkName::Named(name.to_string()),
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let file = PossibleValue::new("FILE.toml").help("a list of layers, see `spikelet models`");
        let named = Network::SMALL.into_iter().map(PossibleValue::new);
        let recipes = recipes::all().iter();
        let recipes = recipes.map(|recipe| PossibleValue::new(recipe.name).hide(true));
        let models = Model::names().filter(|name| !Network::SMALL.contains(name));
        let models = models.map(|name| PossibleValue::new(name).hide(true));
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
            let settings = words::tree("--set", keys.iter().map(|setting| setting.text.as_str()));
            let changed = settings.and_then(|settings| experiment.change(&settings));
            changed.map_err(|error| Failure::wrong(&error.into()))?;
        }
        let network = &mut experiment.network;
        let given = [
            ("--hidden", "hidden", self.hidden.map(Value::from)),
            ("--channels", "channels", self.channels.map(Value::from)),
            (
                "--connect",
                "connect",
                self.connect.as_deref().map(Value::from),
            ),
            (
                "--no-conv-bias",
                "bias",
                self.no_conv_bias.then(|| false.into()),
            ),
        ];
        for (flag, option, value) in given {
            if let Some(value) = value {
                *network = with_option(network, flag, option, value)?;
            }
        }
        let own = network.neuron_mut();
        *own = neuron.spec_over(self.neuron_name.as_deref(), own)?;
        Ok(experiment)
    }
}

/// The network with another value of an option of its model, which `flag` sets; an error with the networks that have the
/// option, if this one has not.
fn with_option(
    network: &Network,
    flag: &str,
    option: &str,
    value: Value,
) -> Result<Network, Failure> {
    let has = |model: &Model| model.values().contains_key(option);
    match network {
        Network::Model(model) if has(model) => {
            Ok(Network::Model(model.clone().with(option, value)?))
        }
        other => {
            let others = Model::names().filter(|name| Model::find(name).is_ok_and(|m| has(&m)));
            let others: Vec<&str> = others.collect();
            Err(Failure::argument(
                format!("{} has no {flag}", other.name()),
                format!("leave it out; networks that have it: {}", others.join(", ")),
            ))
        }
    }
}

/// The value of an option that is a number.
fn number(network: &Network, option: &str) -> Option<u64> {
    match network {
        Network::Model(model) => model.values().get(option)?.as_u64(),
        _ => None,
    }
}

/// The default in the help.
fn hidden_default(network: &Network) -> Option<String> {
    Some(match number(network, "hidden")? {
        0 => "16 times the channels".to_string(),
        hidden => hidden.to_string(),
    })
}

/// The default in the help.
fn channels_default(network: &Network) -> Option<String> {
    number(network, "channels").map(|channels| channels.to_string())
}
