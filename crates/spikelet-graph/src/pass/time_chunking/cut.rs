//! Writes the chunks of each node.

use super::Cut;
use super::carried::{Chunk, repeat, scan, scan_grad};
use super::divisible::{TimeAxis, is_sum, views_are_aligned};
use super::order::{Item, is_backward};
use crate::graph::{Graph, Node, ValueId};
use crate::liveness::roots;
use crate::notes::Notes;
use crate::op::{
    Concat, ConcatChunks, Map, Op, Operation, Pack, Reduce, Reshape, Slice, TimeChunk,
};
use crate::rewrite::{NodeId, Rewriter};
use crate::semantics::Join;
use crate::types::DType;
use spikelet_expr::Expr;
use std::collections::{HashMap, HashSet};

/// Summands of one elementwise operation.
const TERMS: usize = 8;

/// Replaces nodes by their chunks.
pub(super) struct Cutter<'a> {
    graph: Rewriter<'a>,
    /// The nodes as they were.
    old: Vec<NodeId>,
    cuts: &'a [Option<Cut>],
    /// The chunks of a value, by their number, as far as there are any yet.
    chunks: HashMap<(ValueId, usize), Vec<Option<ValueId>>>,
    /// The results of a node's chunks. Those that are no chunks themselves are carried to the next
    /// chunk, or added up.
    results: HashMap<usize, Vec<Vec<ValueId>>>,
    /// Values that are read.
    read: HashSet<ValueId>,
    /// Values in the caller's memory, or views of such.
    external: HashSet<ValueId>,
}

impl<'a> Cutter<'a> {
    pub(super) fn new(graph: &'a mut Graph, cuts: &'a [Option<Cut>]) -> Self {
        let outputs = graph.outputs.iter().map(|o| o.value);
        let read = graph.nodes.iter().flat_map(|n| n.inputs.iter().copied());
        let read = read.chain(outputs).collect();
        let roots = roots(graph);
        let inputs: HashSet<usize> = graph.inputs.iter().map(|i| i.value.index()).collect();
        let external = (0..graph.values()).filter(|v| inputs.contains(&roots[*v]));
        let external = external.map(|v| ValueId(v as u32)).collect();
        let graph = Rewriter::new(graph);
        Self {
            old: graph.order(),
            graph,
            cuts,
            chunks: HashMap::new(),
            results: HashMap::new(),
            read,
            external,
        }
    }

    /// Writes all nodes in the order of the items.
    pub(super) fn run(mut self, items: Vec<Item>) {
        for item in items {
            match item {
                Item::Whole(k) => self.graph.move_last(self.old[k]),
                Item::Interleaved(list) => {
                    let count = self.cuts[list[0]].map_or(1, |cut| cut.count);
                    let op = |k: &usize| &self.graph.node(self.old[*k]).op;
                    let backward = list.iter().any(|k| is_backward(op(k)) == Some(true));
                    let mut chunks: Vec<usize> = (0..count).collect();
                    if backward {
                        chunks.reverse();
                    }
                    for (at, &chunk) in chunks.iter().enumerate() {
                        let before = at.checked_sub(1).map(|at| chunks[at]);
                        for &k in &list {
                            self.write(k, (chunk, before), count);
                        }
                    }
                    let last = chunks[count - 1];
                    for &k in &list {
                        self.finish(k, last, count);
                    }
                }
            }
        }
    }

    /// Adds a node of the layer of another.
    fn push(&mut self, like: &Node, op: impl Into<Op>, inputs: &[ValueId]) -> Vec<ValueId> {
        let node = self.graph.make(op, inputs, &like.layer, like.backward);
        let node = node.expect("a chunk of an operation that fits, fits");
        let outputs = node.outputs.clone();
        self.graph.push(node);
        outputs
    }

    /// Chunk `chunk` of a value.
    fn chunk(&mut self, like: &Node, value: ValueId, chunk: usize, count: usize) -> ValueId {
        if let Some(known) = self.chunks.get(&(value, count)).and_then(|p| p[chunk]) {
            return known;
        }
        let aligned = views_are_aligned(self.graph.ty(value), count);
        let made = if self.external.contains(&value) || !aligned {
            // A view, also one into a caller's memory, would start at an unaligned address.
            let steps = self.graph.shape(value)[0] / count;
            let (start, end) = (chunk * steps, (chunk + 1) * steps);
            let op = Slice {
                axis: 0,
                start,
                end,
            };
            self.copy(like, op.into(), &[value])
        } else {
            let index = chunk;
            self.push(like, TimeChunk { index, count }, &[value])[0]
        };
        self.remember(value, count, chunk, made);
        made
    }

    /// A node that copies elements; those that are stored as bits are unpacked meanwhile.
    fn copy(&mut self, like: &Node, op: Op, from: &[ValueId]) -> ValueId {
        if self.graph.ty(from[0]).dtype != DType::Bits {
            return self.push(like, op, from)[0];
        }
        let wide = Pack { to: DType::F32 };
        let wide: Vec<ValueId> = from
            .iter()
            .map(|v| self.push(like, wide, &[*v])[0])
            .collect();
        let made = self.push(like, op, &wide)[0];
        self.push(like, Pack { to: DType::Bits }, &[made])[0]
    }

    fn remember(&mut self, value: ValueId, count: usize, chunk: usize, made: ValueId) {
        let all = self.chunks.entry((value, count));
        all.or_insert_with(|| vec![None; count])[chunk] = Some(made);
    }

    /// One chunk of a node; `before` is the one that ran before it.
    fn write(&mut self, k: usize, (chunk, before): (usize, Option<usize>), count: usize) {
        let node = self.graph.node(self.old[k]).clone();
        let time = self.time_axis(&node);
        let mut inputs = node.inputs.clone();
        for &at in &time.operands {
            inputs[at] = self.chunk(&node, inputs[at], chunk, count);
        }
        let forward = self.cuts[k].and_then(|cut| cut.forward);
        let forward = forward.filter(|_| chunk > 0);
        let this = Chunk {
            index: chunk,
            count,
            before: before.map(|before| &self.results[&k][before][..]),
            forward: forward.map(|scan| &self.results[&scan][chunk - 1][..]),
        };
        let op = match &node.op {
            Op::Scan(op) => scan(op, this, &mut inputs),
            Op::ScanGrad(op) => scan_grad(op, this, (&node.outputs, &self.read), &mut inputs),
            Op::Loop(op) => repeat(op, this, &mut inputs),
            _ => time.chunk(self.graph.graph(), &node, chunk, count),
        };
        let part = self.graph.make(op, &inputs, &node.layer, node.backward);
        let part = part.expect("a chunk of an operation that fits, fits");
        let mut made = part.outputs.clone();
        let notes = node.notes.clone();
        self.graph.push(Node { notes, ..part });
        let sums = match is_sum(&node.op) {
            true => vec![],
            false => time.joined(Join::Sum),
        };
        for (at, (value, old)) in made.iter().zip(&node.outputs).enumerate() {
            if !sums.contains(&at) {
                let dtype = self.graph.ty(*old).dtype;
                self.graph.set_dtype(*value, dtype);
            }
        }
        if let Some(before) = before {
            let last = self.results[&k]
                .iter()
                .filter(|made| made.is_empty())
                .count()
                == 1;
            for at in sums {
                if self.read.contains(&node.outputs[at]) {
                    let sum = self.results[&k][before][at];
                    let whole = last.then_some(node.outputs[at]);
                    made[at] = self.add(&node, [sum, made[at]], whole);
                }
            }
        }
        for &at in &time.results {
            self.remember(node.outputs[at], count, chunk, made[at]);
        }
        let all = self.results.entry(k).or_insert_with(|| vec![vec![]; count]);
        all[chunk] = made;
    }

    /// The sum of two results of chunks, of the type of `whole` if that is the sum of all of them.
    fn add(&mut self, like: &Node, terms: [ValueId; 2], whole: Option<ValueId>) -> ValueId {
        let ty = self.graph.ty(terms[0]).clone();
        let dtype = whole.map_or(ty.dtype, |whole| self.graph.ty(whole).dtype);
        let sum = vec![Map::operand(0) + Map::operand(1)];
        let map = Map::stored(sum, &*ty.shape, vec![dtype]);
        self.push(like, map, &terms)[0]
    }

    /// The results of a node, from those of its chunks; `last` ran last.
    fn finish(&mut self, k: usize, last: usize, count: usize) {
        let node = self.graph.remove(self.old[k]);
        let time = self.time_axis(&node);
        let made = self.results[&k].clone();
        let of_chunks = |at: usize| -> Vec<ValueId> { made.iter().map(|made| made[at]).collect() };
        for &at in &time.results {
            let whole = node.outputs[at];
            if !self.read.contains(&whole) {
                continue;
            }
            if node.op.is_view() {
                // A chunk is a view itself.
                self.graph.push(node.clone());
            } else if views_are_aligned(self.graph.ty(whole), count) {
                self.graph.push(Node {
                    op: ConcatChunks.into(),
                    inputs: of_chunks(at),
                    outputs: vec![whole],
                    notes: Notes::default(),
                    ..node.clone()
                });
            } else {
                let joined = self.copy(&node, Concat { axis: 0 }.into(), &of_chunks(at));
                self.rename(joined, whole);
            }
        }
        let sums = time.joined(Join::Sum);
        if is_sum(&node.op) {
            for at in sums {
                self.sum(&node, of_chunks(at), node.outputs[at]);
            }
            if !time.joined(Join::MeanVar).is_empty() {
                self.combine_mean_var(&node, &of_chunks(0), &of_chunks(1));
            }
            return;
        }
        for at in sums {
            if self.read.contains(&node.outputs[at]) {
                self.rename_result(k, last, made[last][at], node.outputs[at]);
            }
        }
        for at in time.joined(Join::Last) {
            self.rename_result(k, last, made[last][at], node.outputs[at]);
        }
    }

    fn time_axis(&self, node: &Node) -> TimeAxis {
        let time = TimeAxis::of(self.graph.graph(), node);
        time.expect("only operations on sequences are divided")
    }

    /// Makes the result of a chunk the value that the undivided node computed.
    fn rename(&mut self, from: ValueId, to: ValueId) {
        if let Some(producer) = self.graph.producer(from) {
            let mut node = self.graph.node(producer).clone();
            for value in &mut node.outputs {
                if *value == from {
                    *value = to;
                }
            }
            self.graph.set(producer, node);
        }
        self.graph.replace(from, to);
    }

    /// As [`Self::rename`], also in the results of chunk `chunk` of node `k`.
    fn rename_result(&mut self, k: usize, chunk: usize, from: ValueId, to: ValueId) {
        self.rename(from, to);
        for value in self
            .results
            .get_mut(&k)
            .into_iter()
            .flat_map(|all| &mut all[chunk])
        {
            if *value == from {
                *value = to;
            }
        }
    }

    /// The sum of tensors, from the first to the last, into `to`.
    fn sum(&mut self, like: &Node, tensors: Vec<ValueId>, to: ValueId) {
        let ty = self.graph.ty(to).clone();
        let mut rest = tensors.into_iter();
        let mut terms: Vec<ValueId> = rest.by_ref().take(TERMS).collect();
        loop {
            let last = rest.len() == 0;
            let sum = (0..terms.len()).map(Map::operand).reduce(|a, b| a + b);
            let dtype = match last {
                true => ty.dtype,
                false => ty.dtype.arithmetic(),
            };
            let sum = vec![sum.unwrap_or_else(|| Expr::constant(0.0))];
            let map = Map::stored(sum, &*ty.shape, vec![dtype]);
            let made = self.push(like, map, &terms)[0];
            if last {
                self.rename(made, to);
                return;
            }
            terms = [made]
                .into_iter()
                .chain(rest.by_ref().take(TERMS - 1))
                .collect();
        }
    }

    /// Mean and variance of a sequence from those of equal chunks (Chan, Golub, LeVeque, 1979).
    fn combine_mean_var(&mut self, node: &Node, means: &[ValueId], variances: &[ValueId]) {
        let (count, channels) = (means.len(), self.graph.shape(node.outputs[0])[0]);
        let means = self.stack(node, means, channels);
        let variances = self.stack(node, variances, channels);
        let mean = self.mean(node, means, [count, channels]);
        let x = Map::operand;
        let distance = x(1) - x(2);
        let spread = Map::new(vec![x(0) + &distance * &distance], [count, channels]);
        let spread = self.push(node, spread, &[variances, means, mean])[0];
        let variance = self.mean(node, spread, [count, channels]);
        self.rename(mean, node.outputs[0]);
        self.rename(variance, node.outputs[1]);
    }

    /// Rows below each other: `[count, channels]`.
    fn stack(&mut self, like: &Node, rows: &[ValueId], channels: usize) -> ValueId {
        let joined = self.push(like, Concat { axis: 0 }, rows)[0];
        let shape = vec![rows.len(), channels];
        self.push(like, Reshape { shape }, &[joined])[0]
    }

    /// The mean of rows.
    fn mean(&mut self, like: &Node, rows: ValueId, [count, channels]: [usize; 2]) -> ValueId {
        let sum = self.push(like, Reduce::sum([0]), &[rows])[0];
        let share = Map::operand(0) * (1.0 / count as f64);
        self.push(like, Map::new(vec![share], [channels]), &[sum])[0]
    }
}
