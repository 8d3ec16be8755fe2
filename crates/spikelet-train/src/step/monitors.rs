//! Monitors of layers: firing rates, neurons that never or always fire, potentials, synaptic operations, gradients.
//!
//! A monitor is a metric ([`crate::metric`]): sums are computed on the device inside the step, so that values over
//! whole data sets are exact for batches of different sizes and for several ranks. Its name is that of the layer or
//! parameter and of the value, such as `fc.2.rate`.

use super::Step;
use super::error::StepError;
use super::groups::Names;
use super::recorded::{SPIKES, layers_with, path_of};
use super::trace::check_all;
use crate::metric::Metric;
use spikelet_core::Result;
use spikelet_expr::Expr;
use spikelet_graph::{DType, Var};
use spikelet_nn::module::Trace;
use spikelet_schema::Schema;

/// Values of layers that a step measures.
///
/// | monitor | measured in | metrics |
/// |---|---|---|
/// | [`Rate`](Self::Rate) | training, evaluations | `LAYER.rate`: spikes for each neuron and time step |
/// | [`Neurons`](Self::Neurons) | evaluations | `LAYER.dead`, `LAYER.saturated`: the fraction of the neurons that never fire, and that fire at every time step, in the whole data set |
/// | [`Potential`](Self::Potential) | evaluations | `LAYER.potential`, `LAYER.potential_std`: mean and standard deviation of V after the reset; `LAYER.distance`: mean of \|v_threshold − V\| |
/// | [`SynapticOperations`](Self::SynapticOperations) | evaluations | `LAYER.synaptic_operations` of a layer with weights: products of nonzero weights and nonzero inputs over all time steps, the mean over the samples, as counted by [`Step::count_operations`] |
/// | [`Gradient`](Self::Gradient) | training | `PARAMETER.gradient`: root mean square over the batches of the norm of the gradient, before clipping |
///
/// With several ranks the gradient is that of the rank's own batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Schema)]
#[schema(snake_case)]
#[non_exhaustive]
pub enum Monitor {
    /// Firing rates.
    Rate,
    /// Neurons that never fire, and that always fire.
    Neurons,
    /// Membrane potentials, and their distance to the threshold.
    Potential,
    /// Synaptic operations of layers with weights.
    SynapticOperations,
    /// Norms of gradients.
    Gradient,
}

impl Monitor {
    /// The error for a network without such values.
    fn without_values(self) -> StepError {
        StepError::NothingMonitored {
            monitor: self.name(),
            what: match self {
                Self::Rate | Self::Neurons => "layer with spikes",
                Self::Potential => "layer with membrane potentials",
                Self::SynapticOperations => "layer with weights",
                Self::Gradient => "parameter with a gradient",
            },
        }
    }
}

/// The monitors of a step, each with a pattern of layers or parameters.
pub(super) type Monitors = Vec<(Monitor, Names)>;

/// The suffixes of the values that neurons record.
const COUNT: &str = "spike_count";
const POTENTIAL: &str = "v_seq";
const DISTANCE: &str = "distance_seq";

impl Step<'_> {
    /// Measures values of the layers whose paths match `pattern`, or for [`Monitor::Gradient`] of the parameters whose
    /// names match it, as metrics. Without this nothing is measured.
    ///
    /// ```
    /// use spikelet_train::prelude::*;
    /// use spikelet_train::{Monitor, Step};
    /// let net = Sequential::new().add(Linear::new(4, 16)).add(Lif::new(2.0)).add(Linear::new(16, 3));
    /// let step = Step::new(|cx, inputs| {
    ///     let scores = net.forward(cx, &inputs["x"].repeat_over_time(8))?.mean(&[0]);
    ///     Ok(loss::cross_entropy(&scores, &inputs["labels"]))
    /// })
    /// .batch_size(2)
    /// .input("x", DType::F32, [4])
    /// .input("labels", DType::I64, [])
    /// .optimizer(Adam::new(1e-2))
    /// .monitor(Monitor::Rate, "*")
    /// .monitor(Monitor::Gradient, "2.*");
    /// let mut store = VarStore::new(spikelet_nn::device::cpu()?);
    /// let x = [0.1, 0.9, 0.3, 0.0, 0.7, 0.2, 0.8, 0.4];
    /// let metrics = step.compile(&mut store)?.run((("x", &x), ("labels", &[0, 2])))?;
    /// assert!(metrics.get("1.rate").is_some_and(|rate| (0.0..=1.0).contains(&rate)));
    /// assert!(metrics.get("2.weight.gradient").is_some());
    /// # Ok::<(), spikelet_core::Error>(())
    /// ```
    #[must_use]
    pub fn monitor(mut self, monitor: Monitor, pattern: impl Into<String>) -> Self {
        self.monitors.push((monitor, Names::new(pattern)));
        self
    }

    /// Whether neurons must record their potentials for an evaluation.
    pub(super) fn monitors_potentials(&self) -> bool {
        self.monitors
            .iter()
            .any(|(monitor, _)| *monitor == Monitor::Potential)
    }

    /// Whether layers with weights must record their inputs for an evaluation.
    pub(super) fn monitors_operations(&self) -> bool {
        let mut monitors = self.monitors.iter();
        monitors.any(|(monitor, _)| *monitor == Monitor::SynapticOperations)
    }

    /// Whether neurons must count their spikes for an evaluation.
    pub(super) fn monitors_spikes(&self) -> bool {
        let mut monitors = self.monitors.iter();
        monitors.any(|(monitor, _)| matches!(monitor, Monitor::Rate | Monitor::Neurons))
    }

    /// The values of layers with this monitor, that record `value`.
    fn monitored(
        &self,
        monitor: Monitor,
        recorded: &[(String, Var)],
        value: &str,
    ) -> Result<Vec<(String, Var)>> {
        let own = self.monitors.iter().filter(|(other, _)| *other == monitor);
        let patterns: Vec<&Names> = own.map(|(_, names)| names).collect();
        let layers = layers_with(recorded, value);
        if layers.is_empty() && !patterns.is_empty() {
            return Err(monitor.without_values().into());
        }
        check_all(
            patterns.iter().copied(),
            layers.iter().map(|(layer, _)| layer.as_str()),
        )?;
        let matching = layers
            .into_iter()
            .filter(|(layer, _)| patterns.iter().any(|names| names.matches(layer)));
        Ok(matching.collect())
    }

    /// The metrics of the monitors of layers.
    pub(super) fn layer_metrics(
        &self,
        cx: &Trace,
        training: bool,
    ) -> Result<Vec<(String, Metric)>> {
        if self.monitors.is_empty() {
            return Ok(vec![]);
        }
        let recorded = cx.traced().recorded;
        let mut metrics = vec![];
        let counts = layers_with(&recorded, COUNT);
        // The spikes of all time steps, as numbers of them if neurons count.
        let of_layer = |layer: &str, spikes: Var| {
            let steps = spikes.dim(0);
            let count = counts.iter().find(|(counted, _)| counted == layer);
            let spikes = count.map_or(spikes, |(_, count)| count.clone());
            Spikes { spikes, steps }
        };
        for (layer, spikes) in self.monitored(Monitor::Rate, &recorded, SPIKES)? {
            let rate = of_layer(&layer, spikes).rate();
            metrics.push((path_of(&layer, "rate"), rate));
        }
        if training {
            return Ok(metrics);
        }
        for (layer, spikes) in self.monitored(Monitor::Neurons, &recorded, SPIKES)? {
            let [dead, saturated] = of_layer(&layer, spikes).extremes();
            metrics.push((path_of(&layer, "dead"), dead));
            metrics.push((path_of(&layer, "saturated"), saturated));
        }
        for (layer, potentials) in self.monitored(Monitor::Potential, &recorded, POTENTIAL)? {
            let [mean, deviation] = moments(&potentials);
            metrics.push((path_of(&layer, "potential"), mean));
            metrics.push((path_of(&layer, "potential_std"), deviation));
        }
        for (layer, distances) in self.monitored(Monitor::Potential, &recorded, DISTANCE)? {
            let [mean, _] = moments(&distances);
            metrics.push((path_of(&layer, "distance"), mean));
        }
        Ok(metrics)
    }

    /// The metrics of the gradients of a batch of `samples` samples.
    pub(super) fn gradient_metrics<'n>(
        &self,
        names: impl Iterator<Item = &'n str> + Clone,
        grads: &[Var],
        scale: Option<&Var>,
        samples: usize,
    ) -> Result<Vec<(String, Metric)>> {
        let own = self.monitors.iter();
        let own = own.filter(|(monitor, _)| *monitor == Monitor::Gradient);
        let patterns: Vec<&Names> = own.map(|(_, names)| names).collect();
        if names.clone().next().is_none() && !patterns.is_empty() {
            return Err(Monitor::Gradient.without_values().into());
        }
        check_all(patterns.iter().copied(), names.clone())?;
        let metrics = names.zip(grads).filter_map(|(name, grad)| {
            patterns.iter().find(|names| names.matches(name))?;
            let grad = grad.cast(DType::F32);
            let grad = match scale {
                Some(scale) => Var::map(&[&grad, scale], |x| &x[0] / &x[1]),
                None => grad,
            };
            let squares = grad.square().sum_all() * samples as f64;
            let metric = Metric::new(squares, |sums, samples| (sums[0] / samples).sqrt());
            Some((format!("{name}.gradient"), metric))
        });
        Ok(metrics.collect())
    }
}

/// The number of neurons and of time steps of a sequence `[T, N, …]`.
fn sizes(sequence: &Var) -> (f64, f64) {
    let shape = sequence.shape();
    let neurons: usize = shape.iter().skip(2).product();
    (neurons as f64, shape.first().copied().unwrap_or(1) as f64)
}

/// The spikes of a layer: a sequence `[T, N, …]`, or numbers of spikes over all time steps, `[1, N, …]`.
struct Spikes {
    spikes: Var,
    /// The number of time steps.
    steps: usize,
}

/// The largest integer up to which all sums of integers are exact in f32.
const EXACT: usize = 1 << 24;

/// The base of the two digits of a sum.
const BASE: usize = 1 << 12;

impl Spikes {
    fn neurons(&self) -> usize {
        self.spikes.shape().iter().skip(2).product()
    }

    /// Spikes for each neuron and time step. The sum is exact.
    fn rate(&self) -> Metric {
        let (neurons, steps) = (self.neurons(), self.steps);
        let all = (neurons * steps) as f64;
        let spikes = self.spikes.cast(DType::F32);
        let samples = spikes.shape().get(1).copied().unwrap_or(1);
        if neurons.saturating_mul(steps) > EXACT || samples > BASE {
            // A sum for each neuron.
            let sums = spikes.sum(&[0, 1]).reshape([neurons]);
            return Metric::new(sums, move |sums, samples| {
                sums.iter().sum::<f64>() / (samples * all)
            });
        }
        // A sum for each sample is exact, that of all samples may not be: its two digits are summed apart.
        let axes: Vec<usize> = (0..spikes.rank()).filter(|axis| *axis != 1).collect();
        let of_samples = spikes.sum(&axes).reshape([samples]);
        let base = BASE as f64;
        let high = of_samples.map1(|sum| (sum * (1.0 / base)).floor());
        let low = Var::map(&[&of_samples, &high], |x| &x[0] - &x[1] * base);
        let digits = Var::stack(&[&high.sum_all(), &low.sum_all()], 0);
        Metric::new(digits, move |sums, samples| {
            (sums[0] * base + sums[1]) / (samples * all)
        })
    }

    /// The fractions of the neurons that never fire, and that always fire.
    fn extremes(&self) -> [Metric; 2] {
        let (neurons, steps) = (self.neurons(), self.steps as f64);
        let spikes = self.spikes.cast(DType::F32);
        let fires = match self.spikes.dim(0) == self.steps {
            true => spikes.map1(|s| Expr::select(s.abs().gt(0.0), 1.0, 0.0)),
            // Numbers of spikes.
            false => spikes,
        };
        let fired = fires.sum(&[0, 1]).reshape([neurons]);
        let fraction = move |sums: &[f64], test: &dyn Fn(f64) -> bool| {
            sums.iter().filter(|&&sum| test(sum)).count() as f64 / (neurons as f64).max(1.0)
        };
        [
            Metric::new(fired.clone(), move |sums, _| {
                fraction(sums, &|sum| sum == 0.0)
            }),
            Metric::new(fired, move |sums, samples| {
                fraction(sums, &|sum| sum == samples * steps)
            }),
        ]
    }
}

/// Mean and standard deviation of the elements of a sequence.
fn moments(sequence: &Var) -> [Metric; 2] {
    let (neurons, steps) = sizes(sequence);
    let count = move |samples: f64| samples * steps * neurons;
    let v = sequence.cast(DType::F32);
    let both = Var::stack(&[&v.sum_all(), &v.square().sum_all()], 0);
    [
        Metric::new(v.sum_all(), move |sums, samples| sums[0] / count(samples)),
        Metric::new(both, move |sums, samples| {
            let mean = sums[0] / count(samples);
            (sums[1] / count(samples) - mean * mean).max(0.0).sqrt()
        }),
    ]
}
