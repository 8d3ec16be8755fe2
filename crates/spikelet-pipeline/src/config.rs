//! The configuration of a pipeline.

use super::schedule::PipelineSchedule;

/// How a batch is split, and the order of forward and backward passes.
///
/// ```
/// use spikelet_pipeline::{PipelineConfig, PipelineSchedule};
/// let config = PipelineConfig { time_chunk: Some(10), ..PipelineConfig::new(16) };
/// assert_eq!((config.split_size, config.schedule), (16, PipelineSchedule::Auto));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipelineConfig {
    /// The number of images of a micro-batch.
    pub split_size: usize,
    /// The number of time steps of a chunk; all time steps if `None`.
    pub time_chunk: Option<usize>,
    /// The order of forward and backward passes.
    pub schedule: PipelineSchedule,
}

impl PipelineConfig {
    /// Micro-batches of `split_size` images, not split over time, with [`PipelineSchedule::Auto`].
    pub fn new(split_size: usize) -> Self {
        Self {
            split_size,
            time_chunk: None,
            schedule: PipelineSchedule::Auto,
        }
    }
}
