//! Reduces the peak of a plan's memory below a limit: fewer values are stored, more are recomputed.
//!
//! ```text
//! %3 = scan[if](%2, …)       forward            %3 = scan[if](%2, …)        forward
//! …                                             %9 = pack(%3)               a bit for each spike
//! %7 = conv2d_weight(%3, …)  backward     →     …
//!                                               %10 = unpack(%9)            backward
//!                                               %7 = conv2d_weight(%10, …)
//! ```
//!
//! At the peak, a value that is live but not in use is freed: spikes are stored as bits, or the
//! operation that computed the value runs again before the next read, from operands that are live
//! by then or are recomputed themselves. Sums over ranks are never recomputed. The value that frees
//! the most bytes for the least predicted time comes first; this is repeated until the limit holds.
//! Allowed because the same operations on the same operands give the same bits.
//!
//! The values that a recurrent layer carries through time are stored at every step. Where that needs too much memory,
//! its network is divided into the fewest time chunks with which the limit holds: then what is carried from chunk to chunk is
//! stored, and the steps between are recomputed. Sums over time are divided as well, which changes their last bits.

mod apply;
mod memory;

use super::bit_pack_spikes::binary_outputs;
use super::time_chunking::Division;
use super::{Report, dead_code, prune_loops, time_chunking};
use crate::arena::Allocation;
use crate::graph::{Graph, Node, ValueId};
use crate::liveness::{arena_bytes, liveness, workspace};
use crate::op::{Operation, View};
use crate::rewrite::{Trial, cost};
use crate::semantics::Class;
use crate::target::Target;
use crate::types::{DType, TensorType};
use apply::{pack, recompute};
use memory::Memory;
use std::collections::HashMap;

/// The largest number of operations that are recomputed for one value.
const MAX_RECOMPUTED_OPS: usize = 6;

/// Values smaller than one `MIN_SHARE`th of the peak are not considered.
const MIN_SHARE: usize = 500;

/// The most values that are tried at a peak of a network in time chunks, which has many small ones.
const MAX_OFFERS: usize = 32;

/// More time chunks are not tried after so many divisions that saved hardly anything.
const MAX_IN_VAIN: usize = 3;

/// The result of the pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// The arena before and after, in bytes.
    pub bytes: (usize, usize),
    /// The number of recomputed operations.
    pub recomputed: usize,
    /// The number of tensors stored as bits.
    pub packed: usize,
    /// The largest number of time chunks of a sequence, if sequences are divided for the budget.
    pub time_chunks: Option<usize>,
    /// The predicted additional time as a share.
    pub slower: f64,
}

impl Budget {
    /// The summary for the list of passes.
    pub fn report(&self) -> Report {
        let mib = |bytes: usize| bytes as f64 / f64::from(1 << 20);
        let chunks = self.time_chunks.map_or(String::new(), |count| {
            format!("sequences in up to {count} time chunks, ")
        });
        Report {
            pass: "memory budget",
            changes: self.recomputed + self.packed + self.time_chunks.unwrap_or(0),
            summary: format!(
                "arena {:.1} → {:.1} MiB: {chunks}{} operations recomputed, {} spike tensors stored as bits; predicted {:.1} % slower",
                mib(self.bytes.0),
                mib(self.bytes.1),
                self.recomputed,
                self.packed,
                100.0 * self.slower
            ),
        }
    }
}

/// Reduces the arena to `limit` bytes, or as far as possible: first with undivided sequences, and if that
/// does not suffice, with sequences in time chunks.
pub fn run(graph: &mut Graph, target: &dyn Target, limit: usize) -> Budget {
    let before = cut_bytes(graph, target);
    let usual = Costs::default().of(graph, &graph.nodes);
    let start = Budget {
        bytes: (before, before),
        recomputed: 0,
        packed: 0,
        time_chunks: None,
        slower: 0.0,
    };
    let mut whole = (graph.clone(), start.clone());
    lower(&mut whole.0, target, (limit, usize::MAX), &mut whole.1);
    let mut found = whole;
    if found.1.bytes.1 > limit {
        let mut cut = (graph.clone(), start);
        cut.1.time_chunks = time_chunking::run_interleaved(&mut cut.0, target);
        if cut.1.time_chunks.is_some() {
            lower(&mut cut.0, target, (limit, usize::MAX), &mut cut.1);
            if cut.1.bytes.1 < found.1.bytes.1 {
                found = cut;
            }
        }
    }
    if found.1.bytes.1 > limit {
        divide_recurrent(graph, target, limit, &mut found);
    }
    let (after, mut budget) = found;
    *graph = after;
    // What is computed again for every reader is not computed before.
    dead_code::run(graph);
    let now = Costs::default().of(graph, &graph.nodes);
    budget.slower = now as f64 / usual.max(1) as f64 - 1.0;
    budget
}

/// Divides the network around recurrent layers into the fewest time chunks with which the limit holds, if that needs
/// less memory than what was found.
fn divide_recurrent(graph: &Graph, target: &dyn Target, limit: usize, found: &mut (Graph, Budget)) {
    let Some((steps, counts)) = time_chunking::recurrent_chunks(graph) else {
        return;
    };
    let mut in_vain = 0;
    for count in counts {
        let mut cut = (graph.clone(), found.1.clone());
        if !time_chunking::run_division(&mut cut.0, Division { steps, count }) {
            return;
        }
        cut.1 = Budget {
            recomputed: 0,
            packed: 0,
            time_chunks: Some(count),
            ..cut.1
        };
        lower(&mut cut.0, target, (limit, MAX_OFFERS), &mut cut.1);
        prune_loops::run(&mut cut.0);
        cut.1.bytes.1 = cut_bytes(&mut cut.0, target);
        let (before, now) = (found.1.bytes.1, cut.1.bytes.1);
        if now < before {
            *found = cut;
        }
        in_vain = match now < before - before / 20 {
            true => 0,
            false => in_vain + 1,
        };
        if found.1.bytes.1 <= limit || in_vain == MAX_IN_VAIN {
            return;
        }
    }
}

/// The arena that a graph will have.
fn cut_bytes(graph: &mut Graph, target: &dyn Target) -> usize {
    if !time_chunking::divides(graph, target) {
        return graph.with_use_counts(|graph| arena_bytes(graph, target));
    }
    let mut divided = graph.clone();
    time_chunking::run(&mut divided, target);
    divided.with_use_counts(|graph| arena_bytes(graph, target))
}

/// Frees values that can be recomputed until the arena fits `limit`, or none of the `tried` best candidates
/// reduces the peak.
fn lower(
    graph: &mut Graph,
    target: &dyn Target,
    (limit, tried): (usize, usize),
    budget: &mut Budget,
) {
    // The bytes that are live at the peak are a lower bound of the arena; gaps add to it.
    let mut aim = limit;
    let mut now = peak(graph, target);
    let mut costs = Costs::default();
    // Of several equal peaks the first is lowered first. What is recomputed for that can be a peak again.
    let mut patience = graph.nodes.len();
    for _ in 0..16 {
        while let Some(most) = now.filter(|now| now.bytes > aim && patience > 0) {
            let Some(lower) = free_one(graph, target, (most, tried), budget, &mut costs) else {
                break;
            };
            patience -= usize::from(lower.bytes == most.bytes);
            now = Some(lower);
        }
        budget.bytes.1 = cut_bytes(graph, target);
        if budget.bytes.1 <= limit || now.is_none_or(|now| now.bytes > aim) {
            break;
        }
        aim = aim.saturating_sub((budget.bytes.1 - limit).max(limit / 50));
    }
}

/// The predicted time of nodes, in bytes that could be moved meanwhile.
///
/// The search needs the same nodes at every step, and no rewrite changes the time of a node: it is
/// computed once, with the first result of the node as the key.
#[derive(Default)]
struct Costs(HashMap<ValueId, u64>);

impl Costs {
    fn of<'a>(&mut self, graph: &Graph, nodes: impl IntoIterator<Item = &'a Node>) -> u64 {
        let mut one = |node: &Node| {
            let known = self.0.entry(node.outputs[0]);
            *known.or_insert_with(|| cost(graph, node))
        };
        nodes
            .into_iter()
            .fold(0, |sum, node| sum.saturating_add(one(node)))
    }
}

/// The allocations in the arena, with their lifetimes, in a graph that [`time_chunking::run`] has still to divide:
/// an operation that it will divide needs no workspace for its complete sequence.
fn requests_before_cut(graph: &Graph, target: &dyn Target) -> Vec<Allocation> {
    let rule = time_chunking::Rule::of(graph, target);
    let at_peak = |graph: &Graph, node: &Node| match &rule {
        Some(rule) if rule.cuts_always(graph, node) => 0,
        _ => workspace(graph, node, target),
    };
    liveness(graph, target, at_peak).requests
}

#[derive(Clone, Copy, Debug)]
struct Peak {
    node: usize,
    bytes: usize,
}

/// An operation to recompute, and the value that its result replaces if that is not its own.
type Recomputed = (usize, Option<ValueId>);

/// The node at which the most bytes are live.
fn peak(graph: &mut Graph, target: &dyn Target) -> Option<Peak> {
    let mut change = vec![0_i128; graph.nodes.len() + 2];
    let requests = graph.with_use_counts(|graph| requests_before_cut(graph, target));
    for request in requests {
        let (first, last) = request.alive;
        change[first] += request.bytes as i128;
        change[last + 1] -= request.bytes as i128;
    }
    let mut now = 0;
    let live = change.iter().map(|c| {
        now += c;
        now
    });
    let (node, bytes) = live
        .enumerate()
        .max_by_key(|(k, b)| (*b, std::cmp::Reverse(*k)))?;
    Some(Peak {
        node,
        bytes: usize::try_from(bytes.max(0)).unwrap_or(usize::MAX),
    })
}

/// How a value can be freed at the peak.
enum Way {
    Pack,
    /// Recompute these nodes, in this order.
    Recompute(Vec<Recomputed>),
}

fn is_binary(graph: &Graph, memory: &Memory, value: ValueId) -> bool {
    let Some(maker) = memory.producers[value.index()] else {
        return false;
    };
    let node = &graph.nodes[maker];
    if node.op.view() == Some(View::Joined) {
        let mut chunks = node.inputs.iter();
        return chunks.all(|chunk| is_binary(graph, memory, *chunk));
    }
    binary_outputs(node).any(|output| output == value)
}

/// The nodes to recompute so that `value` can be read at `node`, producers first.
fn recompute_list(
    graph: &Graph,
    memory: &Memory,
    value: ValueId,
    node: usize,
) -> Option<Vec<Recomputed>> {
    let mut list = vec![];
    collect(graph, memory, value, (node, 0), &mut list)?;
    (!list.is_empty()).then_some(list)
}

/// Adds what computes `value` to the list, of which `above` operations will follow.
fn collect(
    graph: &Graph,
    memory: &Memory,
    value: ValueId,
    (node, above): (usize, usize),
    list: &mut Vec<Recomputed>,
) -> Option<()> {
    if list
        .iter()
        .any(|(_, stands_for)| *stands_for == Some(value))
    {
        return Some(());
    }
    if let Some(unpack) = unpacks(graph, memory, value, node) {
        list.push((unpack, Some(value)));
        return Some(());
    }
    let maker = memory.producers[value.index()]?;
    // A chunk is at its place in one sequence; it cannot be in another one too.
    if graph.nodes[maker].op.view() == Some(View::Joined) {
        return None;
    }
    // A single rank cannot repeat a sum over all ranks: it is stored.
    if graph.nodes[maker].op.class() == Class::Collective {
        return Some(());
    }
    if list.iter().any(|(k, _)| *k == maker) {
        return Some(());
    }
    // Long chains end here, not after all of their operations.
    if list.len() + above >= MAX_RECOMPUTED_OPS {
        return None;
    }
    // What a recurrent layer starts from is stored: it is small, and comes from the steps before.
    let is_start = |input: ValueId| {
        graph.nodes[maker].op.recurrent_steps().is_some()
            && memory.is_small(input, &graph.nodes[maker].outputs)
    };
    for &input in &graph.nodes[maker].inputs {
        if !memory.is_there(input, node) && !is_start(input) {
            collect(graph, memory, input, (node, above + 1), list)?;
        }
    }
    list.push((maker, None));
    (list.len() <= MAX_RECOMPUTED_OPS && maker < node).then_some(())
}

/// The node that unpacks a value from bits that are stored anyway, if it was packed before.
fn unpacks(graph: &Graph, memory: &Memory, value: ValueId, node: usize) -> Option<usize> {
    // Where an earlier peak is lowered after a later one, the node that packs it can be behind this one.
    let pack = memory.packs_to_bits[value.index()].filter(|pack| *pack < node)?;
    let bits = graph.nodes[pack].outputs[0];
    memory
        .is_there(bits, node)
        .then(|| memory.packs[bits.index()])?
}

/// A value that can be freed, and the bytes that this frees per predicted time.
struct Offer {
    worth: f64,
    value: ValueId,
    /// The nodes around the interval in which it is not read.
    gap: (usize, usize),
    way: Way,
}

/// The values that could be freed at the peak, the best first.
fn offers(graph: &Graph, memory: &Memory, peak: Peak, costs: &mut Costs) -> Vec<Offer> {
    let mut offers = vec![];
    for root in 0..memory.bytes.len() {
        let bytes = memory.bytes[root];
        if bytes.saturating_mul(MIN_SHARE) < peak.bytes || bytes == 0 {
            continue;
        }
        let Some(gap) = memory.gap(root, peak.node) else {
            continue;
        };
        let value = ValueId(root as u32);
        let mut offer = |way: Way, freed: usize, cost: u64| {
            offers.push(Offer {
                worth: freed as f64 / cost.max(1) as f64,
                value,
                gap,
                way,
            });
        };
        if graph.ty(value).dtype.is_float() && is_binary(graph, memory, value) {
            let bits = TensorType::new(DType::Bits, graph.shape(value)).bytes();
            let freed = bytes.saturating_sub(bits);
            let moved = bytes.saturating_add(bits) as u64;
            offer(Way::Pack, freed, moved.saturating_mul(2));
        }
        if let Some(list) = recompute_list(graph, memory, value, gap.1) {
            let cost = costs.of(graph, list.iter().map(|(k, _)| &graph.nodes[*k]));
            offer(Way::Recompute(list), bytes, cost);
        }
    }
    offers.sort_by(|a, b| b.worth.total_cmp(&a.worth));
    offers
}

/// Frees one value and returns the new peak; `None` if no value reduces it.
fn free_one(
    graph: &mut Graph,
    target: &dyn Target,
    (most, tried): (Peak, usize),
    budget: &mut Budget,
    costs: &mut Costs,
) -> Option<Peak> {
    let memory = Memory::new(graph);
    for offer in offers(graph, &memory, most, costs).into_iter().take(tried) {
        let mut trial = Trial::new(graph);
        let (value, (_, next)) = (offer.value, offer.gap);
        let made = match &offer.way {
            Way::Pack => pack(&mut trial, &memory, value, offer.gap),
            Way::Recompute(list) => recompute(&mut trial, &memory, value, list, next),
        };
        let lower = made.and_then(|()| peak(trial.graph, target)).filter(|now| {
            now.bytes < most.bytes || (now.bytes == most.bytes && now.node > most.node + 2)
        });
        if lower.is_some() {
            match offer.way {
                Way::Pack => budget.packed += 1,
                Way::Recompute(list) => budget.recomputed += list.len(),
            }
            return lower;
        }
        trial.undo();
    }
    None
}
