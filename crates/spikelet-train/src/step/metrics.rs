//! The loss and the metrics of a step and of an epoch.

use super::ACCURACY;
use crate::metric::{Metric, MetricValue};
use spikelet_core::Result;
use spikelet_graph::HostFuture;
use spikelet_nn::runtime::Program;
use std::fmt;
use std::sync::Arc;

/// A metric of a compiled step.
#[derive(Clone, Debug)]
pub(crate) struct MetricInfo {
    pub(crate) name: String,
    /// The program's output of its sums.
    output: String,
    value: MetricValue,
}

impl MetricInfo {
    pub(super) fn new(name: &str, value: MetricValue) -> Self {
        Self {
            name: name.to_string(),
            output: format!("metric {name}"),
            value,
        }
    }

    /// The program's output of the sums.
    pub(super) fn output(&self) -> &str {
        &self.output
    }
}

/// The program's output of the loss.
pub(super) const LOSS: &str = "loss";

/// The loss and the metrics of one step.
#[derive(Clone, Debug)]
pub struct StepMetrics {
    /// The mean loss of the batch.
    pub loss: f64,
    /// The number of samples of the batch.
    pub samples: usize,
    sums: Vec<Vec<f64>>,
    infos: Arc<[MetricInfo]>,
}

impl StepMetrics {
    /// The loss and the accuracy of a classifier, of which `correct` samples are classified correctly.
    pub fn of_classifier(loss: f64, correct: f64, samples: usize) -> Self {
        let accuracy = Metric::value_of_fraction();
        let infos = [MetricInfo::new(ACCURACY, accuracy)];
        Self {
            loss,
            samples,
            sums: vec![vec![correct]],
            infos: Arc::new(infos),
        }
    }

    /// The metric of this name; `None` if the step has none.
    pub fn get(&self, name: &str) -> Option<f64> {
        let index = self.infos.iter().position(|info| info.name == name)?;
        let sums = self.sums.get(index)?;
        Some(self.infos[index].value.of(sums, self.samples as f64))
    }

    /// The first sum of a metric; 0 if the step has no metric of this name.
    pub(crate) fn sum(&self, name: &str) -> f64 {
        let sums = self.sums(name);
        sums.and_then(|sums| sums.first().copied()).unwrap_or(0.0)
    }

    /// The sums of a metric over the samples; `None` if the step has none of this name.
    pub fn sums(&self, name: &str) -> Option<&[f64]> {
        let index = self.infos.iter().position(|info| info.name == name)?;
        self.sums.get(index).map(Vec::as_slice)
    }
}

/// `loss 0.512, accuracy 0.875`.
impl fmt::Display for StepMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "loss {:.3}", self.loss)?;
        for (info, sums) in self.infos.iter().zip(&self.sums) {
            write!(
                f,
                ", {} {:.3}",
                info.name,
                info.value.of(sums, self.samples as f64)
            )?;
        }
        Ok(())
    }
}

/// Equal values, whatever computes the metrics from the sums.
impl PartialEq for StepMetrics {
    fn eq(&self, other: &Self) -> bool {
        (self.loss, self.samples, &self.sums) == (other.loss, other.samples, &other.sums)
    }
}

/// The loss and the metrics of many steps: means over all samples.
///
/// ```no_run
/// # fn steps() -> Vec<spikelet_train::StepMetrics> { vec![] }
/// use spikelet_train::EpochMetrics;
/// let mut epoch = EpochMetrics::default();
/// for metrics in steps() {
///     epoch.add(&metrics);
/// }
/// println!("loss {:.3}, accuracy {:?}", epoch.loss(), epoch.get("accuracy"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct EpochMetrics {
    samples: f64,
    loss: f64,
    sums: Vec<Vec<f64>>,
    infos: Option<Arc<[MetricInfo]>>,
}

impl EpochMetrics {
    /// Adds a step.
    pub fn add(&mut self, step: &StepMetrics) {
        let samples = step.samples as f64;
        self.samples += samples;
        self.loss += step.loss * samples;
        if self.sums.len() < step.sums.len() {
            self.sums = step.sums.iter().map(|sums| vec![0.0; sums.len()]).collect();
        }
        for (total, sums) in self.sums.iter_mut().zip(&step.sums) {
            for (total, sum) in total.iter_mut().zip(sums) {
                *total += sum;
            }
        }
        self.infos.get_or_insert_with(|| step.infos.clone());
    }

    /// The number of samples.
    pub fn samples(&self) -> usize {
        self.samples as usize
    }

    /// The mean loss over the samples; 0 without a step.
    pub fn loss(&self) -> f64 {
        self.loss / self.samples.max(1.0)
    }

    /// The metric of this name over all samples; `None` without a step, or if the steps have none of this name.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.iter()
            .find_map(|(n, value)| (n == name).then_some(value))
    }

    /// The sums of a metric over all samples, such as those of a confusion matrix; `None` as in
    /// [`EpochMetrics::get`].
    pub fn sums(&self, name: &str) -> Option<&[f64]> {
        let infos = self.infos.as_ref()?;
        let index = infos.iter().position(|info| info.name == name)?;
        self.sums.get(index).map(Vec::as_slice)
    }

    /// All metrics by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        let infos = self.infos.iter().flat_map(|infos| infos.iter());
        infos
            .zip(&self.sums)
            .map(|(info, sums)| (info.name.as_str(), info.value.of(sums, self.samples)))
    }
}

/// As a step's.
impl fmt::Display for EpochMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "loss {:.3}", self.loss())?;
        self.iter()
            .try_for_each(|(name, value)| write!(f, ", {name} {value:.3}"))
    }
}

/// The [`StepMetrics`] of a step that may still run on the device.
#[must_use = "the device's errors come out of `wait`"]
pub struct PendingMetrics(Found);

/// Metrics on the host, or in a transfer to it.
enum Found {
    Here(StepMetrics),
    Coming {
        values: Box<dyn HostFuture>,
        samples: usize,
        infos: Arc<[MetricInfo]>,
    },
}

impl PendingMetrics {
    /// Starts to copy the loss and the sums of a program's last run to the host.
    pub(super) fn fetch(
        program: &Program,
        samples: usize,
        infos: &Arc<[MetricInfo]>,
    ) -> Result<Self> {
        let sums = infos.iter().map(MetricInfo::output);
        let names: Vec<&str> = [LOSS].into_iter().chain(sums).collect();
        Ok(Self(Found::Coming {
            values: program.fetch(&names)?,
            samples,
            infos: infos.clone(),
        }))
    }

    /// Metrics on the host.
    pub fn known(metrics: StepMetrics) -> Self {
        Self(Found::Here(metrics))
    }

    /// Waits for the metrics.
    ///
    /// # Errors
    /// When the device has failed.
    pub fn wait(self) -> Result<StepMetrics> {
        let (values, samples, infos) = match self.0 {
            Found::Here(metrics) => return Ok(metrics),
            Found::Coming {
                values,
                samples,
                infos,
            } => (values.wait()?, samples, infos),
        };
        let mut values = values.into_iter().map(|tensor| tensor.to_f64());
        let loss = values.next().and_then(|v| v.first().copied());
        Ok(StepMetrics {
            loss: loss.unwrap_or(f64::NAN),
            samples,
            sums: values.collect(),
            infos,
        })
    }
}

impl fmt::Debug for PendingMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingMetrics").finish_non_exhaustive()
    }
}
