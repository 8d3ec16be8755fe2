//! Lets images stay channels-last in memory between the operations that want them so.
//!
//! ```text
//! %2 = permute[0,1,3,4,2](%1)    to NHWC       %2 = permute[0,1,3,4,2](%1)
//! %3 = conv2d(%2, %w)                          %3 = conv2d(%2, %w)
//! %4 = permute[0,1,4,2,3](%3)    to NCHW       %5 = scan[lif](%3, …)            reads NHWC
//! %5 = scan[lif](%4, …)                  →     %7 = conv2d(%5, %w2)
//! %6 = permute[0,1,3,4,2](%5)    to NHWC
//! %7 = conv2d(%6, %w2)
//! ```
//!
//! Layers show tensors in the order that people know, [T, N, C, H, W], and turn them around for
//! what works on channels-last memory. Here a permutation is moved behind elementwise operations,
//! neuron scans, slices and joins until it meets its inverse. One that only moves axes of length 1
//! becomes a view. Allowed because what is moved treats every element alike. The permuted values
//! keep their numbers: whoever still reads one finds it.

use super::Report;
use crate::graph::{Graph, Node, ValueId};
use crate::op::{Concat, Map, Op, Permute, Reshape, Slice, inverse};
use std::collections::HashMap;
use std::sync::Arc;

/// Moves permutations towards the outputs and cancels them.
pub fn run(graph: &mut Graph) -> Report {
    let mut pass = Pass {
        moved: HashMap::new(),
        nodes: vec![],
        changes: 0,
    };
    for node in std::mem::take(&mut graph.nodes) {
        pass.visit(graph, node);
    }
    graph.nodes = pass.nodes;
    for k in 0..graph.nodes.len() {
        if let Op::Permute(op) = &graph.nodes[k].op
            && keeps_memory(graph.shape(graph.nodes[k].inputs[0]), &op.order)
        {
            let shape = graph.shape(graph.nodes[k].outputs[0]).to_vec();
            graph.nodes[k].op = Reshape { shape }.into();
        }
    }
    Report {
        pass: "layout",
        changes: pass.changes,
        summary: format!("{} permutations moved or cancelled", pass.changes),
    }
}

/// Whether the permutation leaves the elements where they are.
fn keeps_memory(shape: &[usize], order: &[usize]) -> bool {
    let long: Vec<usize> = order.iter().copied().filter(|&k| shape[k] != 1).collect();
    long.is_sorted()
}

struct Pass {
    /// What a value is a permutation of.
    moved: HashMap<ValueId, (ValueId, Vec<usize>)>,
    nodes: Vec<Node>,
    changes: usize,
}

impl Pass {
    fn visit(&mut self, graph: &mut Graph, mut node: Node) {
        for value in &mut node.inputs {
            if let Some((source, order)) = self.moved.get(value)
                && order.is_sorted()
            {
                *value = *source;
            }
        }
        match &node.op {
            Op::Permute(op) => {
                let order = op.order.clone();
                self.permute(graph, node, order);
            }
            Op::Scan(_) => self.scan(graph, node),
            Op::Map(_) => self.map(graph, node),
            Op::Slice(op) => {
                let op = *op;
                self.along(graph, node, |order| {
                    Slice {
                        axis: order[op.axis],
                        ..op
                    }
                    .into()
                });
            }
            Op::Concat(op) => {
                let axis = op.axis;
                self.along(graph, node, |order| Concat { axis: order[axis] }.into());
            }
            _ => self.nodes.push(node),
        }
    }

    fn permute(&mut self, graph: &Graph, mut node: Node, order: Vec<usize>) {
        let from = node.inputs[0];
        let (source, order) = match self.moved.get(&from) {
            Some((source, first)) => {
                self.changes += 1;
                (*source, order.iter().map(|&k| first[k]).collect())
            }
            None => (from, order),
        };
        node.inputs = vec![source];
        node.op = if order.is_sorted() {
            let shape = graph.shape(source).to_vec();
            Reshape { shape }.into()
        } else {
            Permute {
                order: order.clone(),
            }
            .into()
        };
        self.moved.insert(node.outputs[0], (source, order));
        self.nodes.push(node);
    }

    /// The order of the first operand of which `of` says that it counts, if it is a permutation.
    fn order(&self, node: &Node, of: impl Fn(ValueId) -> bool) -> Option<Vec<usize>> {
        let found = node.inputs.iter().filter(|v| of(**v));
        let mut moved = found.filter_map(|v| self.moved.get(v));
        moved.next().map(|(_, order)| order.clone())
    }

    /// `value`, which broadcasts to a permuted tensor, as it broadcasts to the tensor itself.
    fn turned(
        &mut self,
        graph: &mut Graph,
        value: ValueId,
        order: &[usize],
        layer: &Arc<str>,
    ) -> Option<ValueId> {
        if let Some((source, same)) = self.moved.get(&value)
            && same == order
        {
            return Some(*source);
        }
        let own = graph.shape(value).to_vec();
        if own.iter().all(|&n| n == 1) {
            return Some(value);
        }
        let mut shape = vec![1; order.len().checked_sub(own.len())?];
        shape.extend(&own);
        let order = inverse(order);
        let turned: Vec<usize> = order.iter().map(|&k| shape[k]).collect();
        if keeps_memory(&shape, &order) {
            // Leading axes of length 1 say nothing.
            let first = turned.iter().position(|&n| n != 1).unwrap_or(0);
            let shape = turned[first..].to_vec();
            return match shape == own {
                true => Some(value),
                false => self.push(graph, Reshape { shape }.into(), value, layer),
            };
        }
        let value = match shape == own {
            true => value,
            false => self.push(graph, Reshape { shape }.into(), value, layer)?,
        };
        self.push(graph, Permute { order }.into(), value, layer)
    }

    fn push(
        &mut self,
        graph: &mut Graph,
        op: Op,
        value: ValueId,
        layer: &Arc<str>,
    ) -> Option<ValueId> {
        let node = graph.make_node(op, &[value], layer, false).ok()?;
        let made = node.outputs[0];
        self.nodes.push(node);
        Some(made)
    }

    /// Replaces `node` by `op` over `inputs`; its results are permutations of what that makes.
    fn replace(
        &mut self,
        graph: &mut Graph,
        node: &Node,
        op: Op,
        inputs: &[ValueId],
        orders: impl Fn(usize) -> Vec<usize>,
    ) -> bool {
        let Ok(made) = graph.make_node(op, inputs, &node.layer, node.backward) else {
            return false;
        };
        let results = made.outputs.clone();
        // Types that a pass has changed stay what they are.
        for (new, old) in results.iter().zip(&node.outputs) {
            let dtype = graph.ty(*old).dtype;
            graph.set_dtype(*new, dtype);
        }
        self.nodes.push(made);
        for (k, (&new, &old)) in results.iter().zip(&node.outputs).enumerate() {
            let order = orders(k);
            self.moved.insert(old, (new, order.clone()));
            self.nodes.push(Node {
                op: Permute { order }.into(),
                inputs: vec![new],
                outputs: vec![old],
                layer: node.layer.clone(),
                backward: node.backward,
            });
        }
        self.changes += 1;
        true
    }

    fn scan(&mut self, graph: &mut Graph, node: Node) {
        let Op::Scan(op) = node.op.clone() else {
            return self.nodes.push(node);
        };
        let first = node.inputs[0];
        let order = self.order(&node, |v| v == first);
        let Some(order) = order.filter(|o| o[0] == 0 && op.pool.is_none()) else {
            return self.nodes.push(node);
        };
        let step: Vec<usize> = order[1..].iter().map(|k| k - 1).collect();
        let sequences = op.recurrence.inputs.len();
        let mut inputs = vec![];
        for (k, &value) in node.inputs.iter().enumerate() {
            let order = if k < sequences { &order } else { &step };
            match self.turned(graph, value, order, &node.layer) {
                Some(value) => inputs.push(value),
                None => return self.nodes.push(node),
            }
        }
        let (outputs, states) = (op.recurrence.outputs.len(), op.recurrence.states.len());
        let last = outputs..outputs + states;
        let orders = |k: usize| {
            if last.contains(&k) {
                step.clone()
            } else {
                order.clone()
            }
        };
        if !self.replace(graph, &node, op.into(), &inputs, orders) {
            self.nodes.push(node);
        }
    }

    fn map(&mut self, graph: &mut Graph, node: Node) {
        let Op::Map(op) = node.op.clone() else {
            return self.nodes.push(node);
        };
        let full = |graph: &Graph, v: ValueId| graph.shape(v) == op.shape;
        let Some(order) = self.order(&node, |v| full(graph, v)) else {
            return self.nodes.push(node);
        };
        let mut inputs = vec![];
        for &value in &node.inputs {
            match self.turned(graph, value, &order, &node.layer) {
                Some(value) => inputs.push(value),
                None => return self.nodes.push(node),
            }
        }
        let back = inverse(&order);
        let shape: Vec<usize> = back.iter().map(|&k| op.shape[k]).collect();
        let op = Map { shape, ..op };
        if !self.replace(graph, &node, op.into(), &inputs, |_| order.clone()) {
            self.nodes.push(node);
        }
    }

    /// An operation along an axis of operands that are all permuted alike.
    fn along(&mut self, graph: &mut Graph, node: Node, op: impl Fn(&[usize]) -> Op) {
        let Some(order) = self.order(&node, |_| true) else {
            return self.nodes.push(node);
        };
        let sources: Option<Vec<ValueId>> = node
            .inputs
            .iter()
            .map(|v| {
                let (source, same) = self.moved.get(v)?;
                (*same == order).then_some(*source)
            })
            .collect();
        let Some(sources) = sources else {
            return self.nodes.push(node);
        };
        if !self.replace(graph, &node, op(&order), &sources, |_| order.clone()) {
            self.nodes.push(node);
        }
    }
}
