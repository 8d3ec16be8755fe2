//! Writes the parts of each node.

use super::order::Item;
use super::{Cut, cut_values};
use crate::graph::{Graph, Node, ValueId};
use crate::op::{
    Concat, ConcatChunks, ConvPart, Map, Op, Reduce, Reshape, Scan, ScanGrad, Slice, TimeChunk,
};
use crate::plan::roots;
use spikelet_expr::Expr;
use std::collections::{HashMap, HashSet};

/// Summands of one elementwise operation.
const TERMS: usize = 8;

/// Builds the nodes of a graph anew.
pub(super) struct Cutter<'a> {
    old: Vec<Node>,
    cuts: &'a [Option<Cut>],
    nodes: Vec<Node>,
    /// The parts of a value, by their number, as far as there are any yet.
    parts: HashMap<(ValueId, usize), Vec<Option<ValueId>>>,
    /// The results of a node's parts: whole ones, which go on to the next part or are summed up.
    made: HashMap<usize, Vec<Vec<ValueId>>>,
    /// Values that somebody reads.
    read: HashSet<ValueId>,
    /// Values in the caller's memory, or views of such.
    given: HashSet<ValueId>,
}

impl<'a> Cutter<'a> {
    pub(super) fn new(graph: &mut Graph, cuts: &'a [Option<Cut>]) -> Self {
        let outputs = graph.outputs.iter().map(|o| o.value);
        let read = graph.nodes.iter().flat_map(|n| n.inputs.iter().copied());
        let roots = roots(graph);
        let inputs: HashSet<usize> = graph.inputs.iter().map(|i| i.value.index()).collect();
        let given = (0..graph.values()).filter(|v| inputs.contains(&roots[*v]));
        Self {
            read: read.chain(outputs).collect(),
            given: given.map(|v| ValueId(v as u32)).collect(),
            old: std::mem::take(&mut graph.nodes),
            cuts,
            nodes: vec![],
            parts: HashMap::new(),
            made: HashMap::new(),
        }
    }

    pub(super) fn run(mut self, graph: &mut Graph, items: Vec<Item>) {
        for item in items {
            match item {
                Item::Whole(k) => self.nodes.push(self.old[k].clone()),
                Item::Together(list) => {
                    let count = self.cuts[list[0]].map_or(1, |cut| cut.count);
                    let is_backward = |k: &usize| matches!(self.old[*k].op, Op::ScanGrad(_));
                    let backward = list.iter().any(is_backward);
                    for step in 0..count {
                        let part = if backward { count - 1 - step } else { step };
                        for &k in &list {
                            self.write(graph, k, part, count);
                        }
                    }
                    for &k in &list {
                        self.finish(graph, k, count);
                    }
                }
            }
        }
        graph.nodes = self.nodes;
    }

    fn push(&mut self, graph: &mut Graph, like: &Node, op: Op, inputs: &[ValueId]) -> Vec<ValueId> {
        let node = graph
            .make_node(op, inputs, &like.layer, like.backward)
            .expect("a part of an operation that fits, fits");
        let outputs = node.outputs.clone();
        self.nodes.push(node);
        outputs
    }

    /// Part `part` of a value.
    fn part(
        &mut self,
        graph: &mut Graph,
        like: &Node,
        value: ValueId,
        part: usize,
        count: usize,
    ) -> ValueId {
        if let Some(known) = self.parts.get(&(value, count)).and_then(|p| p[part]) {
            return known;
        }
        let op = if self.given.contains(&value) {
            // A view into somebody else's memory would start at an odd place.
            let steps = graph.shape(value)[0] / count;
            let (start, end) = (part * steps, (part + 1) * steps);
            Slice {
                axis: 0,
                start,
                end,
            }
            .into()
        } else {
            TimeChunk { index: part, count }.into()
        };
        let made = self.push(graph, like, op, &[value])[0];
        self.remember(value, count, part, made);
        made
    }

    fn remember(&mut self, value: ValueId, count: usize, part: usize, made: ValueId) {
        let all = self.parts.entry((value, count));
        all.or_insert_with(|| vec![None; count])[part] = Some(made);
    }

    /// One part of a node.
    fn write(&mut self, graph: &mut Graph, k: usize, part: usize, count: usize) {
        let node = self.old[k].clone();
        let (operands, results) = cut_values(graph, &node).unwrap_or_default();
        let mut inputs = node.inputs.clone();
        for at in operands {
            inputs[at] = self.part(graph, &node, inputs[at], part, count);
        }
        let op = match &node.op {
            Op::Map(map) => {
                let mut map = map.clone();
                map.shape[0] /= count;
                map.into()
            }
            Op::Scan(op) => self.scan(op, k, part, count, &mut inputs),
            Op::ScanGrad(op) => self.scan_grad(op, k, part, count, &mut inputs),
            other => other.clone(),
        };
        let made = self.push(graph, &node, op, &inputs);
        for (value, old) in made.iter().zip(&node.outputs) {
            let dtype = graph.ty(*old).dtype;
            graph.set_dtype(*value, dtype);
        }
        for at in results {
            self.remember(node.outputs[at], count, part, made[at]);
        }
        let all = self.made.entry(k).or_insert_with(|| vec![vec![]; count]);
        all[part] = made;
    }

    /// A forward scan over some steps, from the states that the steps before left.
    fn scan(&self, op: &Scan, k: usize, part: usize, count: usize, inputs: &mut [ValueId]) -> Op {
        let r = &op.recurrence;
        if part > 0 {
            let before = &self.made[&k][part - 1];
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

    /// A backward scan over some steps: from the states that the forward scan left before them, and
    /// on with the gradients that the steps behind have left.
    fn scan_grad(
        &self,
        op: &ScanGrad,
        k: usize,
        part: usize,
        count: usize,
        inputs: &mut Vec<ValueId>,
    ) -> Op {
        let r = &op.recurrence;
        let (n_in, n_out, states) = (r.inputs.len(), r.outputs.len(), r.states.len());
        let mut operands = inputs[..n_in + states + r.params.len()].to_vec();
        let forward = self.cuts[k].and_then(|cut| cut.forward);
        if let (true, Some(scan)) = (part > 0, forward) {
            let left = &self.made[&scan][part - 1][n_out..n_out + states];
            operands[n_in..n_in + states].copy_from_slice(left);
        }
        let behind = (part + 1 < count).then(|| self.made[&k][part + 1].clone());
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
        let outputs = &self.old[k].outputs[n_in + states..];
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

    /// What a node made, from its parts.
    fn finish(&mut self, graph: &mut Graph, k: usize, count: usize) {
        let node = self.old[k].clone();
        let (_, results) = cut_values(graph, &node).unwrap_or_default();
        let made = self.made[&k].clone();
        for at in results {
            let whole = node.outputs[at];
            if self.read.contains(&whole) {
                let parts = made.iter().map(|outputs| outputs[at]).collect();
                self.nodes.push(Node {
                    op: ConcatChunks.into(),
                    inputs: parts,
                    outputs: vec![whole],
                    ..node.clone()
                });
            }
        }
        let first = |at: usize| made.iter().map(|outputs| outputs[at]).collect::<Vec<_>>();
        match &node.op {
            Op::Conv(op) if op.part == ConvPart::Weight => {
                let parts = first(0);
                self.sum(graph, &node, parts, node.outputs[0]);
            }
            Op::MeanVar(_) => self.join_moments(graph, &node, &first(0), &first(1)),
            Op::Scan(op) => {
                let outputs = op.recurrence.outputs.len();
                let pairs = made[count - 1].iter().zip(&node.outputs);
                for (last, whole) in pairs.skip(outputs).take(op.recurrence.states.len()) {
                    self.rename(*last, *whole);
                }
            }
            Op::ScanGrad(op) => {
                let pairs = made[0].iter().zip(&node.outputs);
                for (first, whole) in pairs.skip(op.recurrence.inputs.len()) {
                    self.rename(*first, *whole);
                }
            }
            _ => {}
        }
    }

    /// Gives a result of a part the name that the whole's result had.
    fn rename(&mut self, from: ValueId, to: ValueId) {
        for node in self.nodes.iter_mut().rev() {
            for value in node.inputs.iter_mut().chain(&mut node.outputs) {
                if *value == from {
                    *value = to;
                }
            }
        }
        for outputs in self.made.values_mut().flatten().flatten() {
            if *outputs == from {
                *outputs = to;
            }
        }
    }

    /// The sum of tensors, from the first to the last, into `to`.
    fn sum(&mut self, graph: &mut Graph, like: &Node, parts: Vec<ValueId>, to: ValueId) {
        let ty = graph.ty(to).clone();
        let mut rest = parts.into_iter();
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
            let made = self.push(graph, like, map.into(), &terms)[0];
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

    /// Mean and variance of all from those of equal parts (Chan, Golub, LeVeque, 1979).
    fn join_moments(
        &mut self,
        graph: &mut Graph,
        node: &Node,
        means: &[ValueId],
        variances: &[ValueId],
    ) {
        let (count, channels) = (means.len(), graph.shape(node.outputs[0])[0]);
        let means = self.stack(graph, node, means, channels);
        let variances = self.stack(graph, node, variances, channels);
        let mean = self.mean(graph, node, means, [count, channels]);
        let x = Map::operand;
        let apart = x(1) - x(2);
        let spread = Map::new(vec![x(0) + &apart * &apart], [count, channels]);
        let spread = self.push(graph, node, spread.into(), &[variances, means, mean])[0];
        let variance = self.mean(graph, node, spread, [count, channels]);
        self.rename(mean, node.outputs[0]);
        self.rename(variance, node.outputs[1]);
    }

    /// Rows below each other: `[count, channels]`.
    fn stack(
        &mut self,
        graph: &mut Graph,
        like: &Node,
        rows: &[ValueId],
        channels: usize,
    ) -> ValueId {
        let joined = self.push(graph, like, Concat { axis: 0 }.into(), rows)[0];
        let shape = vec![rows.len(), channels];
        self.push(graph, like, Reshape { shape }.into(), &[joined])[0]
    }

    /// The mean of rows.
    fn mean(
        &mut self,
        graph: &mut Graph,
        like: &Node,
        rows: ValueId,
        [count, channels]: [usize; 2],
    ) -> ValueId {
        let sum = self.push(graph, like, Reduce::sum([0]).into(), &[rows])[0];
        let share = Map::operand(0) * (1.0 / count as f64);
        let map = Map::new(vec![share], [channels]);
        self.push(graph, like, map.into(), &[sum])[0]
    }
}
