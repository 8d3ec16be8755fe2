//! The loss and the metrics of a step and of an epoch.

use crate::metric::{ACCURACY, LOSS, MetricValue, MetricValues};
use spikelet_core::Result;
use spikelet_graph::HostFuture;
use spikelet_nn::runtime::Program;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A metric of a compiled step.
#[derive(Clone, Debug)]
pub(crate) struct MetricInfo {
    pub(crate) name: String,
    /// The program's output of its sums.
    output: String,
    /// The number of its sums.
    width: usize,
    value: MetricValue,
}

impl MetricInfo {
    pub(super) fn new(name: &str, width: usize, value: MetricValue) -> Self {
        Self {
            name: name.to_string(),
            output: format!("metric {name}"),
            width,
            value,
        }
    }

    /// The program's output of the sums.
    pub(super) fn output(&self) -> &str {
        &self.output
    }
}

/// The metrics of a compiled step.
#[derive(Clone, Debug)]
pub struct MetricSet(Arc<[MetricInfo]>);

impl MetricSet {
    pub(super) fn new(infos: Vec<MetricInfo>) -> Self {
        Self(infos.into())
    }

    /// The metrics of a classifier: the accuracy.
    pub fn of_classifier() -> Self {
        Self::new(vec![MetricInfo::new(ACCURACY, 1, MetricValue::fraction())])
    }

    /// The names of the metrics.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|info| info.name.as_str())
    }

    /// The number of the sums of all metrics.
    pub(crate) fn width(&self) -> usize {
        self.0.iter().map(|info| info.width).sum()
    }

    /// The sums of each metric, from those of all.
    pub(crate) fn each<'s>(
        &'s self,
        mut sums: &'s [f64],
    ) -> impl Iterator<Item = (&'s str, &'s [f64])> {
        self.0.iter().map(move |info| {
            let (own, rest) = sums.split_at(info.width.min(sums.len()));
            sums = rest;
            (info.name.as_str(), own)
        })
    }

    /// The sums of all metrics, from those of each; `None` if they are those of other metrics.
    pub(crate) fn joined(&self, sums: &BTreeMap<String, Vec<f64>>) -> Option<Vec<f64>> {
        // There are no sums before the first step.
        if sums.is_empty() {
            return Some(vec![0.0; self.width()]);
        }
        let own = self.0.iter();
        let own = own.map(|info| sums.get(&info.name).filter(|sums| sums.len() == info.width));
        let own: Option<Vec<&Vec<f64>>> = own.collect();
        own.filter(|own| own.len() == sums.len())
            .map(|own| own.into_iter().flatten().copied().collect())
    }

    /// The values of the metrics for the sums over `samples` samples.
    pub(crate) fn values(&self, loss: f64, sums: &[f64], samples: f64) -> MetricValues {
        let each = self.0.iter().zip(self.each(sums));
        MetricValues::new(
            loss,
            each.map(|(info, (name, own))| (name, info.value.of(own, samples))),
        )
    }

    fn index(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|info| info.name == name)
    }
}

/// The loss and the metrics of one step.
#[derive(Clone, Debug)]
pub struct StepMetrics {
    /// The mean loss of the batch.
    pub loss: f64,
    /// The number of samples of the batch.
    pub samples: usize,
    sums: Vec<Vec<f64>>,
    infos: MetricSet,
}

impl StepMetrics {
    /// The loss and the accuracy of a classifier, of which `correct` samples are classified correctly.
    pub fn of_classifier(loss: f64, correct: f64, samples: usize) -> Self {
        Self {
            loss,
            samples,
            sums: vec![vec![correct]],
            infos: MetricSet::of_classifier(),
        }
    }

    /// The metric of this name; `None` if the step has none.
    pub fn get(&self, name: &str) -> Option<f64> {
        let index = self.infos.index(name)?;
        let sums = self.sums.get(index)?;
        Some(self.infos.0[index].value.of(sums, self.samples as f64))
    }

    /// The sums of all metrics.
    pub(crate) fn all_sums(&self) -> impl Iterator<Item = f64> {
        self.sums.iter().flatten().copied()
    }

    /// The sums of a metric over the samples; `None` if the step has none of this name.
    pub fn sums(&self, name: &str) -> Option<&[f64]> {
        self.sums.get(self.infos.index(name)?).map(Vec::as_slice)
    }
}

/// `loss 0.512, accuracy 0.875`.
impl fmt::Display for StepMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "loss {:.3}", self.loss)?;
        for (info, sums) in self.infos.0.iter().zip(&self.sums) {
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
/// use spikelet_train::step::EpochMetrics;
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
    infos: Option<MetricSet>,
}

impl EpochMetrics {
    /// The metrics of `samples` samples, from the sum of their losses and the sums of all metrics.
    pub(crate) fn of_sums(infos: &MetricSet, samples: usize, loss: f64, sums: &[f64]) -> Self {
        Self {
            samples: samples as f64,
            loss,
            sums: infos.each(sums).map(|(_, sums)| sums.to_vec()).collect(),
            infos: Some(infos.clone()),
        }
    }

    /// The values of the loss and of all metrics.
    pub fn values(&self) -> MetricValues {
        MetricValues::new(self.loss(), self.iter())
    }

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
        let index = self.infos.as_ref()?.index(name)?;
        self.sums.get(index).map(Vec::as_slice)
    }

    /// All metrics by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        let infos = self.infos.iter().flat_map(|infos| infos.0.iter());
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
        infos: MetricSet,
    },
}

impl PendingMetrics {
    /// Starts to copy the loss and the sums of a program's last run to the host.
    pub(super) fn fetch(program: &Program, samples: usize, infos: &MetricSet) -> Result<Self> {
        let sums = infos.0.iter().map(MetricInfo::output);
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
