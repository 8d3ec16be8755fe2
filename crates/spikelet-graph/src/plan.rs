//! A graph laid out for a device: kernels in order, and the location of every value.

mod check;
mod check_buffers;
mod check_collective;
mod check_target;
mod forward_backward;
mod layout;
mod print;

pub use crate::arena::Allocation;
pub use crate::liveness::Location;
pub use check_buffers::Bound;
pub use forward_backward::ForwardBackwardPlans;

use crate::error::{Error, Result};
use crate::graph::{Graph, ValueId};
use crate::op::Operation;
use crate::pass::{self, Choices, Report};
use crate::target::Target;
use crate::types::TensorType;

/// One step of a plan.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The node that it runs.
    pub node: usize,
    /// The locations of its operands.
    pub reads: Vec<Location>,
    /// The locations of its results.
    pub writes: Vec<Location>,
    /// The workspace: offset in the arena and size, in bytes.
    pub workspace: Option<(usize, usize)>,
    /// Floating-point operations.
    pub flops: u64,
    /// The bytes that it reads and writes at least: each operand and each result once; of a loop, those of the
    /// kernels of its body at all steps.
    pub bytes: u64,
    /// The plan of the graph that its operation owns, such as the body of a loop. Its arena is the start of the
    /// workspace.
    pub body: Option<Box<Plan>>,
}

/// A graph with the memory layout for a device.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The graph after all passes.
    pub graph: Graph,
    /// The kernels in execution order.
    pub kernels: Vec<Kernel>,
    /// Results that are copied to a buffer at the end, since they cannot be computed in it.
    pub copies: Vec<(Location, Location, TensorType)>,
    /// The allocations in the arena.
    pub allocations: Vec<Allocation>,
    /// The size of the arena in bytes: the peak of a run without the buffers.
    pub arena_bytes: usize,
    /// The reports of the passes.
    pub reports: Vec<Report>,
    places: Vec<Location>,
}

/// Layers may overlap in time.
const OVERLAPPING: Choices = Choices {
    write_out: false,
    overlap: true,
    limit: None,
};

impl Plan {
    /// Runs the passes over `graph` and lays it out for `target`. Short loops are written out where the target asks for
    /// it and the plan needs at most an eighth more memory than with the loops.
    pub fn new(mut graph: Graph, target: &dyn Target) -> Plan {
        let written_out = Self::written_out(&graph, target);
        let reports = pass::run_all(&mut graph, target);
        let looped = Self::placed(graph, target, OVERLAPPING, reports);
        match written_out {
            Some(plan) if plan.arena_bytes - plan.arena_bytes / 9 <= looped.arena_bytes => plan,
            _ => looped,
        }
    }

    /// The plan with the steps of short loops written out; `None` where there are none.
    fn written_out(graph: &Graph, target: &dyn Target) -> Option<Plan> {
        pass::unroll::chosen(graph, target).next()?;
        let mut graph = graph.clone();
        let choices = Choices {
            write_out: true,
            ..Choices::default()
        };
        let reports = pass::run_all_with(&mut graph, target, choices);
        Some(Self::placed(graph, target, choices, reports))
    }

    /// As [`Plan::new`], with a peak of at most `bytes`, buffers included. Fewer values are saved for the
    /// backward pass and more are recomputed; the results keep their bits.
    ///
    /// If that does not suffice for a graph with [`op::Loop`](crate::op::Loop)s or
    /// scans with [`Feedback`](crate::op::Feedback), its time steps are divided into chunks. Then the gradients of weights are
    /// sums over the chunks, which can differ in their last bits.
    ///
    /// # Errors
    /// [`Error::Budget`] when the peak cannot be reduced to the limit; it has the smallest peak found.
    pub fn within(mut graph: Graph, target: &dyn Target, bytes: usize) -> Result<Plan> {
        let fits = |plan: &Plan| plan.peak_bytes() <= bytes;
        if let Some(plan) = Self::written_out(&graph, target).filter(fits) {
            return Ok(plan);
        }
        let reports = pass::run_all(&mut graph, target);
        let mut overlapping = graph.clone();
        let made = pass::place(&mut overlapping, target, OVERLAPPING);
        let overlap = pass::time_chunking::overlap::NAME;
        if made.iter().any(|report| report.pass == overlap) {
            let plan = Self::lay_out(overlapping, target, [&reports[..], &made].concat());
            if fits(&plan) {
                return Ok(plan);
            }
        }
        let fixed = buffer_bytes(&graph);
        let budget = Choices {
            limit: Some(bytes.saturating_sub(fixed)),
            ..Choices::default()
        };
        let plan = Self::placed(graph, target, budget, reports);
        let least = plan.peak_bytes();
        Some(plan).filter(fits).ok_or(Error::Budget {
            allowed: bytes,
            least,
            fixed,
        })
    }

    /// Lays out a graph as it is, for comparisons: every node must have a result that is read.
    pub fn without_passes(graph: Graph, target: &dyn Target) -> Plan {
        Self::lay_out(graph, target, vec![])
    }

    /// Places the values of a graph for which the passes for a target have run.
    fn placed(
        mut graph: Graph,
        target: &dyn Target,
        choices: Choices,
        mut reports: Vec<Report>,
    ) -> Plan {
        reports.extend(pass::place(&mut graph, target, choices));
        Self::lay_out(graph, target, reports)
    }

    /// Lays out a graph on which all passes have run.
    fn lay_out(mut graph: Graph, target: &dyn Target, reports: Vec<Report>) -> Plan {
        graph.count_uses();
        let layout = layout::lay_out(&graph, target);
        let places = layout.places;
        let place = |v: &ValueId| places[v.index()];
        let mut kernels = vec![];
        for (k, node) in graph.nodes.iter().enumerate() {
            if !node.op.runs() {
                continue;
            }
            let (inputs, outputs) = (graph.types(&node.inputs), graph.types(&node.outputs));
            let written = node.outputs.iter().filter(|v| place(v) != Location::Unused);
            let touched = written.chain(&node.inputs);
            let moved: usize = match node.op.is_view() {
                true => 0,
                false => total(touched.map(|v| graph.ty(*v).bytes())),
            };
            let body = node.op.body();
            let body = body.map(|body| Box::new(Self::lay_out(body.clone(), target, vec![])));
            let of_body = |body: &Plan| {
                let runs = node.op.body_runs() as u64;
                body.moved_bytes().saturating_mul(runs)
            };
            let bytes = body.as_deref().map_or(moved as u64, of_body);
            kernels.push(Kernel {
                node: k,
                reads: node.inputs.iter().map(place).collect(),
                writes: node.outputs.iter().map(place).collect(),
                workspace: layout.workspaces[k],
                flops: node.op.flops(&inputs, &outputs),
                bytes,
                body,
            });
        }
        let copies = graph
            .outputs
            .iter()
            .enumerate()
            .filter_map(|(k, output)| {
                let to = match output.updates {
                    Some(input) => place(&input),
                    None => Location::Output(k),
                };
                let from = place(&output.value);
                (from != to).then(|| (from, to, graph.ty(output.value).clone()))
            })
            .collect();
        Plan {
            kernels,
            copies,
            allocations: layout.allocations,
            arena_bytes: layout.bytes,
            reports,
            places,
            graph,
        }
    }

    /// The location of a value.
    pub fn place(&self, value: ValueId) -> Location {
        self.places[value.index()]
    }

    /// The bytes of the buffers that the plan is bound to: parameters, states, inputs, outputs.
    pub fn buffer_bytes(&self) -> usize {
        buffer_bytes(&self.graph)
    }

    /// Arena and buffers together, in bytes.
    pub fn peak_bytes(&self) -> usize {
        self.arena_bytes.saturating_add(self.buffer_bytes())
    }

    /// The number of kernels that one run executes: those of a loop's body once for each step.
    pub fn kernel_runs(&self) -> usize {
        let runs = self.kernels.iter().map(|kernel| match &kernel.body {
            Some(body) => {
                let runs = self.graph.nodes[kernel.node].op.body_runs();
                runs.saturating_mul(body.kernel_runs())
            }
            None => 1,
        });
        runs.fold(0, usize::saturating_add)
    }

    /// Floating-point operations of one run.
    pub fn flops(&self) -> u64 {
        let flops = self.kernels.iter().map(|k| k.flops);
        flops.fold(0, u64::saturating_add)
    }

    /// Bytes that the kernels of one run move.
    pub fn moved_bytes(&self) -> u64 {
        let bytes = self.kernels.iter().map(|k| k.bytes);
        bytes.fold(0, u64::saturating_add)
    }
}

fn buffer_bytes(graph: &Graph) -> usize {
    let inputs = graph.inputs.iter().map(|i| i.value);
    let fresh = graph.outputs.iter().filter(|o| o.updates.is_none());
    let values = inputs.chain(fresh.map(|o| o.value));
    total(values.map(|v| graph.ty(v).bytes()))
}

/// The sum of bytes; `usize::MAX` if it overflows.
fn total(bytes: impl Iterator<Item = usize>) -> usize {
    bytes.fold(0, usize::saturating_add)
}
