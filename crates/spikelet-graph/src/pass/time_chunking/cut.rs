//! Writes the chunks of each node.

use super::order::Item;
use super::{Cut, cut_values};
use crate::graph::{Graph, Node, ValueId};
use crate::liveness::roots;
use crate::op::{
    Concat, ConcatChunks, ConvPart, Map, Op, Reduce, Reshape, Scan, ScanGrad, Slice, TimeChunk,
};
use crate::rewrite::{NodeId, Rewriter};
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
                    let is_backward = |k: &usize| self.graph.op::<ScanGrad>(self.old[*k]).is_some();
                    let backward = list.iter().any(is_backward);
                    for step in 0..count {
                        let chunk = if backward { count - 1 - step } else { step };
                        for &k in &list {
                            self.write(k, chunk, count);
                        }
                    }
                    for &k in &list {
                        self.finish(k, count);
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
        let op: Op = if self.external.contains(&value) {
            // A view into a caller's memory would start at an unaligned address.
            let steps = self.graph.shape(value)[0] / count;
            let (start, end) = (chunk * steps, (chunk + 1) * steps);
            Slice {
                axis: 0,
                start,
                end,
            }
            .into()
        } else {
            let index = chunk;
            TimeChunk { index, count }.into()
        };
        let made = self.push(like, op, &[value])[0];
        self.remember(value, count, chunk, made);
        made
    }

    fn remember(&mut self, value: ValueId, count: usize, chunk: usize, made: ValueId) {
        let all = self.chunks.entry((value, count));
        all.or_insert_with(|| vec![None; count])[chunk] = Some(made);
    }

    /// One chunk of a node.
    fn write(&mut self, k: usize, chunk: usize, count: usize) {
        let node = self.graph.node(self.old[k]).clone();
        let (operands, results) = cut_values(self.graph.graph(), &node).unwrap_or_default();
        let mut inputs = node.inputs.clone();
        for at in operands {
            inputs[at] = self.chunk(&node, inputs[at], chunk, count);
        }
        let op = match &node.op {
            Op::Map(map) => {
                let mut map = map.clone();
                map.shape[0] /= count;
                map.into()
            }
            Op::Scan(op) => self.scan(op, k, chunk, count, &mut inputs),
            Op::ScanGrad(op) => self.scan_grad(op, k, chunk, count, &mut inputs),
            other => other.clone(),
        };
        let made = self.push(&node, op, &inputs);
        for (value, old) in made.iter().zip(&node.outputs) {
            let dtype = self.graph.ty(*old).dtype;
            self.graph.set_dtype(*value, dtype);
        }
        for at in results {
            self.remember(node.outputs[at], count, chunk, made[at]);
        }
        let all = self.results.entry(k).or_insert_with(|| vec![vec![]; count]);
        all[chunk] = made;
    }

    /// A forward scan over some steps, from the states that the steps before left.
    fn scan(&self, op: &Scan, k: usize, chunk: usize, count: usize, inputs: &mut [ValueId]) -> Op {
        let r = &op.recurrence;
        if chunk > 0 {
            let before = &self.results[&k][chunk - 1];
            for state in 0..r.states.len() {
                inputs[r.inputs.len() + state] = before[r.outputs.len() + state];
            }
        }
        Op::Scan(Scan {
            time_steps: op.time_steps / count,
            checkpoint: None,
            ..op.clone()
        })
    }

    /// A backward scan over some steps: from the states that the forward scan left before them, with
    /// the gradients that the steps after them have left.
    fn scan_grad(
        &self,
        op: &ScanGrad,
        k: usize,
        chunk: usize,
        count: usize,
        inputs: &mut Vec<ValueId>,
    ) -> Op {
        let r = &op.recurrence;
        let (n_in, n_out, states) = (r.inputs.len(), r.outputs.len(), r.states.len());
        let mut operands = inputs[..n_in + states + r.params.len()].to_vec();
        let forward = self.cuts[k].and_then(|cut| cut.forward);
        if let (true, Some(scan)) = (chunk > 0, forward) {
            let left = &self.results[&scan][chunk - 1][n_out..n_out + states];
            operands[n_in..n_in + states].copy_from_slice(left);
        }
        let behind = (chunk + 1 < count).then(|| self.results[&k][chunk + 1].clone());
        let mut present = op.present.clone();
        for result in 0..n_out + 2 * states {
            let is_last = (n_out..n_out + states).contains(&result);
            let grad = match &behind {
                Some(behind) if is_last => Some(behind[n_in + result - n_out]),
                _ => op.grad_operand(result).map(|at| inputs[at]),
            };
            present[result] = grad.is_some();
            operands.extend(grad);
        }
        let outputs = &self.graph.node(self.old[k]).outputs[n_in + states..];
        let mut accumulates = vec![false; r.params.len()];
        if let Some(behind) = &behind {
            for (param, accumulates) in accumulates.iter_mut().enumerate() {
                *accumulates = self.read.contains(&outputs[param]);
                operands.extend(accumulates.then(|| behind[n_in + states + param]));
            }
        }
        *inputs = operands;
        Op::ScanGrad(ScanGrad {
            time_steps: op.time_steps / count,
            checkpoint: None,
            present,
            accumulates,
            ..op.clone()
        })
    }

    /// The results of a node, from those of its chunks.
    fn finish(&mut self, k: usize, count: usize) {
        let node = self.graph.remove(self.old[k]);
        let (_, results) = cut_values(self.graph.graph(), &node).unwrap_or_default();
        let made = self.results[&k].clone();
        let of_chunks = |at: usize| -> Vec<ValueId> { made.iter().map(|made| made[at]).collect() };
        for at in results {
            if self.read.contains(&node.outputs[at]) {
                self.graph.push(Node {
                    op: ConcatChunks.into(),
                    inputs: of_chunks(at),
                    outputs: vec![node.outputs[at]],
                    ..node.clone()
                });
            }
        }
        match &node.op {
            Op::Conv(op) if op.part == ConvPart::Weight => {
                self.sum(&node, of_chunks(0), node.outputs[0]);
            }
            Op::MeanVar(_) => self.combine_mean_var(&node, &of_chunks(0), &of_chunks(1)),
            Op::Scan(op) => {
                let outputs = op.recurrence.outputs.len();
                let pairs = made[count - 1].iter().zip(&node.outputs);
                for (last, whole) in pairs.skip(outputs).take(op.recurrence.states.len()) {
                    self.rename(*last, *whole);
                    self.rename_result(k, count - 1, *last, *whole);
                }
            }
            Op::ScanGrad(op) => {
                let pairs = made[0].iter().zip(&node.outputs);
                for (first, whole) in pairs.skip(op.recurrence.inputs.len()) {
                    self.rename(*first, *whole);
                    self.rename_result(k, 0, *first, *whole);
                }
            }
            _ => {}
        }
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

    /// As [`Self::rename`], in the results of chunk `chunk` of node `k`.
    fn rename_result(&mut self, k: usize, chunk: usize, from: ValueId, to: ValueId) {
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
            let map = Map {
                dtypes: vec![if last {
                    ty.dtype
                } else {
                    ty.dtype.arithmetic()
                }],
                ..Map::new(vec![sum.unwrap_or_else(|| Expr::constant(0.0))], &*ty.shape)
            };
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
