//! The order of the nodes, and the cycles.
//!
//! A depth-first search from the Inputs finds the edges that close cycles. They are late: they carry the value of the step
//! before. With `source`, an edge is late where the output of the neuron leaves it, and the nodes on the way back
//! compute with the output of the step before; see [`FeedbackFrom`]. Nodes that are in cycles together run step by step
//! as one loop over time, all others run on all time steps at once.

use super::super::choices::FeedbackFrom;
use super::super::error::NirError;
use crate::graph::{ExpandedGraph, NodeKind};
use std::collections::BTreeSet;

/// The nodes of a graph, by their positions among its paths, in the order in which they run.
#[derive(Debug)]
pub(super) struct Schedule {
    pub(super) stages: Vec<Stage>,
    /// For each node, its sources in the order of the edges.
    pub(super) sources: Vec<Vec<Source>>,
    /// Inputs that no edge leads to.
    pub(super) inputs: Vec<usize>,
    /// Outputs that no edge leaves.
    pub(super) outputs: Vec<usize>,
}

/// Nodes that run together.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// A node, on all time steps.
    Node(usize),
    /// The nodes of cycles, in their order within a step.
    Loop(Vec<usize>),
}

impl Stage {
    /// Its nodes, in order.
    pub(super) fn nodes(&self) -> &[usize] {
        match self {
            Self::Node(k) => std::slice::from_ref(k),
            Self::Loop(members) => members,
        }
    }
}

/// The source of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) node: usize,
    /// Whether the edge carries the value of the step before.
    pub(super) late: bool,
}

pub(super) fn schedule(
    graph: &ExpandedGraph<'_>,
    feedback: FeedbackFrom,
) -> Result<Schedule, NirError> {
    let edges = Edges::new(graph);
    let kind = |k: usize| &edges.nodes[k].1.kind;
    let all = 0..edges.nodes.len();
    let mut inputs: Vec<usize> = all
        .clone()
        .filter(|&k| matches!(kind(k), NodeKind::Input { .. }) && edges.sources[k].is_empty())
        .collect();
    // In the order of nested graphs: `sub/in` comes where `sub` does.
    inputs.sort_by_key(|&k| edges.nodes[k].0.split('/').collect::<Vec<_>>());
    let outputs = all
        .clone()
        .filter(|&k| matches!(kind(k), NodeKind::Output { .. }) && edges.targets[k].is_empty())
        .collect();
    let unfed =
        |k: &usize| edges.sources[*k].is_empty() && !matches!(kind(*k), NodeKind::Input { .. });
    if let Some(k) = all.clone().find(unfed) {
        return Err(NirError::node(
            edges.nodes[k].0,
            "no edge leads to it, so that it has no input",
            "connect it, or remove it",
        ));
    }
    let late = late_edges(&edges, &inputs, feedback);
    let mut stages = vec![];
    for component in components(&edges.targets) {
        let is_cycle = component.len() > 1 || edges.targets[component[0]].contains(&component[0]);
        stages.push(match is_cycle {
            false => Stage::Node(component[0]),
            true => Stage::Loop(within_step(&edges, &component, &late)?),
        });
    }
    let sources = all.map(|to| {
        let source = |&node: &usize| Source {
            node,
            late: late.contains(&(node, to)),
        };
        edges.sources[to].iter().map(source).collect()
    });
    Ok(Schedule {
        stages,
        sources: sources.collect(),
        inputs,
        outputs,
    })
}

/// The edges of a graph by the positions of the nodes.
struct Edges<'a> {
    nodes: Vec<(&'a str, &'a crate::graph::Node)>,
    /// In the order of the edges.
    sources: Vec<Vec<usize>>,
    /// In the order of the edges.
    targets: Vec<Vec<usize>>,
}

impl<'a> Edges<'a> {
    fn new(graph: &'a ExpandedGraph<'_>) -> Self {
        let nodes: Vec<_> = graph
            .nodes
            .iter()
            .map(|(path, node)| (path.as_str(), *node))
            .collect();
        let place = |path: &str| nodes.binary_search_by_key(&path, |(path, _)| path).ok();
        let mut sources = vec![vec![]; nodes.len()];
        let mut targets = vec![vec![]; nodes.len()];
        for edge in &graph.edges {
            if let (Some(from), Some(to)) = (place(&edge.from), place(&edge.to)) {
                sources[to].push(from);
                targets[from].push(to);
            }
        }
        Self {
            nodes,
            sources,
            targets,
        }
    }
}

/// The edges that carry the value of the step before.
fn late_edges(
    edges: &Edges<'_>,
    inputs: &[usize],
    feedback: FeedbackFrom,
) -> BTreeSet<(usize, usize)> {
    let mut late = BTreeSet::new();
    for (mut from, mut to) in closing_edges(edges, inputs) {
        if feedback == FeedbackFrom::Source {
            // Back to the neuron that the value comes from, as long as there is one way.
            while !edges.nodes[from].1.kind.has_state()
                && let [before] = edges.sources[from][..]
            {
                (from, to) = (before, from);
            }
        }
        late.insert((from, to));
    }
    late
}

/// The edges that lead back to a node on the path of a depth-first search, which begins at the Inputs and takes edges
/// in their order.
fn closing_edges(edges: &Edges<'_>, inputs: &[usize]) -> Vec<(usize, usize)> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; edges.nodes.len()];
    let mut closing = vec![];
    for start in inputs.iter().copied().chain(0..edges.nodes.len()) {
        if marks[start] != Mark::New {
            continue;
        }
        marks[start] = Mark::Open;
        // Each node of the path, with the number of its targets that were visited.
        let mut path = vec![(start, 0)];
        while let Some((node, visited)) = path.last_mut() {
            let (from, next) = (*node, edges.targets[*node].get(*visited).copied());
            *visited += 1;
            match next {
                None => {
                    marks[from] = Mark::Done;
                    path.pop();
                }
                Some(to) if marks[to] == Mark::Open => closing.push((from, to)),
                Some(to) if marks[to] == Mark::New => {
                    marks[to] = Mark::Open;
                    path.push((to, 0));
                }
                Some(_) => {}
            }
        }
    }
    closing
}

/// The strongly connected components in topological order (Tarjan).
fn components(targets: &[Vec<usize>]) -> Vec<Vec<usize>> {
    const NEW: usize = usize::MAX;
    let count = targets.len();
    let (mut index, mut low, mut on_stack) =
        (vec![NEW; count], vec![NEW; count], vec![false; count]);
    let (mut stack, mut found, mut next_index) = (vec![], vec![], 0);
    for start in 0..count {
        if index[start] != NEW {
            continue;
        }
        let mut path = vec![(start, 0)];
        while let Some(&mut (node, ref mut visited)) = path.last_mut() {
            if *visited == 0 {
                (index[node], low[node], on_stack[node]) = (next_index, next_index, true);
                next_index += 1;
                stack.push(node);
            }
            let next = targets[node].get(*visited).copied();
            *visited += 1;
            match next {
                Some(to) if index[to] == NEW => path.push((to, 0)),
                Some(to) if on_stack[to] => low[node] = low[node].min(index[to]),
                Some(_) => {}
                None => {
                    path.pop();
                    if let Some((parent, _)) = path.last() {
                        low[*parent] = low[*parent].min(low[node]);
                    }
                    if low[node] == index[node] {
                        let first = stack.iter().rposition(|k| *k == node).unwrap_or(0);
                        let mut component = stack.split_off(first);
                        for &k in &component {
                            on_stack[k] = false;
                        }
                        component.sort_unstable();
                        found.push(component);
                    }
                }
            }
        }
    }
    found.reverse();
    found
}

/// The nodes of cycles in the order within a step: each after those whose value of this step it reads.
fn within_step(
    edges: &Edges<'_>,
    component: &[usize],
    late: &BTreeSet<(usize, usize)>,
) -> Result<Vec<usize>, NirError> {
    let inside: BTreeSet<usize> = component.iter().copied().collect();
    let waits_for = |to: usize| {
        let sources = edges.sources[to].iter();
        sources
            .filter(|from| inside.contains(from) && !late.contains(&(**from, to)))
            .count()
    };
    let mut open: std::collections::BTreeMap<usize, usize> =
        component.iter().map(|&k| (k, waits_for(k))).collect();
    let mut ready: BTreeSet<usize> = component.iter().copied().filter(|k| open[k] == 0).collect();
    let mut order = vec![];
    while let Some(k) = ready.pop_first() {
        order.push(k);
        for &to in &edges.targets[k] {
            if late.contains(&(k, to)) {
                continue;
            }
            if let Some(left) = open.get_mut(&to) {
                *left -= 1;
                if *left == 0 {
                    ready.insert(to);
                }
            }
        }
    }
    match component.iter().find(|k| !order.contains(k)) {
        None => Ok(order),
        Some(&k) => Err(NirError::node(
            edges.nodes[k].0,
            "no node of a cycle through it has a state",
            "put a neuron or a Delay into the cycle, or remove an edge",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Graph, Lif, Linear};
    use spikelet_weights::Tensor;

    fn all(value: f64) -> Tensor {
        Tensor::from_f64(&[1], &[value]).expect("one element")
    }

    /// input → rec.lif ↔ rec.w, rec.lif → output
    fn recurrent() -> Graph {
        let mut graph = Graph::default();
        let weight = Tensor::from_f64(&[1, 1], &[0.5]).expect("one element");
        let lif = Lif {
            tau: all(0.01),
            r: all(1.0),
            v_leak: all(0.0),
            v_threshold: all(1.0),
            v_reset: None,
        };
        graph
            .insert("input", NodeKind::Input { shape: vec![1] })
            .insert("rec.lif", NodeKind::Lif(lif))
            .insert("rec.w", NodeKind::Linear(Linear { weight }))
            .insert("output", NodeKind::Output { shape: vec![1] })
            .connect(&["input", "rec.lif", "output"])
            .connect(&["rec.lif", "rec.w", "rec.lif"]);
        graph
    }

    #[test]
    fn a_cycle_is_a_loop_whose_late_edge_leaves_the_neuron_or_closes_the_cycle() {
        let graph = recurrent();
        let expanded = graph.expand().expect("a graph");
        let [input, output, lif, w] = [0, 1, 2, 3];
        for (feedback, order, late) in [
            (FeedbackFrom::Source, [w, lif], (lif, w)),
            (FeedbackFrom::Edge, [lif, w], (w, lif)),
        ] {
            let made = schedule(&expanded, feedback).expect("a schedule");
            let expected = [
                Stage::Node(input),
                Stage::Loop(order.to_vec()),
                Stage::Node(output),
            ];
            assert_eq!(made.stages, expected);
            let found: Vec<(usize, usize)> = (0..4)
                .flat_map(|to| made.sources[to].iter().map(move |from| (from, to)))
                .filter(|(from, _)| from.late)
                .map(|(from, to)| (from.node, to))
                .collect();
            assert_eq!(found, [late]);
        }
    }

    #[test]
    fn a_node_that_nothing_leads_to_is_an_error_that_names_it() {
        let mut graph = recurrent();
        graph.insert("alone", NodeKind::Output { shape: vec![1] });
        let expanded = graph.expand().expect("a graph");
        let error = schedule(&expanded, FeedbackFrom::Source)
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("node `alone`: no edge leads to it"),
            "{error}"
        );
    }
}
