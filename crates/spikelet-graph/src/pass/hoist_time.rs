//! Keeps what is constant over time virtual, and computes it once instead of T times.
//!
//! ```text
//! %2 = expand[T, N, 784](%1)               %4 = matmul[a·bᵀ](%1, %w)     once, not T times
//! %3 = matmul[a·bᵀ](%2, %w)         →      %3 = expand[T, N, 196](%4)
//! %5 = scan[lif](%3, …)                    %5 = scan[lif](%4, …)         reads [1, N, 196]
//! ```
//!
//! Allowed because the operations that are moved treat every time step alike, and because maps,
//! draws and scans broadcast what they read. The repetition itself becomes dead code unless a
//! reader needs it in memory.
//!
//! One result has other bits than without this pass: a sum over T equal steps becomes the step
//! times T, which is rounded once, where adding rounds T − 1 times.

use super::Report;
use crate::graph::{Graph, Node, ValueId};
use crate::op::{ConvPart, Expand, Map, MatMul, Op, Reduce, Reduction, Reshape};
use std::collections::HashMap;

/// Moves repetitions over time towards the outputs.
pub fn run(graph: &mut Graph) -> Report {
    let mut pass = Pass {
        sources: HashMap::new(),
        nodes: vec![],
        changes: 0,
    };
    for node in std::mem::take(&mut graph.nodes) {
        pass.visit(graph, node);
    }
    graph.nodes = pass.nodes;
    Report {
        pass: "constant over time",
        changes: pass.changes,
        summary: format!(
            "{} operations run once instead of at every step",
            pass.changes
        ),
    }
}

/// What a value repeats along axis 0, once the pass has run.
pub(crate) fn source(graph: &Graph, value: ValueId) -> Option<ValueId> {
    let maker = graph.nodes.iter().find(|n| n.outputs.contains(&value))?;
    repeats(graph, maker)
}

/// The one step that a node repeats along axis 0, if it does nothing else.
fn repeats(graph: &Graph, node: &Node) -> Option<ValueId> {
    let Op::Expand(op) = &node.op else {
        return None;
    };
    let (from, to) = (graph.shape(node.inputs[0]), &op.shape);
    let only_time = from.len() == to.len() && !to.is_empty() && from[1..] == to[1..];
    (only_time && from[0] == 1 && to[0] != 1).then(|| node.inputs[0])
}

/// Whether axis 0 of the first operand is an axis 0 of the result that the operation does not mix.
fn treats_steps_alike(graph: &Graph, node: &Node) -> bool {
    let rank = graph.shape(node.inputs[0]).len();
    match &node.op {
        Op::Conv(op) => op.part == ConvPart::Forward && rank > op.axes() + 2,
        Op::Pool(op) => rank > op.windows.len() + 2,
        Op::Permute(op) => op.order.first() == Some(&0),
        _ => false,
    }
}

struct Pass {
    /// What a value repeats along axis 0.
    sources: HashMap<ValueId, ValueId>,
    nodes: Vec<Node>,
    changes: usize,
}

impl Pass {
    fn visit(&mut self, graph: &mut Graph, mut node: Node) {
        let source = |pass: &Self, k: usize, node: &Node| {
            node.inputs
                .get(k)
                .and_then(|v| pass.sources.get(v))
                .copied()
        };
        match &node.op {
            Op::Expand(_) => {
                if let Some(x) = repeats(graph, &node) {
                    self.sources.insert(node.outputs[0], x);
                }
            }
            Op::MatMul(op) if !op.transpose_a && graph.shape(node.inputs[0]).len() > 1 => {
                if let Some(x) = source(self, 0, &node) {
                    let op: MatMul = *op;
                    let w = node.inputs[1];
                    return self.replace(graph, node, op.into(), &[x, w]);
                }
            }
            Op::Reshape(op) => {
                if let Some(x) = source(self, 0, &node) {
                    let time = graph.shape(node.inputs[0])[0];
                    if op.shape.first() == Some(&time) {
                        let mut shape = op.shape.clone();
                        shape[0] = 1;
                        return self.replace(graph, node, Reshape { shape }.into(), &[x]);
                    }
                }
            }
            Op::Conv(_) | Op::Pool(_) | Op::Permute(_) if treats_steps_alike(graph, &node) => {
                if let Some(x) = source(self, 0, &node) {
                    let mut inputs = node.inputs.clone();
                    inputs[0] = x;
                    let op = node.op.clone();
                    return self.replace(graph, node, op, &inputs);
                }
            }
            // The mean of equal steps is that of one.
            Op::MeanVar(_) => self.read_sources(&mut node, 0..1),
            Op::Slice(op) if op.axis == 0 => {
                if let Some(x) = source(self, 0, &node) {
                    let shape = graph.shape(node.outputs[0]).to_vec();
                    if shape == graph.shape(x) {
                        node.op = Reshape { shape }.into();
                    } else {
                        node.op = Expand { shape }.into();
                        self.sources.insert(node.outputs[0], x);
                    }
                    node.inputs = vec![x];
                    self.changes += 1;
                }
            }
            Op::Reduce(op) if op.reduction == Reduction::Sum && op.axes.first() == Some(&0) => {
                if let Some(x) = source(self, 0, &node) {
                    let time = graph.shape(node.inputs[0])[0];
                    let op = op.clone();
                    return self.scale_sum(graph, node, op, x, time);
                }
            }
            Op::Map(_) => return self.map(graph, node),
            Op::Scan(op) => {
                let sequences = op.recurrence.inputs.len();
                self.read_sources(&mut node, 0..sequences);
            }
            Op::Draw(_) if node.inputs.len() > 1 => self.read_sources(&mut node, 1..2),
            _ => {}
        }
        self.nodes.push(node);
    }

    fn read_sources(&mut self, node: &mut Node, operands: std::ops::Range<usize>) {
        for value in &mut node.inputs[operands] {
            if let Some(source) = self.sources.get(value) {
                *value = *source;
                self.changes += 1;
            }
        }
    }

    /// A map reads the sources; if all that varies over time is virtual, so is the result.
    fn map(&mut self, graph: &mut Graph, mut node: Node) {
        let Op::Map(op) = &node.op else {
            return self.nodes.push(node);
        };
        let rank = op.shape.len();
        let virtual_time = node
            .inputs
            .iter()
            .any(|v| self.sources.contains_key(v) && graph.shape(*v).len() == rank);
        let real_time = node.inputs.iter().any(|v| {
            let shape = graph.shape(*v);
            shape.len() == rank && shape.first() != Some(&1) && !self.sources.contains_key(v)
        });
        let count = node.inputs.len();
        if !virtual_time || real_time {
            self.read_sources(&mut node, 0..count);
            return self.nodes.push(node);
        }
        let mut shape = op.shape.clone();
        shape[0] = 1;
        let op = Map {
            shape,
            ..op.clone()
        };
        let inputs: Vec<ValueId> = node
            .inputs
            .iter()
            .map(|v| self.sources.get(v).copied().unwrap_or(*v))
            .collect();
        self.replace(graph, node, op.into(), &inputs);
    }

    /// Runs `op` on one time step, and makes the node's results repetitions of its results.
    fn replace(&mut self, graph: &mut Graph, node: Node, op: Op, inputs: &[ValueId]) {
        let Ok(once) = graph.make_node(op, inputs, &node.layer, node.backward) else {
            return self.nodes.push(node);
        };
        let made = once.outputs.clone();
        self.nodes.push(once);
        for (&from, &to) in made.iter().zip(&node.outputs) {
            let shape = graph.shape(to).to_vec();
            self.sources.insert(to, from);
            self.nodes.push(Node {
                op: Expand { shape }.into(),
                inputs: vec![from],
                outputs: vec![to],
                layer: node.layer.clone(),
                backward: node.backward,
            });
        }
        self.changes += 1;
    }

    /// A sum over time of one repeated step is that step times T: nearer to the sum, but not the bits
    /// that adding T times gives. It depends on the graph alone, so all devices have the same.
    fn scale_sum(&mut self, graph: &mut Graph, node: Node, op: Reduce, x: ValueId, time: usize) {
        let Ok(once) = graph.make_node(op.into(), &[x], &node.layer, node.backward) else {
            return self.nodes.push(node);
        };
        let sum = once.outputs[0];
        self.nodes.push(once);
        let shape = graph.shape(sum).to_vec();
        let op = Map::new(vec![Map::operand(0) * time as f64], shape);
        self.nodes.push(Node {
            op: op.into(),
            inputs: vec![sum],
            ..node
        });
        self.changes += 1;
    }
}
