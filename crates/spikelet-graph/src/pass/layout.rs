//! Keeps images channels-last in memory between the operations that need them so.
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
//! Layers present tensors in the usual order, [T, N, C, H, W], and permute them for operations
//! that work on channels-last memory. Here a permutation is moved behind elementwise operations,
//! neuron scans and their gradients, slices and concatenations until it meets its inverse. One that only moves axes of
//! length 1 becomes a view. Allowed because what it moves over treats every element alike. The
//! permuted values keep their ids, for other readers.

use super::Report;
use crate::graph::{Graph, Node, ValueId};
use crate::op::{
    Expand, Fill, Map, Op, OpKind, Operation, Permute, Port, Ports, Reshape, Scan, ScanGrad,
    inverse,
};
use crate::rewrite::{NodeId, Rewriter};
use crate::types::TensorType;
use std::collections::HashMap;

/// Moves permutations towards the outputs and cancels them.
pub fn run(graph: &mut Graph) -> Report {
    run_over(graph, false)
}

/// As [`run`], also over views of one step `[1, …]` as `[…]` and back.
pub(crate) fn run_over_steps(graph: &mut Graph) -> Report {
    run_over(graph, true)
}

fn run_over(graph: &mut Graph, steps: bool) -> Report {
    let mut permuted = Permuted {
        moved: HashMap::new(),
        steps,
        changes: 0,
    };
    let mut rewriter = Rewriter::new(graph);
    rewriter.apply(|graph, k| permuted.visit(graph, k));
    rewriter.apply(|graph, k| {
        let op = graph.op::<Permute>(k)?;
        let node = graph.node(k);
        let from = node.inputs[0];
        if keeps_memory(graph.shape(from), &op.order) {
            graph.set_view(k, from);
        }
        Some(())
    });
    Report {
        pass: "layout",
        changes: permuted.changes,
        summary: format!("{} permutations moved or cancelled", permuted.changes),
    }
}

/// Whether the permutation leaves the elements where they are.
fn keeps_memory(shape: &[usize], order: &[usize]) -> bool {
    let long: Vec<usize> = order.iter().copied().filter(|&k| shape[k] != 1).collect();
    long.is_sorted()
}

/// The operation that gives a value another shape, if all its elements are equal.
fn repeated(graph: &Rewriter<'_>, value: ValueId, shape: &[usize]) -> Option<Op> {
    let node = graph.node(graph.producer(value)?);
    let shape = shape.to_vec();
    if let Some(fill) = Fill::of(&node.op) {
        let ty = TensorType::new(fill.ty.dtype, shape);
        return Some(Fill { ty, ..*fill }.into());
    }
    let one = Expand::of(&node.op).is_some() && graph.ty(node.inputs[0]).len() == 1;
    one.then(|| Expand { shape }.into())
}

/// The values that are permutations of others.
struct Permuted {
    /// By value, what it is a permutation of, and the order of the axes.
    moved: HashMap<ValueId, (ValueId, Vec<usize>)>,
    /// Whether permutations move over views of steps.
    steps: bool,
    changes: usize,
}

impl Permuted {
    /// Rewrites a node; `None` where it stays as it is.
    fn visit(&mut self, graph: &mut Rewriter<'_>, k: NodeId) -> Option<()> {
        match &graph.node(k).op {
            Op::Permute(op) => {
                let order = op.order.clone();
                self.permute(graph, k, order)
            }
            Op::Scan(op) => {
                let op = op.clone();
                self.scan(graph, k, op)
            }
            Op::ScanGrad(op) => {
                let op = op.clone();
                self.scan_grad(graph, k, op)
            }
            Op::Reshape(op) if self.steps => {
                let shape = op.shape.clone();
                self.step(graph, k, &shape)
            }
            _ => self.alike(graph, k),
        }
    }

    fn permute(&mut self, graph: &mut Rewriter<'_>, k: NodeId, order: Vec<usize>) -> Option<()> {
        let from = graph.node(k).inputs[0];
        let (source, order) = match self.moved.get(&from) {
            Some((source, first)) => {
                self.changes += 1;
                (*source, order.iter().map(|&k| first[k]).collect())
            }
            None => (from, order),
        };
        let to = graph.shape(graph.node(k).outputs[0]).to_vec();
        if self.steps
            && let Some(op) = repeated(graph, source, &to)
        {
            let inputs = graph.node(graph.producer(source)?).inputs.clone();
            let node = graph.node(k).clone();
            graph.set(k, Node { op, inputs, ..node });
            return Some(());
        }
        if order.is_sorted() {
            graph.set_view(k, source);
            return Some(());
        }
        graph.set_input(k, 0, source);
        let permuted = graph.node(k).outputs[0];
        self.moved.insert(permuted, (source, order.clone()));
        graph.set_op(k, Permute { order });
        Some(())
    }

    /// The order of the first permuted operand of those that `counts` holds for.
    fn order(&self, node: &Node, counts: impl Fn(ValueId) -> bool) -> Option<Vec<usize>> {
        let found = node.inputs.iter().filter(|v| counts(**v));
        let mut moved = found.filter_map(|v| self.moved.get(v));
        moved.next().map(|(_, order)| order.clone())
    }

    /// `value`, which broadcasts to a permuted tensor, as it broadcasts to the tensor itself. New
    /// nodes are inserted before node `k`.
    fn permuted_back(
        &mut self,
        graph: &mut Rewriter<'_>,
        k: NodeId,
        value: ValueId,
        order: &[usize],
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
        let (layer, backward) = (graph.node(k).layer.clone(), graph.node(k).backward);
        let insert = |graph: &mut Rewriter<'_>, op: Op, inputs: &[ValueId]| -> Option<ValueId> {
            let node = graph.make(op, inputs, &layer, backward).ok()?;
            let made = node.outputs[0];
            graph.insert_before(k, node);
            Some(made)
        };
        let mut shape = vec![1; order.len().checked_sub(own.len())?];
        shape.extend(&own);
        let order = inverse(order);
        let permuted: Vec<usize> = order.iter().map(|&k| shape[k]).collect();
        if keeps_memory(&shape, &order) {
            // Leading axes of length 1 do not change how a shape broadcasts.
            let first = permuted.iter().position(|&n| n != 1).unwrap_or(0);
            let shape = permuted[first..].to_vec();
            return graph.reshaped(k, value, shape);
        }
        if let Some(op) = repeated(graph, value, &permuted) {
            let inputs = graph.node(graph.producer(value)?).inputs.clone();
            let made = insert(graph, op, &inputs)?;
            if shape == own {
                self.moved.insert(value, (made, inverse(&order)));
            }
            return Some(made);
        }
        let value = graph.reshaped(k, value, shape)?;
        insert(graph, Permute { order }.into(), &[value])
    }

    /// Replaces node `k` by `op` over `inputs`; its results are permutations of those of `op`.
    fn replace(
        &mut self,
        graph: &mut Rewriter<'_>,
        k: NodeId,
        op: Op,
        inputs: &[ValueId],
        orders: impl Fn(usize) -> Vec<usize>,
    ) -> Option<()> {
        let node = graph.node(k).clone();
        let made = graph.make(op, inputs, &node.layer, node.backward).ok()?;
        let results = made.outputs.clone();
        // Types that a pass has changed stay what they are.
        for (new, old) in results.iter().zip(&node.outputs) {
            let dtype = graph.ty(*old).dtype;
            graph.set_dtype(*new, dtype);
        }
        graph.insert_before(k, made);
        for (result, (&new, &old)) in results.iter().zip(&node.outputs).enumerate() {
            let order = orders(result);
            self.moved.insert(old, (new, order.clone()));
            let permutation = Node {
                op: Permute { order }.into(),
                inputs: vec![new],
                outputs: vec![old],
                ..node.clone()
            };
            graph.insert_before(k, permutation);
        }
        graph.remove(k);
        self.changes += 1;
        Some(())
    }

    fn scan(&mut self, graph: &mut Rewriter<'_>, k: NodeId, op: Scan) -> Option<()> {
        let node = graph.node(k).clone();
        let first = node.inputs[op.input(0)];
        let order = self.order(&node, |v| v == first);
        let plain = op.pool.is_none() && op.feedback.is_none();
        let order = order.filter(|o| o[0] == 0 && plain)?;
        self.permute_steps(graph, k, &op, &order, op.clone().into())
    }

    /// Permutes the axes of the time steps of a scan or of its backward pass.
    fn permute_steps(
        &mut self,
        graph: &mut Rewriter<'_>,
        k: NodeId,
        ports: &dyn Ports,
        order: &[usize],
        op: Op,
    ) -> Option<()> {
        let step: Vec<usize> = order[1..].iter().map(|k| k - 1).collect();
        let of = |port: &Port| match port {
            Port::Checkpoint(_) => order,
            port if port.is_sequence() => order,
            _ => &step[..],
        };
        let inputs = graph.node(k).inputs.clone();
        let inputs = ports.operands().into_iter().zip(inputs);
        let inputs: Option<Vec<ValueId>> = inputs
            .map(|(port, value)| self.permuted_back(graph, k, value, of(&port)))
            .collect();
        let results = ports.results();
        self.replace(graph, k, op, &inputs?, |result| {
            of(&results[result]).to_vec()
        })
    }

    /// The gradient of a scan without parameters, whose gradients would keep the order of the axes.
    fn scan_grad(&mut self, graph: &mut Rewriter<'_>, k: NodeId, op: ScanGrad) -> Option<()> {
        let node = graph.node(k).clone();
        let first = node.inputs[op.input(0)];
        let scan = &op.of;
        let plain = scan.pool.is_none()
            && scan.checkpoint.is_none()
            && scan.feedback.is_none()
            && scan.recurrence.params.is_empty();
        let order = self.order(&node, |v| v == first);
        let order = order.filter(|o| o[0] == 0 && plain)?;
        self.permute_steps(graph, k, &op, &order, op.clone().into())
    }

    /// An operation on operands that are all permuted alike; one by elements also broadcasts others.
    fn alike(&mut self, graph: &mut Rewriter<'_>, k: NodeId) -> Option<()> {
        let node = graph.node(k).clone();
        let broadcasts = Map::of(&node.op).is_some();
        let whole = graph.shape(node.outputs[0]);
        let order = self.order(&node, |v| !broadcasts || graph.shape(v) == whole)?;
        let op = node.op.permuted(&order)?;
        let mut inputs = vec![];
        for &value in &node.inputs {
            let alike = self.moved.get(&value).is_some_and(|(_, own)| *own == order);
            let fits = alike || broadcasts;
            inputs.push(fits.then(|| self.permuted_back(graph, k, value, &order))??);
        }
        self.replace(graph, k, op, &inputs, |_| order.clone())
    }

    /// A view of a step `[1, …]` as `[…]`, or back.
    fn step(&mut self, graph: &mut Rewriter<'_>, k: NodeId, shape: &[usize]) -> Option<()> {
        let from = graph.node(k).inputs[0];
        let (source, order) = self.moved.get(&from).cloned()?;
        let own = graph.shape(from);
        let sources = graph.shape(source);
        let (shape, order) = if own.first() == Some(&1) && own[1..] == *shape && order[0] == 0 {
            let order = order[1..].iter().map(|k| k - 1).collect();
            (sources[1..].to_vec(), order)
        } else if shape.first() == Some(&1) && shape[1..] == *own {
            let order = order.iter().map(|k| k + 1);
            let order: Vec<usize> = std::iter::once(0).chain(order).collect();
            ([&[1][..], sources].concat(), order)
        } else {
            return None;
        };
        self.replace(graph, k, Reshape { shape }.into(), &[source], |_| {
            order.clone()
        })
    }
}
