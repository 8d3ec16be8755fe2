//! A pass of a layer, compiled for a device and a shape.

use super::trace::TracedPass;
use super::{Definition, Place, Request, device, trace};
use spikelet_core::{Error, Result};
use spikelet_cpu::Workers;
use spikelet_graph::{Plan, TensorType};

/// A compiled pass.
pub(crate) struct Compiled {
    code: Code,
    /// The operand of the call that each input of the plan is, and its type.
    inputs: Vec<(usize, TensorType)>,
    /// The result of the call that each output of the plan is, and its type.
    outputs: Vec<(usize, TensorType)>,
}

enum Code {
    Cpu(Box<spikelet_cpu::CallablePlan>),
    Cuda(spikelet_cuda::CallablePlan),
}

/// The memory of a call: addresses of the operands and results in order, 0 for those that are not given.
pub(crate) struct Call<'a> {
    pub(crate) operands: &'a [usize],
    pub(crate) results: &'a [usize],
    /// Memory for intermediate values, of [`Compiled::workspace_bytes`] bytes.
    pub(crate) workspace: usize,
    /// The stream of a GPU.
    pub(crate) stream: usize,
    /// The threads of a CPU.
    pub(crate) workers: &'a dyn Workers,
}

/// Runs `work` on a thread of its own: opening a GPU makes its context current, and the caller's thread keeps its own.
fn on_own_thread<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let done = std::thread::scope(|scope| scope.spawn(work).join());
    done.unwrap_or_else(|_| {
        Err(Error::invalid(
            "a layer",
            "its compilation panicked",
            "please report this, it is an internal error",
        ))
    })
}

/// The most operands or results of a call.
const MAX: usize = 64;

impl Compiled {
    /// Traces and compiles a request.
    pub(crate) fn new(definition: &Definition, request: &Request, place: Place) -> Result<Self> {
        let traced = trace::pass(definition, request)?;
        let TracedPass {
            graph,
            operands,
            results,
        } = traced;
        let (code, plan) = match place {
            Place::Cpu => {
                let cpu = device::cpu()?;
                let plan = Plan::new(graph, cpu);
                (Code::Cpu(Box::new(cpu.callable(&plan)?)), plan)
            }
            Place::Cuda(index) => on_own_thread(|| {
                let gpu = device::cuda(index)?;
                let plan = Plan::new(graph, &gpu);
                Ok((Code::Cuda(gpu.callable(&plan)?), plan))
            })?,
        };
        let slot = |names: &[String], name: &str| {
            names.iter().position(|n| n == name).ok_or_else(|| {
                Error::invalid(
                    "a compiled layer",
                    format!("`{name}` is not an operand or a result of a call"),
                    "please report this, it is an internal error",
                )
            })
        };
        let graph = &plan.graph;
        let inputs = graph.inputs.iter().map(|input| {
            let ty = graph.ty(input.value).clone();
            Ok((slot(&operands, &input.name)?, ty))
        });
        let outputs = graph.outputs.iter().map(|output| {
            let ty = graph.ty(output.value).clone();
            Ok((slot(&results, &output.name)?, ty))
        });
        let (inputs, outputs): (Vec<_>, Vec<_>) = (
            inputs.collect::<Result<_>>()?,
            outputs.collect::<Result<_>>()?,
        );
        if inputs.len().max(outputs.len()) > MAX {
            return Err(Error::invalid(
                "a layer",
                format!("it has {} operands", inputs.len().max(outputs.len())),
                format!("use a layer with at most {MAX} states and parameters"),
            ));
        }
        Ok(Self {
            code,
            inputs,
            outputs,
        })
    }

    /// The bytes that a call needs for intermediate values, aligned to 64 bytes on the CPU and to 256 on a GPU.
    pub(crate) fn workspace_bytes(&self) -> usize {
        match &self.code {
            Code::Cpu(plan) => plan.arena_bytes(),
            Code::Cuda(plan) => plan.arena_bytes(),
        }
    }

    /// The operands that a call reads, with their types.
    pub(crate) fn operands(&self) -> &[(usize, TensorType)] {
        &self.inputs
    }

    /// The results that a call writes, with their types.
    pub(crate) fn results(&self) -> &[(usize, TensorType)] {
        &self.outputs
    }

    /// Runs the pass.
    ///
    /// # Safety
    /// Each address that [`Compiled::operands`] and [`Compiled::results`] name is that of a dense tensor of that type,
    /// on the device; nothing else accesses the results and the workspace during the call, or until it is done
    /// on the stream, and nothing writes to the operands.
    pub(crate) unsafe fn run(&self, call: &Call<'_>) -> Result<()> {
        let mut inputs = [0_usize; MAX];
        let mut outputs = [0_usize; MAX];
        for (to, (slot, _)) in inputs.iter_mut().zip(&self.inputs) {
            *to = call.operands[*slot];
        }
        for (to, (slot, _)) in outputs.iter_mut().zip(&self.outputs) {
            *to = call.results[*slot];
        }
        let (inputs, outputs) = (&inputs[..self.inputs.len()], &outputs[..self.outputs.len()]);
        // SAFETY: the caller's promise.
        unsafe {
            match &self.code {
                Code::Cpu(plan) => plan.run(inputs, outputs, call.workspace, call.workers)?,
                Code::Cuda(plan) => plan.run(inputs, outputs, call.workspace, call.stream)?,
            }
        }
        Ok(())
    }
}
