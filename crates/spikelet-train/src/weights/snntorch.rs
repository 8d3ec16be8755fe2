//! snnTorch 1.0: constants are in the state dict, whether they are trained or not.
//!
//! | neuron | there | entries |
//! |---|---|---|
//! | `RLeakyCell` | with `one_to_one` or in `Recurrent`: `RLeaky`; otherwise `Leaky`, but for a late reset to zero | `beta`, `threshold` |
//! | `RSynapticCell`, `Synaptic` | `Synaptic`; with feedback `RSynaptic` | and `alpha` |
//! | `Alpha` | `Alpha` | `alpha`, `beta`, `threshold` |
//! | `Lif` without `decay_input` | `Leaky(reset_delay=False)` | `beta` = 1 − 1/τ |
//! | `Plif` without `decay_input` | the same, β trained | `beta` = 1 − σ(w) |
//! | `If` | the same | `beta` = 1 |
//!
//! `Leaky` with a reset to zero keeps the input of the step in which it resets, as a hard reset at once does, so that
//! `reset_delay` does not change its spikes; `RLeaky`, `Synaptic` and `RSynaptic` drop it.
//!
//! All have `graded_spikes_factor` = 1 and `reset_mechanism_val`: 0 subtract, 1 zero, 2 none; `reset_delay` is not stored.
//! The weights of feedback are `recurrent.weight` and `recurrent.bias` of the neuron, whose path is that of the
//! `Recurrent`; a single weight is `V` and `recurrent.V`.
//!
//! Source: snnTorch 1.0.0, `snntorch._neurons`.

use super::entry::{MapConstant, Transform};
use super::network::{NetworkTensors, OurNeuron, join, split};
use super::rules::Rules;
use super::value::{
    Formula, NeuronRules, Relation, ValueRule, flag, integer, matrix, number, scalar,
};
use spikelet_nn::neuron::{FireOn, Neuron};

pub(super) const RULES: Rules = Rules {
    neuron,
    neuron_path,
    tensor,
    extras,
};

/// The difference where spikelet resets at once and subtracts.
const SUBTRACTS_AT_ONCE: &str = "construct it with reset_delay=False; the two differ where a potential is still above the \
                                 threshold after the reset";

const AT_ONCE: &str = "construct it with reset_delay=False";

fn neuron(neuron: &dyn Neuron) -> Option<NeuronRules> {
    let common = neuron.common();
    let resets_to_zero = common.resets && common.v_reset.is_some();
    let keeps_input = flag(neuron, "keeps_input");
    match neuron.declaration().name {
        "rleaky_cell" => {
            let one_to_one = flag(neuron, "one_to_one");
            let resets_late = resets_to_zero && flag(neuron, "reset_delay");
            if resets_late && keeps_input && one_to_one {
                return None;
            }
            Some(NeuronRules {
                needs_feedback: resets_late && !keeps_input && !one_to_one,
                ..leaky(NeuronRules::new("Leaky"), neuron)?
            })
        }
        // The reset of `Synaptic` drops the input.
        "rsynaptic_cell" if resets_to_zero && keeps_input => None,
        "rsynaptic_cell" => leaky(
            NeuronRules::new("Synaptic").same(neuron, &["alpha"])?,
            neuron,
        ),
        "synaptic" => {
            // A reset to zero is another one in `Leaky`.
            let is_leaky = number(neuron, "alpha") == Some(0.0)
                && common.v_reset.is_none()
                && !common.trainable.contains_key("alpha");
            let rules = match is_leaky {
                true => NeuronRules::new("Leaky"),
                false => NeuronRules::new("Synaptic").same(neuron, &["alpha"])?,
            };
            shared(rules.same(neuron, &["beta"])?, neuron)
        }
        "alpha" => shared(
            NeuronRules::new("Alpha").same(neuron, &["alpha", "beta"])?,
            neuron,
        ),
        "lif" if !flag(neuron, "decay_input") => {
            let rules = NeuronRules::new("Leaky");
            resets_at_once(
                rules.stored(neuron, "tau", "beta", Formula::TauOfBeta)?,
                neuron,
            )
        }
        "plif" if !flag(neuron, "decay_input") => {
            let mut rules = NeuronRules::new("Leaky");
            rules.values.push(ValueRule {
                ours: "w",
                theirs: "beta",
                constant: Some(-(number(neuron, "init_tau")? - 1.0).ln()),
                stored: true,
                relation: Relation {
                    formula: Formula::WOfBeta,
                    ..Relation::SAME
                },
            });
            resets_at_once(rules, neuron)
        }
        "if" => resets_at_once(NeuronRules::new("Leaky").fixed("beta", scalar(1.0)), neuron),
        _ => None,
    }
}

/// The rest of a neuron with the resets of snnTorch.
fn leaky(rules: NeuronRules, neuron: &dyn Neuron) -> Option<NeuronRules> {
    let mut rules = rules.same(neuron, &["beta"])?;
    if flag(neuron, "one_to_one") {
        for theirs in ["V", "recurrent.V"] {
            rules = rules.stored(neuron, "feedback", theirs, Formula::Same)?;
        }
    }
    if !flag(neuron, "reset_delay") {
        rules = rules.note(AT_ONCE);
    }
    shared(rules, neuron)
}

/// The rest of a neuron that resets in the step of its spike.
fn resets_at_once(rules: NeuronRules, neuron: &dyn Neuron) -> Option<NeuronRules> {
    let rules = match neuron.common().v_reset {
        Some(_) => rules,
        None => rules.note(SUBTRACTS_AT_ONCE),
    };
    shared(rules, neuron)
}

/// Threshold, reset and factor of the spikes.
fn shared(rules: NeuronRules, neuron: &dyn Neuron) -> Option<NeuronRules> {
    let common = neuron.common();
    if common.fire_on != FireOn::Charged || !common.fires {
        return None;
    }
    let reset = match (common.resets, common.v_reset) {
        (false, _) => 2,
        (true, None) => 0,
        (true, Some(0.0)) => 1,
        // snnTorch resets to 0 only.
        (true, Some(_)) => return None,
    };
    let rules = rules.stored(neuron, "v_threshold", "threshold", Formula::Same)?;
    let rules = rules.fixed("graded_spikes_factor", scalar(1.0));
    Some(rules.fixed("reset_mechanism_val", integer(reset)))
}

/// The path of the `Recurrent` around a neuron is that of snnTorch's neuron.
fn neuron_path(network: &NetworkTensors, path: &str) -> String {
    match split(path) {
        (parent, "neuron") if network.kind(parent) == "Recurrent" => parent.to_string(),
        _ => path.to_string(),
    }
}

fn tensor(network: &NetworkTensors, name: &str) -> Option<(String, Transform)> {
    let (path, last) = split(name);
    let (parent, part) = split(path);
    let theirs = match (network.kind(parent), part) {
        ("Recurrent", "feedback") => join(parent, &format!("recurrent.{last}")),
        ("NeuronLayer" | "Rnn", "feedback") => join(parent, &format!("neuron.recurrent.{last}")),
        _ => name.to_string(),
    };
    Some((theirs, Transform::Same))
}

/// The bias of the feedback, which snnTorch always has.
fn extras(network: &NetworkTensors, neuron: &OurNeuron, path: &str) -> Vec<MapConstant> {
    let (parent, _) = split(&neuron.path);
    let has = |name: &str| network.tensor(&join(parent, name));
    let Some(weight) = has("feedback.weight").filter(|_| has("feedback.bias").is_none()) else {
        return vec![];
    };
    let features = weight.shape.first().copied().unwrap_or(0);
    vec![MapConstant {
        theirs: join(path, "recurrent.bias"),
        value: matrix(&[features], &vec![0.0; features]),
        stored: true,
        compared: true,
    }]
}
