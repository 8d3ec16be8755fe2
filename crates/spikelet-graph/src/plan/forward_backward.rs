//! A graph cut in two: what some outputs need, and the rest.
//!
//! A stage of a pipeline runs forward for one part of a batch while its backward pass for another
//! part is still to come. So the two are plans of their own, and what the second reads of the first
//! lies in buffers between them, a set for each part that is under way.

use super::Plan;
use crate::backend::Target;
use crate::error::{Error, Result};
use crate::graph::{Graph, Input, InputKind, Node, Output, ValueId};
use crate::op::Operation;
use crate::pass;
use std::collections::BTreeSet;

/// Two plans that make what one would.
#[derive(Clone, Debug)]
pub struct ForwardBackwardPlans {
    /// What makes the outputs that are wanted first.
    pub first: Plan,
    /// The rest.
    pub second: Plan,
    /// Outputs of the first that are inputs of the second, under the same names: what the first
    /// keeps for the second, in as few bytes as a single plan would keep it in.
    pub kept: Vec<String>,
}

impl Plan {
    /// Plans the outputs for which `first` holds, and those inputs that they update, apart from
    /// the others. Parameters and other inputs that both read keep their names in both.
    ///
    /// # Errors
    /// When the second half reads an input that the first overwrites.
    pub fn halves(
        mut graph: Graph,
        target: &dyn Target,
        first: &dyn Fn(&Output) -> bool,
    ) -> Result<ForwardBackwardPlans> {
        let reports = pass::run_all(&mut graph, target);
        let cut = Cut::of(&graph, first);
        cut.check(&graph)?;
        let (early, late, kept) = cut.graphs(&graph);
        Ok(ForwardBackwardPlans {
            first: Plan::of(early, target, reports.clone()),
            second: Plan::of(late, target, reports),
            kept,
        })
    }
}

/// Which nodes and outputs belong to the first half.
struct Cut {
    nodes: Vec<bool>,
    outputs: Vec<bool>,
    producers: Vec<Option<usize>>,
}

impl Cut {
    fn of(graph: &Graph, first: &dyn Fn(&Output) -> bool) -> Self {
        let producers = graph.producers();
        let outputs: Vec<bool> = graph.outputs.iter().map(first).collect();
        let mut nodes = vec![false; graph.nodes.len()];
        let wanted = graph.outputs.iter().zip(&outputs).filter(|(_, w)| **w);
        for maker in wanted.filter_map(|(o, _)| producers[o.value.index()]) {
            nodes[maker] = true;
        }
        // Nodes are in an order in which they can run.
        for k in (0..graph.nodes.len()).rev() {
            if nodes[k] {
                for value in &graph.nodes[k].inputs {
                    if let Some(maker) = producers[value.index()] {
                        nodes[maker] = true;
                    }
                }
            }
        }
        Self {
            nodes,
            outputs,
            producers,
        }
    }

    fn is_first(&self, value: ValueId) -> bool {
        self.producers[value.index()].is_some_and(|k| self.nodes[k])
    }

    /// What the second half reads that the first makes, through views, which both have.
    fn crossing(&self, graph: &Graph) -> (BTreeSet<ValueId>, BTreeSet<usize>) {
        let (mut values, mut views) = (BTreeSet::new(), BTreeSet::new());
        let late = graph.nodes.iter().zip(&self.nodes).filter(|(_, f)| !**f);
        let mut open: Vec<ValueId> = late.flat_map(|(node, _)| node.inputs.clone()).collect();
        let outputs = graph.outputs.iter().zip(&self.outputs);
        open.extend(outputs.filter(|(_, f)| !**f).map(|(o, _)| o.value));
        while let Some(value) = open.pop() {
            let Some(maker) = self.producers[value.index()].filter(|k| self.nodes[*k]) else {
                continue;
            };
            let node = &graph.nodes[maker];
            if node.op.is_view() {
                views.insert(maker);
                open.extend(&node.inputs);
            } else {
                values.insert(value);
            }
        }
        (values, views)
    }

    /// The second half runs later, when the first has overwritten what it updates.
    fn check(&self, graph: &Graph) -> Result<()> {
        let (_, views) = self.crossing(graph);
        let late = |k: &usize| !self.nodes[*k] || views.contains(k);
        let read: BTreeSet<ValueId> = (0..graph.nodes.len())
            .filter(late)
            .flat_map(|k| graph.nodes[k].inputs.clone())
            .collect();
        let updates = graph.outputs.iter().zip(&self.outputs);
        for (output, _) in updates.filter(|(_, first)| **first) {
            if output.updates.is_some_and(|input| read.contains(&input)) {
                return Err(Error::Plan {
                    problem: format!(
                        "the first half overwrites `{}`, which the second half reads; give the new value an output of its own",
                        output.name
                    ),
                });
            }
        }
        Ok(())
    }

    fn graphs(&self, graph: &Graph) -> (Graph, Graph, Vec<String>) {
        let (crossing, views) = self.crossing(graph);
        let mut early = part(graph, |k| self.nodes[k], |k| self.outputs[k]);
        let mut late = part(
            graph,
            |k| !self.nodes[k] || views.contains(&k),
            |k| !self.outputs[k],
        );
        let mut kept = vec![];
        for value in crossing {
            let known = early.outputs.iter().find(|o| o.value == value);
            let name = match known {
                Some(output) if output.updates.is_none() => output.name.clone(),
                _ => {
                    let name = format!("kept {}", kept.len());
                    early.outputs.push(Output {
                        name: name.clone(),
                        value,
                        updates: None,
                    });
                    name
                }
            };
            late.inputs.push(Input {
                name: name.clone(),
                kind: InputKind::Data,
                value,
            });
            kept.push(name);
        }
        debug_assert!(
            early
                .outputs
                .iter()
                .all(|o| self.is_first(o.value) || o.updates.is_none()),
            "the first half makes its own outputs"
        );
        (early, late, kept)
    }
}

/// The nodes and outputs that are asked for, with the inputs that they read or update.
fn part(graph: &Graph, nodes: impl Fn(usize) -> bool, outputs: impl Fn(usize) -> bool) -> Graph {
    let mut part = graph.clone();
    let chosen = |(k, node): (usize, &Node)| nodes(k).then(|| node.clone());
    part.nodes = graph.nodes.iter().enumerate().filter_map(chosen).collect();
    let chosen = |(k, output): (usize, &Output)| outputs(k).then(|| output.clone());
    part.outputs = graph
        .outputs
        .iter()
        .enumerate()
        .filter_map(chosen)
        .collect();
    let reads = part.nodes.iter().flat_map(|n| n.inputs.iter().copied());
    let ends = part.outputs.iter().map(|o| o.value);
    let updates = part.outputs.iter().filter_map(|o| o.updates);
    let needed: BTreeSet<ValueId> = reads.chain(ends).chain(updates).collect();
    part.inputs.retain(|input| needed.contains(&input.value));
    part
}
