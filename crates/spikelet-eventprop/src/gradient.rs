//! The gradient of a batch.

use crate::batch::{Batch, Part};
use crate::error::{Error, Result};
use crate::loss::Loss;
use crate::network::Network;
use crate::rules::{Activity, Rules};
use crate::spikes::SpikeTrain;
use crate::trace::Trace;
use crate::weights::Weights;

/// The gradients of a layer's weights.
#[derive(Clone, Debug)]
pub struct LayerGradient {
    /// Of the input weights.
    pub input: Weights,
    /// Of the recurrent weights.
    pub recurrent: Option<Weights>,
}

/// The mean of the loss over a batch, its gradients, and how often neurons fired.
#[derive(Clone, Debug)]
pub struct Gradients {
    /// The mean over the samples.
    pub loss: f64,
    /// The gradients of each layer's weights.
    pub layers: Vec<LayerGradient>,
    /// The gradient of the readout's weights.
    pub readout: Option<Weights>,
    /// The activity of each layer.
    pub activity: Vec<Activity>,
}

impl Gradients {
    /// The gradients in the order of [`Network::parameters`].
    pub fn parameters(&self) -> Vec<&[f64]> {
        let layers = self.layers.iter();
        let layers =
            layers.flat_map(|layer| std::iter::once(&layer.input).chain(layer.recurrent.as_ref()));
        layers
            .chain(&self.readout)
            .map(|weights| weights.values())
            .collect()
    }

    /// Scales all gradients so that their norm is at most `limit`, and returns the norm before. Where a potential only
    /// touches the threshold the gradient has no bound.
    pub fn clip_norm(&mut self, limit: f64) -> f64 {
        let squares = self.parameters().into_iter().flatten().map(|g| g * g);
        let norm = squares.sum::<f64>().sqrt();
        if norm > limit {
            let layers = self.layers.iter_mut();
            let layers = layers
                .flat_map(|layer| std::iter::once(&mut layer.input).chain(&mut layer.recurrent));
            let values = layers
                .chain(&mut self.readout)
                .flat_map(|weights| weights.values_mut());
            values.for_each(|g| *g *= limit / norm);
        }
        norm
    }
}

impl Network {
    /// The gradient of the mean loss over the samples. `traces`: the result of [`Network::forward`] for these samples.
    ///
    /// # Errors
    /// When the loss, the samples and the traces do not fit to each other, a rule is outside its range, or a gradient
    /// is not finite.
    pub fn gradient(
        &self,
        samples: &[SpikeTrain],
        traces: &[Trace],
        loss: &dyn Loss,
        rules: &Rules,
    ) -> Result<Gradients> {
        self.check(samples, traces, loss)?;
        rules.check()?;
        let activity: Vec<Activity> = (0..self.layers.len())
            .map(|k| self.activity(k, traces))
            .collect();
        let penalties: Vec<Vec<f64>> = (activity.iter())
            .map(|activity| activity.penalties(rules.counts, samples.len()))
            .collect();
        let batch = Batch {
            network: self,
            samples,
            traces,
            loss,
            phantom: rules.phantom,
            penalties: &penalties,
        };
        self.collect(batch.mean(), activity, rules)
    }

    fn check(&self, samples: &[SpikeTrain], traces: &[Trace], loss: &dyn Loss) -> Result<()> {
        let size = |what: &str, given: usize, expected: String, help| Error::Size {
            what: what.to_string(),
            given: given.to_string(),
            expected,
            help,
        };
        if samples.is_empty() {
            let help = "give a batch of samples";
            return Err(size(
                "the number of samples",
                0,
                "at least 1".to_string(),
                help,
            ));
        }
        let help = "give the traces that `forward` returned for these samples";
        if traces.len() != samples.len() {
            return Err(size(
                "the number of traces",
                traces.len(),
                format!("{}, one a sample", samples.len()),
                help,
            ));
        }
        for (sample, (train, trace)) in samples.iter().zip(traces).enumerate() {
            train.check(sample, self.inputs(), self.t_end)?;
            if trace.sizes != self.sizes()
                || trace.kind != self.output_kind()
                || trace.inputs != train.spikes().len()
            {
                return Err(Error::Size {
                    what: format!("the trace of sample {sample}"),
                    given: format!(
                        "{} input spikes and layers of {:?} neurons",
                        trace.inputs, trace.sizes
                    ),
                    expected: format!(
                        "{} and {:?}, with the same kind of outputs",
                        train.spikes().len(),
                        self.sizes()
                    ),
                    help,
                });
            }
        }
        if loss.reads() != self.output_kind() {
            return Err(Error::Loss {
                problem: format!(
                    "the loss reads {:?}, the network has {:?}",
                    loss.reads(),
                    self.output_kind()
                ),
                help: "use a loss of first spikes without a readout, and one of potentials with a readout",
            });
        }
        loss.check(samples.len(), self.outputs())
    }

    fn activity(&self, layer: usize, traces: &[Trace]) -> Activity {
        let neurons = self.layers[layer].neurons();
        let (mut spikes, mut active) = (vec![0_usize; neurons], vec![0_usize; neurons]);
        let mut last = vec![usize::MAX; neurons];
        for (sample, trace) in traces.iter().enumerate() {
            for spike in &trace.layers[layer].spikes {
                spikes[spike.unit] += 1;
                active[spike.unit] += usize::from(last[spike.unit] != sample);
                last[spike.unit] = sample;
            }
        }
        let share = |counts: Vec<usize>| {
            counts
                .into_iter()
                .map(|n| n as f64 / traces.len() as f64)
                .collect()
        };
        Activity {
            mean_spikes: share(spikes),
            active: share(active),
        }
    }

    fn collect(&self, mean: Part, activity: Vec<Activity>, rules: &Rules) -> Result<Gradients> {
        if !mean.loss.is_finite() || mean.grads.iter().flatten().any(|grad| !grad.is_finite()) {
            return Err(Error::Loss {
                problem: "the loss or its gradient is not finite: a potential touches the threshold without crossing it, or the loss overflows".to_string(),
                help: "lower the learning rate, or change the constants of the loss",
            });
        }
        let mut grads = mean.grads.into_iter();
        let mut next = |like: &Weights| like.with_values(grads.next().unwrap_or_default());
        let mut layers = vec![];
        for (layer, activity) in self.layers.iter().zip(&activity) {
            let mut input = next(&layer.input);
            activity.push(rules.silent, input.values_mut());
            layers.push(LayerGradient {
                input,
                recurrent: layer.recurrent.as_ref().map(&mut next),
            });
        }
        let readout = self.readout.as_ref().map(|readout| next(&readout.weights));
        Ok(Gradients {
            loss: mean.loss,
            layers,
            readout,
            activity,
        })
    }
}
