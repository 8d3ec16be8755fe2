//! A network as data: a list of layers.

use super::build::{Builder, elements};
use super::cost::Cost;
use super::neuron::{neuron_of, neuron_problem, neuron_spec};
use super::problem::NetworkProblem;
use super::version::current;
use crate::module::{Module, Sequential};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};
use spikelet_core::Result;
use spikelet_core::document::{Document, DocumentError, Fields, Located, Node};
use std::sync::Arc;

/// The keys of the table.
const KEYS: [&str; 6] = ["version", "name", "source", "input", "neuron", "layers"];

/// A feed-forward or residual network as a list of layers, as files and checkpoints hold it.
///
/// The sizes of inputs are inferred: a layer has its output size only. Layers without a `name` are named by their
/// positions, as in [`Sequential`]; parameters have these paths.
///
/// ```
/// use spikelet_nn::network::Layers;
/// let text = r#"
///     [network]
///     version = 2
///     input = [1, 28, 28]
///     neuron = { name = "lif", tau = 2.0 }
///     layers = [
///       { conv = 16, kernel = 3, padding = 1, bias = false },
///       "batch-norm",
///       "neuron",
///       { max-pool = 2 },
///       "flatten",
///       { linear = 10 },
///       "neuron",
///     ]
/// "#;
/// let network = Layers::from_toml("net.toml", text, &[])?;
/// let cost = network.cost(4)?; // of 4 time steps
/// assert_eq!(cost.rows[3].output, [16, 14, 14]);
/// assert_eq!(cost.parameters(), 16 * 9 + 2 * 16 + 10 * (16 * 14 * 14 + 1));
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
///
/// The kinds of layers are [`layer_kinds`](super::layer_kinds). A text without `version` is of version 1, in which linear layers
/// and convolutions have no bias unless it is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Layers {
    /// The network's name, for titles and folders of runs.
    pub name: String,
    /// The publication or program that it is from; may be empty.
    pub source: String,
    /// The sizes of an input at one time step: `[C, H, W]` for images, `[features]` for vectors.
    pub input: Vec<usize>,
    /// The specification of the neuron of the layers `"neuron"`, as in [`neuron::from_spec`](crate::neuron::from_spec).
    pub neuron: Value,
    /// The layers as JSON, of the same structure as in a file of the newest version.
    pub layers: Vec<Value>,
}

impl Layers {
    /// The newest version of files and checkpoints.
    pub const VERSION: usize = 2;

    /// The largest number of elements of an axis.
    pub const MAX_SIZE: usize = 1 << 20;

    /// Reads the table `network` of a TOML text and checks its layers. `file` is its name in messages, `tables` are
    /// the other tables that the text may have. Without a `name`, the name is that of the file.
    ///
    /// # Errors
    /// When the text is not TOML, a key, a name or a value is wrong, or the layers do not fit together; with the line
    /// and the column.
    pub fn from_toml(file: &str, text: &str, tables: &[&str]) -> Result<Self, DocumentError> {
        let document = Document::from_toml(file, text)?;
        let table = table(&document, tables).map_err(|error| document.error(error))?;
        Self::from_node(table, document.file()).map_err(|error| document.error(error))
    }

    /// Reads the table of a network and checks its layers.
    pub(super) fn from_node(table: &Node, file: &str) -> Result<Self, Located> {
        let mut made = Self::read(table)?;
        if made.name.is_empty() {
            let stem = std::path::Path::new(file).file_stem();
            made.name = stem.map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        }
        let neuron =
            neuron_of(&made.neuron).map_err(|error| neuron_problem(error, table.get("neuron")))?;
        let list = current(table)?;
        Builder::new(made.input.clone(), neuron, made.neuron.clone()).network(&list)?;
        Ok(made)
    }

    /// Reads the table of a network.
    fn read(table: &Node) -> Result<Self, Located> {
        let fields = Fields::new(table, "[network]", &KEYS)?;
        let text = |key| Ok::<_, Located>(fields.text(key)?.unwrap_or_default().to_string());
        let input = fields.require("input", "the sizes of one input, such as [1, 28, 28]")?;
        let neuron = match fields.get("neuron") {
            Some(node) => neuron_spec(node)?,
            None => json!({"neuron": "lif"}),
        };
        fields.require("layers", "a list of layers")?;
        Ok(Self {
            name: text("name")?,
            source: text("source")?,
            input: input_sizes(input)?,
            neuron,
            layers: current(table)?
                .list("layers")?
                .iter()
                .map(Node::to_json)
                .collect(),
        })
    }

    /// The network of a JSON object with the keys of the table `network`.
    ///
    /// # Errors
    /// When a key or a value is wrong. Layers are checked by [`Layers::module`].
    pub fn from_json(value: &Value) -> Result<Self, DocumentError> {
        let read = Node::from_json(value).and_then(|node| Self::read(&node));
        read.map_err(|error| error.without_text("network"))
    }

    /// The keys of the table `network` as JSON.
    pub fn to_json(&self) -> Value {
        let mut map = Map::new();
        map.insert("version".to_string(), json!(Self::VERSION));
        map.insert("name".to_string(), json!(self.name));
        if !self.source.is_empty() {
            map.insert("source".to_string(), json!(self.source));
        }
        map.insert("input".to_string(), json!(self.input));
        map.insert("neuron".to_string(), self.neuron.clone());
        map.insert("layers".to_string(), Value::Array(self.layers.clone()));
        Value::Object(map)
    }

    /// Channels, height and width of the images that it takes. Inputs with fewer axes are images with axes of one
    /// element in front; of four axes, the first two are the channels.
    pub fn image(&self) -> [usize; 3] {
        match self.input[..] {
            [a] => [1, 1, a],
            [a, b] => [1, a, b],
            [a, b, c] => [a, b, c],
            [a, b, c, d] => [a.saturating_mul(b), c, d],
            _ => [0; 3],
        }
    }

    fn build(&self) -> Result<(Sequential, Builder)> {
        let located = |error: Located| error.without_text(&format!("network `{}`", self.name));
        // Fields are public: they are checked as those of a file.
        let node = Node::from_json(&self.to_json()).map_err(located)?;
        let checked = Self::read(&node).map_err(located)?;
        let list = node.get("layers").unwrap_or(&node);
        let neuron = neuron_of(&self.neuron)?;
        let mut builder = Builder::new(checked.input, neuron, self.neuron.clone());
        let made = builder.network(list).map_err(located)?;
        Ok((made, builder))
    }

    /// The module, for sequences `[T, N, input…]`. Inputs that do not have three axes are taken as images too.
    ///
    /// # Errors
    /// When a layer or the neuron is wrong.
    pub fn module(&self) -> Result<Arc<dyn Module>> {
        let (made, _) = self.build()?;
        Ok(Arc::new(made))
    }

    /// The number of outputs of the last layer at one time step.
    ///
    /// # Errors
    /// When a layer or the neuron is wrong.
    pub fn outputs(&self) -> Result<usize> {
        let (_, builder) = self.build()?;
        Ok(builder.shape.iter().product())
    }

    /// The layers with their output shapes, parameters and multiply-accumulates, for a sequence of `time_steps`.
    ///
    /// # Errors
    /// When a layer or the neuron is wrong.
    pub fn cost(&self, time_steps: usize) -> Result<Cost> {
        let (made, builder) = self.build()?;
        Cost::new(&made, self.input.clone(), builder.into_rows(), time_steps)
    }
}

/// The table `network` of a document that may have these tables too.
pub(super) fn table<'a>(document: &'a Document, tables: &[&str]) -> Result<&'a Node, Located> {
    let known: Vec<&str> = [&["network"], tables].concat();
    let root = Fields::new(document.root(), "the file", &known)?;
    root.require("network", "a table with `input` and `layers`")
}

/// The sizes of one input.
fn input_sizes(node: &Node) -> Result<Vec<usize>, Located> {
    let expected = "a list of one to four sizes, such as [1, 28, 28]";
    let items = node
        .list("input")
        .map_err(|_| node.wrong("input", expected))?;
    if items.is_empty() || items.len() > 4 {
        return Err(node.wrong("input", expected));
    }
    let read = |item: &Node| item.integer("input", 1..=Layers::MAX_SIZE);
    let sizes: Vec<usize> = items.iter().map(read).collect::<Result<_, _>>()?;
    match elements(&sizes) {
        Some(_) => Ok(sizes),
        None => Err(NetworkProblem::TooManyElements { shape: sizes }.at(node.span.clone())),
    }
}

impl Serialize for Layers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Layers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Self::from_json(&value).map_err(serde::de::Error::custom)
    }
}
