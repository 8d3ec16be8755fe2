//! The plans of all stages and the timetable of their tasks.

use super::batch_split::BatchSplit;
use super::cost;
use super::partition::Partition;
use super::plans::{self, StagePlans, TraceOptions};
use super::timetable::{Job, Timetable};
use spikelet_core::Result;
use spikelet_graph::{DType, TensorType};
use spikelet_nn::module::Traced;
use spikelet_nn::runtime::VarStore;

/// A planned pipeline, from which a [`Flow`](super::flow::Flow) is loaded.
pub(super) struct PipelinePlan {
    pub(super) batch_split: BatchSplit,
    pub(super) training: bool,
    pub(super) timetable: Timetable,
    /// For each size of micro-batches, the plans of each stage.
    pub(super) plans: Vec<Vec<StagePlans>>,
    /// The parameters, buffers and recorded tensors of each stage.
    pub(super) traced: Vec<Traced>,
    /// For each size of micro-batches, the output of the last stage for one chunk.
    pub(super) outputs: Vec<TensorType>,
}

impl PipelinePlan {
    /// Plans the stages for each size of micro-batches. Allocates no device memory.
    pub(super) fn new(
        partition: &Partition,
        trace_options: &TraceOptions,
        batch_split: BatchSplit,
    ) -> Result<Self> {
        let backends = partition.backends();
        let (mut plans, mut outputs, mut traced) = (vec![], vec![], vec![]);
        for size in batch_split.sizes() {
            let planned = plans::plan(
                &partition.modules,
                &backends,
                trace_options,
                &batch_split,
                size,
            )?;
            traced = planned.traced;
            outputs.push(planned.output);
            plans.push(planned.stages);
        }
        let job = Job {
            stages: (plans[0].iter().zip(&backends).zip(&partition.stage_devices))
                .map(|((plans, backend), own_devices)| {
                    cost::of_stage(plans, &**backend, own_devices)
                })
                .collect(),
            micros: batch_split.micros,
            chunks: batch_split.chunks,
            training: trace_options.training,
        };
        let timetable = Timetable::new(&job, partition.config.schedule)?;
        Ok(Self {
            batch_split,
            training: trace_options.training,
            timetable,
            plans,
            traced,
            outputs,
        })
    }

    /// Initializes the parameters that the store does not have, each on the first device of its stage.
    pub(super) fn initialize(
        &self,
        partition: &Partition,
        seed: u64,
        store: &mut VarStore,
    ) -> Result<()> {
        for (stage, backend) in self.traced.iter().zip(&partition.backends()) {
            store.place(backend);
            store.initialize(stage, DType::F32, seed)?;
        }
        store.place(&partition.devices[0]);
        Ok(())
    }
}
