//! Frees a value: stores it as bits, or computes it again before it is read.

use super::{Budget, Recomputed};
use crate::graph::{Graph, ValueId};
use crate::liveness::roots;
use crate::op::{Op, Operation, Pack, Reshape};
use crate::rewrite::{NodeId, Rewriter};
use crate::types::DType;

/// The operation that computes `read` from `old`, whose memory it is; `None` if there are several.
fn view_of(graph: &Rewriter<'_>, old: ValueId, read: ValueId) -> Option<Op> {
    let direct = graph.node(graph.producer(read)?);
    if direct.op.is_view() && direct.inputs == [old] {
        return Some(direct.op.clone());
    }
    let mut value = read;
    while value != old {
        let (reshape, _) = graph.made_by::<Reshape>(value)?;
        value = graph.node(reshape).inputs[0];
    }
    let shape = graph.shape(read).to_vec();
    Some(Reshape { shape }.into())
}

/// Replaces reads of `old` and its views by reads of `new` in every node from `first` on.
fn redirect(
    graph: &mut Rewriter<'_>,
    (old, views): (ValueId, &[ValueId]),
    new: ValueId,
    first: NodeId,
) {
    let mut readers: Vec<NodeId> = views.iter().flat_map(|v| graph.readers(*v)).collect();
    readers.retain(|k| !graph.precedes(*k, first));
    readers.sort_by_key(|k| graph.position(*k));
    readers.dedup();
    for k in readers {
        for operand in 0..graph.node(k).inputs.len() {
            let read = graph.node(k).inputs[operand];
            if read == old {
                graph.set_input(k, operand, new);
            } else if views.contains(&read)
                && !graph.node(k).op.is_view()
                && let Some(view) = view_of(graph, old, read)
            {
                // A view that was computed before is computed from the new value too.
                let layer = graph.node(k).layer.clone();
                if let Ok(view) = graph.make(view, &[new], &layer, true) {
                    graph.set_input(k, operand, view.outputs[0]);
                    graph.insert_before(k, view);
                }
            }
        }
    }
}

/// A value and all its views.
fn views(graph: &Graph, value: ValueId) -> Vec<ValueId> {
    let roots = roots(graph).into_iter().enumerate();
    let views = roots.filter(|(_, root)| *root == value.index());
    views.map(|(view, _)| ValueId(view as u32)).collect()
}

pub(super) fn pack(
    graph: &mut Graph,
    value: ValueId,
    (before, next): (usize, usize),
    budget: &mut Budget,
) -> Option<()> {
    let views = views(graph, value);
    let mut graph = Rewriter::new(graph);
    let order = graph.order();
    let (before, next) = (order[before], order[next]);
    let dtype = graph.ty(value).dtype;
    let layer = graph.node(before).layer.clone();
    let to_bits = Pack { to: DType::Bits };
    let packed = graph.make(to_bits, &[value], &layer, false).ok()?;
    let bits = packed.outputs[0];
    let unpacked = graph.make(Pack { to: dtype }, &[bits], &layer, true).ok()?;
    let copy = unpacked.outputs[0];
    graph.insert_before(next, unpacked);
    graph.insert_after(before, packed);
    redirect(&mut graph, (value, &views), copy, next);
    budget.packed += 1;
    Some(())
}

pub(super) fn recompute(
    graph: &mut Graph,
    value: ValueId,
    list: &[Recomputed],
    next: usize,
    budget: &mut Budget,
) -> Option<()> {
    // A recurrent layer has several results that are read from here on: all of them are there again.
    let again = list.iter().filter(|(_, stands_for)| stands_for.is_none());
    let again = again.map(|(k, _)| &graph.nodes[*k]);
    let results = again
        .filter(|node| node.op.recurrent_steps().is_some())
        .flat_map(|node| &node.outputs);
    let others: Vec<(ValueId, Vec<ValueId>)> = results
        .filter(|old| **old != value)
        .map(|old| (*old, views(graph, *old)))
        .collect();
    let views = views(graph, value);
    let mut graph = Rewriter::new(graph);
    let order = graph.order();
    let mut copies: Vec<(ValueId, ValueId)> = vec![];
    let mut nodes = vec![];
    for &(k, stands_for) in list {
        let mut node = graph.node(order[k]).clone();
        for input in &mut node.inputs {
            if let Some((_, copy)) = copies.iter().find(|(old, _)| old == input) {
                *input = *copy;
            }
        }
        for output in &mut node.outputs {
            let ty = graph.ty(*output).clone();
            let copy = graph.add_value(ty);
            copies.push((stands_for.unwrap_or(*output), copy));
            *output = copy;
        }
        node.backward = true;
        nodes.push(node);
    }
    let copy = copies.iter().find(|(old, _)| *old == value)?.1;
    budget.recomputed += nodes.len();
    for node in nodes {
        graph.insert_before(order[next], node);
    }
    redirect(&mut graph, (value, &views), copy, order[next]);
    for (old, views) in others {
        let copy = copies.iter().find(|(other, _)| *other == old)?.1;
        redirect(&mut graph, (old, &views), copy, order[next]);
    }
    Some(())
}
