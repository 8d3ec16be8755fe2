//! The operands and results of scans, by kind.

use super::tile_operand::TileOperand;
use super::tile_result::TileResult;
use super::{BLOCK, Float, MAX_OPERANDS, Types};
use crate::broadcast::Broadcast;
use crate::memory::{View, ViewMut};
use arrayvec::ArrayVec;
use spikelet_expr::{Block, Program, Workspace};
use spikelet_graph::op::{Port, Ports, Scan, ScanGrad};

/// The operands that a step of a scan reads, and their access patterns.
pub(super) struct Operands {
    pub(super) sequences: Vec<Sequence>,
    /// The initial states and the parameters: the operand of each.
    pub(super) initial: Vec<(usize, Broadcast)>,
    pub(super) params: Vec<(usize, Broadcast)>,
    pub(super) time_steps: usize,
    /// Elements of one time step.
    pub(super) elements: usize,
}

/// A sequence among the operands.
pub(super) struct Sequence {
    pub(super) operand: usize,
    /// Whether it is the same at all steps.
    pub(super) constant: bool,
}

impl Operands {
    pub(super) fn new(op: &dyn Ports, types: &Types) -> Self {
        let (scan, step) = (op.scan(), Scan::step_shape(&types.inputs));
        let r = &scan.recurrence;
        let sequence = |k| {
            let operand = op.input(k);
            Sequence {
                operand,
                constant: scan.feedback.is_none() && types.inputs[operand].shape[0] == 1,
            }
        };
        let held = |port: fn(usize) -> Port, count: usize| {
            let operands = (0..count).map(|k| op.reads(port(k)));
            let of = |at: usize| (at, Broadcast::new(&types.inputs[at].shape, step));
            operands.map(of).collect()
        };
        Self {
            sequences: (0..r.inputs.len()).map(sequence).collect(),
            initial: held(Port::Initial, r.states.len()),
            params: held(Port::Param, r.params.len()),
            time_steps: scan.time_steps,
            elements: step.iter().product(),
        }
    }

    /// The most elements of a tile. Parameters that differ between elements are set per block, so that
    /// a tile is then one block.
    pub(super) fn most(&self) -> usize {
        let mut params = self.params.iter();
        if params.all(|(_, b)| matches!(b, Broadcast::Scalar)) {
            TILE
        } else {
            BLOCK
        }
    }

    /// Elements of a tile of full rows of neurons.
    pub(super) fn row_tile(&self, features: usize, threads: usize) -> usize {
        let rows = self.elements.checked_div(features).unwrap_or(0);
        tile_rows(rows, features, threads) * features
    }

    /// Gathers the initial states of a tile.
    pub(super) fn initial<'a, R: Float>(
        &self,
        reads: &[&[R]],
        start: usize,
        to: impl Iterator<Item = &'a mut [R]>,
    ) {
        for ((operand, broadcast), to) in self.initial.iter().zip(to) {
            broadcast.gather(reads[*operand], start, to);
        }
    }

    /// Gathers the parameters of a tile and sets them.
    pub(super) fn hold<R: Float>(
        &self,
        reads: &[&[R]],
        start: usize,
        length: usize,
        blocks: &mut [Block<R>],
        works: &mut [(&Program, &mut Workspace<R>)],
    ) {
        if self.params.is_empty() {
            return;
        }
        for ((operand, broadcast), block) in self.params.iter().zip(&mut *blocks) {
            broadcast.gather(reads[*operand], start, &mut block[..length.min(BLOCK)]);
        }
        let mut held: [&[R]; MAX_OPERANDS] = [&[]; MAX_OPERANDS];
        for (held, block) in held.iter_mut().zip(blocks.iter()) {
            *held = &block[..length.min(BLOCK)];
        }
        for (program, work) in works {
            program.set_uniform(work, &held[..self.params.len()]);
        }
    }
}

/// Elements of a step of a tile, few enough that the step's operands and results stay in the L2 cache.
const TILE_ELEMENTS: usize = 24 * 1024;

/// The most rows of a tile.
const MOST_ROWS: usize = 48;

/// Rows of a tile: every thread gets the same number of tiles of nearly the same size. Rows are independent,
/// so the partition does not affect the result.
fn tile_rows(rows: usize, features: usize, threads: usize) -> usize {
    let threads = threads.max(1);
    let most = (TILE_ELEMENTS / features.max(1)).clamp(4, MOST_ROWS);
    let tiles = rows.div_ceil(most).next_multiple_of(threads);
    match rows.div_ceil(tiles.max(1)) {
        few @ 0..4 => few,
        // Products are computed for several rows at once.
        many => many.next_multiple_of(4),
    }
}

/// The most elements of a tile. A step reads that many contiguous elements: enough for the hardware
/// prefetcher.
const TILE: usize = 16384;

/// Elements of a tile, few enough that every thread gets several tiles.
pub(super) fn tile(elements: usize, threads: usize, most: usize) -> usize {
    (elements / (4 * threads.max(1)) / 64 * 64).clamp(64, most)
}

/// The memory that the tiles of a run share.
pub(super) struct Memory<'a, R> {
    /// The operands of the type of the kernel.
    pub(super) reads: [&'a [R]; MAX_OPERANDS],
    /// All operands.
    pub(super) sources: ArrayVec<TileOperand<'a, R>, MAX_OPERANDS>,
    pub(super) results: ArrayVec<TileResult<'a, R>, MAX_OPERANDS>,
    /// The weight of the feedback, in the order of its product.
    pub(super) weight: &'a [R],
}

impl<'a, R: Float> Memory<'a, R> {
    pub(super) fn open(reads: &[View<'a>], writes: &'a mut [ViewMut<'_>]) -> Self {
        let mut values: [&[R]; MAX_OPERANDS] = [&[]; MAX_OPERANDS];
        for (value, read) in values.iter_mut().zip(reads) {
            if !matches!(read, View::F16(_) | View::BF16(_) | View::Bits(_)) {
                *value = R::of(read);
            }
        }
        Self {
            reads: values,
            sources: reads.iter().map(TileOperand::of).collect(),
            results: writes.iter_mut().map(TileResult::of).collect(),
            weight: &[],
        }
    }
}

/// The results of a forward scan.
pub(super) struct Results {
    pub(super) outputs: Vec<usize>,
    /// Of each state.
    pub(super) last: Vec<usize>,
    pub(super) state_seq: Vec<usize>,
    pub(super) checkpoints: Vec<usize>,
}

impl Results {
    pub(super) fn new(op: &Scan) -> Self {
        Self {
            outputs: op.results_that(&|port| matches!(port, Port::Output(_))),
            last: op.results_that(&|port| matches!(port, Port::Last(_))),
            state_seq: op.results_that(&|port| matches!(port, Port::StateSeq(_))),
            checkpoints: op.results_that(&|port| matches!(port, Port::Checkpoint(_))),
        }
    }
}

/// The gradients that a backward scan reads and writes.
pub(super) struct Gradients {
    /// The operands: of the present outputs, of each last state and state sequence, and what the gradient of each
    /// parameter is added to.
    pub(super) outputs: Vec<usize>,
    last: Vec<Option<usize>>,
    state_seq: Vec<Option<usize>>,
    pub(super) accumulators: Vec<Option<usize>>,
    /// The results: of sequences, initial states and parameters.
    pub(super) of_inputs: Vec<usize>,
    pub(super) of_states: Vec<usize>,
    pub(super) of_params: Vec<usize>,
    /// Which sequences and parameters need a gradient.
    pub(super) wanted_inputs: Vec<bool>,
    pub(super) wanted_params: Vec<bool>,
}

impl Gradients {
    pub(super) fn new(op: &ScanGrad, types: &Types) -> Self {
        let r = &op.of.recurrence;
        let (states, params) = (r.states.len(), r.params.len());
        let operands = |port: fn(usize) -> Port, count: usize| -> Vec<Option<usize>> {
            (0..count).map(|k| op.operand(port(k))).collect()
        };
        Self {
            outputs: op.operands_that(&|port| matches!(port, Port::OutputGrad(_))),
            last: operands(Port::LastGrad, states),
            state_seq: operands(Port::StateSeqGrad, states),
            accumulators: operands(Port::Accumulator, params),
            of_inputs: op.results_that(&|port| matches!(port, Port::Sequence(_))),
            of_states: op.results_that(&|port| matches!(port, Port::Initial(_))),
            of_params: op.results_that(&|port| matches!(port, Port::Param(_))),
            wanted_inputs: types.used(op, Port::Sequence, r.inputs.len()),
            wanted_params: types.used(op, Port::Param, params),
        }
    }

    /// The operands with gradients of state `k` after step `t`, and their first elements in a tile.
    pub(super) fn of_state_after(
        &self,
        k: usize,
        operands: &Operands,
        t: usize,
        start: usize,
    ) -> impl Iterator<Item = (usize, usize)> {
        let is_last = t + 1 == operands.time_steps;
        let last = self.last[k].filter(|_| is_last);
        let each = self.state_seq[k].map(|at| (at, t * operands.elements + start));
        last.map(|at| (at, start)).into_iter().chain(each)
    }
}
