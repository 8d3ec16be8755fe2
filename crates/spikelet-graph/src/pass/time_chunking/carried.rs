//! The chunks of operations that carry values from step to step.

use crate::graph::ValueId;
use crate::op::{Loop, Op, Port, Ports, Scan, ScanGrad};
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

/// The operands of an operation by name, with those that other chunks computed in place of its own.
fn continued(
    from: &dyn Ports,
    to: &dyn Ports,
    inputs: &[ValueId],
    given: impl Fn(Port) -> Option<ValueId>,
) -> Vec<ValueId> {
    let own = |port| from.operand(port).map(|at| inputs[at]);
    let operands = to.operands().into_iter();
    let operands = operands.map(|port| given(port).or_else(|| own(port)));
    operands
        .map(|value| value.expect("an operand of the whole scan or of its chunks"))
        .collect()
}

/// Some of the steps of a scan.
fn part(op: &Scan, chunk: Chunk<'_>) -> Scan {
    let mut part = Scan {
        id: op.id.part(chunk.index, chunk.count),
        time_steps: op.time_steps / chunk.count,
        checkpoint: None,
        ..op.clone()
    };
    if let Some(feedback) = &mut part.feedback {
        feedback.continues |= chunk.index > 0;
    }
    part
}

/// A state that the chunk before left, as an initial one. The product of the spikes that are fed back is not read.
fn left(op: &Scan, before: Option<&[ValueId]>, port: Port) -> Option<ValueId> {
    let state = match (port, &op.feedback) {
        (Port::Initial(k), _) => k,
        (Port::FirstProduct, Some(feedback)) => feedback.state,
        _ => return None,
    };
    Some(before?[op.writes(Port::Last(state))])
}

/// A forward scan over some steps, from the states that the steps before left.
pub(super) fn scan(op: &Scan, chunk: Chunk<'_>, inputs: &mut Vec<ValueId>) -> Op {
    *inputs = continued(op, op, inputs, |port| left(op, chunk.before, port));
    Op::Scan(part(op, chunk))
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

/// A backward scan over some steps. It reads the states that the forward scan left before these steps and the gradients
/// of the states that the backward pass of the steps after has left, and adds to the gradients of parameters among its
/// results `outputs` that are `read`, without feedback.
pub(super) fn scan_grad(
    op: &ScanGrad,
    chunk: Chunk<'_>,
    (outputs, read): (&[ValueId], &HashSet<ValueId>),
    inputs: &mut Vec<ValueId>,
) -> Op {
    let after = |port: Port| Some(chunk.before?[op.writes(port)]);
    let given = |port: Port| match port {
        Port::LastGrad(k) => after(Port::Initial(k)),
        Port::Accumulator(k) => after(Port::Param(k)),
        port => left(&op.of, chunk.forward, port),
    };
    let grads = op.of.results().into_iter().filter_map(Port::grad);
    let is_present = |port: &Port| op.present.contains(port) || given(*port).is_some();
    let adds = |k: &usize| {
        let is_read = read.contains(&outputs[op.writes(Port::Param(*k))]);
        is_read && op.of.feedback.is_none() && chunk.before.is_some()
    };
    let made = ScanGrad {
        of: part(&op.of, chunk),
        present: grads.filter(is_present).collect(),
        accumulates: (0..op.of.recurrence.params.len()).filter(adds).collect(),
        ..op.clone()
    };
    *inputs = continued(op, &made, inputs, given);
    made.into()
}
