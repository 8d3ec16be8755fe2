//! A loss of the times of first spikes.

use super::{Loss, OutputKind, check_labels, log_sum_exp, softmax};
use crate::error::{Result, not_negative, positive};

/// Cross entropy of first spikes: the neuron of the label is to fire before the others, and early.
///
/// `L = −log softmax(−t/τ_0)[label] + α (exp(t_label/τ_1) − 1)`
///
/// t: the first spike of each output neuron, t_end if it does not fire. Source: Wunderlich and Pehle 2021, after
/// Göltz et al., Nature Machine Intelligence 3, 2021.
#[derive(Clone, Debug)]
pub struct FirstSpikeLoss {
    labels: Vec<usize>,
    tau_0: f64,
    tau_1: f64,
    alpha: f64,
}

impl FirstSpikeLoss {
    /// The loss of a batch with these labels, without the second term.
    ///
    /// # Errors
    /// When `tau_0` is not greater than 0.
    pub fn new(labels: impl Into<Vec<usize>>, tau_0: f64) -> Result<Self> {
        positive(
            "tau_0 of the first-spike loss",
            tau_0,
            "give a difference of times that is clear, such as 2 ms",
        )?;
        Ok(Self {
            labels: labels.into(),
            tau_0,
            tau_1: 1.0,
            alpha: 0.0,
        })
    }

    /// Adds α (exp(t_label/τ_1) − 1), which prefers early spikes.
    ///
    /// # Errors
    /// When `alpha` is negative or `tau_1` is not greater than 0.
    pub fn early(mut self, alpha: f64, tau_1: f64) -> Result<Self> {
        self.alpha = not_negative(
            "alpha of the first-spike loss",
            alpha,
            "give 0 for no such term",
        )?;
        self.tau_1 = positive(
            "tau_1 of the first-spike loss",
            tau_1,
            "give a time constant, such as 6 ms",
        )?;
        Ok(self)
    }
}

impl Loss for FirstSpikeLoss {
    fn reads(&self) -> OutputKind {
        OutputKind::FirstSpike
    }

    fn check(&self, samples: usize, outputs: usize) -> Result<()> {
        check_labels(&self.labels, samples, outputs)
    }

    fn sample(&self, sample: usize, outputs: &[f64], gradient: &mut [f64]) -> f64 {
        let label = self.labels[sample];
        let logits = outputs.iter().map(|t| -t / self.tau_0);
        let t = outputs[label];
        for (grad, share) in gradient.iter_mut().zip(softmax(logits.clone())) {
            *grad = -share / self.tau_0;
        }
        gradient[label] += 1.0 / self.tau_0;
        let mut loss = log_sum_exp(logits) + t / self.tau_0;
        if self.alpha > 0.0 {
            gradient[label] += self.alpha / self.tau_1 * (t / self.tau_1).exp();
            loss += self.alpha * (t / self.tau_1).exp_m1();
        }
        loss
    }
}
