//! What a pipeline is put together from: the stages' plans, and who runs them when.

use super::config::Cutting;
use super::cost;
use super::flow::StagePlans;
use super::partition::Partition;
use super::plans::{self, Aim};
use super::timetable::{Job, Timetable};
use spikelet_core::Result;
use spikelet_graph::{DType, TensorType};
use spikelet_nn::module::Traced;
use spikelet_nn::runtime::VarStore;

/// The parts from which a [`Flow`](super::flow::Flow) is put together.
pub(super) struct Design {
    pub(super) cutting: Cutting,
    pub(super) training: bool,
    pub(super) timetable: Timetable,
    /// For each size of micro-batches, each stage's plans.
    pub(super) plans: Vec<Vec<StagePlans>>,
    /// What each stage has met.
    pub(super) traced: Vec<Traced>,
    /// What a chunk of each size makes of the whole.
    pub(super) outputs: Vec<TensorType>,
}

impl Design {
    /// Plans the stages for each size of micro-batches, and allocates nothing.
    pub(super) fn of(layout: &Partition, aim: &Aim, cutting: Cutting) -> Result<Self> {
        let backends = layout.backends();
        let (mut plans, mut outputs, mut traced) = (vec![], vec![], vec![]);
        for size in cutting.sizes() {
            let planned = plans::plan(&layout.modules, &backends, aim, &cutting, size)?;
            traced = planned.traced;
            outputs.push(planned.output);
            plans.push(planned.stages);
        }
        let job = Job {
            stages: (plans[0].iter().zip(&backends).zip(&layout.stage_devices))
                .map(|((plans, backend), home)| cost::of_stage(plans, &**backend, home))
                .collect(),
            micros: cutting.micros,
            chunks: cutting.chunks,
            training: aim.training,
        };
        let timetable = Timetable::of(&job, layout.parts.schedule)?;
        Ok(Self {
            cutting,
            training: aim.training,
            timetable,
            plans,
            traced,
            outputs,
        })
    }

    /// Makes the parameters that the store does not have, each on its stage's first device.
    pub(super) fn initialize(
        &self,
        layout: &Partition,
        seed: u64,
        store: &mut VarStore,
    ) -> Result<()> {
        for (stage, backend) in self.traced.iter().zip(&layout.backends()) {
            store.place(backend);
            store.initialize(stage, DType::F32, seed)?;
        }
        store.place(&layout.devices[0]);
        Ok(())
    }
}
