//! Sums over ranks, exchanged through host memory.

use super::{CpuKernel, Float, Kernel, Lowered, PrepareContext, RunResult, words_of};
use crate::memory::{Element, View, ViewMut};
use crate::shared::failure;
use spikelet_graph::op::AllReduceStart;
use spikelet_graph::{ProcessGroup, TensorType};
use std::sync::Arc;

/// One all-reduce over the ranks of a process group.
struct AllReduceKernel {
    group: Arc<dyn ProcessGroup>,
}

impl CpuKernel for AllReduceStart {
    fn takes_in_place(&self) -> bool {
        true
    }

    /// Several operands are packed into one array; a single operand is summed in place.
    fn lower<'a, R: Float>(&'a self, cx: &'a PrepareContext<'_>) -> Lowered<'a> {
        let elements = match &cx.types.inputs[..] {
            [_] => 0,
            all => all
                .iter()
                .map(TensorType::len)
                .fold(0, usize::saturating_add),
        };
        Lowered::new(words_of::<f32>(elements), || {
            let problem = match cx.group {
                Some(group) if group.size() == self.ranks => {
                    let group = group.clone();
                    return Ok(Box::new(AllReduceKernel { group }));
                }
                Some(group) => format!("this backend is in a group of {}", group.size()),
                None => "this backend has no group".to_string(),
            };
            Err(failure(format!(
                "the plan all-reduces over {} ranks, {problem}; trace it for the number of ranks, load it with \
                 Backend::load, and set the group with `Cpu::in_group`",
                self.ranks
            )))
        })
    }
}

impl Kernel for AllReduceKernel {
    fn run(
        &mut self,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        workspace: &mut [u64],
    ) -> RunResult {
        let message = |error: spikelet_graph::Error| error.to_string();
        if let ([read], [write]) = (reads, &mut *writes) {
            let values = f32::of_mut(write);
            if !matches!(read, View::InPlace(_)) {
                values.copy_from_slice(f32::of(read));
            }
            return self.group.all_reduce(values).map_err(message);
        }
        let packed = f32::from_words(workspace);
        let mut at = 0;
        for (read, write) in reads.iter().zip(&mut *writes) {
            let from: &[f32] = match read {
                View::InPlace(_) => f32::of_mut(write),
                read => f32::of(read),
            };
            packed[at..at + from.len()].copy_from_slice(from);
            at += from.len();
        }
        self.group.all_reduce(&mut packed[..at]).map_err(message)?;
        let mut rest = &packed[..at];
        for write in writes {
            let to = f32::of_mut(write);
            let (sums, others) = rest.split_at(to.len());
            to.copy_from_slice(sums);
            rest = others;
        }
        Ok(())
    }
}
