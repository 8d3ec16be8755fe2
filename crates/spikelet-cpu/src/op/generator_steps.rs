//! The generator's state at each time step.

use super::{CpuKernel, Float, Kernel, PrepareContext, Prepared, RunResult};
use crate::memory::{Element, View, ViewMut};
use spikelet_graph::op::{GENERATOR_STATE, GENERATOR_TIME, GeneratorSteps};

struct GeneratorStepsKernel;

impl CpuKernel for GeneratorSteps {
    fn prepare<R: Float>(&self, _: &PrepareContext<'_>) -> Prepared {
        Ok(Box::new(GeneratorStepsKernel))
    }
}

impl Kernel for GeneratorStepsKernel {
    fn run(&mut self, reads: &[View<'_>], writes: &mut [ViewMut<'_>], _: &mut [u64]) -> RunResult {
        let state = i64::of(&reads[0]);
        let rows = i64::of_mut(&mut writes[0]).chunks_exact_mut(GENERATOR_STATE);
        for (t, row) in (0_i64..).zip(rows) {
            row.copy_from_slice(state);
            row[GENERATOR_TIME] = row[GENERATOR_TIME].wrapping_add(t);
        }
        Ok(())
    }
}
