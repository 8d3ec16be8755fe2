//! NIR graphs: files, simulation, comparison, export of networks.

use super::array::{Array, from_tensor};
use super::error::{invalid, raise};
use super::json::parse;
use super::model::PyModel;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};
use spikelet::graph::{DType, Tensor};
use spikelet::nir::diff::{self, DiffOptions, DiffReport, LayerDifference, Side, Trace, Trial};
use spikelet::nir::{ExportOptions, Graph, ImportOptions, NodeKind, Record, SimulateOptions};
use std::collections::BTreeMap;
use std::str::FromStr;

/// A graph of typed nodes.
#[pyclass(frozen, name = "Graph", module = "spikelet._native")]
pub(super) struct PyGraph {
    graph: Graph,
}

/// One of the choices of a name, if it is given.
fn choice<T: FromStr<Err: std::fmt::Display>>(options: &Value, key: &str) -> PyResult<Option<T>> {
    let Some(text) = options[key].as_str() else {
        return Ok(None);
    };
    let parsed = text.parse::<T>();
    parsed
        .map(Some)
        .map_err(|error| invalid(key, error.to_string(), "see `spikelet.nir`"))
}

/// How a graph runs, from JSON.
fn options_of(text: &str) -> PyResult<SimulateOptions> {
    let options = parse("options", text)?;
    let import = ImportOptions {
        dt: options["dt"].as_f64(),
        discretization: choice(&options, "discretization")?,
        reset: choice(&options, "reset")?,
        reset_delay: options["reset_delay"].as_bool(),
        fires: choice(&options, "fires")?,
        feedback: choice(&options, "feedback")?,
        v_start: choice(&options, "v_start")?,
        convention: choice(&options, "convention")?,
        ..ImportOptions::default()
    };
    let float = match options["dtype"].as_str() {
        None | Some("f32") => DType::F32,
        Some("f64") => DType::F64,
        Some(other) => {
            return Err(invalid(
                "dtype",
                format!("`{other}` was given"),
                "use f32 or f64",
            ));
        }
    };
    let device = options["device"]
        .as_str()
        .map(|name| spikelet::device::find(name, 0));
    Ok(SimulateOptions {
        import,
        record: match options["record"].as_str() {
            Some("all") => Record::All,
            _ => Record::Output,
        },
        float,
        device: device.transpose().map_err(raise)?,
    })
}

/// Sequences by name.
fn sequences(given: &Bound<'_, PyDict>) -> PyResult<BTreeMap<String, Tensor>> {
    let each = given
        .iter()
        .map(|(name, array)| Ok((name.extract::<String>()?, Array::of(&array)?.into_tensor())));
    each.collect()
}

#[pymethods]
impl PyGraph {
    /// Reads a `.nir` file.
    #[staticmethod]
    fn read(py: Python<'_>, path: &str) -> PyResult<Self> {
        let graph = py.detach(|| spikelet::nir::read(path).map_err(raise))?;
        Ok(Self { graph })
    }

    /// The graph of a network with its weights, and what was changed.
    #[staticmethod]
    fn of_model(
        py: Python<'_>,
        model: &PyModel,
        dt: f64,
        approximate: bool,
    ) -> PyResult<(Self, Vec<String>)> {
        let options = ExportOptions {
            dt,
            approximate,
            ..ExportOptions::new(model.network.input())
        };
        let made = py.detach(|| {
            let state = model.state();
            spikelet::nir::export(&*model.module, &state.store, &options).map_err(raise)
        })?;
        Ok((Self { graph: made.graph }, made.notes))
    }

    /// Writes a `.nir` file, which h5py and the package nir read.
    fn write(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        py.detach(|| {
            self.graph
                .write(path)
                .map_err(|error| raise(spikelet::nir::NirError::from(error)))
        })
    }

    /// Nodes and edges as JSON text.
    fn describe(&self) -> String {
        let nodes: Vec<Value> = (self.graph.nodes.iter())
            .map(|(name, node)| {
                let shape = match &node.kind {
                    NodeKind::Input { shape } | NodeKind::Output { shape } => json!(shape),
                    _ => Value::Null,
                };
                json!({"name": name, "type": node.kind.name(), "shape": shape})
            })
            .collect();
        let edges: Vec<Value> = (self.graph.edges.iter())
            .map(|edge| json!([edge.from, edge.to]))
            .collect();
        json!({"nodes": nodes, "edges": edges}).to_string()
    }

    /// Runs the graph on sequences `[T, N, …]`: sequences by name, the choices of time steps, warnings.
    fn simulate<'py>(
        &self,
        py: Python<'py>,
        inputs: &Bound<'py, PyDict>,
        options: &str,
    ) -> PyResult<(Bound<'py, PyDict>, String, Vec<String>)> {
        let (inputs, options) = (sequences(inputs)?, options_of(options)?);
        let traces =
            py.detach(|| spikelet::nir::simulate(&self.graph, &inputs, &options).map_err(raise))?;
        let dict = PyDict::new(py);
        for (name, tensor) in traces.sequences {
            dict.set_item(name, from_tensor(py, tensor)?)?;
        }
        Ok((dict, traces.semantics.to_string(), traces.warnings))
    }
}

/// One of two networks: a graph, a file, or recorded sequences by name.
#[derive(FromPyObject)]
pub(super) enum Network<'py> {
    Graph(PyRef<'py, PyGraph>),
    File(String),
    Trace(Bound<'py, PyDict>),
}

impl Network<'_> {
    fn side(&self, options: &SimulateOptions) -> PyResult<Side> {
        Ok(match self {
            Self::Graph(graph) => Side::graph(graph.graph.clone(), options.clone()),
            Self::File(path) => Side::read(path, options).map_err(raise)?,
            Self::Trace(trace) => Side::Trace(Trace::new(sequences(trace)?)),
        })
    }
}

fn trial_json(trial: &Trial) -> Value {
    json!({
        "causes": trial.causes.iter().map(|cause| cause.name()).collect::<Vec<_>>(),
        "changed": trial.changed.to_string(), "change": trial.change, "explains": trial.explains,
        "differing": trial.differing,
    })
}

fn report_json(report: &DiffReport) -> Value {
    let first = report.first.as_ref().map(|first| {
        json!({
            "layer_a": first.layer_a, "layer_b": first.layer_b, "sequence": first.quantity,
            "step": first.step, "sample": first.sample, "neuron": first.neuron, "a": first.a, "b": first.b,
        })
    });
    let layer = |layer: &LayerDifference| {
        json!({
            "layer_a": layer.layer_a, "layer_b": layer.layer_b, "elements": layer.elements,
            "differing": layer.differing, "first_step": layer.first_step, "largest": layer.largest,
        })
    };
    json!({
        "equal": report.is_equal(),
        "first": first,
        "layers": report.layers.iter().map(layer).collect::<Vec<_>>(),
        "only_a": report.only_a,
        "only_b": report.only_b,
        "cause": report.cause().map(trial_json),
        "tried": report.trials.iter().map(trial_json).collect::<Vec<_>>(),
    })
}

/// Compares two networks on the same input; the report as JSON text.
#[pyfunction]
#[pyo3(signature = (first, second, inputs, options, tolerance, map, find_cause))]
#[allow(
    clippy::too_many_arguments,
    reason = "the arguments of Python, by name there"
)]
pub(super) fn nir_diff(
    py: Python<'_>,
    first: Network<'_>,
    second: Network<'_>,
    inputs: &Bound<'_, PyDict>,
    options: (String, String),
    tolerance: f64,
    map: Vec<(String, String)>,
    find_cause: bool,
) -> PyResult<String> {
    let a = first.side(&options_of(&options.0)?)?;
    let b = second.side(&options_of(&options.1)?)?;
    let inputs = sequences(inputs)?;
    let options = DiffOptions {
        tolerance,
        map,
        find_cause,
    };
    let report = py.detach(|| diff::diff(&a, &b, &inputs, &options).map_err(raise))?;
    Ok(report_json(&report).to_string())
}
