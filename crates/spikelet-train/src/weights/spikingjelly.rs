//! SpikingJelly 2.0: only trained constants are in the state dict.
//!
//! | neuron | there | entries |
//! |---|---|---|
//! | `If`, `Lif`, … | `IFNode`, `LIFNode`, … | none |
//! | `Plif`; `Lif` with trained τ | `ParametricLIFNode` | `w`: 1/τ = σ(w), τ = 1 + e^(−w) |
//! | `Klif` | `KLIFNode` | `k` |
//! | `GatedLif` | `GatedLIFNode` | `alpha`, `beta`, `gamma`, `tau`, `v_threshold`, `linear_decay`, `v_subreset`, `conduct` |
//! | `Psn`, `SlidingPsn` | `PSN`, `SlidingPSN` | `weight`, `bias` |
//! | `MaskedPsn` | `MaskedPSN` | the same, `_lambda_`, and the masks |
//! | `Recurrent` | `LinearRecurrentContainer` | `rc.weight` = [I, W], `rc.bias`; the neuron is `sub_module` |
//!
//! Source: SpikingJelly 2.0.0, `activation_based.neuron` and `activation_based.layer`.

use super::entry::{MapConstant, Transform};
use super::network::{NetworkTensors, OurNeuron, join, split};
use super::rules::Rules;
use super::value::{Formula, NeuronRules, matrix, number, scalar};
use spikelet_nn::neuron::Neuron;

pub(super) const RULES: Rules = Rules {
    neuron,
    neuron_path,
    tensor,
    extras,
};

/// The parameters of `GatedLIFNode`.
const GATED: [&str; 8] = [
    "alpha",
    "beta",
    "gamma",
    "tau",
    "linear_decay",
    "v_subreset",
    "conduct",
    "v_threshold",
];

fn neuron(neuron: &dyn Neuron) -> Option<NeuronRules> {
    let class = NeuronRules::new;
    let common = neuron.common();
    let rules = match neuron.declaration().name {
        "if" if !common.fires => class("NonSpikingIFNode"),
        "lif" if !common.fires => class("NonSpikingLIFNode"),
        _ if !common.fires => return None,
        "lif" if !common.time_grad => class("SLTTLIFNode"),
        "lif" => return class("LIFNode").trained(neuron, "tau", "w", Formula::TauOfW),
        "masked_psn" => {
            let rules = class("MaskedPSN").parameters(&["weight", "bias"]);
            NeuronRules {
                window: Some(number(neuron, "k")? as usize),
                ..rules.fixed("_lambda_", scalar(number(neuron, "lambda")?))
            }
        }
        "plif" => class("ParametricLIFNode").parameter("w"),
        "klif" => class("KLIFNode").parameter("k"),
        "gated_lif" => class("GatedLIFNode").parameters(&GATED),
        "psn" => class("PSN").parameters(&["weight", "bias"]),
        "sliding_psn" => class("SlidingPSN").parameters(&["weight", "bias"]),
        "if" => class("IFNode"),
        "qif" => class("QIFNode"),
        "eif" => class("EIFNode"),
        "izhikevich" => class("IzhikevichNode"),
        "liaf" => class("LIAFNode"),
        "cuba_lif" => class("CUBALIFNode"),
        "ilif" => class("ILIFNode"),
        "clif" => class("CLIFNode"),
        "ottt_lif" => class("OTTTLIFNode"),
        _ => return None,
    };
    Some(rules)
}

fn neuron_path(network: &NetworkTensors, path: &str) -> String {
    match split(path) {
        (parent, "neuron") if network.kind(parent) == "Recurrent" => join(parent, "sub_module"),
        _ => path.to_string(),
    }
}

fn tensor(network: &NetworkTensors, name: &str) -> Option<(String, Transform)> {
    let (path, last) = split(name);
    let (parent, part) = split(path);
    match (network.kind(parent), part, last) {
        ("Recurrent", "feedback", "weight") => {
            Some((join(parent, "rc.weight"), Transform::BesideIdentity))
        }
        ("Recurrent", "feedback", "bias") => Some((join(parent, "rc.bias"), Transform::Same)),
        ("Recurrent" | "Rnn" | "NeuronLayer", _, _) => None,
        _ => Some((name.to_string(), Transform::Same)),
    }
}

/// The masks of `MaskedPSN`: the band of the last `k` steps, and ones.
fn extras(network: &NetworkTensors, neuron: &OurNeuron, path: &str) -> Vec<MapConstant> {
    let window = neuron.rules.as_ref().and_then(|rules| rules.window);
    let weight = network.tensor(&join(&neuron.path, "weight"));
    let (Some(window), Some(weight)) = (window, weight) else {
        return vec![];
    };
    let steps = weight.shape.first().copied().unwrap_or(0);
    let is_inside = |row: usize, column: usize| column <= row && row - column < window;
    let band: Vec<f32> = (0..steps * steps)
        .map(|k| {
            if is_inside(k / steps, k % steps) {
                1.0
            } else {
                0.0
            }
        })
        .collect();
    let masks = [("mask0", band), ("mask1", vec![1.0; steps * steps])];
    masks
        .map(|(name, values)| MapConstant {
            theirs: join(path, name),
            value: matrix(&weight.shape, &values),
            stored: true,
            compared: false,
        })
        .to_vec()
}
