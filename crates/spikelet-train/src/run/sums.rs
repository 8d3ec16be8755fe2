//! Sums over the training batches of an epoch.

use crate::ranks::Ranks;
use crate::step::{MetricSet, StepMetrics};
use spikelet_core::Result;

/// Sums over training batches of an epoch.
#[derive(Clone)]
pub(super) struct EpochSums {
    /// Of the mean losses of the batches.
    pub(super) loss: f64,
    /// Of the metrics over the samples.
    pub(super) metrics: Vec<f64>,
}

impl EpochSums {
    /// No batches, of steps with these metrics.
    pub(super) fn new(metrics: &MetricSet) -> Self {
        Self {
            loss: 0.0,
            metrics: vec![0.0; metrics.width()],
        }
    }

    pub(super) fn add(&mut self, found: &StepMetrics) {
        self.loss += found.loss;
        for (sum, value) in self.metrics.iter_mut().zip(found.all_sums()) {
            *sum += value;
        }
    }

    /// The sums over all ranks.
    pub(super) fn over(&self, ranks: &Ranks) -> Result<Self> {
        let mut all: Vec<f64> = [self.loss]
            .into_iter()
            .chain(self.metrics.clone())
            .collect();
        ranks.sum(&mut all)?;
        Ok(Self {
            loss: all[0],
            metrics: all.split_off(1),
        })
    }
}
