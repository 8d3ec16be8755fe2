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
use super::value::{Formula, NeuronRules, Relation, matrix, scalar};
use spikelet_nn::neuron::{
    Clif, CubaLif, Eif, GatedLif, If, Ilif, Izhikevich, Klif, Liaf, Lif, MaskedPsn, Neuron,
    NonSpikingIf, NonSpikingLif, OtttLif, Plif, Psn, Qif, SlidingPsn, SlttLif,
};
use std::any::Any;

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

fn neuron(neuron: &dyn Any) -> Option<NeuronRules> {
    if let Some(lif) = neuron.downcast_ref::<Lif>() {
        let relation = Relation::new(Formula::TauOfW, lif.common(), "tau");
        return Some(NeuronRules::new("LIFNode").trained("tau", "w", lif.tau, relation));
    }
    if let Some(masked) = neuron.downcast_ref::<MaskedPsn>() {
        let rules = NeuronRules::new("MaskedPSN").parameters(&["weight", "bias"]);
        let rules = rules.fixed("_lambda_", scalar(masked.lambda));
        return Some(NeuronRules {
            window: Some(masked.k),
            ..rules
        });
    }
    // Types with the same parameters in both, or without any.
    let classes: [(bool, NeuronRules); 17] = [
        (neuron.is::<If>(), NeuronRules::new("IFNode")),
        (
            neuron.is::<Plif>(),
            NeuronRules::new("ParametricLIFNode").parameter("w"),
        ),
        (neuron.is::<Qif>(), NeuronRules::new("QIFNode")),
        (neuron.is::<Eif>(), NeuronRules::new("EIFNode")),
        (
            neuron.is::<Izhikevich>(),
            NeuronRules::new("IzhikevichNode"),
        ),
        (
            neuron.is::<Klif>(),
            NeuronRules::new("KLIFNode").parameter("k"),
        ),
        (neuron.is::<Liaf>(), NeuronRules::new("LIAFNode")),
        (neuron.is::<CubaLif>(), NeuronRules::new("CUBALIFNode")),
        (
            neuron.is::<GatedLif>(),
            NeuronRules::new("GatedLIFNode").parameters(&GATED),
        ),
        (neuron.is::<Ilif>(), NeuronRules::new("ILIFNode")),
        (neuron.is::<Clif>(), NeuronRules::new("CLIFNode")),
        (
            neuron.is::<Psn>(),
            NeuronRules::new("PSN").parameters(&["weight", "bias"]),
        ),
        (
            neuron.is::<SlidingPsn>(),
            NeuronRules::new("SlidingPSN").parameters(&["weight", "bias"]),
        ),
        (neuron.is::<SlttLif>(), NeuronRules::new("SLTTLIFNode")),
        (neuron.is::<OtttLif>(), NeuronRules::new("OTTTLIFNode")),
        (
            neuron.is::<NonSpikingIf>(),
            NeuronRules::new("NonSpikingIFNode"),
        ),
        (
            neuron.is::<NonSpikingLif>(),
            NeuronRules::new("NonSpikingLIFNode"),
        ),
    ];
    classes
        .into_iter()
        .find_map(|(is, rules)| is.then_some(rules))
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
