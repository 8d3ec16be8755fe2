//! A loaded plan: its buffers, prepared kernels, and the loop that executes them.

use crate::bound_plan::{BoundPlan, Prepare};
use crate::shared::Shared;
use spikelet_graph::{Bound, Buffer, Executor, Plan, Result};
use std::sync::Arc;
use std::time::Instant;

pub(crate) struct CpuExecutor {
    shared: Arc<Shared>,
    arena_bytes: usize,
    plan: BoundPlan,
    /// Keeps the memory behind the addresses alive.
    _buffers: Vec<Buffer>,
}

impl CpuExecutor {
    /// Binds a plan that was checked, for this device and with these buffers.
    pub(crate) fn new(
        shared: Arc<Shared>,
        prepare: &Prepare<'_>,
        plan: &Plan,
        bound: &Bound<'_>,
    ) -> Result<Self> {
        let Bound {
            inputs,
            outputs,
            arena,
        } = *bound;
        let mut executable = BoundPlan::new(plan, prepare)?;
        executable.set_arena(shared.memory_of(arena)?.at(0));
        for (k, buffer) in inputs.iter().enumerate() {
            executable.set_input(k, shared.memory_of(buffer)?.at(0));
        }
        for (k, buffer) in outputs.iter().enumerate() {
            if let Some(buffer) = buffer {
                executable.set_output(k, shared.memory_of(buffer)?.at(0));
            }
        }
        let buffers = inputs
            .iter()
            .chain(outputs.iter().flatten())
            .chain([arena])
            .cloned()
            .collect();
        Ok(Self {
            shared,
            arena_bytes: plan.arena_bytes,
            plan: executable,
            _buffers: buffers,
        })
    }

    fn run_all(&mut self, mut after: impl FnMut(usize) + Send) -> Result<()> {
        let shared = self.shared.clone();
        let _guard = shared.lock()?;
        let plan = &mut self.plan;
        // SAFETY: the plan was checked, the buffers have the sizes of its values and are kept alive, and the lock
        // excludes other runs.
        shared.pool.run(|| unsafe { plan.run(&mut after) })
    }
}

impl Executor for CpuExecutor {
    fn run(&mut self) -> Result<()> {
        self.run_all(|_| ())
    }

    fn arena_bytes(&self) -> usize {
        self.arena_bytes
    }

    fn profile(&mut self) -> Result<Vec<f64>> {
        let mut seconds = vec![0.0; self.plan.kernels()];
        let mut last = Instant::now();
        self.run_all(|k| {
            let now = Instant::now();
            seconds[k] = (now - last).as_secs_f64();
            last = now;
        })?;
        Ok(seconds)
    }
}
