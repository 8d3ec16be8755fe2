//! Results that are written over an operand, or directly in the buffer of an output.

use super::{Location, collective, find};
use crate::graph::{Graph, ValueId};
use crate::op::Operation;
use crate::semantics::{Class, InPlace};
use crate::target::InPlaceUpdates;

/// Lets results take the memory of an operand of the same type that is not read after them, where the operation
/// ([`InPlace`]) and the target allow it.
pub(super) fn overwrite_operands(
    graph: &Graph,
    target: &dyn InPlaceUpdates,
    roots: &mut [usize],
    lives: &mut [Option<(usize, usize)>],
    places: &[Location],
) {
    for (k, node) in graph.nodes.iter().enumerate() {
        // Sums over ranks run while the device continues: see `collective`.
        let is_sum = node.op.class() == Class::Collective;
        if is_sum || (node.op.asks_device() && !target.overwrites_sequences()) {
            continue;
        }
        let mut taken: Vec<usize> = vec![];
        for (at, output) in node.outputs.iter().enumerate() {
            let in_place = node.op.in_place(at);
            let only = match in_place {
                InPlace::Never => continue,
                InPlace::Elements => None,
                InPlace::ElementsOf(k) | InPlace::Operand(k) => Some(node.inputs[k]),
            };
            let own = output.index();
            let Some((_, end)) =
                lives[own].filter(|_| roots[own] == own && places[own] == Location::Unused)
            else {
                continue;
            };
            let may_take = |root: usize| {
                let read = node.inputs.iter();
                let mut read = read.filter(|v| find(roots, v.index()) == root);
                match in_place {
                    InPlace::Operand(_) => read.count() == 1,
                    _ => read.all(|v| graph.shape(*v) == graph.shape(*output)),
                }
            };
            let fits = |v: &&ValueId| {
                let root = find(roots, v.index());
                only.is_none_or(|only| only == **v)
                    && graph.ty(**v) == graph.ty(*output)
                    && places[root] == Location::Unused
                    && lives[root].is_some_and(|(_, last)| last == k)
                    && graph.ty(ValueId(root as u32)).bytes() == graph.ty(*output).bytes()
                    && !taken.contains(&root)
                    && may_take(root)
            };
            let Some(root) = node
                .inputs
                .iter()
                .find(fits)
                .map(|v| find(roots, v.index()))
            else {
                continue;
            };
            taken.push(root);
            if let Some((_, last)) = &mut lives[root] {
                *last = end;
            }
            lives[own] = None;
            roots[own] = root;
        }
    }
    for value in 0..roots.len() {
        roots[value] = find(roots, value);
    }
}

/// The readers of each allocation, by root.
pub(super) struct Readers {
    /// The number of outputs of the graph that it is.
    outputs: Vec<usize>,
    /// The last node that reads it.
    last: Vec<Option<usize>>,
    /// The last node before whose end a sum over ranks may read it.
    held: Vec<usize>,
}

impl Readers {
    pub(super) fn of(graph: &Graph, roots: &[usize]) -> Self {
        let mut readers = Self {
            outputs: vec![0; graph.values()],
            last: vec![None; graph.values()],
            held: vec![0; graph.values()],
        };
        for output in &graph.outputs {
            readers.outputs[roots[output.value.index()]] += 1;
        }
        for (k, node) in graph.nodes.iter().enumerate() {
            for input in &node.inputs {
                readers.last[roots[input.index()]] = Some(k);
            }
        }
        for (end, value) in collective::held(graph) {
            let held = &mut readers.held[roots[value.index()]];
            *held = (*held).max(end);
        }
        readers
    }

    /// Whether output `k` can be made right in its buffer.
    ///
    /// A fresh output can, unless another output is the same value. One that takes an input's place
    /// can if no later node reads the old value, and the node that makes it reads the old value, if
    /// at all, only element by element.
    pub(super) fn written_in_place(
        &self,
        graph: &Graph,
        k: usize,
        roots: &[usize],
        lives: &[Option<(usize, usize)>],
    ) -> bool {
        let output = &graph.outputs[k];
        if self.outputs[roots[output.value.index()]] != 1 {
            return false;
        }
        let Some(old) = output.updates.map(|input| roots[input.index()]) else {
            return true;
        };
        let Some((made, _)) = lives[output.value.index()] else {
            return false;
        };
        if self.outputs[old] > 0 || self.held[old] > made {
            return false;
        }
        let node = &graph.nodes[made];
        let result = node.outputs.iter().position(|v| *v == output.value);
        let result = result.filter(|_| !node.op.asks_device());
        let in_place = result.map_or(InPlace::Never, |at| node.op.in_place(at));
        let elementwise = |(at, input): (usize, &ValueId)| {
            roots[input.index()] != old
                || match in_place {
                    InPlace::Never => false,
                    InPlace::Elements => graph.shape(output.value) == graph.shape(*input),
                    InPlace::ElementsOf(k) | InPlace::Operand(k) => at == k,
                }
        };
        self.last[old].is_none_or(|last| last <= made)
            && node.inputs.iter().enumerate().all(elementwise)
    }
}
