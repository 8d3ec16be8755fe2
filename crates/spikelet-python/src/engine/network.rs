//! Networks as data.

use super::error::raise;
use super::json::parse;
use pyo3::prelude::*;
use serde_json::{Value, json};
use spikelet::document::{Document, Node};
use spikelet::module::Summary;
use spikelet::network::{Layers, Network};
use spikelet::train::experiment::Experiment;

/// A network: a list of layers, or a name with options.
#[pyclass(frozen, name = "Network", module = "spikelet._native")]
pub(super) struct PyNetwork {
    pub network: Network,
}

impl PyNetwork {
    pub fn new(network: Network) -> PyResult<Self> {
        // Errors of layers are those of a network that is made, not of its first use.
        network.module().map_err(raise)?;
        Ok(Self { network })
    }
}

#[pymethods]
impl PyNetwork {
    /// The network of a JSON object: `layers` with `input`, `neuron` and `name`.
    #[staticmethod]
    fn from_layers(text: &str) -> PyResult<Self> {
        let mut network = parse("network", text)?;
        network["version"] = Layers::VERSION.into();
        let layers = Layers::from_json(&network).map_err(raise)?;
        Self::new(Network::Layers(layers))
    }

    /// The network of the keys of the table `network`, as `to_json` returns them.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        let table = json!({ "network": parse("network", text)? });
        let document = Document::from_json("network", &table).map_err(raise)?;
        Self::new(Network::from_document(&document, &[]).map_err(raise)?)
    }

    /// The network of this name with some options, a JSON object.
    #[staticmethod]
    fn named(name: &str, options: &str) -> PyResult<Self> {
        let network = Network::find(name).map_err(raise)?;
        let options = parse("options", options)?;
        let node = Node::from_json(&options);
        let made = node.and_then(|node| network.with(&node, name));
        let made = made.map_err(|error| raise(error.without_text(name)))?;
        Self::new(made)
    }

    /// The network of a TOML file, which may be that of an experiment.
    #[staticmethod]
    fn read(path: &str) -> PyResult<Self> {
        let document = Document::read(path.as_ref()).map_err(raise)?;
        let tables = Experiment::tables();
        let others: Vec<&str> = tables
            .into_iter()
            .filter(|name| *name != "network")
            .collect();
        Self::new(Network::from_document(&document, &others).map_err(raise)?)
    }

    /// The layers of a named network, as a network of its own.
    fn as_layers(&self) -> PyResult<Self> {
        let layers = self.network.layers().map_err(raise)?;
        Self::new(Network::Layers(layers))
    }

    #[getter]
    fn name(&self) -> &str {
        self.network.name()
    }

    /// The sizes of the axes of an input at a time step.
    #[getter]
    fn input(&self) -> Vec<usize> {
        self.network.input()
    }

    #[getter]
    fn classes(&self) -> usize {
        self.network.classes()
    }

    /// The keys of the table `network` of a file, as JSON text.
    fn to_json(&self) -> String {
        let table: serde_json::Map<String, Value> = self.network.table().into_iter().collect();
        Value::Object(table).to_string()
    }

    /// The experiment of this network with the defaults, as TOML text.
    fn to_toml(&self) -> String {
        Experiment::of_network(self.network.clone()).to_toml()
    }

    /// The layers with the shapes of their outputs and their parameters, for `[time_steps, batch, …]`: the text of the table,
    /// and its rows as JSON text.
    fn summary(&self, time_steps: usize, batch: usize) -> PyResult<(String, String)> {
        let module = self.network.module().map_err(raise)?;
        let input = [&[time_steps, batch], &self.network.input()[..]].concat();
        let summary = Summary::new(module, &input).map_err(raise)?;
        let rows = summary.rows.iter().map(|row| {
            let parameters = row.parameters.iter().map(|p| json!([p.name, p.shape]));
            json!({
                "path": row.path, "kind": row.kind, "output": row.output, "count": row.count(),
                "parameters": parameters.collect::<Vec<_>>(),
            })
        });
        let rows: Vec<Value> = rows.collect();
        Ok((summary.to_string(), Value::Array(rows).to_string()))
    }

    /// The modules as a tree.
    fn tree(&self) -> PyResult<String> {
        Ok(self.network.module().map_err(raise)?.to_string())
    }
}
