//! The chunks of operations that carry values from step to step.

use crate::graph::ValueId;
use crate::op::{Loop, Op, Recurrence, RecurrentScan, RecurrentScanGrad, Scan, ScanGrad};
use std::collections::HashSet;

/// One chunk of an operation.
#[derive(Clone, Copy)]
pub(super) struct Chunk<'a> {
    pub(super) index: usize,
    pub(super) count: usize,
    /// The results of the operation's chunk that ran before: in a backward pass, the one after it in time.
    pub(super) before: Option<&'a [ValueId]>,
    /// In a backward pass, the results of the forward scan's chunk before it in time.
    pub(super) forward: Option<&'a [ValueId]>,
}

/// Replaces the initial states among a scan's operands by those that a chunk of it left.
fn continue_states(r: &Recurrence, left: Option<&[ValueId]>, operands: &mut [ValueId]) {
    if let Some(left) = left {
        let states = r.states.len();
        operands[r.inputs.len()..][..states].copy_from_slice(&left[r.outputs.len()..][..states]);
    }
}

/// A forward scan over some steps, from the states that the steps before left.
pub(super) fn scan(op: &Scan, chunk: Chunk<'_>, inputs: &mut [ValueId]) -> Op {
    continue_states(&op.recurrence, chunk.before, inputs);
    Op::Scan(Scan {
        time_steps: op.time_steps / chunk.count,
        checkpoint: None,
        ..op.clone()
    })
}

/// Some steps of a scan with feedback, which continue the steps before.
pub(super) fn recurrent_scan(op: &RecurrentScan, chunk: Chunk<'_>, inputs: &mut [ValueId]) -> Op {
    let r = &op.recurrence;
    continue_states(r, chunk.before, inputs);
    if let Some(left) = chunk.before {
        // It is not read.
        inputs[op.first_product()] = left[r.outputs.len() + op.fed];
    }
    Op::RecurrentScan(RecurrentScan {
        time_steps: op.time_steps / chunk.count,
        continues: op.continues || chunk.index > 0,
        ..op.clone()
    })
}

/// Some steps of a loop, which start from the values that the steps before carried.
pub(super) fn repeat(op: &Loop, chunk: Chunk<'_>, inputs: &mut [ValueId]) -> Op {
    if let Some(left) = chunk.before {
        let carried = op.body.carried_count();
        inputs[..carried].copy_from_slice(&left[..carried]);
    }
    Op::Loop(Loop {
        length: op.length / chunk.count,
        ..op.clone()
    })
}

/// The operands of the backward pass of some steps, and which gradients are among them: the `leading` operands of the
/// forward scan, with the states that it left before these steps, then the gradients of its results, of which those
/// of the last states are what the backward pass of the steps after has left.
fn backward_operands(
    r: &Recurrence,
    chunk: Chunk<'_>,
    (leading, present): (usize, &[bool]),
    inputs: &[ValueId],
) -> (Vec<ValueId>, Vec<bool>) {
    let mut operands = inputs[..leading].to_vec();
    continue_states(r, chunk.forward, &mut operands);
    let mut given = inputs[leading..].iter().copied();
    let grads = present.iter().map(|p| p.then(|| given.next()).flatten());
    let mut grads: Vec<Option<ValueId>> = grads.collect();
    if let Some(after) = chunk.before {
        let lasts = grads[r.outputs.len()..][..r.states.len()].iter_mut();
        for (grad, after) in lasts.zip(&after[r.inputs.len()..]) {
            *grad = Some(*after);
        }
    }
    operands.extend(grads.iter().flatten());
    (operands, grads.iter().map(Option::is_some).collect())
}

/// A backward scan over some steps, which adds to the gradients of parameters among its results `outputs` that are
/// `read`.
pub(super) fn scan_grad(
    op: &ScanGrad,
    chunk: Chunk<'_>,
    (outputs, read): (&[ValueId], &HashSet<ValueId>),
    inputs: &mut Vec<ValueId>,
) -> Op {
    let r = &op.recurrence;
    let first_param = r.inputs.len() + r.states.len();
    let given = (first_param + r.params.len(), &op.present[..]);
    let (operands, present) = backward_operands(r, chunk, given, inputs);
    *inputs = operands;
    let mut accumulates = vec![false; r.params.len()];
    if let Some(after) = chunk.before {
        for (param, accumulates) in (first_param..).zip(&mut accumulates) {
            *accumulates = read.contains(&outputs[param]);
            inputs.extend(accumulates.then(|| after[param]));
        }
    }
    Op::ScanGrad(ScanGrad {
        time_steps: op.time_steps / chunk.count,
        checkpoint: None,
        present,
        accumulates,
        ..op.clone()
    })
}

/// The backward pass of some steps of a scan with feedback.
pub(super) fn recurrent_scan_grad(
    op: &RecurrentScanGrad,
    chunk: Chunk<'_>,
    inputs: &mut Vec<ValueId>,
) -> Op {
    let given = (op.weight_operand() + 1, &op.present[..]);
    let (operands, present) = backward_operands(&op.recurrence, chunk, given, inputs);
    *inputs = operands;
    Op::RecurrentScanGrad(RecurrentScanGrad {
        time_steps: op.time_steps / chunk.count,
        continues: op.continues || chunk.index > 0,
        present,
        ..op.clone()
    })
}
