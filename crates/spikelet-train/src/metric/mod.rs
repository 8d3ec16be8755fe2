//! Metrics: values that are reported while a network is trained or evaluated.
//!
//! A metric is a vector of sums over the samples of a batch, computed on the device, and a function of these
//! sums, computed on the host. The sums of all batches are added before the function is applied, so that the
//! value of an epoch is exact for batches of different sizes, for several ranks, and in a resumed run.
//!
//! | metric | |
//! |---|---|
//! | [`accuracy`], [`top_k`] | the label has the largest score, or one of the k largest |
//! | [`f1`], [`f1_of_class`] | macro F1, that of one class |
//! | [`confusion_matrix`] | samples by label and prediction; precision, recall, F1 of each class |
//! | [`r2`] | coefficient of determination |
//! | [`mean`], [`Metric::mean`] | of values of each sample, of a value that is a mean over the batch |
//! | [`Metric::new`] | an own metric: sums and a function of them |

mod accuracy;
mod classes;
mod confusion;
mod f1;
mod mean;
mod r2;
mod recognized;
mod values;

pub use accuracy::{accuracy, top_k};
pub use confusion::{ConfusionMatrix, confusion_matrix};
pub use f1::{f1, f1_of_class};
pub use mean::mean;
pub use r2::r2;
pub(crate) use recognized::predicted;
pub use recognized::recognized;
pub use values::MetricValues;
pub(crate) use values::{ACCURACY, LABELED_ACCURACY, LOSS, PENALTY};

use spikelet_graph::Var;
use std::fmt;
use std::sync::Arc;

/// The value of a metric for the sums over all samples, and their number.
type Value = Arc<dyn Fn(&[f64], f64) -> f64 + Send + Sync>;

/// A metric of a traced step.
///
/// ```
/// use spikelet_graph::{DType, Tracer};
/// use spikelet_train::metric::Metric;
/// let tracer = Tracer::new(DType::F32);
/// let error = tracer.input("error", DType::F32, [32, 1]);
/// // The root of the mean squared error.
/// let rmse = Metric::new(error.square().sum_all(), |sums, samples| (sums[0] / samples).sqrt());
/// assert_eq!(rmse.value(&[8.0], 32.0), 0.5);
/// ```
#[derive(Clone)]
pub struct Metric {
    sums: Var,
    value: Value,
}

impl Metric {
    /// A metric of sums over the samples of a batch: a scalar or a vector of f32. `value` computes the metric from
    /// the sums over all batches and the number of samples in them.
    pub fn new(sums: Var, value: impl Fn(&[f64], f64) -> f64 + Send + Sync + 'static) -> Self {
        Self {
            sums,
            value: Arc::new(value),
        }
    }

    /// The mean of a scalar that is itself a mean over a batch of `samples` samples.
    pub fn mean(value: &Var, samples: usize) -> Self {
        Self::new(value * samples as f64, |sums, samples| sums[0] / samples)
    }

    /// The sums over the samples of a batch.
    pub fn sums(&self) -> &Var {
        &self.sums
    }

    /// The metric for the sums over `samples` samples.
    pub fn value(&self, sums: &[f64], samples: f64) -> f64 {
        (self.value)(sums, samples)
    }

    /// The function of the sums.
    pub(crate) fn function(&self) -> MetricValue {
        MetricValue(self.value.clone())
    }
}

/// The function of a metric without its trace.
#[derive(Clone)]
pub(crate) struct MetricValue(Value);

impl MetricValue {
    /// That of a metric whose sum counts samples: their fraction.
    pub(crate) fn fraction() -> Self {
        Self(Arc::new(|sums, samples| sums[0] / samples))
    }

    pub(crate) fn of(&self, sums: &[f64], samples: f64) -> f64 {
        (self.0)(sums, samples)
    }
}

impl fmt::Debug for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metric")
            .field("sums", self.sums.ty())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for MetricValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MetricValue")
    }
}
