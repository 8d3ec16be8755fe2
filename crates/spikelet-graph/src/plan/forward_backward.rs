//! A graph partitioned into a forward and a backward plan.
//!
//! A stage of a pipeline runs forward for one micro-batch while the backward pass of another is
//! still to come. The two passes are separate plans; the values that the backward plan reads of the
//! forward plan are in buffers between them, one set for each micro-batch in flight.

use super::Plan;
use crate::error::{Error, Result};
use crate::graph::{Graph, Input, InputKind, Node, Output, ValueId};
use crate::op::Operation;
use crate::pass::{self, Choices};
use crate::target::Target;
use std::collections::BTreeSet;

/// Two plans that together compute the outputs of one graph.
#[derive(Clone, Debug)]
pub struct ForwardBackwardPlans {
    /// Computes the outputs that are selected.
    pub forward: Plan,
    /// Computes all other outputs.
    pub backward: Plan,
    /// The values saved for the backward pass: outputs of `forward` that are inputs of `backward`,
    /// under the same names, in as few bytes as a single plan would save them in.
    pub saved: Vec<String>,
}

impl Plan {
    /// Plans the outputs for which `is_forward` holds, with the inputs that they update, separately
    /// from all others. Inputs that both plans read have the same name in both.
    ///
    /// # Errors
    /// When the backward plan reads an input that the forward plan overwrites.
    pub fn forward_backward(
        mut graph: Graph,
        target: &dyn Target,
        is_forward: &dyn Fn(&Output) -> bool,
    ) -> Result<ForwardBackwardPlans> {
        let reports = pass::run_all(&mut graph, target);
        let cut = Cut::of(&graph, is_forward);
        cut.check(&graph)?;
        let (early, late, saved) = cut.graphs(&graph);
        Ok(ForwardBackwardPlans {
            forward: Plan::placed(early, target, Choices::default(), reports.clone()),
            backward: Plan::placed(late, target, Choices::default(), reports),
            saved,
        })
    }
}

/// Which nodes and outputs belong to the forward plan.
struct Cut {
    nodes: Vec<bool>,
    outputs: Vec<bool>,
    producers: Vec<Option<usize>>,
}

impl Cut {
    fn of(graph: &Graph, is_forward: &dyn Fn(&Output) -> bool) -> Self {
        let producers = graph.producers();
        let outputs: Vec<bool> = graph.outputs.iter().map(is_forward).collect();
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

    fn is_forward(&self, value: ValueId) -> bool {
        self.producers[value.index()].is_some_and(|k| self.nodes[k])
    }

    /// The values that the backward plan reads and the forward plan computes. Views are in both
    /// plans: the second set holds their nodes.
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

    /// The backward plan runs after the forward plan has overwritten the inputs that it updates.
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
                        "the forward plan overwrites `{}`, which the backward plan reads; give the new value a separate output",
                        output.name
                    ),
                });
            }
        }
        Ok(())
    }

    fn graphs(&self, graph: &Graph) -> (Graph, Graph, Vec<String>) {
        let (crossing, views) = self.crossing(graph);
        let mut early = subgraph(graph, |k| self.nodes[k], |k| self.outputs[k]);
        let mut late = subgraph(
            graph,
            |k| !self.nodes[k] || views.contains(&k),
            |k| !self.outputs[k],
        );
        let mut saved = vec![];
        for value in crossing {
            let known = early.outputs.iter().find(|o| o.value == value);
            let name = match known {
                Some(output) if output.updates.is_none() => output.name.clone(),
                _ => {
                    let name = format!("saved {}", saved.len());
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
            saved.push(name);
        }
        debug_assert!(
            early
                .outputs
                .iter()
                .all(|o| self.is_forward(o.value) || o.updates.is_none()),
            "the forward plan computes its own outputs"
        );
        (early, late, saved)
    }
}

/// The selected nodes and outputs, with the inputs that they read or update.
fn subgraph(
    graph: &Graph,
    nodes: impl Fn(usize) -> bool,
    outputs: impl Fn(usize) -> bool,
) -> Graph {
    let mut subgraph = graph.clone();
    let chosen = |(k, node): (usize, &Node)| nodes(k).then(|| node.clone());
    subgraph.nodes = graph.nodes.iter().enumerate().filter_map(chosen).collect();
    let chosen = |(k, output): (usize, &Output)| outputs(k).then(|| output.clone());
    subgraph.outputs = graph
        .outputs
        .iter()
        .enumerate()
        .filter_map(chosen)
        .collect();
    let reads = subgraph.nodes.iter().flat_map(|n| n.inputs.iter().copied());
    let ends = subgraph.outputs.iter().map(|o| o.value);
    let updates = subgraph.outputs.iter().filter_map(|o| o.updates);
    let needed: BTreeSet<ValueId> = reads.chain(ends).chain(updates).collect();
    subgraph
        .inputs
        .retain(|input| needed.contains(&input.value));
    subgraph
}
