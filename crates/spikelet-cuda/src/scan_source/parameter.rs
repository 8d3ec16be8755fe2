//! The parameters of a scan's kernel.

use crate::kernel_source::{Binding, KernelSource};
use crate::op::LoweringContext;
use spikelet_graph::TensorType;
use spikelet_graph::op::{Op, Recurrence, ScanGrad};

/// A parameter of a scan's kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanParameter {
    /// Its C++ type.
    pub ctype: String,
    /// Its name.
    pub cname: String,
    /// The tensor that it points to; `None` for scratch memory.
    pub tensor: Option<TensorType>,
    /// The meaning of the tensor, such as `dL/dx`.
    pub what: String,
}

/// The parameters of a scan's kernel.
pub(super) fn all(kernel: &KernelSource, cx: &LoweringContext<'_>) -> Vec<ScanParameter> {
    let arguments = kernel.arguments.iter();
    arguments
        .map(|argument| {
            let (tensor, what) = match argument.binding {
                Binding::Read(k) => (Some(cx.inputs[k].clone()), read(&cx.node.op, k)),
                Binding::Write(k) => (Some(cx.outputs[k].clone()), written(&cx.node.op, k)),
                Binding::Workspace(_) => (None, Some("scratch memory".to_string())),
            };
            ScanParameter {
                ctype: argument.ctype(),
                cname: argument.name.clone(),
                tensor,
                what: what.expect("a scan's operands and results have names"),
            }
        })
        .collect()
}

/// Operand `k` of a scan or of its backward pass.
fn read(op: &Op, k: usize) -> Option<String> {
    match op {
        Op::Scan(op) => operand(&op.recurrence, k),
        Op::ScanGrad(op) => operand(&op.recurrence, k)
            .or_else(|| gradient(op, k))
            .or_else(|| {
                let state = k.checked_sub(op.checkpoint_operand()?)?;
                kept(&op.recurrence, state, op.checkpoint)
            }),
        _ => None,
    }
}

/// Result `k` of a scan or of its backward pass.
fn written(op: &Op, k: usize) -> Option<String> {
    match op {
        Op::Scan(op) => result(&op.recurrence, k).or_else(|| {
            let state = k.checked_sub(op.first_checkpoint())?;
            kept(&op.recurrence, state, op.checkpoint)
        }),
        Op::ScanGrad(op) => operand(&op.recurrence, k).map(|of| format!("dL/d{of}")),
        _ => None,
    }
}

/// Sequences, states, parameters.
fn operand(r: &Recurrence, k: usize) -> Option<String> {
    let inputs = r.inputs.iter().cloned();
    let states = r
        .states
        .iter()
        .map(|v| format!("{v} before the first step"));
    inputs.chain(states).chain(r.params.iter().cloned()).nth(k)
}

/// Outputs, last states, states after each step.
fn result(r: &Recurrence, k: usize) -> Option<String> {
    let outputs = r.outputs.iter().map(|output| output.name.clone());
    let last = r.states.iter().map(|v| format!("{v} after the last step"));
    let each = r.states.iter().map(|v| format!("{v} after each step"));
    outputs.chain(last).chain(each).nth(k)
}

/// The name of operand `k` of a backward pass, if it is a gradient.
fn gradient(op: &ScanGrad, k: usize) -> Option<String> {
    let of = (0..op.present.len()).find(|&result| op.grad_operand(result) == Some(k))?;
    result(&op.recurrence, of).map(|of| format!("dL/d{of}"))
}

fn kept(r: &Recurrence, state: usize, every: Option<usize>) -> Option<String> {
    let (name, every) = (r.states.get(state)?, every?);
    Some(format!("{name} after every {every} steps but the last"))
}
