//! Experiments: data, network and settings of a run, in TOML files.
//!
//! An [`Experiment`] has a table for each of its parts. Keys that a file does not have keep the defaults of the
//! network, as options on the command line do. Unknown keys and wrong values are errors with line and column.
//!
//! The tables are `data`, `encoder`, `network` ([`Network::read`]), `loss`, `optimizer`, `schedule`, `training`, `device` and
//! `output`; their keys are the fields of [`Settings`], [`DataSettings`], [`DeviceSettings`] and [`OutputSettings`].

mod data;
mod device;
mod monitors;
mod output;
mod schema;
mod write;

pub use data::DataSettings;
pub use device::DeviceSettings;
pub use monitors::LayerMonitors;
pub use output::OutputSettings;

use crate::folder::EXPERIMENT;
use crate::{Checkpoint, Settings};
use spikelet_core::Result;
use spikelet_core::document::{Document, DocumentError, Fields, Located, Node};
use spikelet_nn::network::Network;
use spikelet_schema::suggest::find;
use spikelet_schema::{Schema, read_tables, to_keys};
use std::path::{Path, PathBuf};

/// Data, network and settings of a run.
///
/// ```
/// use spikelet_train::experiment::Experiment;
/// let text = r#"
///     [data]
///     dataset = "fashion-mnist"
///     [network]
///     name = "csnn"
///     [optimizer]
///     name = "adamw"
///     lr = 3e-3
///     [training]
///     epochs = 5
/// "#;
/// let experiment = Experiment::from_toml("run.toml", text)?;
/// assert_eq!((experiment.settings.epochs, experiment.settings.optimizer.lr()), (5, 3e-3));
/// let same = Experiment::from_toml("same.toml", &experiment.to_toml())?;
/// assert_eq!(same.settings, experiment.settings);
/// # Ok::<(), spikelet_core::document::DocumentError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
#[schema(earlier = earlier)]
#[non_exhaustive]
pub struct Experiment {
    /// The data.
    #[schema(flatten)]
    pub data: DataSettings,
    /// The network.
    #[schema(skip, default = smallest())]
    pub network: Network,
    /// The settings of training.
    #[schema(flatten)]
    pub settings: Settings,
    /// File with the weights from which the training starts: see [`Trainer::init_from`](crate::Trainer::init_from).
    #[schema(table = "training")]
    pub init_from: Option<PathBuf>,
    /// The devices.
    #[schema(flatten)]
    pub device: DeviceSettings,
    /// What is measured and written.
    #[schema(flatten)]
    pub output: OutputSettings,
}

/// The tables of a file, in its order, and what they hold.
const TABLES: [(&str, &str); 9] = [
    ("data", "The data set, and how its samples are used."),
    ("encoder", "How an image becomes a sequence."),
    (
        NETWORK,
        "A list of layers, or a named network with its settings.",
    ),
    (
        "loss",
        "The loss of the scores, which are the mean of the output over time.",
    ),
    ("optimizer", "How parameters are updated."),
    ("schedule", "How the learning rate changes."),
    ("training", "Epochs, batches, numbers."),
    (
        "device",
        "Where it runs. Options of the command line replace these keys.",
    ),
    ("output", "What is measured and written."),
];

/// The table that [`Network`] reads.
const NETWORK: &str = "network";

/// The network of an experiment that names none.
fn smallest() -> Network {
    Network::find(Network::SMALL[0]).expect("it is a model")
}

/// The mean squared error of class scores. It was `mse`, which is that of values.
const MSE: &str = "mse";
const MSE_ONE_HOT: &str = "mse-one-hot";

/// The tables of the file of a run that was written before.
fn with_mse_one_hot(root: &Node) -> Node {
    let loss = root.get("loss");
    match loss.map(|loss| (loss, loss.get("name").and_then(Node::as_text))) {
        Some((loss, Some(MSE))) => root.with("loss", loss.with("name", Node::text_of(MSE_ONE_HOT))),
        _ => root.clone(),
    }
}

/// The tables of before: a loss without label smoothing had one of 0, and AdamW was Adam with `decoupled`.
fn earlier(root: &Node) -> Option<Node> {
    let mut root = root.clone();
    if let Some(loss) = root.get("loss").cloned() {
        let name = loss.get("name").and_then(Node::as_text);
        let is_mse = name.is_some_and(|name| find(name, [MSE_ONE_HOT]).is_some());
        let smoothing = loss
            .get("label_smoothing")
            .map(|node| node.number("label_smoothing"));
        if is_mse && matches!(smoothing, Some(Ok(0.0))) {
            root = root.with("loss", loss.without("label_smoothing"));
        }
    }
    if let Some(optimizer) = root.get("optimizer").cloned() {
        root = root.with("optimizer", with_adamw(&optimizer));
    }
    Some(root)
}

/// An optimizer whose key `decoupled`, if it has one, is in its name.
fn with_adamw(optimizer: &Node) -> Node {
    match optimizer
        .get("decoupled")
        .map(|node| node.flag("decoupled"))
    {
        Some(Ok(true)) => optimizer
            .without("decoupled")
            .with("name", Node::text_of("adamw")),
        Some(Ok(false)) => optimizer.without("decoupled"),
        _ => optimizer.clone(),
    }
}

impl Experiment {
    /// The experiment of a network with these settings, on the first data set that fits.
    pub fn new(network: Network, settings: Settings) -> Self {
        Self {
            network,
            settings,
            ..Self::default()
        }
    }

    /// The experiment of a network with its default settings.
    pub fn of_network(network: Network) -> Self {
        let settings = Settings::of_network(&network);
        Self::new(network, settings)
    }

    /// Reads a file, which must have the table `network`.
    ///
    /// # Errors
    /// When the file cannot be read or is not TOML, a key is unknown, or a value is wrong; with line and column.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        Ok(Self::from_document(&Document::read(path.as_ref())?)?)
    }

    /// Reads the file of a run, whose loss may have its name of before.
    pub(crate) fn read_of_run(path: &Path) -> Result<Self> {
        let document = Document::read(path)?;
        let root = with_mse_one_hot(document.root());
        Ok(Self::from_document(&document.with_root(root))?)
    }

    /// As [`Experiment::read`], of a text. `file` is its name in messages.
    ///
    /// # Errors
    /// As [`Experiment::read`].
    pub fn from_toml(file: &str, text: &str) -> Result<Self, DocumentError> {
        Self::from_document(&Document::from_toml(file, text)?)
    }

    /// As [`Experiment::read`], of a document that was read.
    ///
    /// # Errors
    /// As [`Experiment::read`].
    pub fn from_document(document: &Document) -> Result<Self, DocumentError> {
        let mut others = Self::tables();
        others.retain(|table| *table != NETWORK);
        let network = Network::from_document(document, &others)?;
        let mut experiment = Self::of_network(network);
        let read = experiment.read_tables(document);
        read.map_err(|error| document.error(error))?;
        Ok(experiment)
    }

    /// Changes the keys that a document has, also those of its table `network`.
    ///
    /// ```
    /// use spikelet_core::document::Document;
    /// use spikelet_nn::network::Network;
    /// use spikelet_train::experiment::Experiment;
    /// let mut experiment = Experiment::of_network(Network::find("mnist-fc")?);
    /// let changes = Document::from_toml("changes", "network.hidden = 64\noptimizer.lr = 1e-3")?;
    /// experiment.change(&changes)?;
    /// assert_eq!(experiment.settings.optimizer.lr(), 1e-3);
    /// # Ok::<(), spikelet_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// When a key is unknown or a value is wrong. The experiment is as before then.
    pub fn change(&mut self, document: &Document) -> Result<(), DocumentError> {
        let root = Fields::new(document.root(), "the experiment", &Self::tables());
        let table = root.map(|root| root.get(NETWORK));
        let table = table.map_err(|error| document.error(error))?;
        let own = &self.network;
        let network = table.map(|table| own.with(table, document.file()));
        let network = network.transpose().map_err(|error| document.error(error))?;
        self.change_settings(document)?;
        self.network = network.unwrap_or_else(|| self.network.clone());
        Ok(())
    }

    /// Changes the keys that a document has, without its table `network`.
    ///
    /// # Errors
    /// As [`Experiment::change`].
    pub fn change_settings(&mut self, document: &Document) -> Result<(), DocumentError> {
        let mut changed = self.clone();
        let read = changed.read_tables(document);
        read.map_err(|error| document.error(error))?;
        *self = changed;
        Ok(())
    }

    /// The experiment of a checkpoint, on its data set; `None` for a network that is defined by a program.
    ///
    /// # Errors
    /// When it is the checkpoint of a [`Step`](crate::Step).
    pub fn of_checkpoint(checkpoint: &Checkpoint) -> Result<Option<Self>> {
        let settings = checkpoint.settings()?.clone();
        Ok(checkpoint.network().map(|network| {
            let mut experiment = Self::new(network.clone(), settings);
            experiment.data.use_samples_of(&checkpoint.dataset);
            experiment
        }))
    }

    /// The experiment of a run, whose folder or one of whose checkpoints is given: that of its checkpoint, with devices
    /// and output as in its `experiment.toml`, if it has one.
    ///
    /// # Errors
    /// As [`Experiment::of_checkpoint`]; when the file is wrong.
    pub fn of_run(run: &Path, checkpoint: &Checkpoint) -> Result<Option<Self>> {
        let folder = match run.is_dir() {
            true => Some(run),
            false => run.parent(),
        };
        let file = folder.map(|folder| folder.join(EXPERIMENT));
        let Some(mut experiment) = Self::of_checkpoint(checkpoint)? else {
            return Ok(None);
        };
        if let Some(file) = file.filter(|file| file.exists()) {
            let kept = Self::read_of_run(&file)?;
            experiment.device = kept.device;
            experiment.output = kept.output;
            experiment.data.loader_threads = kept.data.loader_threads;
            let images = experiment.data.train_images.or(experiment.data.test_images);
            if images.is_none() && kept.data.dataset == experiment.data.dataset {
                experiment.data.train_images = kept.data.train_images;
                experiment.data.test_images = kept.data.test_images;
            }
        }
        Ok(Some(experiment))
    }

    /// Reads all tables but `network`.
    fn read_tables(&mut self, document: &Document) -> Result<(), Located> {
        let root = document.root();
        self.read_dataset(root)?;
        let dataset = self.data.dataset.clone();
        read_tables(self, root, &[NETWORK])?;
        // The name as the data set spells it.
        self.data.dataset = dataset;
        self.check_split(root)
    }

    /// The experiment as a TOML text with all keys, which [`Experiment::read`] reads.
    pub fn to_toml(&self) -> String {
        write::text(self)
    }

    /// The tables of a file with their keys, as a schema for editors: JSON Schema, draft 2020-12.
    ///
    /// ```
    /// let schema = spikelet_train::experiment::Experiment::schema();
    /// assert!(schema["properties"]["optimizer"]["properties"]["lr"].is_object());
    /// ```
    pub fn schema() -> serde_json::Value {
        schema::schema()
    }

    /// The names of the tables with this key.
    ///
    /// ```
    /// use spikelet_train::experiment::Experiment;
    /// assert_eq!(Experiment::tables_with("lr"), ["optimizer"]);
    /// ```
    pub fn tables_with(key: &str) -> Vec<&'static str> {
        let keys = to_keys(&Self::default()).into_iter();
        let mut tables: Vec<&str> = keys
            .filter(|pair| pair.key == key)
            .map(|pair| pair.table)
            .collect();
        tables.dedup();
        tables
    }

    /// The names of the tables of a file, in its order, each with what it holds.
    pub fn summaries() -> impl Iterator<Item = (&'static str, &'static str)> {
        TABLES.into_iter()
    }

    /// The names of the tables.
    pub fn tables() -> Vec<&'static str> {
        TABLES.map(|(name, _)| name).to_vec()
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod wrong_files;
