//! Targets for the times of spikes.
//!
//! The distance of van Rossum filters both spike trains with an exponential, f\[t\] = e^(−1/τ)·f\[t−1\] + s\[t\], and
//! sums the squares of the difference: Σ_t (f\[t\] − g\[t\])² / τ. One more spike costs about ½.
//!
//! The time of the first spike is the number of steps before it, t = Σ_t Π_{u≤t} (1 − s\[u\]); without a spike it is T.
//! It is differentiable in s: an earlier spike, or the first one, shortens it.
//!
//! Sources: M. C. W. van Rossum, *A novel spike distance*, Neural Computation 2001; S. B. Shrestha, G. Orchard,
//! *SLAYER*, NeurIPS 2018, and Lava's `SpikeTime`; cross entropy of first-spike times: I. M. Comșa et al., *Temporal
//! coding in spiking neural networks with alpha synaptic function*, ICASSP 2020.

use super::target::{Range, expect_constant, expect_same_shape, expect_sequence, one_hot};
use super::{cross_entropy, mse};
use spikelet_expr::Expr;
use spikelet_graph::Var;
use spikelet_graph::op::Recurrence;
use std::sync::Arc;

/// The van Rossum distance of two spike sequences `[T, N, …]`, mean over samples and neurons; `tau` in steps, > 0.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let tracer = Tracer::new(DType::F32);
/// let [spikes, target] = ["spikes", "target"].map(|n| tracer.input(n, DType::F32, [50, 32, 10]));
/// assert!(loss::van_rossum(&spikes, &target, 5.0).shape().is_empty());
/// ```
#[doc(alias = "SpikeTime")]
pub fn van_rossum(spike_seq: &Var, target_seq: &Var, tau: f64) -> Var {
    let loss = "van Rossum distance";
    expect_sequence(loss, spike_seq);
    expect_same_shape(loss, spike_seq, target_seq);
    expect_constant(loss, spike_seq, "tau", tau, &Range::POSITIVE);
    let difference = float(spike_seq) - float(target_seq);
    // The filter is linear: that of the difference is the difference of the filtered trains.
    let next = Expr::symbol("f") * (-1.0 / tau).exp() + Expr::symbol("d");
    let filtered = over_time("exponential_filter", &difference, ("d", "f", 0.0), next);
    let count = (filtered.ty().len() / filtered.dim(0).max(1)).max(1);
    filtered.square().sum_all() / (count as f64 * tau)
}

/// The time of the first spike of each neuron of a spike sequence `[T, N, …]`, `[N, …]` in steps from 0; T without a
/// spike.
#[doc(alias = "latency")]
pub fn first_spike_time(spike_seq: &Var) -> Var {
    expect_sequence("first-spike time", spike_seq);
    let next = Expr::symbol("silent") * (1.0 - Expr::symbol("s"));
    let silent = over_time("first_spike", &float(spike_seq), ("s", "silent", 1.0), next);
    silent.sum(&[0])
}

/// Cross entropy with the negated times of the first spikes as scores: the label's neuron has to fire first. Spikes
/// `[T, N, classes]`, labels i64 `[N]`.
#[doc(alias = "ce_temporal_loss")]
pub fn first_spike_cross_entropy(spike_seq: &Var, labels: &Var) -> Var {
    cross_entropy(&-first_spike_time(spike_seq), labels)
}

/// Mean squared error of the times of the first spikes, as fractions of T: the target is `correct` steps for the
/// label's class and `other` for the others. Spikes `[T, N, classes]`, labels i64 `[N]`.
#[doc(alias = "mse_temporal_loss")]
pub fn first_spike_mse(spike_seq: &Var, labels: &Var, correct: f64, other: f64) -> Var {
    let loss = "first-spike loss";
    for (name, value) in [
        ("the target of the label", correct),
        ("the other target", other),
    ] {
        expect_constant(loss, spike_seq, name, value, &Range::FINITE);
    }
    let time = first_spike_time(spike_seq);
    let steps = spike_seq.shape().first().copied().unwrap_or(1).max(1) as f64;
    let target = one_hot(&time, labels, 0, None).map1(|hot| hot * (correct - other) + other);
    mse(&(time / steps), &(target / steps))
}

/// Spikes in the type of the loss.
fn float(spike_seq: &Var) -> Var {
    spike_seq.cast(spike_seq.tracer().float())
}

/// The state of a recurrence after every step, `[T, …]`: `next` is an expression of the symbols of the sequence and
/// the state, which starts at a constant.
fn over_time(name: &str, sequence: &Var, symbols: (&str, &str, f64), next: Expr) -> Var {
    let (input, state, start) = symbols;
    let recurrence = Recurrence::new(name, [input], [state])
        .output("y", next.clone(), false)
        .next(vec![next]);
    let start = sequence.tracer().fill(sequence.ty().dtype, [], start);
    let made = Var::scan(
        &Arc::new(recurrence),
        sequence.shape().first().copied().unwrap_or(0),
        &[sequence],
        &[&start],
        &[],
    );
    made.into_iter().next().unwrap_or_else(|| sequence.clone())
}
