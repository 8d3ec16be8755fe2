//! The table `device`.

use super::Experiment;
use super::table::{AUTO, Key, Table, keyed, unless, value_or};
use serde_json::{Value, json};
use spikelet_core::document::{Fields, Located, Node};

/// The devices of an experiment. They do not change what is trained.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceSettings {
    /// `auto`, `cpu`, `cuda` or `cuda:N`.
    pub name: String,
    /// The number of threads on the CPU; 0 for one a core.
    pub threads: usize,
    /// The number of processes that train together, each on a device of its own.
    pub data_parallel: usize,
    /// The devices of the stages of a pipeline; empty without one.
    pub pipeline: Vec<String>,
    /// The number of images that are in a stage of the pipeline at a time, if it is set.
    pub split_size: Option<usize>,
}

impl Default for DeviceSettings {
    fn default() -> Self {
        Self {
            name: AUTO.to_string(),
            threads: 0,
            data_parallel: 1,
            pipeline: vec![],
            split_size: None,
        }
    }
}

/// The largest number of threads or processes.
const MOST: usize = 4096;

pub(super) const TABLE: Table = Table {
    name: "device",
    summary: "Where it runs. Options of the command line replace these keys.",
    keys: &[
        Key {
            name: "name",
            doc: "\"auto\", \"cpu\", \"cuda\" or \"cuda:N\"",
            schema: || json!({"type": "string"}),
        },
        Key {
            name: "threads",
            doc: "threads on the CPU; 0: one a core",
            schema: || json!({"type": "integer", "minimum": 0, "maximum": MOST}),
        },
        Key {
            name: "data_parallel",
            doc: "processes that train together, each on its own device",
            schema: || json!({"type": "integer", "minimum": 1, "maximum": MOST}),
        },
        Key {
            name: "sync_batch_norm",
            doc: "batch norm over the images of all processes",
            schema: || json!({"type": "boolean"}),
        },
        Key {
            name: "pipeline",
            doc: "devices of the stages of a pipeline, such as [\"0\", \"1\"]",
            schema: || json!({"type": "array", "items": {"type": "string"}}),
        },
        Key {
            name: "split_size",
            doc: "images that are in a stage of the pipeline at a time, or \"auto\"",
            schema: || json!({"anyOf": [{"type": "integer", "minimum": 1}, {"const": AUTO}]}),
        },
    ],
    constants: Vec::new,
    read,
    write,
};

fn read(experiment: &mut Experiment, node: &Node) -> Result<(), Located> {
    let fields = Fields::new(node, TABLE.title(), &TABLE.key_names())?;
    let Experiment {
        device, settings, ..
    } = experiment;
    if let Some(node) = fields.get("name") {
        let name = node.text("name")?;
        let known = |name: &str| {
            let (kind, number) = name.split_once(':').unwrap_or((name, "0"));
            ["cpu", "cuda"].contains(&kind) && number.parse::<usize>().is_ok()
        };
        if name != AUTO && !known(name) {
            return Err(node.wrong("name", "\"auto\", \"cpu\", \"cuda\" or \"cuda:N\""));
        }
        device.name = name.to_string();
    }
    if let Some(threads) = fields.integer("threads", 0..=MOST)? {
        device.threads = threads;
    }
    if let Some(ranks) = fields.integer("data_parallel", 1..=MOST)? {
        device.data_parallel = ranks;
    }
    if let Some(yes) = fields.flag("sync_batch_norm")? {
        settings.sync_batch_norm = yes;
    }
    if let Some(node) = fields.get("pipeline") {
        let names = node.list("pipeline")?.iter();
        let names = names.map(|item| Ok(item.text("pipeline")?.to_string()));
        device.pipeline = names.collect::<Result<_, Located>>()?;
    }
    if let Some(node) = fields.get("split_size") {
        let read = |node: &Node| node.integer("split_size", 1..=u32::MAX as usize);
        device.split_size = unless(AUTO, node, read)?;
    }
    Ok(())
}

fn write(experiment: &Experiment) -> Vec<(String, Value)> {
    let Experiment {
        device, settings, ..
    } = experiment;
    keyed([
        ("name", json!(device.name)),
        ("threads", json!(device.threads)),
        ("data_parallel", json!(device.data_parallel)),
        ("sync_batch_norm", json!(settings.sync_batch_norm)),
        ("pipeline", json!(device.pipeline)),
        ("split_size", value_or(AUTO, device.split_size)),
    ])
}
