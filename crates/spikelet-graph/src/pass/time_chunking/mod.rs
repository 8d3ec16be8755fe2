//! Divides operations on long sequences into chunks of time steps.
//!
//! ```text
//! %3 = conv2d(%1, %2)        →   %4 = time_chunk[1 of 2](%1);  %6 = conv2d(%4, %2)
//!                                %5 = time_chunk[2 of 2](%1);  %7 = conv2d(%5, %2);  %3 = concat_chunks(%6, %7)
//! ```
//!
//! Chunks are views, and each chunk of a result is written at its place in the result, so that
//! nothing is copied. A chunk has at most [`SchedulingPolicy::chunk_elements`] elements. Convolutions and
//! channel statistics of more than twice as many elements are always divided: a sum over all steps
//! is then the sum of the chunks' sums, with or without a memory budget.
//!
//! Under a tight memory budget all other large operations are divided too, including neurons, whose
//! states are carried from chunk to chunk, and each chunk runs through as many operations as
//! possible before the next one:
//!
//! ```text
//! conv 1, conv 2, lif 1, lif 2, …   →   conv 1, lif 1, …, conv 2, lif 2, …
//! ```
//!
//! A sequence between two of these operations then exists for one chunk only. The same operations
//! run on the same chunks in both cases, sums have the same order, and a neuron's results do not
//! depend on the division: the results are the same to the last bit.
//!
//! Networks with recurrent layers, as loops or as recurrent scans, are divided the same way into any number of
//! chunks that divides the time steps. The carried values between chunks are then the only ones that have to be
//! stored: the other values of a chunk can be recomputed from them.
//!
//! ```text
//! loop[T=200]        →   loop 1[T=20], loop 2[T=20], …          carried values at every 20th step
//! loop[T=200]'           loop 10[T=20]', loop 9[T=20]', …
//! ```
//!
//! Products with weights and sums over time are divided, too. The gradient of a weight is then the sum of those of the
//! chunks, the last first, so that its last bits can differ. Channel statistics, of which spikes depend, stay whole.

mod carried;
mod cut;
mod divisible;
mod order;
pub mod overlap;

use super::{Report, dead_code};
use crate::graph::{Graph, Node, ValueId};
use crate::op::{Op, Operation, Port, Ports, ScanId, time_chunk_type};
use crate::semantics::Join;
use crate::target::SchedulingPolicy;
use crate::types::TensorType;
use cut::Cutter;
use divisible::{TimeAxis, cut_types, cut_values, is_sum, views_are_aligned};
use order::{Item, in_order};
use std::collections::{HashMap, HashSet};

/// A sequence that would need more chunks is not divided: no memory holds it.
const MAX_CHUNKS: usize = 1 << 12;

/// The most chunks of a network with recurrent layers, and the most operations of all of them: each chunk has those of
/// the network.
const MAX_DIVISION: usize = 32;
const MAX_NODES: usize = 4000;

/// How a node is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// The number of chunks.
    pub(super) count: usize,
    /// For a backward scan, the node of its forward scan.
    pub(super) forward: Option<usize>,
}

/// A way to divide a network with recurrent layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Division {
    /// The time steps of the recurrent layers.
    pub(crate) steps: usize,
    /// The number of chunks.
    pub(crate) count: usize,
}

/// The time steps of the recurrent layers of a graph, and the numbers of chunks to try, each at least a quarter
/// larger than the one before; `None` without recurrent layers.
pub(crate) fn recurrent_chunks(graph: &Graph) -> Option<(usize, Vec<usize>)> {
    let steps = graph.nodes.iter();
    let steps = steps.filter_map(|node| node.op.recurrent_steps());
    let steps = steps.max().filter(|steps| *steps > 1)?;
    let most = MAX_DIVISION.min(MAX_NODES / graph.nodes.len().max(1));
    let mut counts: Vec<usize> = vec![];
    for count in (2..=steps.min(most)).filter(|count| steps.is_multiple_of(*count)) {
        if counts.last().is_none_or(|last| 4 * count >= 5 * last) {
            counts.push(count);
        }
    }
    Some((steps, counts))
}

/// Divides all large operations of a network with recurrent layers. Returns whether there are any.
pub(crate) fn run_division(graph: &mut Graph, division: Division) -> bool {
    let Some(rule) = Rule::of_division(graph, division) else {
        return false;
    };
    let cuts = cuts_by(graph, &rule, true);
    if cuts.iter().flatten().next().is_none() {
        return false;
    }
    let items = in_order(graph, &cuts);
    Cutter::new(graph, &cuts).run(items);
    dead_code::run(graph);
    true
}

/// Whether [`run`] divides anything.
pub(crate) fn divides(graph: &Graph, target: &dyn SchedulingPolicy) -> bool {
    let rule = Rule::of(graph, target);
    rule.is_some_and(|rule| graph.nodes.iter().any(|node| rule.cuts_always(graph, node)))
}

/// Divides convolutions and channel statistics; all other operations are unchanged.
pub fn run(graph: &mut Graph, target: &dyn SchedulingPolicy) -> Report {
    let cuts = cuts(graph, target, false);
    let changes = cuts.iter().flatten().count();
    if changes > 0 {
        let items = (0..graph.nodes.len()).map(|k| match cuts[k] {
            Some(_) => Item::Interleaved(vec![k]),
            None => Item::Whole(k),
        });
        let items: Vec<Item> = items.collect();
        Cutter::new(graph, &cuts).run(items);
    }
    Report {
        pass: "time chunking",
        changes,
        summary: format!("{changes} operations on long sequences run in time chunks"),
    }
}

/// Divides all large operations, and runs each chunk through as many operations as possible.
/// Returns the largest number of chunks; `None` if nothing is that large.
pub(crate) fn run_interleaved(graph: &mut Graph, target: &dyn SchedulingPolicy) -> Option<usize> {
    let cuts = cuts(graph, target, true);
    let most = cuts.iter().flatten().map(|cut| cut.count).max()?;
    let items = in_order(graph, &cuts);
    Cutter::new(graph, &cuts).run(items);
    dead_code::run(graph);
    Some(most)
}

/// How each node is divided, if it is.
fn cuts(graph: &Graph, target: &dyn SchedulingPolicy, all: bool) -> Vec<Option<Cut>> {
    match Rule::of(graph, target) {
        Some(rule) => cuts_by(graph, &rule, all),
        None => vec![None; graph.nodes.len()],
    }
}

fn cuts_by(graph: &Graph, rule: &Rule, all: bool) -> Vec<Option<Cut>> {
    let scans = ForwardScans::of(graph);
    let mut cuts: Vec<Option<Cut>> = vec![];
    for node in &graph.nodes {
        let cut = (all || is_sum(&node.op)) && rule.cuts(graph, node);
        let is_grad = matches!(node.op, Op::ScanGrad(_));
        let forward = match is_grad && cut {
            true => scans.find(graph, node).filter(|k| cuts[*k].is_some()),
            false => None,
        };
        let cut = cut && (forward.is_some() || !is_grad);
        cuts.push(cut.then_some(Cut {
            count: rule.count,
            forward,
        }));
    }
    // A scan in chunks stores no states for a backward scan that goes through all steps at once.
    let refused = scans.with_other_readers(graph, &cuts);
    for cut in &mut cuts {
        *cut = cut.filter(|cut| cut.forward.is_none_or(|k| !refused.contains(&k)));
    }
    for k in refused {
        cuts[k] = None;
    }
    cuts
}

/// Which operations of a graph are divided, and into how many chunks.
pub(crate) struct Rule {
    steps: usize,
    count: usize,
    /// The largest number of elements of a chunk.
    limit: usize,
    given: HashSet<ValueId>,
    is_division: bool,
}

/// Of a division, sequences with fewer elements than this part of the largest stay undivided.
const MIN_PART: usize = 16;

/// Whether the first axis is time, or time and batch as one axis: what a loop stacks of `[N, …]` is `[T·N, …]`.
fn has_steps(ty: &TensorType, steps: usize) -> bool {
    let first = ty.shape.first();
    first.is_some_and(|first| *first > 0 && first.is_multiple_of(steps))
}

impl Rule {
    /// All large operations are divided into as many chunks as the largest sequence needs.
    pub(crate) fn of(graph: &Graph, target: &dyn SchedulingPolicy) -> Option<Self> {
        let limit = target.chunk_elements().max(1);
        let largest = |node: &Node| {
            let values = cut_types(graph, node)?;
            let largest = values.into_iter().max_by_key(|t| t.len())?;
            Some((largest.len(), *largest.shape.first()?))
        };
        let sums = graph.nodes.iter().filter(|n| is_sum(&n.op));
        // Of equal sequences that with the shorter first axis: statistics of each step have the batch there.
        let order = |(elements, steps): &(usize, usize)| (*elements, std::cmp::Reverse(*steps));
        let (elements, steps) = sums.filter_map(largest).max_by_key(order)?;
        if elements <= limit.saturating_mul(2) {
            return None;
        }
        let enough = |count: &usize| {
            steps.is_multiple_of(*count) && (elements / *count <= limit || *count == steps)
        };
        Some(Self {
            steps,
            count: (2..=steps.min(MAX_CHUNKS)).find(enough)?,
            limit,
            given: graph.outputs.iter().map(|o| o.value).collect(),
            is_division: false,
        })
    }

    /// The rule of a division; `None` if no recurrent layer has its time steps.
    fn of_division(graph: &Graph, division: Division) -> Option<Self> {
        let nodes = graph.nodes.iter();
        let types = nodes.filter(|node| node.op.recurrent_steps().is_some());
        let types = types.filter_map(|node| cut_types(graph, node)).flatten();
        let sequences = types.filter(|ty| has_steps(ty, division.steps));
        let largest = sequences.map(|ty| ty.len()).max()?;
        Some(Self {
            steps: division.steps,
            count: division.count,
            limit: largest,
            given: graph.outputs.iter().map(|o| o.value).collect(),
            is_division: true,
        })
    }

    /// Whether a node is large and can be divided that way.
    fn cuts(&self, graph: &Graph, node: &Node) -> bool {
        let Some(time) = TimeAxis::of(graph, node) else {
            return false;
        };
        let types = time.types(graph, node);
        let given = (time.results)
            .iter()
            .any(|k| self.given.contains(&node.outputs[*k]));
        if self.is_division {
            let fits = |ty: &&TensorType| {
                has_steps(ty, self.steps) && time_chunk_type(ty, self.count).is_some()
            };
            let large = types.iter().any(|ty| ty.len() >= self.limit / MIN_PART);
            let is_statistic = !time.joined(Join::MeanVar).is_empty();
            return !given && !is_statistic && large && types.iter().all(fits);
        }
        let aligned = |ty: &&TensorType| {
            ty.shape.first() == Some(&self.steps) && views_are_aligned(ty, self.count)
        };
        // Dividing a small sum saves nothing; dividing a small sequence beside large ones does.
        let least = match is_sum(&node.op) {
            true => 2 * self.limit,
            false => self.limit / 2,
        };
        !given
            && !time.only_in_divisions(&node.op)
            && types.iter().any(|ty| ty.len() > least)
            && types.iter().all(aligned)
    }

    /// Whether [`run`] divides a node.
    pub(crate) fn cuts_always(&self, graph: &Graph, node: &Node) -> bool {
        is_sum(&node.op) && self.cuts(graph, node)
    }
}

/// The forward scans of a graph.
struct ForwardScans {
    of: HashMap<ScanId, Vec<usize>>,
    /// By a state that it stores for a backward scan.
    checkpoints: HashMap<ValueId, usize>,
}

impl ForwardScans {
    fn of(graph: &Graph) -> Self {
        let mut of: HashMap<ScanId, Vec<usize>> = HashMap::new();
        let mut checkpoints: HashMap<ValueId, usize> = HashMap::new();
        for (k, node) in graph.nodes.iter().enumerate() {
            if let Op::Scan(scan) = &node.op {
                of.entry(scan.id).or_default().push(k);
                let stored = scan.results_that(&|port| matches!(port, Port::Checkpoint(_)));
                checkpoints.extend(stored.into_iter().map(|at| (node.outputs[at], k)));
            }
        }
        Self { of, checkpoints }
    }

    /// The forward scan of a backward scan. Of several that compute the same, it is the one whose results the backward
    /// scan reads.
    fn find(&self, graph: &Graph, node: &Node) -> Option<usize> {
        let Op::ScanGrad(grad) = &node.op else {
            return None;
        };
        match self.of.get(&grad.of.id)?[..] {
            [only] => Some(only),
            ref several => several.iter().copied().find(|k| {
                let mut results = graph.nodes[*k].outputs.iter();
                results.any(|value| node.inputs.contains(value))
            }),
        }
    }

    /// The scans that are divided but store states for nodes that are not divided with them.
    fn with_other_readers(&self, graph: &Graph, cuts: &[Option<Cut>]) -> HashSet<usize> {
        let mut found: HashSet<usize> = HashSet::new();
        for (node, cut) in graph.nodes.iter().zip(cuts) {
            let read = node.inputs.iter().filter_map(|v| self.checkpoints.get(v));
            found.extend(read.filter(|scan| cut.is_none_or(|cut| cut.forward != Some(**scan))));
        }
        found.retain(|scan| cuts[*scan].is_some());
        found
    }
}
