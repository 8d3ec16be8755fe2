//! Losses.

mod first_spike;
mod potential;

use crate::error::{Error, Result};

pub use first_spike::FirstSpikeLoss;
pub use potential::{CrossEntropy, MeanSquare};

/// What a network computes for a sample, of which a loss is a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputKind {
    /// The time of the first spike of each neuron of the last layer; t_end for those that do not fire.
    FirstSpike,
    /// The functional of the potential of each neuron of the readout.
    Potential,
}

/// A loss: a function of a sample's outputs and its derivative. The loss of a batch is the mean over its samples.
///
/// ```
/// use spikelet_eventprop::{Loss, OutputKind};
///
/// /// The time of neuron 0's first spike.
/// #[derive(Debug)]
/// struct Early;
///
/// impl Loss for Early {
///     fn reads(&self) -> OutputKind {
///         OutputKind::FirstSpike
///     }
///     fn sample(&self, _: usize, outputs: &[f64], gradient: &mut [f64]) -> f64 {
///         gradient[0] = 1.0;
///         outputs[0]
///     }
/// }
/// ```
pub trait Loss: Sync {
    /// The outputs that it is a function of.
    fn reads(&self) -> OutputKind;

    /// Checks the targets against the number of samples and of outputs.
    ///
    /// # Errors
    /// When they do not fit.
    fn check(&self, _samples: usize, _outputs: usize) -> Result<()> {
        Ok(())
    }

    /// The loss of sample `sample` of the batch. `gradient`: zeros, to be set to the derivative with respect to each
    /// output. The derivative of the time of a neuron without a spike is not read.
    fn sample(&self, sample: usize, outputs: &[f64], gradient: &mut [f64]) -> f64;
}

/// Checks that there is a label for each sample, and that each is an output.
fn check_labels(labels: &[usize], samples: usize, outputs: usize) -> Result<()> {
    if labels.len() != samples {
        return Err(Error::Loss {
            problem: format!("the loss has {} labels for {samples} samples", labels.len()),
            help: "give one label for each sample of the batch",
        });
    }
    match labels.iter().position(|&label| label >= outputs) {
        None => Ok(()),
        Some(at) => Err(Error::Loss {
            problem: format!(
                "the label of sample {at} is {}, the network has outputs 0 to {}",
                labels[at],
                outputs.saturating_sub(1)
            ),
            help: "give labels from 0, or a last layer with one neuron for each class",
        }),
    }
}

/// softmax(`logits`)
fn softmax(logits: impl Iterator<Item = f64> + Clone) -> Vec<f64> {
    let most = logits.clone().fold(f64::NEG_INFINITY, f64::max);
    let mut shares: Vec<f64> = logits.map(|x| (x - most).exp()).collect();
    let sum: f64 = shares.iter().sum();
    shares.iter_mut().for_each(|share| *share /= sum);
    shares
}

/// log Σ exp(`logits`)
fn log_sum_exp(logits: impl Iterator<Item = f64> + Clone) -> f64 {
    let most = logits.clone().fold(f64::NEG_INFINITY, f64::max);
    most + logits.map(|x| (x - most).exp()).sum::<f64>().ln()
}
