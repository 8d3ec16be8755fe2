//! The changes that are tried. Those that concern a layer are made in the first layer that differs and in the layers
//! before it that were not compared.

mod dtype;
mod input;
mod neighbours;
mod parameters;
mod steps;
mod weights;

use super::super::options::Semantics;
use super::cause::Candidate;
use super::compare::FirstDifference;
use super::pairs::Pairs;
use super::recording::{Layer, Recording};
use super::side::Runnable;
use crate::graph::{ExpandedGraph, Graph, Node, NodeKind};
use std::collections::BTreeSet;

/// What is known when changes are proposed: A is the network that is changed.
pub(super) struct Situation<'a> {
    pub(super) runnable: &'a Runnable,
    pub(super) graph: &'a ExpandedGraph<'a>,
    pub(super) semantics: &'a Semantics,
    pub(super) a: &'a Recording,
    pub(super) b: &'a Recording,
    pub(super) pairs: &'a Pairs,
    /// The layer of A that differs first.
    pub(super) first: &'a FirstDifference,
    /// The other network, if it is a graph.
    pub(super) other: Option<(&'a Graph, Semantics)>,
}

impl Situation<'_> {
    /// The first layer that differs, and the layers before it that were not compared.
    fn suspects(&self) -> Vec<&str> {
        let mut found: Vec<&str> = vec![];
        let mut rest = vec![self.first.layer_a.as_str()];
        while let Some(path) = rest.pop() {
            let Some((path, _)) = self.graph.nodes.get_key_value(path) else {
                continue;
            };
            if found.contains(&path.as_str()) {
                continue;
            }
            found.push(path);
            let sources = self.graph.edges.iter().filter(|edge| edge.to == *path);
            let sources = sources.map(|edge| edge.from.as_str());
            rest.extend(sources.filter(|source| self.pairs.in_b(source).is_none()));
        }
        found
    }

    fn node(&self, path: &str) -> Option<&Node> {
        self.graph.nodes.get(path).copied()
    }

    /// A layer of A and its counterpart.
    fn layers(&self, path: &str) -> Option<(&Layer, &Layer)> {
        Some((self.a.get(path)?, self.b.get(self.pairs.in_b(path)?)?))
    }

    fn has(&self, matches: impl Fn(&NodeKind) -> bool) -> bool {
        self.graph.nodes.values().any(|node| matches(&node.kind))
    }
}

/// All changes, the specific ones first.
pub(super) fn all(situation: &Situation<'_>) -> Vec<Candidate> {
    let mut found = steps::candidates(situation);
    found.extend(weights::candidates(situation));
    found.extend(neighbours::candidates(situation));
    found.extend(one_way(situation));
    found.extend(weights::bias_of_other(situation));
    found.extend(input::candidates(situation));
    found.extend(steps::conventions(situation));
    found.extend(parameters::candidates(situation));
    found
}

/// The changes that lose something, so that they are tried in both networks.
pub(super) fn one_way(situation: &Situation<'_>) -> Vec<Candidate> {
    let mut found = weights::without_bias(situation);
    found.extend(dtype::candidates(situation));
    found
}

/// The node of a path such as `sub/lif`.
fn node_mut<'a>(mut graph: &'a mut Graph, path: &str) -> Option<&'a mut Node> {
    let mut names: Vec<&str> = path.split('/').collect();
    let last = names.pop()?;
    for name in names {
        graph = match &mut graph.nodes.get_mut(name)?.kind {
            NodeKind::Graph(inner) => inner,
            _ => return None,
        };
    }
    graph.nodes.get_mut(last)
}

/// The names of the nodes of a graph that no edge leads to.
fn unfed(graph: &ExpandedGraph<'_>) -> BTreeSet<String> {
    let fed: BTreeSet<&str> = graph.edges.iter().map(|edge| edge.to.as_str()).collect();
    graph
        .nodes
        .keys()
        .filter(|path| !fed.contains(path.as_str()))
        .cloned()
        .collect()
}
