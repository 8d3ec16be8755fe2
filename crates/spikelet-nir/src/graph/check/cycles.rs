//! Cycles need a node with a state: without one the equations of a step have no order.

use std::collections::BTreeMap;

use crate::graph::error::{ErrorKind, Result};
use crate::graph::expand::ExpandedGraph;

/// Nodes that are visited: on the path from the start to the current node, or with all that is behind them.
#[derive(Clone, Copy, PartialEq)]
enum Mark {
    Open,
    Done,
}

pub(super) fn check(graph: &ExpandedGraph<'_>) -> Result<()> {
    let mut targets: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let is_stateless = |path: &str| {
        graph
            .nodes
            .get(path)
            .is_some_and(|node| !node.kind.has_state())
    };
    for edge in &graph.edges {
        if is_stateless(&edge.from) && is_stateless(&edge.to) {
            targets.entry(&edge.from).or_default().push(&edge.to);
        }
    }
    let mut marks: BTreeMap<&str, Mark> = BTreeMap::new();
    for &start in targets.keys() {
        // Each node of the path, with the number of its targets that were visited.
        let mut path = vec![(start, 0)];
        if marks.contains_key(start) {
            continue;
        }
        marks.insert(start, Mark::Open);
        while let Some((node, visited)) = path.last_mut() {
            let next = targets.get(node).and_then(|targets| targets.get(*visited));
            *visited += 1;
            match next {
                None => {
                    marks.insert(node, Mark::Done);
                    path.pop();
                }
                Some(&next) => match marks.get(next) {
                    Some(Mark::Done) => {}
                    Some(Mark::Open) => return Err(cycle(&path, next)),
                    None => {
                        marks.insert(next, Mark::Open);
                        path.push((next, 0));
                    }
                },
            }
        }
    }
    Ok(())
}

/// The error of a path that leads back to a node on it.
fn cycle(path: &[(&str, usize)], back: &str) -> crate::graph::Error {
    let start = path.iter().position(|&(node, _)| node == back).unwrap_or(0);
    let nodes: Vec<String> = path[start..]
        .iter()
        .map(|(node, _)| format!("`{node}`"))
        .collect();
    ErrorKind::Node {
        node: back.into(),
        problem: format!("no node of the cycle {} has a state", nodes.join(" -> ")),
        help: "put a neuron or a Delay into the cycle, or remove an edge",
    }
    .into()
}
