//! The actions of a plan on the stream, in order. Memory is given by name ([`super::pieces`]).

use super::pieces::Pieces;
use crate::dnn::ConvCall;
use crate::error::Context;
use crate::gemm::GemmCall;
use crate::gpu::Gpu;
use crate::gpu::group::{AllReduceBatch, Group};
use crate::launch::Launch;
use crate::library::driver::{CUgraph, Event, Stream};
use crate::while_nodes::{CountedLoop, WhileNodes};
use spikelet_graph::Result;
use std::cell::RefCell;
use std::sync::Arc;

/// An action on the stream.
pub(super) enum Action {
    Launch(Launch),
    Gemm {
        call: GemmCall,
        a: u64,
        b: u64,
        y: u64,
        workspace: u64,
    },
    Conv {
        call: ConvCall,
        a: u64,
        b: u64,
        y: u64,
        workspace: u64,
    },
    Clear {
        to: u64,
        bytes: usize,
    },
    Copy {
        from: u64,
        to: u64,
        bytes: usize,
    },
    /// Sums over ranks, concurrent with the next actions.
    AllReduceStart {
        group: Arc<Group>,
        sums: AllReduceBatch,
    },
    /// Makes the next actions wait for sums.
    AllReduceDone(Arc<Event>),
    /// The same actions several times.
    Repeat(Repeat),
}

/// An action and the plan's kernels that it runs.
pub(super) struct Step {
    pub(super) action: Action,
    /// The index of the first kernel.
    pub(super) kernel: usize,
    /// The index of the last one, of kernels that share a launch.
    pub(super) last: usize,
}

/// The steps of a loop.
pub(super) struct Repeat {
    pub(super) body: Vec<Step>,
    pub(super) count: usize,
    /// The number of steps done, which is cleared before the loop and increased by the body.
    pub(super) counter: u64,
}

/// The nodes of one turn of a recorded loop, about. Measured on an NVIDIA H200: the end of a turn takes 4 µs, a node
/// of a small network 2 to 4 µs, and small networks with a turn for each step take 1.2 to 3.3 times as long as
/// without turns. A turn of 128 nodes or more therefore adds less than 2 %.
const NODES_IN_TURN: usize = 512;

impl Repeat {
    /// The steps that one turn of a recorded loop runs. The limits bound the lengths of loops that are not recorded
    /// and of the remainders.
    fn steps_in_turn(&self) -> usize {
        (NODES_IN_TURN / nodes(&self.body).max(1)).clamp(8, 128)
    }

    /// The turns of a recorded loop; no loop is recorded for fewer than two, or for a body with sums over ranks,
    /// which the driver does not allow there.
    fn turns(&self) -> usize {
        match self.count / self.steps_in_turn() {
            turns @ 2.. if !self.body.iter().any(Step::sums_over_ranks) => turns,
            _ => 0,
        }
    }
}

impl Step {
    /// An action of one kernel of the plan.
    pub(super) fn new(action: Action, kernel: usize) -> Self {
        Self {
            action,
            kernel,
            last: kernel,
        }
    }

    fn sums_over_ranks(&self) -> bool {
        match &self.action {
            Action::AllReduceStart { .. } | Action::AllReduceDone(_) => true,
            Action::Repeat(repeat) => repeat.body.iter().any(Step::sums_over_ranks),
            _ => false,
        }
    }

    /// The nodes of a recorded run, with those of the bodies of its loops.
    fn nodes(&self) -> usize {
        let Action::Repeat(repeat) = &self.action else {
            return 1;
        };
        let steps = match (repeat.turns(), repeat.steps_in_turn()) {
            (0, _) => repeat.count,
            (_, in_turn) => in_turn + repeat.count % in_turn,
        };
        nodes(&repeat.body).saturating_mul(steps)
    }
}

/// The nodes of recorded steps; a library may use more than one for a product or a convolution.
fn nodes(steps: &[Step]) -> usize {
    steps.iter().map(Step::nodes).fold(0, usize::saturating_add)
}

/// The number of nested loops that are recorded as such.
pub(super) fn recorded_loops(steps: &[Step]) -> usize {
    let depth = |step: &Step| match &step.action {
        Action::Repeat(repeat) => recorded_loops(&repeat.body) + usize::from(repeat.turns() > 0),
        _ => 0,
    };
    steps.iter().map(depth).max().unwrap_or(0)
}

/// Starts actions on a stream.
pub(super) struct Starter<'a> {
    gpu: &'a Gpu,
    stream: &'a Arc<Stream>,
    pieces: Pieces<'a>,
    recorder: Option<LoopRecorder<'a>>,
}

/// Records loops as WHILE nodes of the CUDA graph that is captured.
#[derive(Clone, Copy)]
pub(super) struct LoopRecorder<'a> {
    pub(super) nodes: &'a WhileNodes,
    /// A stream for the body of a loop, one for a loop in it, and so on.
    pub(super) streams: &'a [Arc<Stream>],
    /// The graphs of the bodies.
    pub(super) bodies: &'a RefCell<Vec<CUgraph>>,
}

impl<'a> Starter<'a> {
    /// Starts actions on a stream of the GPU, in this memory; with a recorder, loops become nodes of the graph that the
    /// stream is captured into.
    pub(super) fn new(
        gpu: &'a Gpu,
        stream: &'a Arc<Stream>,
        pieces: Pieces<'a>,
        recorder: Option<LoopRecorder<'a>>,
    ) -> Self {
        Self {
            gpu,
            stream,
            pieces,
            recorder,
        }
    }

    /// Starts one action.
    ///
    /// # Safety
    /// The pieces of memory have the planned sizes, and the GPU's context is current; nothing else may access the memory
    /// of sums over ranks before they are done.
    pub(super) unsafe fn start(&self, action: &Action) -> Result<()> {
        let Self { gpu, stream, .. } = *self;
        let at = |name: u64| self.pieces.address(name);
        // SAFETY: the caller's promise.
        unsafe {
            match action {
                Action::Launch(launch) => launch.run(gpu, stream, at),
                Action::Gemm {
                    call,
                    a,
                    b,
                    y,
                    workspace,
                } => call.run(gpu, stream, [at(*a), at(*b), at(*y)], at(*workspace)),
                Action::Conv {
                    call,
                    a,
                    b,
                    y,
                    workspace,
                } => call.run(gpu, stream, [at(*a), at(*b), at(*y)], at(*workspace)),
                Action::Clear { to, bytes } => stream
                    .fill(at(*to), 0, *bytes)
                    .context(&gpu.name, "clearing memory"),
                Action::Copy { from, to, bytes } => stream
                    .copy(at(*to), at(*from), *bytes)
                    .context(&gpu.name, "copying a result"),
                Action::AllReduceStart { group, sums } => group.start(gpu, sums, at),
                Action::AllReduceDone(done) => Group::arrive(gpu, done),
                Action::Repeat(repeat) => self.repeat(repeat),
            }
        }
    }

    /// As [`start`](Self::start), for all steps of a loop.
    unsafe fn repeat(&self, repeat: &Repeat) -> Result<()> {
        // SAFETY: the caller's promise.
        let recorded = unsafe { self.record(repeat) }?;
        // SAFETY: as above.
        (recorded..repeat.count).try_for_each(|_| unsafe { self.step(repeat) })
    }

    /// As [`start`](Self::start), for one step of a loop.
    unsafe fn step(&self, repeat: &Repeat) -> Result<()> {
        let mut steps = repeat.body.iter();
        // SAFETY: the caller's promise.
        steps.try_for_each(|step| unsafe { self.start(&step.action) })
    }

    /// As [`start`](Self::start), for the first steps of a loop in a CUDA graph, as one node. Returns the number
    /// of these steps.
    unsafe fn record(&self, repeat: &Repeat) -> Result<usize> {
        let turns = repeat.turns();
        let Some(recorder) = self.recorder.filter(|_| turns > 0) else {
            return Ok(0);
        };
        let Some((stream, streams)) = recorder.streams.split_first() else {
            return Ok(0);
        };
        let steps_in_turn = repeat.steps_in_turn();
        let recorded = turns * steps_in_turn;
        let counted = CountedLoop {
            stream: self.stream,
            body_stream: stream,
            counter: self.pieces.address(repeat.counter),
            last: recorded,
        };
        let recorder_of_body = LoopRecorder {
            streams,
            ..recorder
        };
        let body = Starter::new(self.gpu, stream, self.pieces, Some(recorder_of_body));
        // SAFETY: the caller's promise; the stream is captured if there is a recorder, and each of its streams
        // captures one body at a time.
        let graph = unsafe {
            recorder.nodes.record(self.gpu, counted, || {
                (0..steps_in_turn).try_for_each(|_| body.step(repeat))
            })
        }?;
        recorder.bodies.borrow_mut().push(graph);
        Ok(recorded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeat(count: usize, body: Vec<Action>) -> Action {
        let step = |action| Step::new(action, 0);
        Action::Repeat(Repeat {
            body: body.into_iter().map(step).collect(),
            count,
            counter: 0,
        })
    }

    fn clears(count: usize) -> Vec<Action> {
        let clear = |_| Action::Clear { to: 0, bytes: 8 };
        (0..count).map(clear).collect()
    }

    fn depth(action: Action) -> usize {
        recorded_loops(&[Step::new(action, 0)])
    }

    #[test]
    fn loops_of_at_least_two_turns_are_recorded() {
        // The nodes of a step and the steps of a turn.
        let turns = [(0, 128), (1, 128), (4, 128), (7, 73), (64, 8), (600, 8)];
        for (nodes, steps) in turns {
            let depth = |count| depth(repeat(count, clears(nodes)));
            for count in [0, 1, steps, 2 * steps - 1] {
                assert_eq!(depth(count), 0, "{count} steps of {nodes} nodes");
            }
            for count in [2 * steps, 2 * steps + 1, 10_000] {
                assert_eq!(depth(count), 1, "{count} steps of {nodes} nodes");
            }
        }
    }

    #[test]
    fn nested_loops_are_recorded_in_each_other() {
        let inner = |count| repeat(count, clears(1));
        assert_eq!(depth(repeat(1000, vec![inner(1000), inner(2)])), 2);
        assert_eq!(depth(repeat(2, vec![inner(1000)])), 1);
        assert_eq!(depth(repeat(1000, vec![inner(2)])), 1);
        assert_eq!(depth(repeat(2, vec![inner(2)])), 0);
    }

    #[test]
    fn a_recorded_loop_has_the_nodes_of_one_turn_and_of_the_remaining_steps() {
        let step = |action| Step::new(action, 0);
        let inner = |count| step(repeat(count, clears(2)));
        assert_eq!(inner(255).nodes(), 2 * 255);
        assert_eq!(inner(256).nodes(), 2 * 128);
        assert_eq!(inner(10_000).nodes(), 2 * (128 + 16));
        let outer = |count| step(repeat(count, vec![inner(256).action]));
        assert_eq!(outer(15).nodes(), 15 * 256);
        assert_eq!(outer(17).nodes(), 9 * 256);
    }
}
