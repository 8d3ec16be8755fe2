//! A loop: the kernels of its body, run once for each step.

use super::BoundPlan;
use crate::memory::{View, ViewMut, for_each_dtype};
use crate::op::{CpuKernel, Float, Kernel, PrepareContext, Prepared, RunResult};
use crate::shared::failure;
use spikelet_graph::Plan;
use spikelet_graph::op::Loop;

/// A loop with the prepared kernels of its body. Carried values are in the memory of the results; pieces of
/// sequences are read and stacked results are written in their place.
pub(crate) struct LoopKernel {
    body: BoundPlan,
    length: usize,
    reverse: bool,
    carried: usize,
    /// Bytes of a piece of each sequence and of each stacked result.
    sequences: Vec<usize>,
    stacked: Vec<usize>,
}

/// The address of a view, and its bytes.
fn memory(view: &View<'_>) -> (*const u8, usize) {
    macro_rules! of {
        ($($variant:ident: $type:ty),*) => {
            match view {
                $(View::$variant(x) => (x.as_ptr().cast(), size_of_val(*x)),)*
                View::Bits(x) => (x.as_ptr().cast(), size_of_val(*x)),
                View::InPlace(_) => (std::ptr::null(), 0),
            }
        };
    }
    for_each_dtype!(of)
}

/// The same for writing; null for a result without memory.
fn memory_mut(view: &mut ViewMut<'_>) -> (*mut u8, usize) {
    macro_rules! of {
        ($($variant:ident: $type:ty),*) => {
            match view {
                $(ViewMut::$variant(x) => (x.as_mut_ptr().cast(), size_of_val(*x)),)*
                ViewMut::Bits(x) => (x.as_mut_ptr().cast(), size_of_val(*x)),
                ViewMut::Unused => (std::ptr::null_mut(), 0),
            }
        };
    }
    for_each_dtype!(of)
}

impl CpuKernel for Loop {
    fn prepare<R: Float>(&self, _: &PrepareContext<'_>) -> Prepared {
        Err(failure(
            "a loop has no plan of its body; use a plan from Plan::new unchanged",
        ))
    }
}

impl LoopKernel {
    /// A loop with the prepared plan of its body.
    pub(crate) fn new(op: &Loop, plan: &Plan, body: BoundPlan) -> Self {
        let bytes = |v| plan.graph.ty(v).bytes();
        Self {
            body,
            length: op.length,
            reverse: op.reverse,
            carried: op.body.carried_count(),
            sequences: op.body.sequence_inputs().map(bytes).collect(),
            stacked: op.body.stacked_outputs().map(bytes).collect(),
        }
    }
}

impl Kernel for LoopKernel {
    fn run(
        &mut self,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        workspace: &mut [u64],
    ) -> RunResult {
        self.body.set_arena(workspace.as_mut_ptr().cast());
        for k in 0..self.carried {
            let (from, bytes) = memory(&reads[k]);
            let (to, size) = memory_mut(&mut writes[k]);
            if size != bytes {
                return Err("a carried value has no memory in this plan".to_string());
            }
            // SAFETY: operand and result have one type and are separate memory.
            unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) };
            self.body.set_input(k, to);
        }
        let invariants = self.carried + self.sequences.len();
        for (k, read) in reads.iter().enumerate().skip(invariants) {
            self.body.set_input(k, memory(read).0.cast_mut());
        }
        for step in 0..self.length {
            let t = if self.reverse {
                self.length - 1 - step
            } else {
                step
            };
            for (k, bytes) in (self.carried..).zip(&self.sequences) {
                let piece = memory(&reads[k]).0.wrapping_add(t * bytes);
                self.body.set_input(k, piece.cast_mut());
            }
            for (k, bytes) in (self.carried..).zip(&self.stacked) {
                let piece = memory_mut(&mut writes[k]).0.wrapping_add(t * bytes);
                self.body.set_output(k, piece);
            }
            // SAFETY: the workspace begins with the arena of the body, and every piece lies within its tensor, as the
            // types of the operands and results were checked. The views exclude other accesses; the body writes its
            // outputs and the carried values only.
            unsafe { self.body.run(&mut |_| ()) }.map_err(|error| match error {
                spikelet_graph::Error::Backend { problem, .. } => format!("step {t}: {problem}"),
                error => format!("step {t}: {error}"),
            })?;
        }
        Ok(())
    }
}
