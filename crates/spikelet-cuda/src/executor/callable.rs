//! Plans that another program calls: in its memory, on its stream.
//!
//! A call gives the addresses of the plan's memory.

use super::action::{Action, Repeat, Starter, Step};
use super::planning::Executable;
use crate::error::{Context, failure};
use crate::gpu::Gpu;
use crate::library::driver::{CUstream, CurrentContext, Function, RelaxedCapture};
use crate::shared::Shared;
use spikelet_graph::op::Op;
use spikelet_graph::{Plan, Result};
use std::fmt;
use std::sync::Arc;

/// A plan that runs in memory of the caller, on a stream of the caller.
///
/// The stream may be captured into a CUDA graph: a run allocates nothing, loads nothing and waits for nothing. Kernels
/// are compiled and loaded by [`Cuda::callable`](crate::Cuda::callable), and stay loaded until the process ends, since a captured graph may
/// refer to them. Calls may come from several threads at the same time.
pub struct CallablePlan {
    shared: Arc<Shared>,
    executable: Executable,
    inputs: usize,
    outputs: usize,
    arena_bytes: usize,
}

impl CallablePlan {
    /// Compiles and loads the kernels of a plan that was checked for this GPU.
    pub(crate) fn new(shared: Arc<Shared>, plan: &Plan) -> Result<Self> {
        let _context = make_current(&shared.gpu)?;
        let _mode = RelaxedCapture::new(shared.gpu.context.driver);
        let mut nodes = plan.graph.nodes.iter();
        if nodes.any(|node| matches!(node.op, Op::Custom(_))) {
            return Err(failure(
                &shared.gpu.name,
                "the arguments of a custom operation's kernels cannot be replaced; load the plan with Backend::load",
            ));
        }
        let executable = Executable::new(&shared, plan)?;
        for step in &executable.steps {
            check(&shared.gpu, step, executable.name(step))?;
            for function in functions(&step.action) {
                std::mem::forget(function);
            }
        }
        Ok(Self {
            shared,
            executable,
            inputs: plan.graph.inputs.len(),
            outputs: plan.graph.outputs.len(),
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
        let _context = make_current(gpu)?;
        let pieces = self.executable.pieces(arena, inputs, outputs);
        // SAFETY: the caller's promise; the stream is not destroyed.
        let stream = unsafe { gpu.context.borrowed_stream(stream as CUstream) };
        let starter = Starter::new(gpu, &stream, pieces, None);
        let mut steps = self.executable.steps.iter();
        // SAFETY: the caller's promise; the plan was checked, and its kernels are generated for these types.
        steps.try_for_each(|step| unsafe { starter.start(&step.action) })
    }
}

fn make_current(gpu: &Gpu) -> Result<CurrentContext> {
    CurrentContext::new(&gpu.context).context(&gpu.name, "making the context current")
}

/// The kernels of an action.
fn functions(action: &Action) -> Vec<Arc<Function>> {
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
fn check(gpu: &Gpu, step: &Step, name: &str) -> Result<()> {
    match &step.action {
        Action::Launch(launch) => {
            launch.function.load();
            Ok(())
        }
        Action::Gemm { .. } | Action::Conv { .. } | Action::Clear { .. } | Action::Copy { .. } => {
            Ok(())
        }
        Action::Repeat(Repeat { body, .. }) => {
            body.iter().try_for_each(|step| check(gpu, step, name))
        }
        _ => Err(failure(
            &gpu.name,
            format!(
                "{name} cannot be called with memory of a caller; load the plan with Backend::load"
            ),
        )),
    }
}

impl fmt::Debug for CallablePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallablePlan")
            .field("gpu", &self.shared.gpu.name)
            .field("steps", &self.executable.steps.len())
            .finish_non_exhaustive()
    }
}
