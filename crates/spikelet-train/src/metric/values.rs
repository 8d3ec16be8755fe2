//! The loss and the metrics of a data set.

use std::collections::BTreeMap;
use std::fmt;

/// The name of the loss among the values.
pub(crate) const LOSS: &str = "loss";

/// The metric of a classifier.
pub(crate) const ACCURACY: &str = "accuracy";

/// The metric of a classifier of time steps: its accuracy at steps with a label.
pub(crate) const LABELED_ACCURACY: &str = "labeled_accuracy";

/// The metric of a classifier with penalties on spikes: their sum, in training.
pub(crate) const PENALTY: &str = "penalty";

/// The mean loss and the metrics over a data set.
///
/// ```
/// use spikelet_train::metric::MetricValues;
/// let values = MetricValues::new(0.25, [("accuracy", 0.75)]);
/// assert_eq!(values.get("accuracy"), Some(0.75));
/// assert_eq!(values.get("loss"), Some(0.25));
/// assert_eq!(values.to_string(), "loss 0.250, accuracy 0.750");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetricValues {
    /// The mean loss over the samples.
    pub loss: f64,
    metrics: BTreeMap<String, f64>,
}

impl MetricValues {
    /// A loss, and metrics by name.
    pub fn new<N: Into<String>>(loss: f64, metrics: impl IntoIterator<Item = (N, f64)>) -> Self {
        let metrics = metrics.into_iter();
        let metrics = metrics.map(|(name, value)| (name.into(), value)).collect();
        Self { loss, metrics }
    }

    /// Returns the value of the metric `name`, or the mean loss if `name` is `loss`; `None` if there is no such metric.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.iter()
            .find_map(|(other, value)| (other == name).then_some(value))
    }

    /// Returns the value of the metric `accuracy`, or NaN if there is no such metric.
    pub fn accuracy(&self) -> f64 {
        self.get(ACCURACY).unwrap_or(f64::NAN)
    }

    /// Returns the value of the metric `labeled_accuracy`; `None` if there is no such metric.
    pub fn labeled_accuracy(&self) -> Option<f64> {
        self.get(LABELED_ACCURACY)
    }

    /// The loss, then the metrics in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        let metrics = self.metrics.iter();
        let metrics = metrics.map(|(name, value)| (name.as_str(), *value));
        [(LOSS, self.loss)].into_iter().chain(metrics)
    }
}

/// `loss 0.512, accuracy 0.875`.
impl fmt::Display for MetricValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, (name, value)) in self.iter().enumerate() {
            let separator = if k == 0 { "" } else { ", " };
            write!(f, "{separator}{name} {value:.3}")?;
        }
        Ok(())
    }
}
