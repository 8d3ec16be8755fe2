//! The results of a step's function: the loss, metrics and further outputs.

use crate::metric::Metric;
use spikelet_graph::Var;
use std::borrow::Borrow;

/// The loss of a step, with metrics and outputs.
///
/// A function that only has a loss may return the [`Var`] itself.
#[derive(Clone, Debug)]
pub struct Outputs {
    pub(super) loss: Var,
    pub(super) metrics: Vec<(String, NamedMetric)>,
    pub(super) outputs: Vec<(String, Var)>,
}

/// A metric, or a scalar whose mean over all samples is the metric.
#[derive(Clone, Debug)]
pub enum NamedMetric {
    /// Sums and a function of them.
    Sums(Metric),
    /// A scalar, which is a mean over the batch.
    Mean(Var),
}

impl From<Metric> for NamedMetric {
    fn from(metric: Metric) -> Self {
        Self::Sums(metric)
    }
}

impl From<Var> for NamedMetric {
    fn from(mean: Var) -> Self {
        Self::Mean(mean)
    }
}

impl From<&Var> for NamedMetric {
    fn from(mean: &Var) -> Self {
        Self::Mean(mean.clone())
    }
}

impl NamedMetric {
    /// The metric for batches of `samples` samples.
    pub(super) fn metric(self, samples: usize) -> Metric {
        match self {
            Self::Sums(metric) => metric,
            Self::Mean(value) => Metric::mean(&value, samples),
        }
    }
}

impl Outputs {
    /// The loss, a scalar: a mean over the samples of the batch.
    pub fn loss(loss: impl Borrow<Var>) -> Self {
        Self {
            loss: loss.borrow().clone(),
            metrics: vec![],
            outputs: vec![],
        }
    }

    /// Adds a metric: a [`Metric`], or a scalar [`Var`] that is a mean over the batch.
    #[must_use]
    pub fn metric(mut self, name: impl Into<String>, metric: impl Into<NamedMetric>) -> Self {
        self.metrics.push((name.into(), metric.into()));
        self
    }

    /// Adds a tensor that can be read after a run, and that predictions consist of.
    #[must_use]
    pub fn output(mut self, name: impl Into<String>, value: &Var) -> Self {
        self.outputs.push((name.into(), value.clone()));
        self
    }
}

impl From<Var> for Outputs {
    fn from(loss: Var) -> Self {
        Self::loss(loss)
    }
}
