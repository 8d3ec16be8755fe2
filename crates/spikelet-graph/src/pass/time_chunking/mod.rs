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

mod cut;
mod order;

use super::{Report, dead_code};
use crate::graph::{Graph, Node, ValueId};
use crate::op::{Op, OpKind, Recurrence, Scan, time_chunk_type};
use crate::target::SchedulingPolicy;
use crate::types::TensorType;
use cut::Cutter;
use order::{Item, in_order};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Alignment of the start of a chunk in bytes, sufficient for every kernel.
const ALIGNMENT: usize = 256;

/// A sequence that would need more chunks is not divided: no memory holds it.
const MAX_CHUNKS: usize = 1 << 12;

/// How a node is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// The number of chunks.
    pub(super) count: usize,
    /// For a backward scan, the node of its forward scan.
    pub(super) forward: Option<usize>,
}

/// Divides convolutions and channel statistics; all other operations are unchanged.
pub fn run(graph: &mut Graph, target: &dyn SchedulingPolicy) -> Report {
    let cuts = cuts(graph, target, false);
    let changes = cuts.iter().flatten().count();
    let items = (0..graph.nodes.len()).map(|k| match cuts[k] {
        Some(_) => Item::Interleaved(vec![k]),
        None => Item::Whole(k),
    });
    let items: Vec<Item> = items.collect();
    Cutter::new(graph, &cuts).run(items);
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
    let Some(rule) = Rule::of(graph, target) else {
        return vec![None; graph.nodes.len()];
    };
    let scans = ForwardScans::of(graph);
    let mut cuts: Vec<Option<Cut>> = vec![];
    for node in &graph.nodes {
        let cut = (all || is_sum(&node.op)) && rule.cuts(graph, node);
        let forward = match &node.op {
            Op::ScanGrad(_) if cut => scans.find(graph, node).filter(|k| cuts[*k].is_some()),
            _ => None,
        };
        let cut = cut && (forward.is_some() || !matches!(node.op, Op::ScanGrad(_)));
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

/// Whether its result depends on the number of chunks.
fn is_sum(op: &Op) -> bool {
    matches!(op, Op::Conv(_) | Op::MeanVar(_))
}

/// Which operations of a graph are divided, and into how many chunks.
pub(crate) struct Rule {
    steps: usize,
    count: usize,
    /// The largest number of elements of a chunk.
    limit: usize,
    given: HashSet<ValueId>,
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
        let (elements, steps) = sums.filter_map(largest).max()?;
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
        })
    }

    /// Whether a node is large and can be divided that way.
    fn cuts(&self, graph: &Graph, node: &Node) -> bool {
        let Some(types) = cut_types(graph, node) else {
            return false;
        };
        let (_, results) = cut_values(graph, node).unwrap_or_default();
        let given = results
            .iter()
            .any(|k| self.given.contains(&node.outputs[*k]));
        let aligned = |ty: &&TensorType| {
            let chunk = time_chunk_type(ty, self.count);
            let whole_lines = |chunk: TensorType| chunk.bytes().is_multiple_of(ALIGNMENT);
            ty.shape.first() == Some(&self.steps) && chunk.is_some_and(whole_lines)
        };
        // Dividing a small sum saves nothing; dividing a small sequence beside large ones does.
        let least = match is_sum(&node.op) {
            true => 2 * self.limit,
            false => self.limit / 2,
        };
        !given && types.iter().any(|ty| ty.len() > least) && types.iter().all(aligned)
    }

    /// Whether [`run`] divides a node.
    pub(crate) fn cuts_always(&self, graph: &Graph, node: &Node) -> bool {
        is_sum(&node.op) && self.cuts(graph, node)
    }
}

/// The types of the operands and results that are divided.
fn cut_types<'a>(graph: &'a Graph, node: &Node) -> Option<Vec<&'a TensorType>> {
    let (operands, results) = cut_values(graph, node)?;
    let operands = operands.iter().map(|k| node.inputs[*k]);
    let values = operands.chain(results.iter().map(|k| node.outputs[*k]));
    Some(values.map(|v| graph.ty(v)).collect())
}

/// The operands and results of a node that are divided: the first axis of all is time. `None` if the
/// operation cannot be divided.
pub(super) fn cut_values(graph: &Graph, node: &Node) -> Option<(Vec<usize>, Vec<usize>)> {
    let all = |n: usize| (0..n).collect::<Vec<usize>>();
    Some(match &node.op {
        Op::Conv(op) => match op.part {
            crate::op::ConvPart::Weight => (vec![0, 1], vec![]),
            _ => (vec![0], vec![0]),
        },
        Op::MeanVar(_) => (vec![0], vec![]),
        Op::Pool(_) | Op::PoolGrad(_) | Op::Pack(_) => (all(node.inputs.len()), vec![0]),
        Op::Permute(op) if op.order.first() == Some(&0) => (vec![0], vec![0]),
        Op::Map(map) => {
            let sequence = |k: &usize| {
                let shape = graph.shape(node.inputs[*k]);
                shape.len() == map.shape.len() && shape.first() == map.shape.first()
            };
            let cut = all(node.inputs.len()).into_iter().filter(sequence);
            (cut.collect(), all(node.outputs.len()))
        }
        Op::Scan(op) if op.pool.is_none() => {
            let r = &op.recurrence;
            let constant = |k: &usize| graph.shape(node.inputs[*k])[0] == 1;
            let sequences = all(r.inputs.len()).into_iter().filter(|k| !constant(k));
            let outputs = r.outputs.len();
            let states = outputs + r.states.len()..outputs + 2 * r.states.len();
            (sequences.collect(), (0..outputs).chain(states).collect())
        }
        Op::ScanGrad(op) if op.pool.is_none() && !op.channel_sums => {
            let r = &op.recurrence;
            let (outputs, states) = (r.outputs.len(), r.states.len());
            if (0..r.inputs.len()).any(|k| graph.shape(node.inputs[k])[0] == 1) {
                return None;
            }
            let sequences = (0..outputs).chain(outputs + states..outputs + 2 * states);
            let mut operands = all(r.inputs.len());
            operands.extend(sequences.filter_map(|k| op.grad_operand(k)));
            (operands, all(r.inputs.len()))
        }
        _ => return None,
    })
}

/// The forward scans of a graph.
struct ForwardScans {
    /// By neuron.
    of: HashMap<*const Recurrence, Vec<usize>>,
    /// By a state that it stores for a backward scan.
    checkpoints: HashMap<ValueId, usize>,
}

impl ForwardScans {
    fn of(graph: &Graph) -> Self {
        let mut of: HashMap<*const Recurrence, Vec<usize>> = HashMap::new();
        let mut checkpoints: HashMap<ValueId, usize> = HashMap::new();
        for (k, node) in graph.nodes.iter().enumerate() {
            if let Op::Scan(scan) = &node.op {
                of.entry(Arc::as_ptr(&scan.recurrence)).or_default().push(k);
                let stored = node.outputs.iter().skip(scan.first_checkpoint());
                checkpoints.extend(stored.map(|value| (*value, k)));
            }
        }
        Self { of, checkpoints }
    }

    /// The forward scan of a backward scan: the one that stored states for it, or the only one of
    /// this neuron in the layer.
    fn find(&self, graph: &Graph, node: &Node) -> Option<usize> {
        let Op::ScanGrad(grad) = &node.op else {
            return None;
        };
        if let Some(operand) = grad.checkpoint_operand() {
            return self.checkpoints.get(&node.inputs[operand]).copied();
        }
        let fits = |k: &&usize| {
            let forward = &graph.nodes[**k];
            let steps = |scan: &Scan| scan.time_steps == grad.time_steps;
            forward.layer == node.layer && Scan::of(&forward.op).is_some_and(steps)
        };
        let mut found = self
            .of
            .get(&Arc::as_ptr(&grad.recurrence))?
            .iter()
            .filter(fits);
        let first = found.next()?;
        found.next().is_none().then_some(*first)
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
