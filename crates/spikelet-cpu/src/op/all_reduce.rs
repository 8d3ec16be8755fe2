//! Sums over ranks, exchanged through host memory.

use super::{Kernel, Types};
use crate::memory::{Element, View, ViewMut};
use spikelet_graph::ProcessGroup;
use std::sync::Arc;

/// Words for several operands packed into one array; a single operand is summed in place.
pub(super) fn workspace_words(types: &Types) -> usize {
    match types.inputs.len() {
        0 | 1 => 0,
        _ => types
            .inputs
            .iter()
            .map(|t| t.len())
            .fold(0, usize::saturating_add)
            .div_ceil(2),
    }
}

/// One all-reduce over the ranks of a process group.
pub(super) struct AllReduceKernel {
    pub(super) group: Arc<dyn ProcessGroup>,
}

impl Kernel for AllReduceKernel {
    fn run(
        &mut self,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        workspace: &mut [u64],
    ) -> Result<(), String> {
        let message = |error: spikelet_graph::Error| error.to_string();
        if let ([read], [write]) = (reads, &mut *writes) {
            let values = f32::of_mut(write);
            if !matches!(read, View::InPlace(_)) {
                values.copy_from_slice(f32::of(read));
            }
            return self.group.all_reduce(values).map_err(message);
        }
        let packed = <f32 as super::Float>::from_words(workspace);
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
