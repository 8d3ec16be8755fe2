//! Fuses normalization before a neuron, and max pooling of blocks after it, into the neuron's scan.
//!
//! ```text
//! %5 = map[x0 · x1 + x2](%3, %scale, %shift)
//! %6 = scan[if, T=4](%5, …)                       →   %7 = scan[if, T=4, pooled 2×2](%3, …, %scale, %shift)
//! %7 = max_pool2d[2 by 2, padding 0](%6)
//! ```
//!
//! An elementwise operation over one sequence and values that are constant over time (batch norm's
//! scale and shift, a bias) becomes part of the neuron's step, with these values as parameters: the
//! normalized sequence is never written, and the derivative of the step contains the gradients of scale
//! and shift. If only the maxima of blocks of spikes are read, the scan writes the maxima. Allowed
//! because the same operations run in the same order; a 16-bit sequence is rounded once less.
//!
//! A value that is added to each channel (a convolution's bias) first moves behind max pooling and behind
//! mean and variance, and then into the neuron. Of two elements of a block that the addition would
//! round to the same number, the larger gets the gradient.
//!
//! The pass runs before differentiation, so that the backward pass is that of the fused graph. The fused
//! operations stay in the graph for other readers; dead code elimination removes them if there are none.

use super::Report;
use crate::graph::{Graph, Node, ValueId};
use crate::notes::Notes;
use crate::op::{Map, MeanVar, Op, Pool, Pooling, Port, Ports, Scan, ScanId};
use crate::rewrite::{NodeId, Rewriter};
use crate::types::{TensorType, broadcast};
use spikelet_expr::Expr;
use std::collections::HashSet;
use std::sync::Arc;

/// The largest number of steps of a pooled scan, which keeps the neurons of its blocks in registers.
const MAX_POOLED_STEPS: usize = 16;

/// The largest number of parameters of a neuron after fusion.
const MAX_PARAMS: usize = 12;

/// Fuses scans with the operations before and after them.
pub fn run(graph: &mut Graph) -> Report {
    if graph.disable_fusion {
        return report(0, 0);
    }
    let mut graph = Rewriter::new(graph);
    let mut maps = graph
        .apply(|graph, k| pool_before_shift(graph, k).or_else(|| mean_var_before_shift(graph, k)));
    let mut taken = HashSet::new();
    for k in graph.order() {
        while let Some((joined, map)) = with_map(&graph, k, &taken) {
            graph.set(k, joined);
            taken.insert(map);
            maps += 1;
        }
    }
    let pools = graph.apply(|graph, k| {
        let joined = with_pool(graph, k, &taken)?;
        graph.set(k, joined);
        Some(())
    });
    report(maps, pools)
}

fn report(maps: usize, pools: usize) -> Report {
    Report {
        pass: "affine fusion into neurons",
        changes: maps + pools,
        summary: format!(
            "{maps} elementwise operations and {pools} poolings fused into neuron scans"
        ),
    }
}

/// How often a value is read by operations whose results are read: a movement of elements whose
/// result is not read does not count, nor does a map that was `taken` into its only reader.
fn readers(graph: &Rewriter<'_>, value: ValueId, taken: &HashSet<ValueId>) -> usize {
    // The result of a reader that does not count by itself.
    let passed_on = |k: NodeId| {
        let node = graph.node(k);
        let made = node.outputs[0];
        let moves = matches!(node.op, Op::Permute(_) | Op::Reshape(_) | Op::Expand(_));
        (moves || taken.contains(&made)).then_some(made)
    };
    let is_read = |value: ValueId| {
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            if graph.output_count(value) > 0 {
                return true;
            }
            for k in graph.readers(value) {
                match passed_on(k) {
                    Some(made) => open.push(made),
                    None => return true,
                }
            }
        }
        false
    };
    let counts = |k: &NodeId| passed_on(*k).is_none_or(is_read);
    let nodes = graph.readers(value).into_iter().filter(counts).count();
    graph.output_count(value) + nodes
}

/// The sequence and the addends `[C]`, if `value` is computed by an addition to each channel.
fn shift(graph: &Rewriter<'_>, value: ValueId) -> Option<(ValueId, ValueId)> {
    let (node, map) = graph.made_by::<Map>(value)?;
    let (&[x, b], [expression]) = (&graph.node(node).inputs[..], &map.expressions[..]) else {
        return None;
    };
    let sum = Map::operand(0) + Map::operand(1);
    let channels = graph.shape(value).last().copied()?;
    let fits = graph.ty(x) == graph.ty(value)
        && graph.shape(b) == [channels]
        && graph.ty(b).dtype == graph.ty(x).dtype.arithmetic()
        && expression.same_value(&sum);
    fits.then_some((x, b))
}

/// `max_pool(x + b)` → `max_pool(x) + b`: the same elements, of which there are fewer.
fn pool_before_shift(graph: &mut Rewriter<'_>, k: NodeId) -> Option<()> {
    let pool = graph.op::<Pool>(k)?.clone();
    let x = graph.node(k).inputs[0];
    let (source, b) = shift(graph, x)?;
    if pool.pooling != Pooling::Max || readers(graph, x, &HashSet::new()) != 1 {
        return None;
    }
    let node = graph.node(k).clone();
    let ty = graph.ty(node.outputs[0]).clone();
    let pooled = graph.make(pool, &[source], &node.layer, false).ok()?;
    let sum = vec![Map::operand(0) + Map::operand(1)];
    let map = Map::stored(sum, ty.shape, vec![ty.dtype]);
    let inputs = vec![pooled.outputs[0], b];
    let op = map.into();
    graph.set(k, pooled);
    graph.insert_after(k, Node { op, inputs, ..node });
    Some(())
}

/// Mean and variance of `x + b` are the mean of `x`, plus `b`, and the variance of `x`.
fn mean_var_before_shift(graph: &mut Rewriter<'_>, k: NodeId) -> Option<()> {
    let op = *graph.op::<MeanVar>(k)?;
    let (source, b) = shift(graph, graph.node(k).inputs[0])?;
    let node = graph.node(k).clone();
    let mut mean_var = graph.make(op, &[source], &node.layer, false).ok()?;
    let map = Map::new(vec![Map::operand(0) + Map::operand(1)], graph.shape(b));
    let inputs = vec![mean_var.outputs[0], b];
    mean_var.outputs[1] = node.outputs[1];
    let outputs = vec![node.outputs[0]];
    let map = Node {
        op: map.into(),
        inputs,
        outputs,
        ..node
    };
    graph.set(k, mean_var);
    graph.insert_after(k, map);
    Some(())
}

/// The scan at `k` with the elementwise operation before one of its sequences taken in, and the
/// value that this operation computes.
fn with_map(graph: &Rewriter<'_>, k: NodeId, taken: &HashSet<ValueId>) -> Option<(Node, ValueId)> {
    let scan = graph.op::<Scan>(k).filter(|scan| scan.feedback.is_none())?;
    let (node, r) = (graph.node(k), &*scan.recurrence);
    (0..r.inputs.len()).find_map(|k| {
        let at = scan.reads(Port::Sequence(k));
        let (map_node, map) = graph.made_by::<Map>(node.inputs[at])?;
        let map_node = graph.node(map_node);
        let sequence = graph.ty(node.inputs[at]).clone();
        let state = sequence.dtype.arithmetic();
        let step = &sequence.shape[1..];
        let whole = |v: ValueId| graph.shape(v) == sequence.shape;
        let varying: Vec<usize> = (0..map_node.inputs.len())
            .filter(|&j| whole(map_node.inputs[j]))
            .collect();
        let [source] = varying[..] else { return None };
        let held: Vec<usize> = (0..map_node.inputs.len())
            .filter(|&j| j != source)
            .collect();
        let fits = |&j: &usize| {
            let ty = graph.ty(map_node.inputs[j]);
            ty.dtype == state && broadcast(&ty.shape, step).as_deref() == Some(step)
        };
        let same_type = graph.ty(map_node.inputs[source]).dtype == sequence.dtype;
        if map.expressions.len() != 1
            || !same_type
            || !held.iter().all(fits)
            || r.params.len() + held.len() > MAX_PARAMS
            || readers(graph, node.inputs[at], taken) != 1
        {
            return None;
        }
        let taken_names: Vec<&String> = [&r.inputs, &r.states, &r.params]
            .into_iter()
            .flatten()
            .collect();
        let fresh: Vec<String> = (0..)
            .map(|j| format!("{}_in{j}", r.inputs[k]))
            .filter(|name| !taken_names.contains(&name))
            .take(held.len())
            .collect();
        let inside = map.expressions[0].substitute(&|name: &str| {
            let j = (0..map_node.inputs.len()).find(|j| Map::operand_name(*j) == name)?;
            Some(match held.iter().position(|h| *h == j) {
                Some(h) => Expr::symbol(fresh[h].clone()),
                None => Expr::symbol(r.inputs[k].clone()),
            })
        });
        let put =
            |e: &Expr| e.substitute(&|name: &str| (name == r.inputs[k]).then(|| inside.clone()));
        let mut joined = r.clone();
        joined.next = r.next.iter().map(put).collect();
        for output in &mut joined.outputs {
            output.value = put(&output.value);
        }
        joined.params.extend(fresh);
        let op = Scan {
            recurrence: Arc::new(joined),
            ..scan.clone()
        };
        let mut inputs = node.inputs.clone();
        inputs[at] = map_node.inputs[source];
        for (j, held) in held.iter().enumerate() {
            let to = op.reads(Port::Param(r.params.len() + j));
            inputs.insert(to, map_node.inputs[*held]);
        }
        let joined = Node {
            op: op.into(),
            inputs,
            ..node.clone()
        };
        Some((joined, node.inputs[at]))
    })
}

/// The block that a pooling takes the maximum of, if its windows partition its operand into blocks.
fn blocks(graph: &Rewriter<'_>, pool: &Pool, x: ValueId) -> Option<[usize; 2]> {
    let (_, sizes, _) = pool.split(graph.shape(x));
    let (&[h, w], &[height, width]) = (&pool.windows[..], sizes) else {
        return None;
    };
    let max = pool.pooling == Pooling::Max;
    max.then_some([h.as_blocks(height)?, w.as_blocks(width)?])
}

/// A scan that computes what the pooling at `k` does.
fn with_pool(graph: &mut Rewriter<'_>, k: NodeId, taken: &HashSet<ValueId>) -> Option<Node> {
    let pool = graph.op::<Pool>(k)?;
    let x = graph.node(k).inputs[0];
    let size = blocks(graph, pool, x)?;
    let (before, scan) = graph.made_by::<Scan>(x)?;
    let before = graph.node(before).clone();
    let types: Vec<TensorType> = (before.inputs.iter())
        .map(|v| graph.ty(*v).clone())
        .collect();
    let spikes_alone = scan.recurrence.outputs.len() == 1 && scan.recurrence.outputs[0].binary;
    let others = scan.results_that(&|port| !matches!(port, Port::Output(_)));
    let others = others
        .into_iter()
        .any(|at| readers(graph, before.outputs[at], taken) > 0);
    if !spikes_alone
        || others
        || scan.pool.is_some()
        || scan.checkpoint.is_some()
        || scan.feedback.is_some()
        || scan.time_steps > MAX_POOLED_STEPS
        || graph.shape(x).len() < 4
        || readers(graph, x, taken) != 1
        || !scan.params_by_channel(&types)
    {
        return None;
    }
    // The first scan keeps the values of its states; this one has new ones.
    let scan = Scan {
        id: ScanId::new(),
        pool: Some(size),
        ..scan.clone()
    };
    let mut outputs = vec![];
    for (port, v) in scan.results().into_iter().zip(&before.outputs) {
        let ty = graph.ty(*v).clone();
        outputs.push(match port {
            Port::Output(_) => graph.node(k).outputs[0],
            _ => graph.add_value(ty),
        });
    }
    Some(Node {
        op: scan.into(),
        inputs: before.inputs,
        outputs,
        layer: before.layer,
        backward: false,
        notes: Notes::default(),
    })
}
