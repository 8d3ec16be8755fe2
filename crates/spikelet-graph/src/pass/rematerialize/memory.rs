//! The intervals in which each allocation of a graph is used, and lookups by value.

use crate::graph::{Graph, InputKind, ValueId};
use crate::liveness::roots;
use crate::op::{OpKind, Operation, Pack, View};
use crate::types::DType;

/// When each allocation is read or written.
pub(super) struct Memory {
    /// The value whose memory each value is.
    roots: Vec<usize>,
    /// The nodes that write or read it, ascending; by root.
    touched: Vec<Vec<usize>>,
    pub(super) bytes: Vec<usize>,
    nodes: usize,
    /// The producer of each value.
    pub(super) producers: Vec<Option<usize>>,
    /// The kind of the input that each value is.
    inputs: Vec<Option<InputKind>>,
    /// The first node that packs each value into bits, and the first that packs or unpacks it.
    pub(super) packs_to_bits: Vec<Option<usize>>,
    pub(super) packs: Vec<Option<usize>>,
}

impl Memory {
    pub(super) fn new(graph: &Graph) -> Self {
        let roots = roots(graph);
        let mut touched = vec![vec![]; graph.values()];
        for (k, node) in graph.nodes.iter().enumerate() {
            // A sequence computed in chunks is complete after the last chunk.
            if !node.op.runs() && node.op.view() != Some(View::Joined) {
                continue;
            }
            for v in node.outputs.iter().chain(&node.inputs) {
                let all: &mut Vec<usize> = &mut touched[roots[v.index()]];
                if all.last() != Some(&k) {
                    all.push(k);
                }
            }
        }
        for output in &graph.outputs {
            touched[roots[output.value.index()]].push(graph.nodes.len());
        }
        let mut bytes: Vec<usize> = (0..graph.values())
            .map(|v| graph.ty(ValueId(v as u32)).bytes())
            .collect();
        for input in &graph.inputs {
            bytes[input.value.index()] = 0;
        }
        // An output is in its own buffer, not in the arena.
        for output in &graph.outputs {
            bytes[roots[output.value.index()]] = 0;
        }
        let mut inputs = vec![None; graph.values()];
        for input in &graph.inputs {
            inputs[input.value.index()] = Some(input.kind);
        }
        let (mut packs_to_bits, mut packs) =
            (vec![None; graph.values()], vec![None; graph.values()]);
        for (k, node) in graph.nodes.iter().enumerate() {
            if let Some(op) = Pack::of(&node.op) {
                let read = node.inputs[0].index();
                packs[read].get_or_insert(k);
                if op.to == DType::Bits {
                    packs_to_bits[read].get_or_insert(k);
                }
            }
        }
        Self {
            roots,
            touched,
            bytes,
            nodes: graph.nodes.len(),
            producers: graph.producers(),
            inputs,
            packs_to_bits,
            packs,
        }
    }

    /// Whether a value has memory of its own.
    pub(super) fn is_root(&self, value: ValueId) -> bool {
        self.roots[value.index()] == value.index()
    }

    /// The other values that are in the memory of a value.
    pub(super) fn views(&self, value: ValueId) -> impl Iterator<Item = ValueId> {
        let roots = self.roots.iter().zip(0..);
        let views = roots.filter(move |(root, at)| **root == value.index() && *at != value.0);
        views.map(|(_, at)| ValueId(at))
    }

    /// The last node before `node` and the first after it that read or write the memory, if it is
    /// live but not in use at `node`.
    pub(super) fn gap(&self, root: usize, node: usize) -> Option<(usize, usize)> {
        let touched = &self.touched[root];
        let after = touched.partition_point(|k| *k <= node);
        let (&before, &next) = (touched.get(after.checked_sub(1)?)?, touched.get(after)?);
        (before < node && next < self.nodes).then_some((before, next))
    }

    /// Whether the value is computed by a node and has at most a quarter of the bytes of the largest of the `results`.
    pub(super) fn is_small(&self, value: ValueId, results: &[ValueId]) -> bool {
        let root = self.roots[value.index()];
        let largest = results.iter().map(|v| self.bytes[v.index()]).max();
        self.inputs[root].is_none() && self.bytes[root] <= largest.unwrap_or(0) / 4
    }

    /// Whether the value can be read at `node`: it is an input, or its memory is still in use.
    pub(super) fn is_there(&self, value: ValueId, node: usize) -> bool {
        let root = self.roots[value.index()];
        match self.inputs[root] {
            Some(kind) => kind != InputKind::State,
            None => self.touched[root].last().is_some_and(|last| *last >= node),
        }
    }
}
