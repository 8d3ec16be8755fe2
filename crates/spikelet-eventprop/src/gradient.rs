//! The gradient of a batch: the adjoint pass of each sample, samples in parallel.
//!
//! The samples are divided into at most [`PARTS`] parts at places that depend on their number only. A part is added
//! up sample by sample, then the parts in order, so that the bits do not depend on the number of threads.

use crate::error::{Error, Result};
use crate::layer::Incoming;
use crate::loss::Loss;
use crate::network::Network;
use crate::rules::{Activity, Rules};
use crate::spikes::SpikeTrain;
use crate::trace::Trace;
use crate::weights::Weights;
use rayon::prelude::*;

/// Parts of a batch, each with memory for a gradient.
const PARTS: usize = 8;

/// Elements of a gradient that a task sums over the parts.
const SUM_BLOCK: usize = 1 << 14;

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

/// The sum over the samples of a part: the loss, and the gradients in the order of the parameters.
struct Part {
    loss: f64,
    grads: Vec<Vec<f64>>,
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
        let size = samples.len().div_ceil(PARTS);
        let parts: Vec<Part> = (0..samples.len().div_ceil(size))
            .into_par_iter()
            .map(|part| {
                let mut sum = Part {
                    loss: 0.0,
                    grads: self
                        .parameters()
                        .iter()
                        .map(|values| vec![0.0; values.len()])
                        .collect(),
                };
                for sample in part * size..samples.len().min((part + 1) * size) {
                    self.add_sample(
                        sample,
                        &samples[sample],
                        &traces[sample],
                        loss,
                        rules,
                        &penalties,
                        &mut sum,
                    );
                }
                sum
            })
            .collect();
        let mean = mean(parts, samples.len());
        self.collect(mean, activity, rules)
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
            if trace.layers.len() != self.layers.len()
                || trace.outputs.len() != self.outputs()
                || trace.kind != self.output_kind()
            {
                let expected = format!(
                    "{} layers and {} outputs",
                    self.layers.len(),
                    self.outputs()
                );
                return Err(Error::Size {
                    what: format!("the trace of sample {sample}"),
                    given: format!(
                        "{} layers and {} outputs",
                        trace.layers.len(),
                        trace.outputs.len()
                    ),
                    expected,
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

    /// Adds the loss and the gradients of a sample.
    fn add_sample(
        &self,
        sample: usize,
        train: &SpikeTrain,
        trace: &Trace,
        loss: &dyn Loss,
        rules: &Rules,
        penalties: &[Vec<f64>],
        sum: &mut Part,
    ) {
        let mut gradient = vec![0.0; trace.outputs.len()];
        sum.loss += loss.sample(sample, &trace.outputs, &mut gradient);
        let mut grads = sum.grads.iter_mut();
        let mut d_time = match (&self.readout, trace.layers.last(), grads.len()) {
            (Some(readout), Some(last), _) => match grads.next_back() {
                Some(d_weights) => {
                    readout.adjoint(&last.spikes, &trace.peaks, &gradient, self.t_end, d_weights)
                }
                None => vec![],
            },
            (_, last, _) => {
                let mut d_time = vec![0.0; last.map_or(0, |last| last.spikes.len())];
                for (first, grad) in trace.first.iter().zip(&gradient) {
                    if let Some(s) = first {
                        d_time[*s] = *grad;
                    }
                }
                d_time
            }
        };
        let mut at_end: Vec<f64> = match rules.phantom {
            Some(rule) => (trace.first.iter().zip(&gradient))
                .map(|(first, grad)| match first {
                    None => rule.strength * grad.max(0.0),
                    Some(_) => 0.0,
                })
                .collect(),
            None => vec![],
        };
        for (k, layer) in self.layers.iter().enumerate().rev() {
            let input = match k {
                0 => train.spikes(),
                _ => &trace.layers[k - 1].spikes,
            };
            let incoming = Incoming {
                d_time: &d_time,
                at_end: &at_end,
                penalty: &penalties[k],
            };
            let d_recurrent = layer.recurrent.as_ref().and_then(|_| grads.next_back());
            let Some(d_input) = grads.next_back() else {
                break;
            };
            let d_recurrent = d_recurrent.map(|grad| grad.as_mut_slice());
            d_time = layer.adjoint(
                input,
                &trace.layers[k],
                incoming,
                self.t_end,
                d_input,
                d_recurrent,
            );
            at_end.clear();
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

/// The mean over the samples, from the sums over the parts.
fn mean(mut parts: Vec<Part>, samples: usize) -> Part {
    let scale = 1.0 / samples as f64;
    let rest = parts.split_off(1);
    let mut sum = parts.pop().unwrap_or(Part {
        loss: 0.0,
        grads: vec![],
    });
    sum.loss = rest.iter().fold(sum.loss, |loss, part| loss + part.loss) * scale;
    for (k, grads) in sum.grads.iter_mut().enumerate() {
        grads
            .par_chunks_mut(SUM_BLOCK)
            .enumerate()
            .for_each(|(block, grads)| {
                let begin = block * SUM_BLOCK;
                for part in &rest {
                    for (grad, add) in grads.iter_mut().zip(&part.grads[k][begin..]) {
                        *grad += add;
                    }
                }
                grads.iter_mut().for_each(|grad| *grad *= scale);
            });
    }
    sum
}
