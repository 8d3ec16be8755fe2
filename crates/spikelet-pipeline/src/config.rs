//! How a batch is cut into micro-batches and chunks of time.

use super::timetable::PipelineSchedule;
use spikelet_core::{Error, Result};

/// The parts in which a batch flows through the stages, and their order.
///
/// ```
/// use spikelet::pipeline::{PipelineConfig, PipelineSchedule};
/// let parts = PipelineConfig { time_chunk: Some(10), ..PipelineConfig::of(16) };
/// assert_eq!((parts.split_size, parts.schedule), (16, PipelineSchedule::Auto));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipelineConfig {
    /// Images of a micro-batch.
    pub split_size: usize,
    /// Time steps of a chunk; all of them if nothing is given.
    pub time_chunk: Option<usize>,
    /// In which order forward and backward passes take turns.
    pub schedule: PipelineSchedule,
}

impl PipelineConfig {
    /// Micro-batches of whole sequences, in the order that needs the least time of those for which
    /// there is memory.
    pub fn of(split_size: usize) -> Self {
        Self {
            split_size,
            time_chunk: None,
            schedule: PipelineSchedule::Auto,
        }
    }
}

/// How a batch is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cutting {
    /// Elements of axis N of a micro-batch.
    pub(super) size: usize,
    /// Those of the last one, if it is smaller.
    pub(super) rest: usize,
    /// Micro-batches, the rest included.
    pub(super) micros: usize,
    /// Chunks of time.
    pub(super) chunks: usize,
    /// Steps of a chunk.
    pub(super) steps: usize,
}

impl Cutting {
    /// Cuts `batch` into micro-batches of `split`, and `time_steps` into equal chunks of `steps`.
    pub(super) fn of(batch: usize, split: usize, time_steps: usize, steps: usize) -> Result<Self> {
        let refuse = |what: &str, problem: String, help: &str| {
            Err(Error::invalid(what, problem, help.to_string()))
        };
        if time_steps == 0 {
            return refuse("time steps", "0 were given".into(), "give at least 1");
        }
        if batch == 0 || split == 0 {
            let problem = format!("a batch of {batch} cannot be cut into parts of {split}");
            return refuse(
                "split size",
                problem,
                "give a batch and a split size of at least 1",
            );
        }
        if steps == 0 || !time_steps.is_multiple_of(steps) {
            let problem = format!("{time_steps} steps cannot be cut into chunks of {steps}");
            return refuse(
                "time chunk",
                problem,
                "give a divisor of the number of time steps",
            );
        }
        let split = split.min(batch);
        Ok(Self {
            size: split,
            rest: batch % split,
            micros: batch.div_ceil(split),
            chunks: time_steps / steps,
            steps,
        })
    }

    /// The images of a micro-batch.
    pub(super) fn images(&self, micro: usize) -> std::ops::Range<usize> {
        let start = micro * self.size;
        start..start + self.size_of(micro)
    }

    pub(super) fn size_of(&self, micro: usize) -> usize {
        match self.is_rest(micro) {
            true => self.rest,
            false => self.size,
        }
    }

    pub(super) fn is_rest(&self, micro: usize) -> bool {
        self.rest > 0 && micro + 1 == self.micros
    }

    /// The sizes of micro-batches that occur.
    pub(super) fn sizes(&self) -> Vec<usize> {
        let whole = (self.rest == 0 || self.micros > 1).then_some(self.size);
        whole
            .into_iter()
            .chain((self.rest > 0).then_some(self.rest))
            .collect()
    }

    /// Whether a chunk is the first, and whether it is the last.
    pub(super) fn position(&self, chunk: usize) -> (bool, bool) {
        (chunk == 0, chunk + 1 == self.chunks)
    }

    /// The positions that occur.
    pub(super) fn positions(&self) -> Vec<(bool, bool)> {
        let mut all: Vec<_> = (0..self.chunks).map(|c| self.position(c)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}
