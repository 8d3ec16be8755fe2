//! Writes out the steps of short loops.
//!
//! ```text
//! %4, %5 = loop[T=2](%0, %3)       %6 = time_chunk[1 of 2](%3);  %8, %9 = scan[T=1](%6, %0)
//!     scan[T=1]               →    %7 = time_chunk[2 of 2](%3);  %4, %10 = scan[T=1](%7, %8)
//!                                  %5 = concat_chunks(%9, %10)
//! ```
//!
//! A step reads its pieces of sequences where they are, and its results are written at their place in the stacked
//! result. On a device whose kernels have the addresses of their operands, a loop would copy both at every step.
//!
//! The derivative of a loop recomputes what it reads of the forward step ([`crate::op::Loop`]). Written out, this is
//! the same operation on the same operands as in the forward pass, and is computed once. The results keep their bits.
//!
//! The device decides which loops are short ([`SchedulingPolicy::unrolls`]): each operation that is written out is
//! planned and launched by itself. [`crate::Plan::new`] keeps the loops where the steps need more than an eighth more memory.

use super::Report;
use crate::arena::ALIGNMENT;
use crate::graph::{Graph, Node, ValueId};
use crate::op::{
    Concat, ConcatChunks, Expand, Loop, Op, OpKind, Operation, Reshape, ScanGrad, Slice, TimeChunk,
    View,
};
use crate::rewrite::{NodeId, Rewriter};
use crate::semantics::Class;
use crate::target::SchedulingPolicy;
use crate::types::{DType, TensorType};
use std::collections::{HashMap, HashSet};

/// Writes out loops.
pub fn run(graph: &mut Graph, target: &dyn SchedulingPolicy) -> Report {
    let mut loops: HashSet<ValueId> = chosen(graph, target).collect();
    let mut unroller = Unroller::default();
    let of = |graph: &Rewriter<'_>, loops: &HashSet<ValueId>| {
        let mut found = graph.order();
        found.retain(|k| loops.contains(&graph.node(*k).outputs[0]));
        found
    };
    let mut rewriter = Rewriter::new(graph);
    for k in of(&rewriter, &loops) {
        if unroller.write_out(&mut rewriter, k).is_none() {
            loops.remove(&rewriter.node(k).outputs[0]);
        }
    }
    drop(rewriter);
    if !loops.is_empty() {
        // Carried values had one order of their axes at the boundaries of the steps.
        super::layout::run_over_steps(graph);
    }
    let mut rewriter = Rewriter::new(graph);
    // The last first: pieces that later loops have read one by one need not be joined.
    let mut joined = vec![];
    for k in of(&rewriter, &loops).into_iter().rev() {
        let node = rewriter.node(k).clone();
        let mut read = node.outputs.clone();
        read.retain(|whole| rewriter.use_count(*whole) > 0);
        joined.push((k, read));
        let inputs = vec![];
        rewriter.set(k, Node { inputs, ..node });
    }
    for (k, read) in joined.into_iter().rev() {
        unroller.join(&mut rewriter, k, &read);
    }
    drop(rewriter);
    Report {
        pass: "unrolled loops",
        changes: loops.len(),
        summary: format!("{} loops written out", loops.len()),
    }
}

/// The first result of each loop that is written out.
pub(crate) fn chosen(
    graph: &Graph,
    target: &dyn SchedulingPolicy,
) -> impl Iterator<Item = ValueId> {
    let loops = graph.nodes.iter();
    let loops = loops.filter(|node| Loop::of(&node.op).is_some_and(|op| is_short(op, target)));
    loops.map(|node| node.outputs[0])
}

/// Whether a loop is written out on a device. One that operations may not leave shall not store what they compute.
fn is_short(op: &Loop, target: &dyn SchedulingPolicy) -> bool {
    let body = op.body.graph();
    let refused = |node: &Node| {
        let is_fixed = matches!(node.op.class(), Class::Collective | Class::Opaque);
        node.op.body().is_some() || is_fixed
    };
    let running = body.nodes.iter();
    let running = running.filter(|n| n.op.runs() && n.op.class() != Class::Constant);
    let moved = op.body.carried_inputs().chain(op.body.sequence_inputs());
    let moved: Vec<&TensorType> = moved
        .chain(op.body.stacked_outputs())
        .map(|v| body.ty(v))
        .collect();
    let bytes = moved.iter().map(|ty| ty.bytes());
    let bytes = bytes.fold(0, usize::saturating_add);
    op.hoist
        && op.length > 0
        && target.unrolls(op.length, running.count(), bytes)
        && !body.nodes.iter().any(refused)
        && moved.iter().all(|ty| ty.dtype != DType::Bits)
}

#[derive(Default)]
struct Unroller {
    /// By stacked result, its pieces in the order of time.
    pieces: HashMap<ValueId, Vec<ValueId>>,
    /// The pieces that were cut out of sequences, by the number of pieces.
    cut: HashMap<(ValueId, usize), Vec<Option<ValueId>>>,
    /// The nodes of forward passes that were written out, by their operands.
    known: HashMap<Vec<ValueId>, Vec<NodeId>>,
    /// The concatenations, by their pieces, and the values that are a part of one.
    joined: HashMap<Vec<ValueId>, ValueId>,
    parts: HashSet<ValueId>,
}

impl Unroller {
    /// Writes the steps of a loop before it, and lets all others read the last carried values.
    fn write_out(&mut self, graph: &mut Rewriter<'_>, k: NodeId) -> Option<()> {
        let node = graph.node(k).clone();
        let op = graph.op::<Loop>(k)?.clone();
        let body = op.body.graph();
        let (carried, sequences) = (op.body.carried_count(), op.body.sequence_count());
        let mut now = node.inputs[..carried].to_vec();
        let stacked = node.outputs.len() - carried;
        let mut pieces = vec![vec![None; op.length]; stacked];
        for step in 0..op.length {
            let t = match op.reverse {
                true => op.length - 1 - step,
                false => step,
            };
            let mut values: Vec<Option<ValueId>> = vec![None; body.values()];
            for (at, input) in body.inputs.iter().enumerate() {
                let value = match at {
                    _ if at < carried => now[at],
                    _ if at < carried + sequences => {
                        self.piece(graph, k, node.inputs[at], t, op.length)?
                    }
                    _ => node.inputs[at],
                };
                values[input.value.index()] = Some(value);
            }
            for inner in &body.nodes {
                let inputs: Option<Vec<ValueId>> =
                    inner.inputs.iter().map(|v| values[v.index()]).collect();
                let inner = of_step(inner, t, op.length);
                let made = self.node(graph, k, body, &inner, inputs?);
                for (old, new) in inner.outputs.iter().zip(made) {
                    values[old.index()] = Some(new);
                }
            }
            let ends: Option<Vec<ValueId>> = (body.outputs.iter())
                .map(|output| values[output.value.index()])
                .collect();
            let mut ends = ends?;
            for (list, value) in pieces.iter_mut().zip(ends.split_off(carried)) {
                list[t] = Some(value);
            }
            now = ends;
        }
        for (old, new) in node.outputs.iter().zip(now) {
            graph.replace(*old, new);
        }
        for (whole, pieces) in node.outputs[carried..].iter().zip(pieces) {
            self.pieces
                .insert(*whole, pieces.into_iter().flatten().collect());
        }
        Some(())
    }

    /// A node of a step, or the results of an equal one of the forward pass.
    fn node(
        &mut self,
        graph: &mut Rewriter<'_>,
        k: NodeId,
        body: &Graph,
        inner: &Node,
        inputs: Vec<ValueId>,
    ) -> Vec<ValueId> {
        let types = |values: &[ValueId], graph: &Graph| -> Vec<TensorType> {
            values.iter().map(|v| graph.ty(*v).clone()).collect()
        };
        let made = types(&inner.outputs, body);
        if !inner.backward
            && let Some(same) = self.known.get(&inputs)
            && let Some(same) = same.iter().find(|other| {
                let other = graph.node(**other);
                other.op == inner.op && types(&other.outputs, graph.graph()) == made
            })
        {
            return graph.node(*same).outputs.clone();
        }
        let outputs: Vec<ValueId> = made.into_iter().map(|ty| graph.add_value(ty)).collect();
        let node = Node {
            inputs: inputs.clone(),
            outputs: outputs.clone(),
            ..inner.clone()
        };
        let id = graph.insert_before(k, node);
        if !inner.backward {
            self.known.entry(inputs).or_default().push(id);
        }
        outputs
    }

    /// Piece `t` of a sequence, before the loop `k`.
    fn piece(
        &mut self,
        graph: &mut Rewriter<'_>,
        k: NodeId,
        whole: ValueId,
        t: usize,
        count: usize,
    ) -> Option<ValueId> {
        if let Some(pieces) = self.pieces.get(&whole).filter(|p| p.len() == count) {
            return pieces.get(t).copied();
        }
        if let Some(known) = self.cut.get(&(whole, count)).and_then(|cut| cut[t]) {
            return Some(known);
        }
        let size = graph.shape(whole).first()? / count;
        let piece = TensorType::new(
            graph.ty(whole).dtype,
            [&[size], &graph.shape(whole)[1..]].concat(),
        );
        // All pieces of a repetition are equal.
        let repeated = graph.made_by::<Expand>(whole).and_then(|(node, _)| {
            let from = graph.node(node).inputs[0];
            let own = graph.shape(from);
            (own.len() < piece.shape.len() || own[0] == 1).then_some(from)
        });
        let (op, from): (Op, ValueId) = match repeated {
            Some(from) => (
                Expand {
                    shape: piece.shape.clone(),
                }
                .into(),
                from,
            ),
            None if piece.bytes().is_multiple_of(ALIGNMENT) => {
                (TimeChunk { index: t, count }.into(), whole)
            }
            None => {
                let (start, end) = (t * size, (t + 1) * size);
                let op = Slice {
                    axis: 0,
                    start,
                    end,
                };
                (op.into(), whole)
            }
        };
        let loop_node = graph.node(k);
        let (layer, backward) = (loop_node.layer.clone(), loop_node.backward);
        let node = graph.make(op, &[from], &layer, backward).ok()?;
        let made = node.outputs[0];
        graph.insert_before(k, node);
        let cut = self.cut.entry((whole, count));
        let cut = cut.or_insert_with(|| vec![None; count]);
        match repeated {
            Some(_) => cut.fill(Some(made)),
            None => cut[t] = Some(made),
        }
        Some(made)
    }

    /// Removes a loop that was written out, and joins the pieces of its stacked results that are still read.
    fn join(&mut self, graph: &mut Rewriter<'_>, k: NodeId, read: &[ValueId]) {
        let node = graph.node(k).clone();
        for whole in read {
            let Some(pieces) = self.pieces.get(whole).cloned() else {
                continue;
            };
            let known = self.joined.get(&pieces).copied();
            let known = known.filter(|known| graph.ty(*known) == graph.ty(*whole));
            let joined = match known {
                Some(known) => known,
                None => self.concatenate(graph, k, &node, *whole, &pieces),
            };
            graph.replace(*whole, joined);
            self.joined.insert(pieces, joined);
        }
        graph.remove(k);
    }

    /// `whole` from its pieces, before the loop `k`: in one memory where each piece can be computed there.
    fn concatenate(
        &mut self,
        graph: &mut Rewriter<'_>,
        k: NodeId,
        like: &Node,
        whole: ValueId,
        pieces: &[ValueId],
    ) -> ValueId {
        let push = |graph: &mut Rewriter<'_>, op: Op, inputs: &[ValueId]| {
            let made = graph.make(op, inputs, &like.layer, like.backward);
            let made = made.expect("pieces of equal types can be joined");
            let value = made.outputs[0];
            graph.insert_before(k, made);
            value
        };
        let shape = graph.shape(whole).to_vec();
        let equal = pieces.iter().all(|piece| *piece == pieces[0]);
        if equal && pieces.len() > 1 && graph.shape(pieces[0]).first() == Some(&1) {
            return push(graph, Expand { shape }.into(), &pieces[..1]);
        }
        let joined = if graph.ty(pieces[0]).bytes().is_multiple_of(ALIGNMENT) {
            let sources: Vec<Option<ValueId>> =
                pieces.iter().map(|piece| source(graph, *piece)).collect();
            // Where all pieces are views of equal shapes, the whole is one, too.
            let first = sources[0].map(|v| graph.shape(v).to_vec());
            let alike = first.as_ref().is_some_and(|first| {
                let same = |v: &Option<ValueId>| v.is_some_and(|v| graph.shape(v) == first);
                !first.is_empty() && sources.iter().all(same)
            });
            let mut parts = vec![];
            for (piece, source) in pieces.iter().zip(sources) {
                let part = source.filter(|source| alike || source == piece);
                parts.push(match part.filter(|part| self.parts.insert(*part)) {
                    Some(part) => part,
                    None => {
                        let from = source.filter(|_| alike).unwrap_or(*piece);
                        let shape = graph.shape(from).to_vec();
                        push(graph, Expand { shape }.into(), &[from])
                    }
                });
            }
            push(graph, ConcatChunks.into(), &parts)
        } else {
            push(graph, Concat { axis: 0 }.into(), pieces)
        };
        match graph.shape(joined) == shape {
            true => joined,
            false => push(graph, Reshape { shape }.into(), &[joined]),
        }
    }
}

/// A node of step `t` of a loop of `count` steps: each step has scans of its own.
fn of_step(node: &Node, t: usize, count: usize) -> Node {
    let mut node = node.clone();
    match &mut node.op {
        Op::Scan(scan) | Op::ScanGrad(ScanGrad { of: scan, .. }) => {
            scan.id = scan.id.part(t, count);
        }
        _ => {}
    }
    node
}

/// The value whose memory a piece is, if a node computes it there.
fn source(graph: &Rewriter<'_>, piece: ValueId) -> Option<ValueId> {
    let mut value = piece;
    loop {
        let node = graph.node(graph.producer(value)?);
        match node.op.view() {
            Some(View::Operand) => value = node.inputs[0],
            Some(View::Chunk(_) | View::Joined) => return None,
            None => return Some(value),
        }
    }
}
