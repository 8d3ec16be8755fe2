//! Keeps the peak of a plan's memory under a limit: less is kept, more is made again.
//!
//! ```text
//! %3 = scan[if](%2, …)       forward            %3 = scan[if](%2, …)        forward
//! …                                             %9 = pack(%3)               a bit for each spike
//! %7 = conv2d_weight(%3, …)  backward     →     …
//!                                               %10 = unpack(%9)            backward
//!                                               %7 = conv2d_weight(%10, …)
//! ```
//!
//! At the moment at which most is alive, something that is not in use then is let go: spikes are
//! kept as bits, or the operation that made a value is run again before it is next read, from what
//! is alive by then or is made again itself; sums over ranks are never made again. What frees most for the least predicted time comes
//! first; this is repeated until the limit holds. Allowed because the same operations on the same
//! operands give the same bits.

mod memory;

use super::{Report, time_chunking};
use crate::arena::Allocation;
use crate::backend::Target;
use crate::graph::{Graph, Node, ValueId};
use crate::liveness::{arena_bytes, liveness, roots};
use crate::op::{Distribution, Op, Operation, Pack, Reshape};
use crate::rewrite::{NodeId, Rewriter, cost};
use crate::types::{DType, TensorType};
use memory::Memory;
use std::collections::HashMap;

/// Operations that are run again for one value, one after the other.
const MOST_AGAIN: usize = 6;

/// Values smaller than this share of the peak are not worth the trouble.
const LEAST_SHARE: usize = 500;

/// What the pass came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// The arena before and after, in bytes.
    pub bytes: (usize, usize),
    /// Operations that are run again.
    pub again: usize,
    /// Tensors that are kept as bits.
    pub packed: usize,
    /// The most parts that a sequence goes through in, if sequences are cut for it.
    pub parts: Option<usize>,
    /// The predicted share of time that is added.
    pub slower: f64,
}

impl Budget {
    /// For people.
    pub fn report(&self) -> Report {
        let mib = |bytes: usize| bytes as f64 / f64::from(1 << 20);
        let parts = self.parts.map_or(String::new(), |count| {
            format!("sequences in up to {count} parts, ")
        });
        Report {
            pass: "memory budget",
            changes: self.again + self.packed + self.parts.unwrap_or(0),
            summary: format!(
                "arena {:.1} → {:.1} MiB: {parts}{} operations run again, {} spike tensors kept as bits; predicted {:.1} % slower",
                mib(self.bytes.0),
                mib(self.bytes.1),
                self.again,
                self.packed,
                100.0 * self.slower
            ),
        }
    }
}

/// Brings the arena under `limit` bytes, or as low as it can: first with whole sequences, and if
/// that does not do, with sequences in parts.
pub fn run(graph: &mut Graph, target: &dyn Target, limit: usize) -> Budget {
    let before = cut_bytes(graph, target);
    let usual = Costs::default().of(graph, &graph.nodes);
    let start = Budget {
        bytes: (before, before),
        again: 0,
        packed: 0,
        parts: None,
        slower: 0.0,
    };
    let mut whole = (graph.clone(), start.clone());
    lower(&mut whole.0, target, limit, &mut whole.1);
    let mut found = whole;
    if found.1.bytes.1 > limit {
        let mut cut = (graph.clone(), start);
        cut.1.parts = time_chunking::in_parts(&mut cut.0, target);
        if cut.1.parts.is_some() {
            lower(&mut cut.0, target, limit, &mut cut.1);
            if cut.1.bytes.1 < found.1.bytes.1 {
                found = cut;
            }
        }
    }
    let (after, mut budget) = found;
    *graph = after;
    let now = Costs::default().of(graph, &graph.nodes);
    budget.slower = now as f64 / usual.max(1) as f64 - 1.0;
    budget
}

/// The arena that a graph will have.
fn cut_bytes(graph: &Graph, target: &dyn Target) -> usize {
    let mut graph = graph.clone();
    time_chunking::run(&mut graph, target);
    arena_bytes(&graph, target)
}

/// Lets go of what can be made again until the arena is under `limit`, or nothing helps.
fn lower(graph: &mut Graph, target: &dyn Target, limit: usize, budget: &mut Budget) {
    // What lives together bounds the arena from below; what lies between is lost to gaps.
    let mut aim = limit;
    let mut now = peak(graph, target);
    let mut costs = Costs::default();
    for _ in 0..16 {
        while let Some(most) = now.filter(|now| now.bytes > aim) {
            let Some(lower) = free_one(graph, target, most, budget, &mut costs) else {
                break;
            };
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
/// The search asks for the same nodes at every step, and rewrites no node such that its time
/// changes: it is computed once, by the first result of the node.
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

/// What needs a piece of the arena, and when, in a graph that [`time_chunking::run`] has still to cut:
/// an operation that it will cut needs no workspace for its whole sequence.
fn requests_before_cut(graph: &Graph, target: &dyn Target) -> Vec<Allocation> {
    let rule = time_chunking::Rule::of(graph, target);
    let workspace = |graph: &Graph, node: &Node| match &rule {
        Some(rule) if rule.cuts_always(graph, node) => 0,
        _ => target.workspace(graph, node),
    };
    liveness(graph, target, workspace).requests
}

#[derive(Clone, Copy, Debug)]
struct Peak {
    node: usize,
    bytes: usize,
}

/// An operation to run again, and the value that its result stands for if that is not its own.
type Again = (usize, Option<ValueId>);

/// When most is alive.
fn peak(graph: &mut Graph, target: &dyn Target) -> Option<Peak> {
    let mut change = vec![0_i128; graph.nodes.len() + 2];
    graph.count_uses();
    let requests = requests_before_cut(graph, target);
    graph.forget_uses();
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

/// How a value can be let go at the peak.
enum Way {
    Pack,
    /// Run these nodes again, in this order.
    Again(Vec<Again>),
}

fn is_binary(graph: &Graph, memory: &Memory, value: ValueId) -> bool {
    let Some(maker) = memory.producers[value.index()] else {
        return false;
    };
    let node = &graph.nodes[maker];
    match &node.op {
        Op::Scan(op) => {
            let place = node.outputs.iter().position(|v| *v == value);
            let output = place.and_then(|k| op.recurrence.outputs.get(k));
            output.is_some_and(|o| o.binary)
        }
        Op::Draw(op) => op.distribution == Distribution::Bernoulli,
        Op::ConcatChunks(_) => {
            let mut parts = node.inputs.iter();
            parts.all(|part| is_binary(graph, memory, *part))
        }
        _ => false,
    }
}

/// The nodes to run again so that `value` can be read at `node`, producers first.
fn again(graph: &Graph, memory: &Memory, value: ValueId, node: usize) -> Option<Vec<Again>> {
    let mut list = vec![];
    collect(graph, memory, value, node, &mut list)?;
    (!list.is_empty()).then_some(list)
}

fn collect(
    graph: &Graph,
    memory: &Memory,
    value: ValueId,
    node: usize,
    list: &mut Vec<Again>,
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
    match graph.nodes[maker].op {
        // Parts that lie in a whole cannot lie in another one too.
        Op::ConcatChunks(_) => return None,
        // What all ranks have added up together none of them can ask for again: it is kept.
        Op::AllReduceStart(_) | Op::AllReduceDone(_) => return Some(()),
        _ => {}
    }
    if list.iter().any(|(k, _)| *k == maker) {
        return Some(());
    }
    for &input in &graph.nodes[maker].inputs {
        if !memory.is_there(input, node) {
            collect(graph, memory, input, node, list)?;
        }
    }
    list.push((maker, None));
    (list.len() <= MOST_AGAIN && maker < node).then_some(())
}

/// The node that makes a value of bits that are kept anyway, if it was packed before.
fn unpacks(graph: &Graph, memory: &Memory, value: ValueId, node: usize) -> Option<usize> {
    let pack = memory.packs_to_bits[value.index()]?;
    let bits = graph.nodes[pack].outputs[0];
    memory
        .is_there(bits, node)
        .then(|| memory.packs[bits.index()])?
}

/// A value that can be let go, and what that frees for the time that it takes.
struct Offer {
    worth: f64,
    value: ValueId,
    /// The nodes around the gap in which nobody uses it.
    gap: (usize, usize),
    way: Way,
}

/// What could be let go at the peak, the most worth first.
fn offers(graph: &Graph, memory: &Memory, peak: Peak, costs: &mut Costs) -> Vec<Offer> {
    let mut offers = vec![];
    for root in 0..memory.bytes.len() {
        let bytes = memory.bytes[root];
        if bytes.saturating_mul(LEAST_SHARE) < peak.bytes || bytes == 0 {
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
        if let Some(list) = again(graph, memory, value, gap.1) {
            let cost = costs.of(graph, list.iter().map(|(k, _)| &graph.nodes[*k]));
            offer(Way::Again(list), bytes, cost);
        }
    }
    offers.sort_by(|a, b| b.worth.total_cmp(&a.worth));
    offers
}

/// Lets one value go and returns the peak without it; `None` if that would not help with any.
fn free_one(
    graph: &mut Graph,
    target: &dyn Target,
    most: Peak,
    budget: &mut Budget,
    costs: &mut Costs,
) -> Option<Peak> {
    let memory = Memory::new(graph);
    for offer in offers(graph, &memory, most, costs) {
        let (old, counted) = (graph.clone(), budget.clone());
        let made = match offer.way {
            Way::Pack => pack(graph, offer.value, offer.gap, budget),
            Way::Again(list) => run_again(graph, offer.value, &list, offer.gap.1, budget),
        };
        let lower = made.and_then(|()| peak(graph, target)).filter(|now| {
            now.bytes < most.bytes || (now.bytes == most.bytes && now.node > most.node + 2)
        });
        if lower.is_some() {
            return lower;
        }
        *graph = old;
        *budget = counted;
    }
    None
}

/// The operation that computes `read` from `old`, whose memory it is; `None` if there are several.
fn view_of(graph: &Rewriter<'_>, old: ValueId, read: ValueId) -> Option<Op> {
    let direct = graph.node(graph.producer(read)?);
    if direct.op.is_view() && direct.inputs == [old] {
        return Some(direct.op.clone());
    }
    let mut value = read;
    while value != old {
        let (reshape, _) = graph.made_by::<Reshape>(value)?;
        value = graph.node(reshape).inputs[0];
    }
    let shape = graph.shape(read).to_vec();
    Some(Reshape { shape }.into())
}

/// Lets every node from `first` on read `new` where it read `old` or one of its views.
fn redirect(
    graph: &mut Rewriter<'_>,
    (old, views): (ValueId, &[ValueId]),
    new: ValueId,
    first: NodeId,
) {
    let mut readers: Vec<NodeId> = views.iter().flat_map(|v| graph.readers(*v)).collect();
    readers.retain(|k| !graph.precedes(*k, first));
    readers.sort_by_key(|k| graph.position(*k));
    readers.dedup();
    for k in readers {
        for operand in 0..graph.node(k).inputs.len() {
            let read = graph.node(k).inputs[operand];
            if read == old {
                graph.set_input(k, operand, new);
            } else if views.contains(&read)
                && !graph.node(k).op.is_view()
                && let Some(view) = view_of(graph, old, read)
            {
                // A view that was computed before is computed from the new value too.
                let layer = graph.node(k).layer.clone();
                if let Ok(view) = graph.make(view, &[new], &layer, true) {
                    graph.set_input(k, operand, view.outputs[0]);
                    graph.insert_before(k, view);
                }
            }
        }
    }
}

/// A value and all its views.
fn views(graph: &Graph, value: ValueId) -> Vec<ValueId> {
    let roots = roots(graph).into_iter().enumerate();
    let views = roots.filter(|(_, root)| *root == value.index());
    views.map(|(view, _)| ValueId(view as u32)).collect()
}

fn pack(
    graph: &mut Graph,
    value: ValueId,
    (before, next): (usize, usize),
    budget: &mut Budget,
) -> Option<()> {
    let views = views(graph, value);
    let mut graph = Rewriter::new(graph);
    let order = graph.order();
    let (before, next) = (order[before], order[next]);
    let dtype = graph.ty(value).dtype;
    let layer = graph.node(before).layer.clone();
    let to_bits = Pack { to: DType::Bits };
    let packed = graph.make(to_bits, &[value], &layer, false).ok()?;
    let bits = packed.outputs[0];
    let unpacked = graph.make(Pack { to: dtype }, &[bits], &layer, true).ok()?;
    let copy = unpacked.outputs[0];
    graph.insert_before(next, unpacked);
    graph.insert_after(before, packed);
    redirect(&mut graph, (value, &views), copy, next);
    budget.packed += 1;
    Some(())
}

fn run_again(
    graph: &mut Graph,
    value: ValueId,
    list: &[Again],
    next: usize,
    budget: &mut Budget,
) -> Option<()> {
    let views = views(graph, value);
    let mut graph = Rewriter::new(graph);
    let order = graph.order();
    let mut copies: Vec<(ValueId, ValueId)> = vec![];
    let mut nodes = vec![];
    for &(k, stands_for) in list {
        let mut node = graph.node(order[k]).clone();
        for input in &mut node.inputs {
            if let Some((_, copy)) = copies.iter().find(|(old, _)| old == input) {
                *input = *copy;
            }
        }
        for output in &mut node.outputs {
            let ty = graph.ty(*output).clone();
            let copy = graph.add_value(ty);
            copies.push((stands_for.unwrap_or(*output), copy));
            *output = copy;
        }
        node.backward = true;
        nodes.push(node);
    }
    let copy = copies.iter().find(|(old, _)| *old == value)?.1;
    budget.again += nodes.len();
    for node in nodes {
        graph.insert_before(order[next], node);
    }
    redirect(&mut graph, (value, &views), copy, order[next]);
    Some(())
}
