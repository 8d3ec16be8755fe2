//! Recurrent layers behind each other that run at the same time.
//!
//! The second of two scans with feedback works on a chunk of time while the first one works on the next chunk, if the
//! device runs such pairs faster ([`SchedulingPolicy::overlap_chunks`]). Everything between them is divided with them,
//! and nothing else: products over all steps, such as the gradients of weights, stay whole.
//!
//! ```text
//! scan 1, matmul, scan 2   →   scan 1[first chunk], matmul, scan 2,
//!                              scan 1[second chunk], matmul, scan 2, …
//! ```
//!
//! The order of the plan is that of one kernel after the other. A device finds what may run at the same time from the
//! memory that kernels read and write.

use super::cut::Cutter;
use super::divisible::{cut_types, cut_values, is_sum, views_are_aligned};
use super::order::{in_order, is_backward};
use super::{Cut, ForwardScans, has_steps};
use crate::graph::{Graph, Node, ValueId};
use crate::notes::DeviceShare;
use crate::op::Op;
use crate::pass::Report;
use crate::target::SchedulingPolicy;
use std::collections::HashSet;

/// The name of its report.
pub(crate) const NAME: &str = "overlap in time";

/// Divides pairs of scans with feedback that run faster side by side.
pub fn run(graph: &mut Graph, target: &dyn SchedulingPolicy) -> Report {
    let mut pairs: Vec<Pair> = vec![];
    let scans = ForwardScans::of(graph);
    for first in 0..graph.nodes.len() {
        let is_taken = |k| pairs.iter().any(|pair| pair.scans().contains(&k));
        let found =
            Pair::of(graph, first).filter(|pair| !pair.scans().iter().any(|k| is_taken(*k)));
        pairs.extend(found.and_then(|pair| pair.counted(graph, target, &scans, &pairs)));
    }
    let mut cuts: Vec<Option<Cut>> = vec![None; graph.nodes.len()];
    for pair in &pairs {
        let [first, second] = pair.scans();
        graph.nodes[first].notes.share = DeviceShare::First;
        graph.nodes[second].notes.share = DeviceShare::Second;
        for (k, forward) in &pair.nodes {
            cuts[*k] = Some(Cut {
                count: pair.count,
                forward: *forward,
            });
        }
    }
    if !pairs.is_empty() {
        let items = in_order(graph, &cuts);
        Cutter::new(graph, &cuts).run(items);
    }
    Report {
        pass: NAME,
        changes: pairs.len(),
        summary: format!("{} pairs of recurrent layers overlap in time", pairs.len()),
    }
}

/// Two scans with what is between them.
struct Pair {
    time_steps: usize,
    count: usize,
    /// In order, the scans first and last; of a backward scan with its forward scan.
    nodes: Vec<(usize, Option<usize>)>,
}

/// The time steps of a scan with feedback over a complete sequence.
fn time_steps(node: &Node) -> Option<usize> {
    let scan = node.op.ports()?.scan();
    let feedback = scan.feedback.as_ref()?;
    (!feedback.continues).then_some(scan.time_steps)
}

/// What depends on a scan.
#[derive(Default)]
struct Dependents {
    /// Values of which there is a chunk after each chunk of the scan.
    chunks: HashSet<ValueId>,
    /// Values that are there only after all chunks.
    late: HashSet<ValueId>,
}

impl Dependents {
    /// Adds the results of a node, which runs on chunks or after all of them.
    fn add(&mut self, graph: &Graph, node: &Node, on_chunks: bool) {
        let (_, results) = cut_values(graph, node).unwrap_or_default();
        for (at, value) in node.outputs.iter().enumerate() {
            let values = match on_chunks && results.contains(&at) {
                true => &mut self.chunks,
                false => &mut self.late,
            };
            values.insert(*value);
        }
    }

    fn include(&self, node: &Node) -> bool {
        let mut inputs = node.inputs.iter();
        inputs.any(|v| self.chunks.contains(v) || self.late.contains(v))
    }

    /// Whether a chunk of a node needs only chunks.
    fn suffice_for(&self, graph: &Graph, node: &Node) -> bool {
        let (operands, _) = cut_values(graph, node).unwrap_or_default();
        let mut inputs = node.inputs.iter().enumerate();
        inputs.all(|(at, v)| {
            !self.late.contains(v) && (operands.contains(&at) || !self.chunks.contains(v))
        })
    }
}

impl Pair {
    /// The pair of a scan and the next one that reads what it computes, chunk by chunk.
    fn of(graph: &Graph, first: usize) -> Option<Self> {
        let scan = &graph.nodes[first];
        let steps = time_steps(scan)?;
        let mut dependents = Dependents::default();
        dependents.add(graph, scan, true);
        let mut between = vec![];
        for (k, node) in graph.nodes.iter().enumerate().skip(first + 1) {
            if !dependents.include(node) {
                continue;
            }
            let on_chunks = dependents.suffice_for(graph, node);
            let is_second =
                time_steps(node) == Some(steps) && is_backward(&node.op) == is_backward(&scan.op);
            if on_chunks && is_second {
                return Some(Self::between(graph, (first, k), &between, steps));
            }
            let is_between = on_chunks && is_stateless(&node.op);
            if is_between {
                between.push(k);
            }
            dependents.add(graph, node, is_between);
        }
        None
    }

    /// The pair with those of the nodes that the second scan needs.
    fn between(
        graph: &Graph,
        (first, second): (usize, usize),
        candidates: &[usize],
        time_steps: usize,
    ) -> Self {
        let mut needed: HashSet<ValueId> = graph.nodes[second].inputs.iter().copied().collect();
        let mut nodes = vec![(second, None)];
        for &k in candidates.iter().rev() {
            if graph.nodes[k].outputs.iter().any(|v| needed.contains(v)) {
                needed.extend(&graph.nodes[k].inputs);
                nodes.push((k, None));
            }
        }
        nodes.push((first, None));
        nodes.reverse();
        Self {
            time_steps,
            count: 1,
            nodes,
        }
    }

    fn scans(&self) -> [usize; 2] {
        [self.nodes[0].0, self.nodes[self.nodes.len() - 1].0]
    }

    /// The pair with the number of chunks that the device asks for, or that the forward pass has; `None` if it
    /// cannot be divided or is not faster.
    fn counted(
        mut self,
        graph: &Graph,
        target: &dyn SchedulingPolicy,
        scans: &ForwardScans,
        others: &[Self],
    ) -> Option<Self> {
        let [first, second] = self.scans();
        let count = target.overlap_chunks(graph, &graph.nodes[first], &graph.nodes[second])?;
        self.count = count;
        if is_backward(&graph.nodes[first].op) == Some(true) {
            let ends = [0, self.nodes.len() - 1];
            for at in ends {
                let (k, forward) = &mut self.nodes[at];
                *forward = Some(scans.find(graph, &graph.nodes[*k])?);
            }
            let forward = ends.map(|at| self.nodes[at].1);
            let of_forward =
                |pair: &&Self| pair.scans().map(Some).iter().all(|k| forward.contains(k));
            self.count = others.iter().find(of_forward)?.count;
        }
        let mut nodes = self.nodes.iter().map(|(k, _)| &graph.nodes[*k]);
        let divides = nodes.all(|node| self.divides(graph, node));
        divides.then_some(self)
    }

    fn divides(&self, graph: &Graph, node: &Node) -> bool {
        let (_, results) = cut_values(graph, node).unwrap_or_default();
        let mut results = results.iter().map(|at| node.outputs[*at]);
        let is_given = |value: ValueId| graph.outputs.iter().any(|o| o.value == value);
        let types = cut_types(graph, node).unwrap_or_default();
        let mut types = types.into_iter();
        !results.any(is_given)
            && types.all(|ty| has_steps(ty, self.time_steps) && views_are_aligned(ty, self.count))
    }
}

/// Whether each chunk of the result depends on the same chunk of the operands only.
fn is_stateless(op: &Op) -> bool {
    let sums_over_time = match op {
        Op::MatMul(op) => op.transpose_a,
        Op::Reduce(op) => op.axes.contains(&0),
        _ => false,
    };
    !sums_over_time && !is_sum(op) && is_backward(op).is_none()
}
