//! Frees a value: stores it as bits, or computes it again before it is read.

use super::Recomputed;
use super::memory::Memory;
use crate::graph::{Graph, Node, ValueId};
use crate::op::{Op, OpKind, Operation, Pack, Reshape};
use crate::rewrite::Trial;
use crate::types::DType;

/// A value with its views that are computed before it is read again, each with the operation that makes it.
struct Stored {
    value: ValueId,
    views: Vec<(ValueId, Op)>,
}

impl Stored {
    fn of(graph: &Graph, memory: &Memory, value: ValueId, next: usize) -> Self {
        let views = memory.views(value);
        let views =
            views.filter_map(|view| Some((view, view_of(graph, memory, (value, next), view)?)));
        let views = views.collect();
        Self { value, views }
    }

    /// Lets every node from `first` on read `new` in place of the value. A view that was computed before is computed
    /// from the new value too.
    fn redirect(&self, trial: &mut Trial<'_>, new: ValueId, first: usize) -> Option<()> {
        let mut k = first;
        while k < trial.graph.nodes.len() {
            for operand in 0..trial.graph.nodes[k].inputs.len() {
                let node = &trial.graph.nodes[k];
                let read = node.inputs[operand];
                let view = || self.views.iter().find(|(view, _)| *view == read);
                if read == self.value {
                    trial.set_input(k, operand, new);
                } else if let Some((_, op)) = view()
                    && !node.op.is_view()
                {
                    let layer = node.layer.clone();
                    let mut made = new;
                    if !op.changes_nothing(&trial.graph.types(&[new])) {
                        made = trial.make_at(k, op.clone(), &[new], (&layer, true)).ok()?;
                        k += 1;
                    }
                    trial.set_input(k, operand, made);
                }
            }
            k += 1;
        }
        Some(())
    }
}

/// The operation that computes a view from the value whose memory it is; `None` if there are several, or if the value is
/// read from node `next` on for that.
fn view_of(
    graph: &Graph,
    memory: &Memory,
    (value, next): (ValueId, usize),
    view: ValueId,
) -> Option<Op> {
    let mut at = memory.producers[view.index()]?;
    let direct = &graph.nodes[at];
    if direct.op.is_view() && direct.inputs == [value] {
        return (at < next).then(|| direct.op.clone());
    }
    let mut read = view;
    while read != value {
        at = memory.producers[read.index()]?;
        Reshape::of(&graph.nodes[at].op)?;
        read = graph.nodes[at].inputs[0];
    }
    let shape = graph.shape(view).to_vec();
    (at < next).then(|| Reshape { shape }.into())
}

/// Stores a value as bits between two nodes.
pub(super) fn pack(
    trial: &mut Trial<'_>,
    memory: &Memory,
    value: ValueId,
    (before, next): (usize, usize),
) -> Option<()> {
    let stored = Stored::of(trial.graph, memory, value, next);
    let dtype = trial.graph.ty(value).dtype;
    let layer = trial.graph.nodes[before].layer.clone();
    let to_bits = Pack { to: DType::Bits };
    let bits = trial.make_at(before + 1, to_bits, &[value], (&layer, false));
    let next = next + 1;
    let copy = trial.make_at(next, Pack { to: dtype }, &[bits.ok()?], (&layer, true));
    stored.redirect(trial, copy.ok()?, next + 1)
}

/// Computes a value again before node `next`.
pub(super) fn recompute(
    trial: &mut Trial<'_>,
    memory: &Memory,
    value: ValueId,
    list: &[Recomputed],
    next: usize,
) -> Option<()> {
    // A recurrent layer has several results that are read from here on: all of them are there again.
    let again = list.iter().filter(|(_, stands_for)| stands_for.is_none());
    let again = again.map(|(k, _)| &trial.graph.nodes[*k]);
    let results = again
        .filter(|node| node.op.recurrent_steps().is_some())
        .flat_map(|node| &node.outputs);
    let results = results.copied();
    let results = results.filter(|old| *old != value && memory.is_root(*old));
    let stored: Vec<Stored> = std::iter::once(value)
        .chain(results)
        .map(|old| Stored::of(trial.graph, memory, old, next))
        .collect();
    let nodes = list.iter().map(|(k, _)| trial.graph.nodes[*k].clone());
    let nodes: Vec<Node> = nodes.collect();
    let mut copies: Vec<(ValueId, ValueId)> = vec![];
    for (at, (mut node, (_, stands_for))) in nodes.into_iter().zip(list).enumerate() {
        for input in &mut node.inputs {
            if let Some((_, copy)) = copies.iter().find(|(old, _)| old == input) {
                *input = *copy;
            }
        }
        for output in &mut node.outputs {
            let copy = trial.add_like(*output);
            copies.push((stands_for.unwrap_or(*output), copy));
            *output = copy;
        }
        node.backward = true;
        trial.insert(next + at, node);
    }
    for stored in stored {
        let copy = copies.iter().find(|(old, _)| *old == stored.value)?.1;
        stored.redirect(trial, copy, next + list.len())?;
    }
    Some(())
}
