//! Networks in TOML files, and the files of the named networks.

use super::layers::{Layers, table};
use super::neuron::{neuron_of, neuron_problem, neuron_spec};
use super::problem::NetworkProblem;
use super::{ImageSize, Model, Network};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use spikelet_core::Result;
use spikelet_core::document::{Document, Fields, Located, Node};
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
    let text = name.text("name")?;
    let unknown = |error| NetworkProblem::Definition(error).at(name.span.clone());
    let known = Model::named(text).map_err(unknown)?.to_json();
    let keys: Vec<&str> = known
        .as_object()
        .into_iter()
        .flat_map(Map::keys)
        .map(String::as_str)
        .collect();
    let fields = Fields::new(table, format!("the network `{text}`"), &keys)?;
    let mut settings = table.to_json();
    // The name may be given in another case.
    settings["name"] = known["name"].clone();
    if let Some(node) = fields.get("neuron") {
        let spec = neuron_spec(node)?;
        neuron_of(&spec).map_err(|error| neuron_problem(error, Some(node)))?;
        settings["neuron"] = spec;
    }
    let made = Model::from_json(&settings)
        .map_err(|error| wrong_setting(table, &known, &settings, &error))?;
    let refused =
        |error: spikelet_core::Error| Located::refused(&error, "").or_at(table.span.clone());
    made.module().map_err(refused)?;
    Ok(Network::Model(made))
}

/// The error of settings that are no network, at the one that is wrong beside the `known` values of the others; at the table,
/// if they do not fit together.
fn wrong_setting(
    table: &Node,
    known: &Value,
    settings: &Value,
    error: &spikelet_core::Error,
) -> Located {
    let message = error.to_string();
    let is_wrong = |key: &str| {
        let mut alone = known.clone();
        alone[key] = settings[key].clone();
        Model::from_json(&alone).is_err_and(|error| error.to_string() == message)
    };
    let mut entries = table.entries().unwrap_or_default().iter();
    let refused = Located::refused(error, "correct the value");
    let Some(entry) = entries.find(|entry| is_wrong(&entry.key)) else {
        return refused.or_at(table.span.clone());
    };
    let given = &settings[&entry.key];
    match expected(&entry.key, &known[&entry.key], given) {
        Some(expected) => entry.value.wrong(&entry.key, expected),
        None => refused.or_at(entry.value.span.clone()),
    }
}

/// What a setting must be, if `given` is of another kind than its `known` value.
pub(super) fn expected(key: &str, known: &Value, given: &Value) -> Option<&'static str> {
    match known {
        _ if key == "size" => ImageSize::of(given)
            .is_none()
            .then_some(ImageSize::EXPECTED),
        Value::Bool(_) if !given.is_boolean() => Some("true or false"),
        Value::Number(number) if number.is_f64() && !given.is_number() => Some("a number"),
        Value::Number(number) if !number.is_f64() && !given.is_u64() => {
            Some("an integer of at least 0")
        }
        _ => None,
    }
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
