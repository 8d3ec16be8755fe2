//! Experiments: data, network and settings of a run, in TOML files.
//!
//! An [`Experiment`] has a table for each of its parts. Keys that a file does not have keep the defaults of the
//! network, as options on the command line do. Unknown keys and wrong values are errors with line and column.
//!
//! | table | |
//! |---|---|
//! | `data` | data set, validation, augmentation, normalization |
//! | `encoder` | encoder and its constants |
//! | `network` | a list of layers, or a named network with its settings: see [`Network::read`] |
//! | `loss` | loss, label smoothing, penalties on spikes |
//! | `optimizer` | optimizer, learning rate, constants, parameter groups, clipping |
//! | `schedule` | learning rate schedule and its constants |
//! | `training` | epochs, batches, time steps, number format, seed |
//! | `device` | device, ranks, pipeline |
//! | `output` | monitors, curves, checkpoints |

mod data;
mod device;
mod encoder;
mod loss;
mod monitors;
mod normalization;
mod optimizer;
mod output;
mod penalties;
mod schedule;
mod schema;
mod table;
mod tables;
mod training;
mod write;

pub use data::DataSettings;
pub use device::DeviceSettings;
pub use monitors::{LayerMonitors, ParseLayerMonitorsError};
pub use normalization::{Normalization, ParseNormalizationError};
pub use output::OutputSettings;

use crate::folder::EXPERIMENT;
use crate::{Checkpoint, Settings};
use spikelet_core::Result;
use spikelet_core::document::{Document, DocumentError, Fields, Located};
use spikelet_nn::network::Network;
use std::path::{Path, PathBuf};
use tables::{TABLES, names};

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
/// assert_eq!((experiment.settings.epochs, experiment.settings.learning_rate), (5, 3e-3));
/// let same = Experiment::from_toml("same.toml", &experiment.to_toml())?;
/// assert_eq!(same.settings, experiment.settings);
/// # Ok::<(), spikelet_core::document::DocumentError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Experiment {
    /// The data.
    pub data: DataSettings,
    /// The network.
    pub network: Network,
    /// The settings of training. [`Settings::normalize`] is `None`: see [`DataSettings::normalize`].
    pub settings: Settings,
    /// A file with the weights from which the training starts: see [`Trainer::init_from`](crate::Trainer::init_from).
    pub init_from: Option<PathBuf>,
    /// The devices.
    pub device: DeviceSettings,
    /// What is measured and written.
    pub output: OutputSettings,
}

impl Experiment {
    /// The experiment of a network with these settings, on the first data set that fits.
    pub fn new(network: Network, mut settings: Settings) -> Self {
        let data = DataSettings {
            normalize: settings.normalize.take().into(),
            ..DataSettings::default()
        };
        Self {
            data,
            network,
            settings,
            init_from: None,
            device: DeviceSettings::default(),
            output: OutputSettings::default(),
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
        let others: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
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
    /// assert_eq!(experiment.settings.learning_rate, 1e-3);
    /// # Ok::<(), spikelet_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// When a key is unknown or a value is wrong. The experiment is as before then.
    pub fn change(&mut self, document: &Document) -> Result<(), DocumentError> {
        let root = Fields::new(document.root(), "the experiment", &names());
        let table = root.map(|root| root.get("network"));
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
            let kept = Self::read(file)?;
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
        let root = Fields::new(document.root(), "the experiment", &names())?;
        for table in &TABLES {
            if let Some(node) = root.get(table.name) {
                (table.read)(self, node)?;
            }
        }
        let checked = self.settings.check();
        checked.map_err(|error| table::refused(&error, document.root()))
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
        let with = TABLES
            .iter()
            .filter(|table| table.key_names().contains(&key));
        with.map(|table| table.name).collect()
    }

    /// The names of the tables.
    pub fn tables() -> Vec<&'static str> {
        names()
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod wrong_files;
