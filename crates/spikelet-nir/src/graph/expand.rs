//! A graph without graphs in it.
//!
//! Nodes of the graph `sub` get paths, as `sub/lif`. Its Input and Output stay, as nodes that pass on what they get: an
//! edge to `sub` leads to its Input, an edge from it begins at its Output.

use std::collections::BTreeMap;

use super::{Edge, Graph, Node, NodeKind};
use crate::graph::error::{ErrorKind, Result};

/// All nodes of a graph and of the graphs in it, by path, and the edges between them.
#[derive(Clone, Debug, Default)]
pub struct ExpandedGraph<'a> {
    /// All nodes that are no graphs.
    pub nodes: BTreeMap<String, &'a Node>,
    /// All edges: those of a graph in the graph come before its own.
    pub edges: Vec<Edge>,
}

pub(super) fn expand(graph: &Graph) -> Result<ExpandedGraph<'_>> {
    let mut expanded = ExpandedGraph::default();
    add(graph, "", &mut expanded)?;
    Ok(expanded)
}

fn add<'a>(graph: &'a Graph, prefix: &str, expanded: &mut ExpandedGraph<'a>) -> Result<()> {
    for (name, node) in &graph.nodes {
        let path = format!("{prefix}{name}");
        match &node.kind {
            NodeKind::Graph(inner) => add(inner, &format!("{path}/"), expanded)?,
            _ => {
                expanded.nodes.insert(path, node);
            }
        }
    }
    for edge in &graph.edges {
        let end = |name: &str, is_source| end(graph, prefix, edge, name, is_source);
        let (from, to) = (end(&edge.from, true)?, end(&edge.to, false)?);
        expanded.edges.push(Edge { from, to });
    }
    Ok(())
}

/// The path of the node at an end of an edge.
fn end(graph: &Graph, prefix: &str, edge: &Edge, name: &str, is_source: bool) -> Result<String> {
    let Some(node) = graph.nodes.get(name) else {
        let names: Vec<&str> = graph.nodes.keys().take(16).map(String::as_str).collect();
        return Err(ErrorKind::Edge {
            from: format!("{prefix}{}", edge.from),
            to: format!("{prefix}{}", edge.to),
            problem: format!(
                "there is no node `{name}`; the graph has: {}",
                names.join(", ")
            ),
            help: "correct the name, or add the node",
        }
        .into());
    };
    let NodeKind::Graph(inner) = &node.kind else {
        return Ok(format!("{prefix}{name}"));
    };
    let is_port = |node: &Node| match is_source {
        true => matches!(node.kind, NodeKind::Output { .. }),
        false => matches!(node.kind, NodeKind::Input { .. }),
    };
    let mut ports = inner.nodes.iter().filter(|(_, node)| is_port(node));
    match (ports.next(), ports.next()) {
        (Some((port, _)), None) => Ok(format!("{prefix}{name}/{port}")),
        (first, _) => {
            let kind = if is_source { "Output" } else { "Input" };
            let number = if first.is_none() {
                "no"
            } else {
                "more than one"
            };
            Err(ErrorKind::Node {
                node: format!("{prefix}{name}"),
                problem: format!(
                    "the graph has {number} {kind}; an edge to or from it needs exactly one"
                ),
                help: "an edge does not say which: split the graph, or move the nodes out of it",
            }
            .into())
        }
    }
}
