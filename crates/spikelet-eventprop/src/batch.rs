//! The adjoint pass of the samples of a batch, in parallel.
//!
//! The samples are divided into at most [`PARTS`] parts at places that depend on their number only. A part is added
//! up sample by sample, then the parts in order, so that the bits do not depend on the number of threads.

use crate::layer::Incoming;
use crate::loss::Loss;
use crate::network::Network;
use crate::rules::PhantomSpike;
use crate::spikes::SpikeTrain;
use crate::trace::Trace;
use rayon::prelude::*;

/// Parts of a batch, each with memory for a gradient.
const PARTS: usize = 8;

/// Elements of a gradient that a task sums over the parts.
const SUM_BLOCK: usize = 1 << 14;

/// Checked samples with their traces, and what their adjoint pass reads.
pub(crate) struct Batch<'a> {
    pub network: &'a Network,
    pub samples: &'a [SpikeTrain],
    pub traces: &'a [Trace],
    pub loss: &'a dyn Loss,
    pub phantom: Option<PhantomSpike>,
    /// For each layer, what is subtracted from λ_V of each neuron at its spikes.
    pub penalties: &'a [Vec<f64>],
}

/// The sum over some samples, or the mean over all: the loss, and the gradients in the order of the parameters.
pub(crate) struct Part {
    pub loss: f64,
    pub grads: Vec<Vec<f64>>,
}

impl Batch<'_> {
    /// The mean over the samples, of which there is at least one.
    pub(crate) fn mean(&self) -> Part {
        let count = self.samples.len();
        let size = count.div_ceil(PARTS);
        let parts: Vec<Part> = (0..count.div_ceil(size))
            .into_par_iter()
            .map(|part| {
                let parameters = self.network.parameters();
                let zeros = parameters.iter().map(|values| vec![0.0; values.len()]);
                let mut sum = Part {
                    loss: 0.0,
                    grads: zeros.collect(),
                };
                for sample in part * size..count.min((part + 1) * size) {
                    self.add_sample(sample, &mut sum);
                }
                sum
            })
            .collect();
        mean(parts, count)
    }

    /// Adds the loss and the gradients of a sample.
    fn add_sample(&self, sample: usize, sum: &mut Part) {
        let (network, trace) = (self.network, &self.traces[sample]);
        let t_end = network.t_end;
        let mut gradient = vec![0.0; trace.outputs.len()];
        sum.loss += self.loss.sample(sample, &trace.outputs, &mut gradient);
        let mut grads = sum.grads.iter_mut();
        let last = trace.layers.last().map_or(&[][..], |last| &last.spikes);
        let readout = network.readout.as_ref();
        let mut d_time = match readout.and_then(|readout| Some((readout, grads.next_back()?))) {
            Some((readout, d_weights)) => {
                readout.adjoint(last, &trace.peaks, &gradient, t_end, d_weights)
            }
            None => {
                let mut d_time = vec![0.0; last.len()];
                for (first, grad) in trace.first.iter().zip(&gradient) {
                    if let Some(s) = first {
                        d_time[*s] = *grad;
                    }
                }
                d_time
            }
        };
        let mut at_end = self.phantoms(trace, &gradient);
        for (k, layer) in network.layers.iter().enumerate().rev() {
            let input = match k {
                0 => self.samples[sample].spikes(),
                _ => &trace.layers[k - 1].spikes,
            };
            let incoming = Incoming {
                d_time: &d_time,
                at_end: &at_end,
                penalty: &self.penalties[k],
            };
            let d_recurrent = layer.recurrent.as_ref().and_then(|_| grads.next_back());
            let d_recurrent = d_recurrent.map(Vec::as_mut_slice);
            let Some(d_input) = grads.next_back() else {
                break;
            };
            let spikes = &trace.layers[k];
            d_time = layer.adjoint(input, spikes, incoming, t_end, d_input, d_recurrent);
            at_end.clear();
        }
    }

    /// λ_V at t_end of the output neurons that do not fire; empty without that rule.
    fn phantoms(&self, trace: &Trace, gradient: &[f64]) -> Vec<f64> {
        let Some(rule) = self.phantom else {
            return vec![];
        };
        let outputs = trace.first.iter().zip(gradient);
        let at_end = outputs.map(|(first, grad)| match first {
            None => rule.strength * grad.max(0.0),
            Some(_) => 0.0,
        });
        at_end.collect()
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
