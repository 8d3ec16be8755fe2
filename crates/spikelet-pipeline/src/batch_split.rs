//! How a batch is split into micro-batches and chunks of time.

use super::error::PipelineError;
use spikelet_core::Result;

/// How a batch is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BatchSplit {
    /// The length of the axis N of a micro-batch.
    pub(super) size: usize,
    /// That of the last one, if it is smaller; otherwise 0.
    pub(super) rest: usize,
    /// The number of micro-batches, including a smaller last one.
    pub(super) micros: usize,
    /// The number of chunks of time.
    pub(super) chunks: usize,
    /// The number of time steps of a chunk.
    pub(super) steps: usize,
}

impl BatchSplit {
    /// Splits `batch` into micro-batches of `split`, and `time_steps` into equal chunks of `steps`.
    pub(super) fn new(batch: usize, split: usize, time_steps: usize, steps: usize) -> Result<Self> {
        if time_steps == 0 {
            return Err(PipelineError::NoTimeSteps.into());
        }
        if batch == 0 || split == 0 {
            return Err(PipelineError::SplitSize { batch, split }.into());
        }
        if steps == 0 || !time_steps.is_multiple_of(steps) {
            let chunk = steps;
            return Err(PipelineError::TimeChunk { time_steps, chunk }.into());
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

    /// The images of a micro-batch, by their index in the batch.
    pub(super) fn images(&self, micro: usize) -> std::ops::Range<usize> {
        let start = micro * self.size;
        start..start + self.size_of(micro)
    }

    pub(super) fn size_of(&self, micro: usize) -> usize {
        if self.is_rest(micro) {
            self.rest
        } else {
            self.size
        }
    }

    pub(super) fn is_rest(&self, micro: usize) -> bool {
        self.rest > 0 && micro + 1 == self.micros
    }

    /// The distinct sizes of the micro-batches.
    pub(super) fn sizes(&self) -> Vec<usize> {
        let full = (self.rest == 0 || self.micros > 1).then_some(self.size);
        full.into_iter()
            .chain((self.rest > 0).then_some(self.rest))
            .collect()
    }

    /// Whether a chunk is the first one, and whether it is the last one.
    pub(super) fn position(&self, chunk: usize) -> (bool, bool) {
        (chunk == 0, chunk + 1 == self.chunks)
    }

    /// The distinct positions of the chunks.
    pub(super) fn positions(&self) -> Vec<(bool, bool)> {
        let mut all: Vec<_> = (0..self.chunks).map(|c| self.position(c)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}
