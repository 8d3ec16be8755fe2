//! A NIR graph is checked and written again.

use super::Convert;
use crate::command::path_text;
use crate::failure::Failure;
use serde_json::json;
use spikelet::log::Console;
use spikelet_nir::Graph;

impl Convert {
    pub(super) fn graph(&self, console: &Console) -> Result<(), Failure> {
        if !self.is_to_nir() {
            return Err(self.wrong_output("a NIR graph", "nir"));
        }
        let graph = Graph::read(self.file())?;
        let warnings = graph
            .check()
            .map_err(|error| error.in_file(self.file()))?
            .warnings;
        graph.write(&self.out)?;
        let nodes = graph.nodes.len();
        let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        console.say_json(&json!({
            "file": path_text(self.file()), "out": path_text(&self.out), "from": "nir", "to": "nir", "nodes": nodes,
            "edges": graph.edges.len(), "warnings": warnings,
        }));
        for warning in warnings {
            console.say(format!("warning: {warning}"));
        }
        let edges = graph.edges.len();
        console.say(format!(
            "{nodes} nodes and {edges} edges in {}",
            self.out.display()
        ));
        Ok(())
    }
}
