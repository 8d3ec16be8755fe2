//! The operands and results of scans, by kind.

use super::{BLOCK, Float, MAX_OPERANDS, Types};
use crate::broadcast::Broadcast;
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
                constant: types.inputs[operand].shape[0] == 1,
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
            super::scan::TILE
        } else {
            BLOCK
        }
    }

    /// Elements of step `t` of each sequence, from `start`.
    pub(super) fn inputs<'a, R: Float>(
        &self,
        reads: &[&'a [R]],
        t: usize,
        (start, size): (usize, usize),
    ) -> impl Iterator<Item = &'a [R]> {
        self.sequences.iter().map(move |sequence| {
            let t = if sequence.constant { 0 } else { t };
            &reads[sequence.operand][t * self.elements + start..][..size]
        })
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

    /// Adds the gradients of the states after step `t` that are operands.
    pub(super) fn add_to<R: Float>(
        &self,
        after: &mut [Block<R>],
        (operands, reads): (&Operands, &[&[R]]),
        t: usize,
        (start, length): (usize, usize),
    ) {
        for (k, after) in after.iter_mut().enumerate() {
            let mut add = |operand: Option<usize>, at: usize| {
                if let Some(operand) = operand {
                    let grad = &reads[operand][at..at + length];
                    for (a, g) in after[..length].iter_mut().zip(grad) {
                        *a = *a + *g;
                    }
                }
            };
            if t + 1 == operands.time_steps {
                add(self.last[k], start);
            }
            add(self.state_seq[k], t * operands.elements + start);
        }
    }
}
