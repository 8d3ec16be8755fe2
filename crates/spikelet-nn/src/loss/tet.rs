//! Temporal efficient training: a loss at each time step.
//!
//! L = (1 − λ) · mean over t of CE(y\[t\], label) + λ · mean((y − φ)²), where the usual loss is
//! CE(mean over t of y\[t\], label). The second term keeps the output near φ; λ is 0 unless it is set.
//!
//! Source: S. Deng et al., *Temporal efficient training of spiking neural network via gradient re-weighting*,
//! ICLR 2022.

use super::target::{Range, expect_constant};
use super::{CrossEntropy, Loss, mse};
use crate::module::StepOutputs;
use spikelet_graph::{DType, Var};
use spikelet_schema::Schema;

/// The mean over time of the cross entropy at each step, of an output sequence `[T, N, classes]` and labels i64
/// `[N]`.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let tracer = Tracer::new(DType::F32);
/// let output_seq = tracer.input("output_seq", DType::F32, [4, 32, 10]);
/// let labels = tracer.input("labels", DType::I64, [32]);
/// assert!(loss::tet(&output_seq, &labels).shape().is_empty());
/// ```
#[doc(alias = "TET")]
pub fn tet(output_seq: &Var, labels: &Var) -> Var {
    CrossEntropy::new().at_each_step(output_seq, labels)
}

/// The complete loss of the paper: with the weight `lambda`, 0 to below 1, of the squared distance of the output
/// from `phi`. The paper uses 0.05 and the threshold, 1.
pub fn regularized_tet(output_seq: &Var, labels: &Var, lambda: f64, phi: f64) -> Var {
    expect_constant("TET", output_seq, "lambda", lambda, &Range::FRACTION);
    expect_constant("TET", output_seq, "phi", phi, &Range::FINITE);
    let target = output_seq
        .tracer()
        .fill(output_seq.ty().dtype, output_seq.shape(), phi);
    tet(output_seq, labels) * (1.0 - lambda) + mse(output_seq, &target) * lambda
}

/// Mean over time of the cross entropy of the output at each step.
///
/// It is for networks whose last layer is linear. Source: S. Deng et al., *Temporal efficient training of spiking neural
/// network via gradient re-weighting*, ICLR 2022.
#[derive(Clone, Debug, PartialEq, Schema)]
pub struct Tet {
    /// The cross entropy of a step.
    #[schema(flatten)]
    pub cross_entropy: CrossEntropy,
}

impl Loss for Tet {
    fn apply(&self, output: &StepOutputs, _: &Var, labels: &Var) -> Var {
        self.cross_entropy.over_time(output, labels)
    }

    /// The loss of the mean scores.
    fn of_sample(&self, scores: &[f64], label: usize) -> f64 {
        self.cross_entropy.of_sample(scores, label)
    }

    fn is_over_time(&self) -> bool {
        true
    }
}

impl CrossEntropy {
    /// The mean over time of this loss at each step, of an output sequence `[T, N, classes]` (TET).
    pub fn at_each_step(&self, output_seq: &Var, labels: &Var) -> Var {
        self.of_labels(output_seq, labels, 1)
    }

    /// The same for soft targets `[N, classes]`.
    pub fn soft_at_each_step(&self, output_seq: &Var, targets: &Var) -> Var {
        self.of_targets(output_seq, targets, 1)
    }

    /// [`CrossEntropy::at_each_step`] for an output over time, or [`CrossEntropy::soft_at_each_step`] for labels that
    /// are not i64. The parts of the output are not concatenated.
    pub fn over_time(&self, output: &StepOutputs, labels: &Var) -> Var {
        let steps: usize = output.parts().iter().map(|part| part.dim(0)).sum();
        let loss = |part: &Var| match labels.ty().dtype {
            DType::I64 => self.at_each_step(part, labels),
            _ => self.soft_at_each_step(part, labels),
        };
        let losses = (output.parts().iter()).map(|part| match part.dim(0) {
            time if time == steps => loss(part),
            time => loss(part) * (time as f64 / steps as f64),
        });
        let total = losses.reduce(|sum, part| sum + part);
        total.expect("there is at least one part")
    }
}
