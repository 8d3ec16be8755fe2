//! How far a converted network is from the network that it comes from: accuracy by time steps, and rates of each layer.

use super::Conversion;
use super::error::ConversionError;
use super::factor::ActivationScale;
use super::run::{AnnProgram, SnnProgram};
use serde::Serialize;
use spikelet_core::Result;
use spikelet_graph::{Backend, Tensor};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The largest number of time steps of a program: the memory of a comparison does not depend on the steps of the network.
const CHUNK: usize = 8;

/// The networks before and after a conversion on the same samples.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// The number of samples.
    pub samples: usize,
    /// The accuracy of the network without spikes.
    pub ann_accuracy: f64,
    /// The spiking network after numbers of time steps, in ascending order.
    pub time_steps: Vec<AtTimeSteps>,
    /// The layers of neurons, in the order in which they run.
    pub layers: Vec<LayerComparison>,
}

/// The spiking network after some time steps.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AtTimeSteps {
    /// The number of time steps.
    pub time_steps: usize,
    /// The accuracy of the mean of the output over these steps.
    pub accuracy: f64,
    /// The fraction of samples with the class of the network without spikes.
    pub agreement: f64,
    /// The number of spikes of a sample.
    pub spikes: f64,
}

/// The rates of a layer of neurons beside the activations in whose place they are.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LayerComparison {
    /// The path.
    pub layer: String,
    /// The threshold, or the smallest and the largest of those of the channels.
    pub threshold: [f64; 2],
    /// The mean activation.
    pub activation: f64,
    /// The fraction of activations above the threshold, which no rate can reach.
    pub clipped: f64,
    /// The mean number of spikes of a neuron in a time step, over all steps.
    pub rate: f64,
    /// √(Σ (θ·rate − activation)² / Σ activation²) after the numbers of time steps of [`Comparison::time_steps`].
    pub errors: Vec<f64>,
}

/// Sums of a layer over the samples.
struct LayerSums {
    elements: f64,
    activation: f64,
    squares: f64,
    clipped: f64,
    spikes: f64,
    /// By the number of time steps.
    errors: Vec<f64>,
}

impl Conversion {
    /// Runs the networks before and after the conversion on samples `[N, …]` with their classes, which are the input at
    /// all time steps.
    ///
    /// # Errors
    /// [`ConversionError::Option`] if no number of time steps is given, or one of them is 0; [`ConversionError::NoSamples`]; errors
    /// of the batches and the device.
    pub fn compare(
        &self,
        batches: impl IntoIterator<Item = Result<(Tensor, Vec<i64>)>>,
        time_steps: &[usize],
        backend: &Arc<dyn Backend>,
    ) -> Result<Comparison> {
        let at: Vec<usize> = time_steps
            .iter()
            .copied()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        let last = at.last().copied().unwrap_or(0);
        if at.first().is_none_or(|&first| first == 0) {
            return Err(ConversionError::Option {
                option: "the list of time steps",
                given: format!("{time_steps:?}"),
                expected: "numbers of at least 1",
                help: "give numbers of time steps, such as 1, 2, 4, 8",
            }
            .into());
        }
        let paths: Vec<&str> = self.scales.iter().map(|own| own.layer.as_str()).collect();
        let mut ann = AnnProgram::new(&self.ann, backend, &paths)?;
        let mut snn = SnnProgram::new(&self.snn, backend, &self.scales)?;
        let mut layers: Vec<LayerSums> = paths.iter().map(|_| LayerSums::new(at.len())).collect();
        let (mut samples, mut ann_correct) = (0, 0);
        let mut counts = vec![[0.0; 3]; at.len()];
        for batch in batches {
            let (x, labels) = batch?;
            let expected = ann.run(&x)?;
            let ann_classes = classes(&expected.output);
            samples += labels.len();
            ann_correct += equal(&ann_classes, &labels);
            for (sums, (values, own)) in layers
                .iter_mut()
                .zip(expected.activations.iter().zip(&self.scales))
            {
                sums.add_activations(&values.to_f64(), labels.len(), own);
            }
            snn.begin(&x, &expected.activations)?;
            let mut output: Vec<f64> = vec![];
            let mut now = 0;
            for (k, &target) in at.iter().enumerate() {
                let mut found = None;
                while now < target {
                    let steps = CHUNK.min(target - now);
                    now += steps;
                    let values = snn.run(&x, steps, now)?;
                    add(&mut output, &values.output.to_f64());
                    found = Some(values.layers);
                }
                let scores = Tensor::f64(expected.output.shape.clone(), output.clone());
                let snn_classes = classes(&scores);
                let correct = equal(&snn_classes, &labels) as f64;
                let agreeing = equal(&snn_classes, &ann_classes) as f64;
                let mut total = 0.0;
                for (sums, values) in layers.iter_mut().zip(found.unwrap_or_default()) {
                    sums.errors[k] += values.squared_error;
                    total += values.spikes;
                    if target == last {
                        sums.spikes += values.spikes;
                    }
                }
                for (sum, own) in counts[k].iter_mut().zip([correct, agreeing, total]) {
                    *sum += own;
                }
            }
        }
        if samples == 0 {
            return Err(ConversionError::NoSamples {
                purpose: "compare the networks on",
            }
            .into());
        }
        let of_all = |count: f64| count / samples as f64;
        let time_steps = at.iter().zip(&counts);
        let time_steps =
            time_steps.map(|(&time_steps, &[correct, agreeing, spikes])| AtTimeSteps {
                time_steps,
                accuracy: of_all(correct),
                agreement: of_all(agreeing),
                spikes: of_all(spikes),
            });
        Ok(Comparison {
            samples,
            ann_accuracy: of_all(ann_correct as f64),
            time_steps: time_steps.collect(),
            layers: layers
                .iter()
                .zip(&self.scales)
                .map(|(sums, own)| sums.finish(own, last))
                .collect(),
        })
    }
}

impl LayerSums {
    fn new(times: usize) -> Self {
        Self {
            elements: 0.0,
            activation: 0.0,
            squares: 0.0,
            clipped: 0.0,
            spikes: 0.0,
            errors: vec![0.0; times],
        }
    }

    fn add_activations(&mut self, values: &[f64], samples: usize, own: &ActivationScale) {
        let each = values.len() / samples.max(1);
        self.elements += values.len() as f64;
        for (k, value) in values.iter().enumerate() {
            self.activation += value;
            self.squares += value * value;
            if *value > own.scale.of(k % each.max(1), each) {
                self.clipped += 1.0;
            }
        }
    }

    fn finish(&self, own: &ActivationScale, steps: usize) -> LayerComparison {
        let values = own.scale.values().iter().copied();
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.fold(f64::NEG_INFINITY, f64::max);
        let relative = |error: &f64| match self.squares > 0.0 {
            true => (error / self.squares).sqrt(),
            false => error.sqrt(),
        };
        LayerComparison {
            layer: own.layer.clone(),
            threshold: [low, high],
            activation: self.activation / self.elements,
            clipped: self.clipped / self.elements,
            rate: self.spikes / self.elements / steps as f64,
            errors: self.errors.iter().map(relative).collect(),
        }
    }
}

/// Adds values; an empty sum is 0.
fn add(sum: &mut Vec<f64>, values: &[f64]) {
    sum.resize(values.len(), 0.0);
    for (sum, value) in sum.iter_mut().zip(values) {
        *sum += value;
    }
}

/// The class with the largest score of each sample; of equal scores the first.
fn classes(scores: &Tensor) -> Vec<i64> {
    let samples = scores.shape.first().copied().unwrap_or(0);
    let values = scores.to_f64();
    let each = values.len() / samples.max(1);
    let largest = |row: &[f64]| {
        let mut best = 0;
        for (k, value) in row.iter().enumerate() {
            if *value > row[best] {
                best = k;
            }
        }
        best as i64
    };
    values.chunks(each.max(1)).map(largest).collect()
}

fn equal(a: &[i64], b: &[i64]) -> usize {
    a.iter().zip(b).filter(|(a, b)| a == b).count()
}
