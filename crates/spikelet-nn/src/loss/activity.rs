//! Penalties on the activity of hidden layers.
//!
//! The spikes of a layer are found by its path in the network ([`spikes_of`]). Penalties are added to the loss:
//! `loss + penalty * 1e-3`.
//!
//! Sources: lower and upper bounds of firing rates: F. Zenke, T. P. Vogels, *The remarkable robustness of surrogate
//! gradient learning*, Neural Computation 2021; synaptic operations: M. Sorbaro et al., *Optimizing the energy
//! consumption of spiking neural networks for neuromorphic applications*, Frontiers in Neuroscience 2020; spike counts:
//! J. E. Pedersen et al., *Neuromorphic intermediate representation*, Nature Communications 2024 (`reg_l1` and `reg_l2`
//! of the Braille letters).

use super::target::{Range, expect_constant, expect_sequence};
use crate::module::Context;
use crate::{LayerError, LayerProblem};
use spikelet_core::Result;
use spikelet_graph::Var;

/// The name of the recorded output of a neuron layer.
const SPIKES: &str = "spike_seq";

/// The output `[T, N, …]` of the neurons at the path `layer` of a traced network, such as `conv.2`.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let net = Sequential::new().add(Linear::new(4, 8)).add(Lif::new(2.0)).add(Linear::new(8, 2));
/// let cx = Context::new(Mode::TRAIN, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [10, 32, 4]);
/// let output_seq = cx.trace(&net, x)?;
/// let spikes = loss::spikes_of(&cx, "1")?;
/// // At most one spike in ten steps, and few operations of the second linear layer.
/// let penalty = loss::rate_bounds(&spikes, 0.0, 0.1) + loss::synaptic_operations(&spikes, 2.0) * 1e-4;
/// # let _ = (output_seq, penalty);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
///
/// # Errors
/// When the network has no neurons at this path. The error names all layers of neurons.
pub fn spikes_of(cx: &Context, layer: &str) -> Result<Var> {
    let path = format!("{layer}.{SPIKES}");
    // The network itself can be a neuron.
    let wanted = if layer.is_empty() { SPIKES } else { &path };
    if let Ok(spikes) = cx.recorded(wanted) {
        return Ok(spikes);
    }
    let recorded = cx.recorded_paths();
    let layers = recorded.iter().filter_map(|name| {
        let layer = name.strip_suffix(SPIKES)?;
        Some(layer.strip_suffix('.').unwrap_or(layer).to_string())
    });
    let known = layers.collect();
    Err(LayerError {
        layer: layer.to_string(),
        problem: LayerProblem::NoNeurons { known },
    }
    .into())
}

/// (mean firing rate − `target`)², of a spike sequence `[T, N, …]`; `target` in spikes a step.
pub fn rate_target(spike_seq: &Var, target: f64) -> Var {
    let penalty = "firing-rate penalty";
    expect_sequence(penalty, spike_seq);
    expect_constant(penalty, spike_seq, "the target", target, &Range::FINITE);
    spike_seq.mean_all().map1(|rate| {
        let difference = rate - target;
        &difference * &difference
    })
}

/// The mean over neurons of max(0, `low` − rate)² + max(0, rate − `high`)², of a spike sequence `[T, N, …]`; the rate
/// of a neuron is its mean over time and samples, in spikes a step.
pub fn rate_bounds(spike_seq: &Var, low: f64, high: f64) -> Var {
    let penalty = "firing-rate penalty";
    expect_sequence(penalty, spike_seq);
    for (name, value) in [("the lower bound", low), ("the upper bound", high)] {
        expect_constant(penalty, spike_seq, name, value, &Range::FINITE);
    }
    let rates = spike_seq.mean(&[0, 1]);
    let outside = rates.map1(|rate| {
        let (below, above) = ((low - rate).max(0.0), (rate - high).max(0.0));
        &below * &below + &above * &above
    });
    outside.mean_all()
}

/// The sum over neurons of max(0, `low` − rate) + max(0, rate − `high`), of a spike sequence `[T, N, …]`: the
/// regularization of sparch, where `spike_seq` is the output after dropout.
pub fn rate_limits(spike_seq: &Var, low: f64, high: f64) -> Var {
    let penalty = "firing-rate penalty";
    expect_sequence(penalty, spike_seq);
    for (name, value) in [("the lower limit", low), ("the upper limit", high)] {
        expect_constant(penalty, spike_seq, name, value, &Range::FINITE);
    }
    let rates = spike_seq.mean(&[0, 1]);
    let outside = rates.map1(|rate| (low - rate).max(0.0) + (rate - high).max(0.0));
    outside.sum_all()
}

/// The number of spikes of a neuron over all time steps, mean over neurons and samples, of a spike sequence `[T, N, …]`.
pub fn spike_count(spike_seq: &Var) -> Var {
    expect_sequence("spike count", spike_seq);
    spike_seq.sum(&[0]).mean_all()
}

/// The square of the number of spikes of all neurons over all time steps, mean over the samples, of a spike sequence
/// `[T, N, …]`.
pub fn spike_count_squared(spike_seq: &Var) -> Var {
    expect_sequence("spike count", spike_seq);
    let axes: Vec<usize> = (0..spike_seq.rank()).filter(|axis| *axis != 1).collect();
    spike_seq.sum(&axes).square().mean_all()
}

/// Synaptic operations of a spike sequence `[T, N, …]`: spikes × `fan_out`, over all time steps, mean over the
/// samples. The fan-out is the number of synapses behind each neuron: for a linear layer its outputs, for a
/// convolution outputs · kernel / stride² / groups, except at the border.
pub fn synaptic_operations(spike_seq: &Var, fan_out: f64) -> Var {
    let penalty = "synaptic operations";
    expect_sequence(penalty, spike_seq);
    expect_constant(
        penalty,
        spike_seq,
        "the fan-out",
        fan_out,
        &Range::NOT_NEGATIVE,
    );
    let samples = spike_seq.shape().get(1).copied().unwrap_or(1).max(1);
    spike_seq.sum_all() * (fan_out / samples as f64)
}
