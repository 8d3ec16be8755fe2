//! The schedules.

use spikelet_schema::Schema;

/// The order of forward and backward passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Schema)]
pub enum PipelineSchedule {
    /// 1F1B, which needs less memory, unless fill-drain is predicted to be 10 % faster.
    #[default]
    Auto,
    /// All forward passes, then all backward passes (GPipe; Huang et al., NeurIPS 2019). All micro-batches
    /// are in flight at once.
    FillDrain,
    /// One forward, one backward (1F1B; Narayanan et al., SOSP 2019). The number of micro-batches in flight
    /// on a stage is the number of stages from it to the last one.
    #[schema(name = "1f1b")]
    OneForwardOneBackward,
}
