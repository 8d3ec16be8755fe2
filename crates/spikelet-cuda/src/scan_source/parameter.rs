//! The parameters of a scan's kernel.

use crate::kernel_source::{Binding, KernelSource};
use crate::op::LoweringContext;
use spikelet_graph::TensorType;
use spikelet_graph::op::{Op, Port, Ports};

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
    let op = cx.node.op.ports().expect("it is a scan");
    let is_backward = matches!(cx.node.op, Op::ScanGrad(_));
    let arguments = kernel.arguments.iter();
    arguments
        .map(|argument| {
            let (tensor, what) = match argument.binding {
                Binding::Read(k) => (Some(cx.inputs[k].clone()), meaning(op, op.operands()[k])),
                Binding::Write(k) => {
                    let what = match is_backward {
                        true => gradient(op, op.results()[k]),
                        false => meaning(op, op.results()[k]),
                    };
                    (Some(cx.outputs[k].clone()), what)
                }
                Binding::Workspace(_) => (None, "scratch memory".to_string()),
            };
            ScanParameter {
                ctype: argument.ctype(),
                cname: argument.name.clone(),
                tensor,
                what,
            }
        })
        .collect()
}

/// The meaning of a named operand or result of a forward scan.
fn meaning(op: &dyn Ports, port: Port) -> String {
    let scan = op.scan();
    let r = &scan.recurrence;
    match port {
        Port::Sequence(k) => r.inputs[k].clone(),
        Port::Initial(k) => format!("{} before the first step", r.states[k]),
        Port::Param(k) => r.params[k].clone(),
        Port::Output(k) => r.outputs[k].name.clone(),
        Port::Last(k) => format!("{} after the last step", r.states[k]),
        Port::StateSeq(k) => format!("{} after each step", r.states[k]),
        Port::Checkpoint(k) => format!(
            "{} after every {} steps but the last",
            r.states[k],
            scan.checkpoint.unwrap_or(scan.time_steps)
        ),
        Port::OutputGrad(k) => gradient(op, Port::Output(k)),
        Port::LastGrad(k) => gradient(op, Port::Last(k)),
        Port::StateSeqGrad(k) => gradient(op, Port::StateSeq(k)),
        Port::Accumulator(k) => format!("{} over later steps", gradient(op, Port::Param(k))),
        Port::FirstProduct | Port::Weight | Port::Driven | Port::Before => {
            unreachable!("a layer of neurons has no feedback")
        }
    }
}

fn gradient(op: &dyn Ports, of: Port) -> String {
    format!("dL/d{}", meaning(op, of))
}
