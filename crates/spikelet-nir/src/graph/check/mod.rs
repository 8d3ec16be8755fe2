//! Checks of a graph: names and edges, values of parameters, cycles, shapes.

mod cycles;
mod structure;
mod values;

use std::collections::BTreeMap;

use super::expand::ExpandedGraph;
use super::infer::{NodeShape, infer};
use super::warning::Warning;
use super::{Graph, NodeKind};
use crate::graph::error::Result;

/// What a check of a graph finds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckedGraph {
    /// The shapes of all nodes that have one, by path: `sub/lif` is `lif` in the graph `sub`.
    pub shapes: BTreeMap<String, NodeShape>,
    /// What is doubtful, and how it is understood.
    pub warnings: Vec<Warning>,
}

pub(super) fn check(graph: &Graph) -> Result<CheckedGraph> {
    structure::check(graph, "")?;
    let mut warnings = vec![];
    let expanded = graph.expand()?;
    for (path, node) in &expanded.nodes {
        values::check(path, node, &mut warnings)?;
    }
    cycles::check(&expanded)?;
    unconnected(&expanded, &mut warnings);
    let shapes = infer(&expanded, &mut warnings)?;
    Ok(CheckedGraph { shapes, warnings })
}

/// Warns of nodes that nothing leads to, or that lead nowhere.
fn unconnected(graph: &ExpandedGraph<'_>, warnings: &mut Vec<Warning>) {
    let mut ends = BTreeMap::new();
    for edge in &graph.edges {
        ends.entry(edge.from.as_str()).or_insert((false, false)).1 = true;
        ends.entry(edge.to.as_str()).or_insert((false, false)).0 = true;
    }
    for (path, node) in &graph.nodes {
        let (has_input, has_output) = ends.get(path.as_str()).copied().unwrap_or_default();
        if !has_input && !matches!(node.kind, NodeKind::Input { .. }) {
            warnings.push(Warning::new(path, "no edge leads to it"));
        }
        if !has_output && !matches!(node.kind, NodeKind::Output { .. }) {
            warnings.push(Warning::new(path, "no edge leads away from it"));
        }
    }
}
