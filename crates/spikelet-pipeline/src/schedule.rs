//! The schedules.

use serde::Serialize;

/// The order of forward and backward passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PipelineSchedule {
    /// 1F1B, which needs less memory, unless fill-drain is predicted to be 10 % faster.
    #[default]
    Auto,
    /// All forward passes, then all backward passes (GPipe; Huang et al., NeurIPS 2019). All micro-batches
    /// are in flight at once.
    FillDrain,
    /// One forward, one backward (1F1B; Narayanan et al., SOSP 2019). The number of micro-batches in flight
    /// on a stage is the number of stages from it to the last one.
    OneForwardOneBackward,
}

impl PipelineSchedule {
    /// The schedules with their names on the command line.
    pub const NAMES: [(&'static str, Self); 3] = [
        ("auto", Self::Auto),
        ("fill-drain", Self::FillDrain),
        ("1f1b", Self::OneForwardOneBackward),
    ];
}
