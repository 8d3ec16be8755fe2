//! From a trace to a program: the tensors are initialized, the graph is planned and loaded.

use super::{Planned, Program, VarStore};
use crate::module::{Trace, Traced};
use spikelet_core::{MemoryBudget, Result};
use spikelet_graph::{DType, Plan, Target};
use std::fmt;

impl Trace {
    /// Compiles the trace for the store's device. Parameters and buffers that the store does not have are
    /// initialized with random numbers of `seed`; carried states are reset.
    ///
    /// ```
    /// use spikelet_nn::prelude::*;
    /// use spikelet_nn::runtime::host;
    ///
    /// let net = Sequential::new().add(Linear::new(4, 3)).add(Lif::new(2.0));
    /// let cx = Context::new(Mode::EVAL, DType::F32);
    /// let x = cx.tracer().input("x_seq", DType::F32, [8, 2, 4]); // [T, N, C]
    /// let spikes = cx.trace(&net, x)?;
    /// cx.tracer().output("spike_seq", &spikes);
    ///
    /// let mut store = VarStore::new(spikelet_nn::device::cpu()?);
    /// let mut program = cx.compile(&mut store, 0)?;
    /// let x = Tensor::f32([8, 2, 4], [0.5; 64]);
    /// program.run_with([("x_seq", host(&x))])?;
    /// assert_eq!(program.get("spike_seq")?.shape, [8, 2, 3]);
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the trace has an error, memory is short, or a tensor of the store has another type than the
    /// trace.
    pub fn compile(&self, store: &mut VarStore, seed: u64) -> Result<Program> {
        self.plan(&**store.backend(), None, 0)?.load(store, seed)
    }

    /// Plans the trace for a device under a budget if there is one, of which `others` bytes are left to
    /// other programs. Nothing is allocated.
    ///
    /// # Errors
    /// When the trace has an error or the budget is too small.
    pub fn plan(
        &self,
        target: &dyn Target,
        budget: Option<MemoryBudget>,
        others: usize,
    ) -> Result<TracePlan> {
        Ok(TracePlan {
            planned: Planned::within(self.tracer().finish()?, target, budget, others)?,
            traced: self.traced(),
            float: self.tracer().float(),
        })
    }
}

/// A trace whose graph is planned, with the tensors that the trace uses; nothing is allocated yet.
pub struct TracePlan {
    planned: Planned,
    traced: Traced,
    float: DType,
}

impl TracePlan {
    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.planned.plan
    }

    /// Parameters, states and buffers of the trace.
    pub fn traced(&self) -> &Traced {
        &self.traced
    }

    /// Loads the plan on the store's device, which it must be planned for. Parameters and buffers that the
    /// store does not have are initialized with random numbers of `seed`; carried states are reset.
    ///
    /// # Errors
    /// When memory is short, or a tensor of the store has another type than the trace.
    pub fn load(self, store: &mut VarStore, seed: u64) -> Result<Program> {
        store.initialize(&self.traced, self.float, seed)?;
        Program::load(self.planned, store)
    }
}

impl fmt::Debug for TracePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TracePlan")
            .field("planned", &self.planned)
            .field("float", &self.float)
            .finish_non_exhaustive()
    }
}
