//! A pass of a layer, compiled for a device and a shape.

use super::trace::{GRADIENT, Pass, TracedPass};
use super::{Definition, Place, Request, Shapes, Signature, device, trace};
use spikelet_core::{Error, Result};
use spikelet_cpu::Workers;
use spikelet_cuda::{KernelText, OfflineTarget, Properties};
use spikelet_graph::{DType, Graph, Output, Plan, Target, TensorType, ValueId};

/// A compiled pass.
pub(crate) struct Compiled {
    code: Code,
    /// The memory of each input and output of the plan.
    inputs: Vec<Memory>,
    outputs: Vec<Memory>,
    /// The operands that are read and the results that are written, with their types.
    operands: Vec<(usize, TensorType)>,
    results: Vec<(usize, TensorType)>,
    /// The types of the values that are saved between the passes.
    saved: Vec<TensorType>,
}

/// The memory of an input or output of a plan.
#[derive(Clone, Copy)]
enum Memory {
    /// An operand or a result of the call.
    Tensor(usize),
    /// An offset in the memory of saved values.
    Saved(usize),
}

/// Saved values start at multiples of this many bytes.
const ALIGNMENT: usize = 256;

/// The offsets of saved values, and the bytes of all.
fn offsets(types: &[TensorType]) -> (Vec<usize>, usize) {
    let mut end = 0;
    let offsets = types.iter().map(|ty| {
        let start = end;
        end = (start + ty.bytes()).next_multiple_of(ALIGNMENT);
        start
    });
    (offsets.collect(), end)
}

enum Code {
    Cpu(Box<spikelet_cpu::CallablePlan>),
    Cuda(spikelet_cuda::CallablePlan),
}

/// The memory of a call: addresses of the operands and results in order, 0 for those that are not given.
pub(crate) struct Call<'a> {
    pub(crate) operands: &'a [usize],
    pub(crate) results: &'a [usize],
    /// Memory of the saved values, of [`Compiled::saved_bytes`] bytes.
    pub(crate) saved: usize,
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

fn internal(problem: &str) -> Error {
    Error::invalid(
        "a compiled layer",
        problem,
        "please report this, it is an internal error",
    )
}

/// The plan of a pass, and the names of the values that are saved between the passes.
fn planned(graph: Graph, target: &dyn Target, pass: Pass) -> Result<(Plan, Vec<String>)> {
    let is_forward = |output: &Output| !output.name.starts_with(GRADIENT);
    Ok(match pass {
        Pass::Forward | Pass::Backward { .. } => (Plan::new(graph, target), vec![]),
        Pass::ForwardSaving => {
            let plans = Plan::forward_backward(graph, target, &is_forward)?;
            (plans.forward, plans.saved)
        }
        Pass::BackwardOfSaved { .. } => {
            let plans = Plan::forward_backward(graph, target, &is_forward)?;
            (plans.backward, plans.saved)
        }
    })
}

/// The texts of the kernels of a call with inputs `[T, N]` in f32, for a large GPU of a compute capability.
///
/// # Errors
/// When there are too many elements.
pub(crate) fn kernel_texts(
    definition: &Definition,
    backward: bool,
    [time_steps, neurons]: [usize; 2],
    capability: (i32, i32),
) -> Result<String> {
    let shape = match definition.shapes() {
        Some(Shapes { input, .. }) => {
            let size = input.iter().product::<usize>().max(1);
            [&[time_steps, neurons.div_ceil(size)], &input[..]].concat()
        }
        None => vec![time_steps, neurons],
    };
    let pass = match backward {
        // From the gradient of the output to those of the input and of the parameters, which follow the states.
        true => {
            let Signature { states, params, .. } = trace::signature(definition, &shape)?;
            let params = (0..params.len()).map(|k| 1 << (1 + states.len() + k));
            let wanted = params.fold(1, |mask: u64, bit: u64| mask | bit);
            Pass::Backward { present: 1, wanted }
        }
        false => Pass::Forward,
    };
    let request = Request {
        pass,
        dtype: DType::F32,
        shape,
        time_steps,
        given: 0,
    };
    let target = OfflineTarget::new(Properties::large(capability));
    let (plan, _) = planned(
        trace::pass(definition, &request)?.graph,
        &target,
        request.pass,
    )?;
    let texts = target.kernels(&plan)?;
    Ok(texts
        .iter()
        .map(KernelText::full_codes)
        .collect::<Vec<_>>()
        .join("\n"))
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
        let (code, plan, saved) = match place {
            Place::Cpu => {
                let cpu = device::cpu()?;
                let (plan, saved) = planned(graph, cpu, request.pass)?;
                (Code::Cpu(Box::new(cpu.callable(&plan)?)), plan, saved)
            }
            Place::Cuda(index) => on_own_thread(|| {
                let gpu = device::cuda(index)?;
                let (plan, saved) = planned(graph, &gpu, request.pass)?;
                Ok((Code::Cuda(gpu.callable(&plan)?), plan, saved))
            })?,
        };
        let graph = &plan.graph;
        let type_of = |name: &String| {
            let inputs = graph.inputs.iter().map(|input| (&input.name, input.value));
            let outputs = graph
                .outputs
                .iter()
                .map(|output| (&output.name, output.value));
            let found = inputs.chain(outputs).find(|(known, _)| *known == name);
            found.map(|(_, value)| graph.ty(value).clone())
        };
        let types: Option<Vec<TensorType>> = saved.iter().map(type_of).collect();
        let types = types.ok_or_else(|| internal("a saved value is not in the plan"))?;
        let (at, _) = offsets(&types);
        let memory_of = |names: &[String], name: &String| {
            if let Some(k) = saved.iter().position(|known| known == name) {
                return Ok(Memory::Saved(at[k]));
            }
            let slot = names.iter().position(|known| known == name);
            slot.map(Memory::Tensor).ok_or_else(|| {
                internal(&format!("`{name}` is not an operand or a result of a call"))
            })
        };
        let inputs = graph.inputs.iter().map(|i| memory_of(&operands, &i.name));
        let outputs = graph.outputs.iter().map(|o| memory_of(&results, &o.name));
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
        let tensors = |all: &[Memory], values: Vec<ValueId>| -> Vec<(usize, TensorType)> {
            let all = all.iter().zip(values);
            all.filter_map(|(memory, value)| match memory {
                Memory::Tensor(slot) => Some((*slot, graph.ty(value).clone())),
                Memory::Saved(_) => None,
            })
            .collect()
        };
        let of_inputs = graph.inputs.iter().map(|input| input.value).collect();
        let of_outputs = graph.outputs.iter().map(|output| output.value).collect();
        Ok(Self {
            operands: tensors(&inputs, of_inputs),
            results: tensors(&outputs, of_outputs),
            code,
            inputs,
            outputs,
            saved: types,
        })
    }

    /// The types of the values that are saved between the passes.
    pub(crate) fn saved(&self) -> &[TensorType] {
        &self.saved
    }

    /// The bytes of the saved values.
    pub(crate) fn saved_bytes(&self) -> usize {
        offsets(&self.saved).1
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
        &self.operands
    }

    /// The results that a call writes, with their types.
    pub(crate) fn results(&self) -> &[(usize, TensorType)] {
        &self.results
    }

    /// Runs the pass.
    ///
    /// # Safety
    /// Each address that [`Compiled::operands`] and [`Compiled::results`] name is that of a dense tensor of that type,
    /// on the device; the saved values are those of a pass with the same [`Compiled::saved`]; nothing else accesses the results and the workspace during the call, or until it is done
    /// on the stream, and nothing writes to the operands.
    pub(crate) unsafe fn run(&self, call: &Call<'_>) -> Result<()> {
        let mut inputs = [0_usize; MAX];
        let mut outputs = [0_usize; MAX];
        for (to, memory) in inputs.iter_mut().zip(&self.inputs) {
            *to = match memory {
                Memory::Tensor(slot) => call.operands[*slot],
                Memory::Saved(offset) => call.saved + offset,
            };
        }
        for (to, memory) in outputs.iter_mut().zip(&self.outputs) {
            *to = match memory {
                Memory::Tensor(slot) => call.results[*slot],
                Memory::Saved(offset) => call.saved + offset,
            };
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
