//! Networks in TOML files, and the files of the named networks.

use super::layers::{Layers, table};
use super::neuron::{neuron_of, neuron_problem, neuron_spec};
use super::{Model, Network};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use spikelet_core::Result;
use spikelet_core::document::{Document, Located, Node};
use std::path::Path;

impl Network {
    /// The network of the table `network` in a TOML file: a list of layers, or one of [`Model::names`] with its
    /// settings. `tables` are the other tables that the file may have; they are not read.
    ///
    /// # Errors
    /// When the file cannot be read, or as [`Layers::from_toml`].
    pub fn read(path: impl AsRef<Path>, tables: &[&str]) -> Result<Self> {
        Ok(Self::from_document(
            &Document::read(path.as_ref())?,
            tables,
        )?)
    }

    /// As [`Network::read`], of a TOML text. `file` is its name in messages.
    ///
    /// ```
    /// use spikelet_nn::network::Network;
    /// let text = "[network]\nname = \"csnn\"\nchannels = 16\nneuron = \"plif\"\n";
    /// let network = Network::from_toml("small.toml", text, &[])?;
    /// assert_eq!(network.name(), "csnn");
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Network::read`].
    pub fn from_toml(
        file: &str,
        text: &str,
        tables: &[&str],
    ) -> Result<Self, spikelet_core::document::DocumentError> {
        Self::from_document(&Document::from_toml(file, text)?, tables)
    }

    /// As [`Network::read`], of a document that was read.
    ///
    /// # Errors
    /// As [`Network::read`].
    pub fn from_document(
        document: &Document,
        tables: &[&str],
    ) -> Result<Self, spikelet_core::document::DocumentError> {
        let read = || {
            let table = table(document, tables)?;
            match (table.get("layers"), table.get("name")) {
                (None, Some(name)) => named(table, name),
                _ => Layers::from_node(table, document.file()).map(Self::Layers),
            }
        };
        read().map_err(|error| document.error(error))
    }
}

/// A named network with its settings.
pub(super) fn named(table: &Node, name: &Node) -> Result<Network, Located> {
    let model = Model::named(name.text("name")?);
    let model = model.map_err(|error| error.located().or_at(name.span.clone()))?;
    let mut options = table.without("name");
    if let Some(node) = table.get("neuron") {
        let spec = neuron_spec(node)?;
        neuron_of(&spec).map_err(|error| neuron_problem(error, Some(node)))?;
        options = options.with("neuron", Node::from_json(&spec)?);
    }
    let model = model.read(&options)?;
    let module = model.module();
    module.map_err(|error| table.refused(&error, ""))?;
    Ok(Network::Model(model))
}

impl Serialize for Network {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Layers(layers) => layers.serialize(serializer),
            Self::Model(model) => model.to_json().serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Network {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let value = Value::deserialize(deserializer)?;
        let read = match value.get("layers") {
            Some(_) => Layers::from_json(&value)
                .map(Self::Layers)
                .map_err(Into::into),
            None => Model::from_json(&value).map(Self::Model),
        };
        read.map_err(|error: spikelet_core::Error| D::Error::custom(error))
    }
}
