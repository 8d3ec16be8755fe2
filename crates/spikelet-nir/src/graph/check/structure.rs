//! Names and edges.

use std::collections::BTreeSet;

use crate::graph::error::{ErrorKind, Result};
use crate::graph::{Graph, NodeKind};

pub(super) fn check(graph: &Graph, prefix: &str) -> Result<()> {
    for (name, node) in &graph.nodes {
        let path = format!("{prefix}{name}");
        if matches!(name.as_str(), "" | ".") || name.contains(['/', '\0']) {
            return Err(ErrorKind::Node {
                node: path,
                problem: "this name cannot be stored: HDF5 separates groups by `/`".into(),
                help: "use another character",
            }
            .into());
        }
        if let NodeKind::Graph(inner) = &node.kind {
            check(inner, &format!("{path}/"))?;
        }
    }
    let mut edges = BTreeSet::new();
    for edge in &graph.edges {
        let error = |problem: String, help| {
            let (from, to) = (
                format!("{prefix}{}", edge.from),
                format!("{prefix}{}", edge.to),
            );
            Err(ErrorKind::Edge {
                from,
                to,
                problem,
                help,
            }
            .into())
        };
        for name in [&edge.from, &edge.to] {
            if !graph.nodes.contains_key(name) {
                let names: Vec<&str> = graph.nodes.keys().take(16).map(String::as_str).collect();
                let problem = format!(
                    "there is no node `{name}`; the graph has: {}",
                    names.join(", ")
                );
                return error(problem, "correct the name, or add the node");
            }
        }
        if !edges.insert((&edge.from, &edge.to)) {
            let help = "remove it, or double the weights if a sum of two was meant";
            return error("it occurs twice".into(), help);
        }
    }
    Ok(())
}
