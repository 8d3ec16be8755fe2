//! The network of a checkpoint is written as a NIR graph.

use super::Convert;
use crate::command::trained::Trained;
use crate::command::trained_graph::{Choices, DT, TrainedGraph};
use crate::command::{path_text, say_table};
use crate::failure::Failure;
use crate::table::Table;
use serde_json::json;
use spikelet::log::Console;
use spikelet_nir::{MetadataValue, Node};
use std::collections::BTreeMap;

/// The group of the metadata with what NIR does not define.
const GROUP: &str = "spikelet";

/// The choices of time steps in the metadata of a node.
const CHOICES: [&str; 5] = ["discretization", "reset", "reset_delay", "fires", "v_start"];

impl Convert {
    pub(super) fn network(&self, console: &Console) -> Result<(), Failure> {
        let choices = Choices {
            dt: self.dt.unwrap_or(DT),
            approximate: self.approximate,
        };
        let made = TrainedGraph::new(&Trained::open_on_cpu(self.file())?, choices)?;
        made.graph.write(&self.out)?;
        let semantics = &made.semantics;
        let node = |(name, node): (&String, &Node)| {
            let choices = BTreeMap::from_iter(choices_of(node));
            json!({"name": name, "type": node.kind.name(), "choices": choices})
        };
        let nodes: Vec<_> = made.graph.nodes.iter().map(node).collect();
        console.say_json(&json!({
            "file": path_text(self.file()), "out": path_text(&self.out), "from": "spikelet", "to": "nir",
            "network": made.network, "input": made.input, "nodes": nodes, "edges": made.graph.edges.len(),
            "notes": made.notes, "dt": semantics.dt, "discretization": semantics.discretization.name(),
            "reset": semantics.reset.name(), "fires": semantics.fires.name(),
            "feedback": semantics.feedback.name(), "v_start": semantics.v_start.name(),
        }));
        let mut table = Table::new(&["node", "type", "time steps"]);
        for (name, node) in &made.graph.nodes {
            let choices: Vec<String> = choices_of(node)
                .iter()
                .map(|(name, value)| format!("{name} {value}"))
                .collect();
            table.row([
                name.clone(),
                node.kind.name().to_string(),
                choices.join(", "),
            ]);
        }
        say_table(console, &table);
        for note in &made.notes {
            console.say(format!("note: {note}"));
        }
        let (out, dt) = (self.out.display(), semantics.dt);
        let (nodes, edges) = (made.graph.nodes.len(), made.graph.edges.len());
        console.say(format!(
            "{}: {nodes} nodes and {edges} edges, steps of {dt} s → nir in {out}",
            made.network
        ));
        let sizes: Vec<String> = made.input.iter().map(ToString::to_string).collect();
        console.say(format!(
            "run it: spikelet simulate {out} --input x.safetensors --out y.safetensors, with a tensor in/input \
             [T, N, {}] in x.safetensors",
            sizes.join(", ")
        ));
        Ok(())
    }
}

/// The choices of time steps that the metadata of a node has, by name.
fn choices_of(node: &Node) -> Vec<(&'static str, &str)> {
    let Some(MetadataValue::Group(group)) = node.metadata.get(GROUP) else {
        return vec![];
    };
    let choice = |name: &&'static str| match group.get(*name) {
        Some(MetadataValue::Text(text)) => Some((*name, text.as_str())),
        _ => None,
    };
    CHOICES.iter().filter_map(choice).collect()
}
