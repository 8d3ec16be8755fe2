//! Lets operations on large sequences go through the time steps in parts.
//!
//! ```text
//! %3 = conv2d(%1, %2)        →   %4 = part[1 of 2](%1);  %6 = conv2d(%4, %2)
//!                                %5 = part[2 of 2](%1);  %7 = conv2d(%5, %2);  %3 = join(%6, %7)
//! ```
//!
//! Parts are views, and what is made in parts is made where it belongs, so that nothing is copied.
//! A part has at most [`Target::part_elements`] elements. Convolutions and statistics of channels of
//! more than twice as many are cut always: a sum over all steps is then the sum of those of the
//! parts, whatever else is done.
//!
//! Under a tight memory budget everything else that is large is cut too, neurons with it, whose
//! states then go from part to part, and the parts run one after the other through as many
//! operations as possible:
//!
//! ```text
//! conv 1, conv 2, lif 1, lif 2, …   →   conv 1, lif 1, …, conv 2, lif 2, …
//! ```
//!
//! What lies between two of these operations exists in one part only then. The same operations run
//! on the same parts in both cases, sums are taken in the same order, and neurons do not mind where
//! a sequence is cut: the results are the same to the last bit.

mod cut;
mod order;

use super::{Report, dead_code};
use crate::backend::Target;
use crate::graph::{Graph, Node, ValueId};
use crate::op::{Op, OpKind, Recurrence, Scan, time_chunk_type};
use crate::types::TensorType;
use cut::Cutter;
use order::{Item, in_order};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Where a part may start: what all kernels can live with.
const ALIGNMENT: usize = 256;

/// A sequence that would take more parts is left whole: no memory holds it.
const MOST_PARTS: usize = 1 << 12;

/// How a node is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// The number of parts.
    pub(super) count: usize,
    /// For a backward scan, the node of its forward scan.
    pub(super) forward: Option<usize>,
}

/// Cuts convolutions and statistics; everything else stays as it is.
pub fn run(graph: &mut Graph, target: &dyn Target) -> Report {
    let cuts = cuts(graph, target, false);
    let changes = cuts.iter().flatten().count();
    let items = (0..graph.nodes.len()).map(|k| match cuts[k] {
        Some(_) => Item::Together(vec![k]),
        None => Item::Whole(k),
    });
    let items: Vec<Item> = items.collect();
    Cutter::new(graph, &cuts).run(items);
    Report {
        pass: "time_chunking",
        changes,
        summary: format!("{changes} operations on large sequences go through their steps in parts"),
    }
}

/// Cuts everything that is large, and lets parts run through operations one after the other. The
/// largest number of parts; `None` if nothing is that large.
pub(crate) fn in_parts(graph: &mut Graph, target: &dyn Target) -> Option<usize> {
    let cuts = cuts(graph, target, true);
    let most = cuts.iter().flatten().map(|cut| cut.count).max()?;
    let items = in_order(graph, &cuts);
    Cutter::new(graph, &cuts).run(items);
    dead_code::run(graph);
    Some(most)
}

/// How each node is cut, if it is.
fn cuts(graph: &Graph, target: &dyn Target, all: bool) -> Vec<Option<Cut>> {
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

/// Whether its result depends on how many parts there are.
fn is_sum(op: &Op) -> bool {
    matches!(op, Op::Conv(_) | Op::MeanVar(_))
}

/// What is cut in a graph, and in how many parts.
pub(crate) struct Rule {
    steps: usize,
    count: usize,
    /// The most elements of a part.
    limit: usize,
    given: HashSet<ValueId>,
}

impl Rule {
    /// As many parts for all that is large as the largest sequence needs.
    pub(crate) fn of(graph: &Graph, target: &dyn Target) -> Option<Self> {
        let limit = target.part_elements().max(1);
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
            count: (2..=steps.min(MOST_PARTS)).find(enough)?,
            limit,
            given: graph.outputs.iter().map(|o| o.value).collect(),
        })
    }

    /// Whether a node can be cut that way, and is large.
    fn cuts(&self, graph: &Graph, node: &Node) -> bool {
        let Some(types) = cut_types(graph, node) else {
            return false;
        };
        let (_, results) = cut_values(graph, node).unwrap_or_default();
        let given = results
            .iter()
            .any(|k| self.given.contains(&node.outputs[*k]));
        let aligned = |ty: &&TensorType| {
            let part = time_chunk_type(ty, self.count);
            let whole_lines = |part: TensorType| part.bytes().is_multiple_of(ALIGNMENT);
            ty.shape.first() == Some(&self.steps) && part.is_some_and(whole_lines)
        };
        // Small sums are not worth it, but what lies beside large sequences is.
        let least = match is_sum(&node.op) {
            true => 2 * self.limit,
            false => self.limit / 2,
        };
        !given && types.iter().any(|ty| ty.len() > least) && types.iter().all(aligned)
    }

    /// Whether [`run`] cuts a node.
    pub(crate) fn cuts_always(&self, graph: &Graph, node: &Node) -> bool {
        is_sum(&node.op) && self.cuts(graph, node)
    }
}

/// The types of the operands and results that are cut.
fn cut_types<'a>(graph: &'a Graph, node: &Node) -> Option<Vec<&'a TensorType>> {
    let (operands, results) = cut_values(graph, node)?;
    let operands = operands.iter().map(|k| node.inputs[*k]);
    let values = operands.chain(results.iter().map(|k| node.outputs[*k]));
    Some(values.map(|v| graph.ty(v)).collect())
}

/// The operands and results of a node that are cut: all have the time steps as their first axis.
/// `None` if the operation cannot go through them in parts.
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

    /// The scans that are cut but store states for nodes that are not cut with them.
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
