//! Settings, checkpoints, devices and plans, as JSON texts.

use super::error::{invalid, raise};
use super::json::parse;
use super::network::PyNetwork;
use pyo3::prelude::*;
use serde_json::{Value, json};
use spikelet::document::Document;
use spikelet::graph::Plan;
use spikelet::graph::op::Operation;
use spikelet::train::experiment::Experiment;
use spikelet::train::{Checkpoint, Settings};

/// The settings of a JSON text.
pub(super) fn settings_of(text: &str) -> PyResult<Settings> {
    let read = spikelet::schema::from_json(&parse("settings", text)?);
    read.map_err(|error| raise(error.without_text("settings")))
}

/// A plan as JSON: sizes and kernels.
pub(super) fn plan_json(plan: &Plan) -> Value {
    let kernels = plan.kernels.iter().map(|kernel| {
        let node = &plan.graph.nodes[kernel.node];
        json!({
            "name": node.op.name(), "layer": &*node.layer,
            "backward": node.backward, "flops": kernel.flops, "bytes": kernel.bytes,
        })
    });
    json!({
        "arena_bytes": plan.arena_bytes,
        "buffer_bytes": plan.buffer_bytes(),
        "kernels": kernels.collect::<Vec<_>>(),
    })
}

/// The settings of a training: those of the network, of sequences of so many time steps if they are given, with changes of
/// the tables of an experiment. JSON texts.
#[pyfunction]
#[pyo3(signature = (network, time_steps, changes))]
pub(super) fn settings(
    network: &PyNetwork,
    time_steps: Option<usize>,
    changes: &str,
) -> PyResult<String> {
    let mut experiment = Experiment::of_network(network.network.clone());
    if let Some(steps) = time_steps {
        experiment.settings.use_sequences(steps);
    }
    let changes = Document::from_json("trainer", &parse("trainer", changes)?).map_err(raise)?;
    experiment.change_settings(&changes).map_err(raise)?;
    let settings = experiment.settings;
    settings.check().map_err(raise)?;
    serde_json::to_string(&settings)
        .map_err(|error| invalid("settings", error.to_string(), "use finite numbers"))
}

/// The network and the settings of a checkpoint, as JSON text of the settings.
#[pyfunction]
pub(super) fn read_checkpoint(path: &str) -> PyResult<(PyNetwork, String)> {
    let checkpoint = Checkpoint::read(path).map_err(raise)?;
    let Some(network) = checkpoint.network() else {
        return Err(invalid(
            path,
            "the network of the checkpoint is defined by a program",
            "make the network and use its method `load`",
        ));
    };
    let settings = json!(checkpoint.settings().map_err(raise)?).to_string();
    Ok((PyNetwork::new(network.clone())?, settings))
}

/// The names of the devices that can be used.
#[pyfunction]
pub(super) fn devices() -> Vec<String> {
    let mut found = vec!["cpu".to_string()];
    let gpus = (0..64).map_while(|k| {
        spikelet::device::cuda(k)
            .is_ok()
            .then(|| format!("cuda:{k}"))
    });
    found.extend(gpus);
    found
}
