//! Targets for the number of spikes of each output neuron.
//!
//! Sources: S. B. Shrestha, G. Orchard, *SLAYER: spike layer error reassignment in time*, NeurIPS 2018, and Lava's
//! `SpikeRate`; J. Eshraghian et al., *Training spiking neural networks using lessons from deep learning*,
//! Proceedings of the IEEE 2023, and snnTorch's `mse_count_loss`, `ce_count_loss`.

use super::target::{Range, expect_constant, expect_sequence, one_hot};
use super::{cross_entropy, mse};
use spikelet_graph::Var;

/// Mean squared error of the firing rates of a spike sequence `[T, N, classes]`: the target is `correct` for the
/// label's class and `other` for the others, in spikes a step.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let tracer = Tracer::new(DType::F32);
/// let spike_seq = tracer.input("spike_seq", DType::F32, [50, 32, 10]);
/// let labels = tracer.input("labels", DType::I64, [32]);
/// assert!(loss::spike_rate_mse(&spike_seq, &labels, 0.8, 0.05).shape().is_empty());
/// ```
#[doc(alias = "SpikeRate")]
pub fn spike_rate_mse(spike_seq: &Var, labels: &Var, correct: f64, other: f64) -> Var {
    let loss = "spike-rate loss";
    expect_sequence(loss, spike_seq);
    error_of(loss, &spike_seq.mean(&[0]), labels, [correct, other])
}

/// The same for the numbers of spikes over all steps.
#[doc(alias = "mse_count_loss")]
pub fn spike_count_mse(spike_seq: &Var, labels: &Var, correct: f64, other: f64) -> Var {
    let loss = "spike-count loss";
    expect_sequence(loss, spike_seq);
    error_of(loss, &spike_seq.sum(&[0]), labels, [correct, other])
}

/// Cross entropy with the numbers of spikes over all steps as scores.
#[doc(alias = "ce_count_loss")]
pub fn spike_count_cross_entropy(spike_seq: &Var, labels: &Var) -> Var {
    expect_sequence("spike-count loss", spike_seq);
    cross_entropy(&spike_seq.sum(&[0]), labels)
}

/// The squared error of `[N, classes]`.
fn error_of(loss: &str, given: &Var, labels: &Var, [correct, other]: [f64; 2]) -> Var {
    let correct_range = [
        ("the target of the label", correct),
        ("the other target", other),
    ];
    for (name, value) in correct_range {
        expect_constant(loss, given, name, value, &Range::FINITE);
    }
    let target = one_hot(given, labels, 0, None).map1(|hot| hot * (correct - other) + other);
    mse(given, &target)
}
