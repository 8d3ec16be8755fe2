//! Moves out of the bodies of loops what does not depend on carried values.
//!
//! ```text
//! %4 = loop(%h, %x, %w, %u)                 %5 = matmul(%x, %w)          one product over all steps
//!     matmul(x[t], w)                       %4 = loop(%h, %5, %u)
//!     matmul(h[t−1], u)              →          matmul(h[t−1], u)
//!     map(…)                                    map(…)
//! ```
//!
//! Products and convolutions of sequences with invariants, and the operations that they need, run once over all
//! time steps before the loop; elementwise operations on invariants alone run once. Allowed because axis 0 of these
//! operations is parallel ([`Semantics`](crate::semantics::Semantics)); a library may sum a product of more rows in another order. A loop keeps
//! its operations if [`Loop::hoist`] is not set.

use super::Report;
use crate::graph::{Graph, Input, InputKind, Node, ValueId};
use crate::op::{Loop, LoopBody, Op, Operation};
use crate::rewrite::{NodeId, Rewriter};
use crate::semantics::Class;
use crate::time_invariance::steps_axis;
use crate::types::TensorType;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Hoists from all loops of a graph.
pub fn run(graph: &mut Graph) -> Report {
    let mut changes = 0;
    Rewriter::new(graph).apply(|graph, k| {
        changes += hoist(graph, k)?;
        Some(())
    });
    Report {
        pass: "hoisting from loops",
        changes,
        summary: format!("{changes} operations moved out of loops"),
    }
}

/// What a value of a body depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Depends {
    /// Constants alone.
    Nothing,
    Invariants,
    Sequences,
    Carried,
}

/// Moves operations of the loop `k` before it, and returns how many.
fn hoist(graph: &mut Rewriter<'_>, k: NodeId) -> Option<usize> {
    let op = graph
        .op::<Loop>(k)
        .filter(|op| op.hoist && op.length > 0)?
        .clone();
    let node = graph.node(k).clone();
    let chosen = chosen(&op.body);
    if chosen.is_empty() {
        return None;
    }
    let moved = Moved::of(graph, k, &op, &chosen);
    if moved.nodes.is_empty() {
        return None;
    }
    let node = moved.without(&op, node)?;
    graph.set(k, node);
    Some(moved.nodes.len())
}

/// Operations of a body that were moved before its loop.
struct Moved {
    /// The nodes that left the body, by index.
    nodes: HashSet<usize>,
    /// By value of the body, the value outside: of all steps, or of an invariant.
    outside: HashMap<ValueId, ValueId>,
    /// The values of the body that are pieces of those outside.
    sequences: HashSet<ValueId>,
}

impl Moved {
    /// Computes the chosen nodes before the loop `k`.
    fn of(graph: &mut Rewriter<'_>, k: NodeId, op: &Loop, chosen: &HashSet<usize>) -> Self {
        let body = op.body.graph();
        let operands = body.inputs.iter().zip(&graph.node(k).inputs);
        let operands = operands.skip(op.body.carried_count());
        let mut moved = Self {
            nodes: HashSet::new(),
            outside: operands.map(|(input, of)| (input.value, *of)).collect(),
            sequences: op.body.sequence_inputs().collect(),
        };
        let nodes = body.nodes.iter().enumerate();
        for (at, inner) in nodes.filter(|(at, _)| chosen.contains(at)) {
            // Constants stay in the body as well: kernels have them as literals.
            if moved.node(graph, (k, op), inner).is_some() && inner.op.class() != Class::Constant {
                moved.nodes.insert(at);
            }
        }
        moved
    }

    /// Computes a node of the body before the loop.
    fn node(
        &mut self,
        graph: &mut Rewriter<'_>,
        (k, op): (NodeId, &Loop),
        inner: &Node,
    ) -> Option<()> {
        let body = op.body.graph();
        let is_sequence = inner.inputs.iter().any(|v| self.sequences.contains(v));
        let operands = inner.inputs.iter().map(|v| self.outside.get(v).copied());
        let operands: Vec<ValueId> = operands.collect::<Option<_>>()?;
        let length = if is_sequence { op.length } else { 1 };
        let whole = over_steps(body, inner, length);
        let made = graph.make(whole, &operands, &inner.layer, inner.backward);
        let made = made.ok()?;
        let mut pairs = inner.outputs.iter().zip(&made.outputs);
        let fits = pairs.all(|(inner, made)| {
            Some(graph.ty(*made)) == stacked(body.ty(*inner), length).as_ref()
        });
        if !fits {
            return None;
        }
        let results = inner.outputs.iter().copied();
        self.outside
            .extend(results.zip(made.outputs.iter().copied()));
        if is_sequence {
            self.sequences.extend(&inner.outputs);
        }
        graph.insert_before(k, made);
        Some(())
    }

    /// The loop without the nodes that left its body. Results that it still reads are operands.
    fn without(&self, op: &Loop, node: Node) -> Option<Node> {
        let body = op.body.graph();
        let mut inside = body.clone();
        inside.forget_uses();
        let mut at = 0..;
        inside
            .nodes
            .retain(|_| at.next().is_some_and(|at| !self.nodes.contains(&at)));
        let produced = body.nodes.iter().enumerate();
        let produced = produced.filter(|(at, _)| self.nodes.contains(at));
        let reads: HashSet<ValueId> = (inside.nodes.iter().flat_map(|n| n.inputs.iter().copied()))
            .chain(inside.outputs.iter().map(|o| o.value))
            .collect();
        let mut operands = node.inputs.clone();
        let mut last_sequence = op.sequence_operands().end;
        for value in produced.flat_map(|(_, n)| &n.outputs).copied() {
            if !reads.contains(&value) {
                continue;
            }
            let is_sequence = self.sequences.contains(&value);
            let (place, kind) = match is_sequence {
                true => (last_sequence, InputKind::Data),
                false => (inside.inputs.len(), InputKind::Parameter),
            };
            last_sequence += usize::from(is_sequence);
            let name = format!("hoisted {}", value.index());
            inside.inputs.insert(place, Input { name, kind, value });
            operands.insert(place, self.outside[&value]);
        }
        let count = last_sequence - op.body.carried_count();
        let made = LoopBody::new(inside, op.body.carried_count(), count).ok()?;
        Some(Node {
            op: Loop {
                body: Arc::new(made),
                ..op.clone()
            }
            .into(),
            inputs: operands,
            ..node
        })
    }
}

/// The nodes of a body that leave it, by index.
fn chosen(body: &LoopBody) -> HashSet<usize> {
    let graph = body.graph();
    let mut depends = vec![Depends::Nothing; graph.values()];
    let inputs = [
        (Depends::Carried, body.carried_inputs().collect::<Vec<_>>()),
        (Depends::Sequences, body.sequence_inputs().collect()),
        (Depends::Invariants, body.invariant_inputs().collect()),
    ];
    for (kind, values) in inputs {
        values.iter().for_each(|v| depends[v.index()] = kind);
    }
    for node in &graph.nodes {
        let of = node.inputs.iter().map(|v| depends[v.index()]).max();
        for output in &node.outputs {
            depends[output.index()] = of.unwrap_or(Depends::Nothing);
        }
    }
    let producers = graph.producers();
    let needed_by = |node: &Node| -> Vec<usize> {
        let producers = node.inputs.iter().map(|v| producers[v.index()]);
        producers.flatten().collect()
    };
    // A node can leave with all that it needs from the body.
    let mut leaves = vec![false; graph.nodes.len()];
    for (at, node) in graph.nodes.iter().enumerate() {
        leaves[at] = fits(graph, &depends, node) && needed_by(node).iter().all(|k| leaves[*k]);
    }
    let mut chosen = HashSet::new();
    for (at, node) in graph.nodes.iter().enumerate().rev() {
        let class = node.op.class();
        let wanted = match depends[node.outputs[0].index()] {
            Depends::Invariants => matches!(class, Class::Contraction | Class::Elementwise),
            Depends::Sequences => class == Class::Contraction,
            Depends::Nothing | Depends::Carried => false,
        };
        // Those that read it come after it.
        if chosen.contains(&at) || (wanted && leaves[at]) {
            chosen.insert(at);
            chosen.extend(needed_by(node));
        }
    }
    chosen
}

/// Whether a node can run before the loop, on all steps if it depends on sequences: an operation on steps `[1, …]` is then
/// the same operation on all steps `[T, …]`.
fn fits(graph: &Graph, depends: &[Depends], node: &Node) -> bool {
    let is_sequence = |v: &ValueId| depends[v.index()] == Depends::Sequences;
    if !node.inputs.iter().any(is_sequence) {
        return !matches!(
            node.op.class(),
            Class::Recurrence | Class::Source | Class::Collective | Class::Opaque
        );
    }
    let s = graph.semantics(node);
    let Some(time) = steps_axis(&node.op, &s) else {
        return false;
    };
    let one_step = |v: &ValueId| graph.shape(*v).first() == Some(&1);
    let operands = s.operands.iter().zip(&node.inputs);
    let mut sequences = operands.filter(|(_, v)| is_sequence(v));
    sequences.all(|(access, v)| one_step(v) && access.place(time) == Some(0))
        && node.outputs.iter().all(one_step)
}

/// The operation of a node on `length` steps.
fn over_steps(body: &Graph, node: &Node, length: usize) -> Op {
    if length == 1 {
        return node.op.clone();
    }
    let s = body.semantics(node);
    let types: Vec<TensorType> = node.outputs.iter().map(|v| body.ty(*v).clone()).collect();
    match steps_axis(&node.op, &s) {
        Some(time) => node.op.part(&s, &types, time, &(0..length)),
        None => node.op.clone(),
    }
}

/// The type of `length` pieces along axis 0; of one, the piece itself.
fn stacked(piece: &TensorType, length: usize) -> Option<TensorType> {
    let mut whole = piece.clone();
    if length != 1 {
        let first = whole.shape.first_mut()?;
        *first = first.saturating_mul(length);
    }
    Some(whole)
}
