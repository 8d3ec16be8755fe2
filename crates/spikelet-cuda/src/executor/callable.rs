//! Plans that another program calls: in its memory, on its stream.
//!
//! A plan is lowered with addresses that name a piece of memory and an offset; a call replaces the pieces by addresses.

use super::action::{Action, Repeat, Step};
use super::planning::{self, Planned};
use crate::error::{Context, failure};
use crate::gpu::Gpu;
use crate::shared::Shared;
use cudarc::driver::sys::{self, CUstream, CUstreamCaptureMode};
use cudarc::driver::{CudaFunction, result};
use spikelet_graph::op::Op;
use spikelet_graph::{Location, Plan, Result};
use std::fmt;
use std::sync::Arc;

/// A plan that runs in memory of the caller, on a stream of the caller.
///
/// The stream may be captured into a CUDA graph: a run allocates nothing, loads nothing and waits for nothing. Kernels
/// are compiled and loaded by [`Cuda::callable`](crate::Cuda::callable), and stay loaded until the process ends, since a captured graph may
/// refer to them. Calls may come from several threads at the same time.
pub struct CallablePlan {
    shared: Arc<Shared>,
    steps: Vec<Step>,
    inputs: usize,
    outputs: usize,
    arena_bytes: usize,
}

/// The bits of an address that are the offset in a piece of memory; those above are the number of the piece, from 1.
const OFFSET_BITS: u32 = 44;

/// The name of a byte in a piece of memory: the arena, then the inputs, then the outputs.
fn name_of(piece: usize, offset: usize) -> u64 {
    (piece as u64 + 1) << OFFSET_BITS | offset as u64
}

/// The addresses of the pieces of memory in a call.
struct Pieces<'a> {
    arena: usize,
    inputs: &'a [usize],
    outputs: &'a [usize],
}

impl Pieces<'_> {
    /// The address of a byte; 0 for a value that has no memory.
    fn address(&self, name: u64) -> u64 {
        let piece = (name >> OFFSET_BITS) as usize;
        let base = match piece {
            0 => return name,
            1 => self.arena,
            k if k - 2 < self.inputs.len() => self.inputs[k - 2],
            k => self.outputs[k - 2 - self.inputs.len()],
        };
        base as u64 + (name & ((1 << OFFSET_BITS) - 1))
    }
}

/// Makes the context of a GPU current, and afterwards the one that was.
struct CurrentContext {
    before: Option<Option<sys::CUcontext>>,
}

impl CurrentContext {
    fn of(gpu: &Gpu) -> Result<Self> {
        let what = "making the context current";
        let before = result::ctx::get_current().context(&gpu.name, what)?;
        if before == Some(gpu.context.cu_ctx()) {
            return Ok(Self { before: None });
        }
        // SAFETY: the GPU keeps its context.
        unsafe { result::ctx::set_current(gpu.context.cu_ctx()) }.context(&gpu.name, what)?;
        Ok(Self {
            before: Some(before),
        })
    }
}

impl Drop for CurrentContext {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            let before = before.unwrap_or(std::ptr::null_mut());
            // SAFETY: it was current before; null makes none current.
            let _ = unsafe { result::ctx::set_current(before) };
        }
    }
}

/// Lets this thread allocate while another stream is captured.
struct RelaxedCapture(CUstreamCaptureMode);

impl RelaxedCapture {
    fn new() -> Self {
        let mut mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: exchanges a mode of this thread.
        let _ = unsafe { sys::cuThreadExchangeStreamCaptureMode(&mut mode) };
        Self(mode)
    }
}

impl Drop for RelaxedCapture {
    fn drop(&mut self) {
        // SAFETY: as above.
        let _ = unsafe { sys::cuThreadExchangeStreamCaptureMode(&mut self.0) };
    }
}

impl CallablePlan {
    /// Compiles and loads the kernels of a plan that was checked for this GPU.
    pub(crate) fn new(shared: Arc<Shared>, plan: &Plan) -> Result<Self> {
        let _context = CurrentContext::of(&shared.gpu)?;
        let _mode = RelaxedCapture::new();
        let (inputs, outputs) = (plan.graph.inputs.len(), plan.graph.outputs.len());
        let address = |place| {
            Ok(match place {
                Location::Arena(offset) => name_of(0, offset),
                Location::Input(k) => name_of(1 + k, 0),
                Location::Output(k) => name_of(1 + inputs + k, 0),
                Location::InputAt(k, offset) => name_of(1 + k, offset),
                Location::OutputAt(k, offset) => name_of(1 + inputs + k, offset),
                Location::Unused => 0,
            })
        };
        let mut nodes = plan.graph.nodes.iter();
        if nodes.any(|node| matches!(node.op, Op::Custom(_))) {
            return Err(failure(
                &shared.gpu.name,
                "the arguments of a custom operation's kernels cannot be replaced; load the plan with Backend::load",
            ));
        }
        let Planned { steps, names, .. } = planning::plan_at(&shared, plan, &address)?;
        for step in &steps {
            check(&shared.gpu, step, &names)?;
            for function in functions(&step.action) {
                std::mem::forget(function);
            }
        }
        Ok(Self {
            shared,
            steps,
            inputs,
            outputs,
            arena_bytes: plan.arena_bytes,
        })
    }

    /// The bytes of the memory for intermediate values.
    pub fn arena_bytes(&self) -> usize {
        self.arena_bytes
    }

    /// Enqueues the plan on a stream, a handle of the driver; 0 is the default stream.
    ///
    /// # Errors
    /// When a kernel cannot be started.
    ///
    /// # Safety
    /// `inputs` and `outputs` are the addresses of the plan's inputs and outputs in order, each of device memory of the
    /// size of its type, aligned to 16 bytes; outputs that update an input are not used. `arena` is the address of
    /// [`CallablePlan::arena_bytes`] bytes, aligned to 256 bytes. Until the plan is done on the stream, nothing else
    /// accesses the outputs, the arena and inputs that are updated, and nothing writes to the other inputs. The
    /// stream belongs to the primary context of the GPU.
    pub unsafe fn run(
        &self,
        inputs: &[usize],
        outputs: &[usize],
        arena: usize,
        stream: usize,
    ) -> Result<()> {
        let gpu = &self.shared.gpu;
        if inputs.len() != self.inputs || outputs.len() != self.outputs {
            return Err(failure(
                &gpu.name,
                format!(
                    "the plan has {} inputs and {} outputs, {} and {} addresses were given",
                    self.inputs,
                    self.outputs,
                    inputs.len(),
                    outputs.len()
                ),
            ));
        }
        let _context = CurrentContext::of(gpu)?;
        let pieces = Pieces {
            arena,
            inputs,
            outputs,
        };
        let stream = stream as CUstream;
        for step in &self.steps {
            // SAFETY: the caller's promise; the plan was checked, and its kernels are generated for these types.
            unsafe { start(gpu, &step.action, &pieces, stream) }?;
        }
        Ok(())
    }
}

/// The kernels of an action.
fn functions(action: &Action) -> Vec<Arc<CudaFunction>> {
    match action {
        Action::Launch(launch) => vec![launch.function.clone()],
        Action::Repeat(repeat) => {
            let body = repeat.body.iter();
            body.flat_map(|step| functions(&step.action)).collect()
        }
        _ => vec![],
    }
}

/// Checks that a step can be called, and loads its kernel.
fn check(gpu: &Gpu, step: &Step, names: &[String]) -> Result<()> {
    match &step.action {
        Action::Launch(launch) if launch.has_words_only() => {
            launch.load();
            Ok(())
        }
        Action::Gemm { .. } | Action::Conv { .. } | Action::Clear { .. } | Action::Copy { .. } => {
            Ok(())
        }
        Action::Repeat(Repeat { body, .. }) => {
            body.iter().try_for_each(|step| check(gpu, step, names))
        }
        _ => {
            let name = names.get(step.kernel).map_or("a copy", String::as_str);
            Err(failure(
                &gpu.name,
                format!(
                    "{name} cannot be called with memory of a caller; load the plan with Backend::load"
                ),
            ))
        }
    }
}

/// Starts an action.
///
/// # Safety
/// As [`CallablePlan::run`]; the context is current.
unsafe fn start(gpu: &Gpu, action: &Action, pieces: &Pieces<'_>, stream: CUstream) -> Result<()> {
    let at = |name: &u64| pieces.address(*name);
    // SAFETY: the caller's promise.
    unsafe {
        match action {
            Action::Launch(launch) => launch.run_mapped(gpu, stream, |word| pieces.address(word)),
            Action::Gemm {
                call,
                a,
                b,
                y,
                workspace,
            } => {
                let stream = gpu.context.wrap_borrowed_stream(stream);
                call.run(gpu, &stream, [at(a), at(b), at(y)], at(workspace))
            }
            Action::Conv {
                call,
                a,
                b,
                y,
                workspace,
            } => {
                let stream = gpu.context.wrap_borrowed_stream(stream);
                call.run(gpu, &stream, [at(a), at(b), at(y)], at(workspace))
            }
            Action::Clear { to, bytes } => result::memset_d8_async(at(to), 0, *bytes, stream)
                .context(&gpu.name, "clearing memory"),
            Action::Copy { from, to, bytes } => {
                result::memcpy_dtod_async(at(to), at(from), *bytes, stream)
                    .context(&gpu.name, "copying a result")
            }
            Action::Repeat(Repeat { body, count, .. }) => (0..*count).try_for_each(|_| {
                body.iter()
                    .try_for_each(|step| start(gpu, &step.action, pieces, stream))
            }),
            Action::AllReduceStart { .. } | Action::AllReduceDone(_) => Err(failure(
                &gpu.name,
                "an operation that cannot be called was not rejected",
            )),
        }
    }
}

impl fmt::Debug for CallablePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallablePlan")
            .field("gpu", &self.shared.gpu.name)
            .field("steps", &self.steps.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_addresses_of_their_piece_and_offset() {
        let pieces = Pieces {
            arena: 0x7f00_0000_0000,
            inputs: &[0x1000, 0x2000],
            outputs: &[0x3000],
        };
        assert_eq!(pieces.address(0), 0);
        assert_eq!(pieces.address(name_of(0, 256)), 0x7f00_0000_0100);
        assert_eq!(pieces.address(name_of(1, 0)), 0x1000);
        assert_eq!(pieces.address(name_of(2, 16)), 0x2010);
        assert_eq!(pieces.address(name_of(3, 4)), 0x3004);
    }
}
