//! Losses of functionals of the readout's potentials.

use super::{Loss, OutputKind, check_labels, log_sum_exp, softmax};
use crate::error::{Error, Result};

/// Cross entropy: L = −log softmax(y)\[label\].
#[derive(Clone, Debug)]
pub struct CrossEntropy {
    labels: Vec<usize>,
}

impl CrossEntropy {
    /// The loss of a batch with these labels.
    pub fn new(labels: impl Into<Vec<usize>>) -> Self {
        Self {
            labels: labels.into(),
        }
    }
}

impl Loss for CrossEntropy {
    fn reads(&self) -> OutputKind {
        OutputKind::Potential
    }

    fn check(&self, samples: usize, outputs: usize) -> Result<()> {
        check_labels(&self.labels, samples, outputs)
    }

    fn sample(&self, sample: usize, outputs: &[f64], gradient: &mut [f64]) -> f64 {
        let label = self.labels[sample];
        gradient.copy_from_slice(&softmax(outputs.iter().copied()));
        gradient[label] -= 1.0;
        log_sum_exp(outputs.iter().copied()) - outputs[label]
    }
}

/// Mean square error: L = Σ_m (y_m − target_m)²/M, M outputs.
#[derive(Clone, Debug)]
pub struct MeanSquare {
    targets: Vec<Vec<f64>>,
}

impl MeanSquare {
    /// The loss of a batch with one target for each output of each sample.
    pub fn new(targets: impl Into<Vec<Vec<f64>>>) -> Self {
        Self {
            targets: targets.into(),
        }
    }
}

impl Loss for MeanSquare {
    fn reads(&self) -> OutputKind {
        OutputKind::Potential
    }

    fn check(&self, samples: usize, outputs: usize) -> Result<()> {
        let problem = if self.targets.len() != samples {
            format!(
                "the loss has targets of {} samples, the batch has {samples}",
                self.targets.len()
            )
        } else if let Some(at) = self
            .targets
            .iter()
            .position(|targets| targets.len() != outputs)
        {
            format!(
                "sample {at} has {} targets, the network has {outputs} outputs",
                self.targets[at].len()
            )
        } else if let Some(at) = self
            .targets
            .iter()
            .position(|targets| targets.iter().any(|x| !x.is_finite()))
        {
            format!("a target of sample {at} is not finite")
        } else {
            return Ok(());
        };
        Err(Error::Loss {
            problem,
            help: "give one finite target for each output of each sample",
        })
    }

    fn sample(&self, sample: usize, outputs: &[f64], gradient: &mut [f64]) -> f64 {
        let count = outputs.len() as f64;
        let mut loss = 0.0;
        for ((grad, y), target) in gradient.iter_mut().zip(outputs).zip(&self.targets[sample]) {
            *grad = 2.0 * (y - target) / count;
            loss += (y - target) * (y - target) / count;
        }
        loss
    }
}
