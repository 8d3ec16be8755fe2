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
use super::value::{Formula, NeuronRules, Relation, integer, matrix, scalar};
use spikelet_nn::neuron::{
    Alpha, Common, FireOn, If, Lif, Neuron, Plif, RLeakyCell, RSynapticCell, Synaptic,
};
use std::any::Any;

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

fn neuron(neuron: &dyn Any) -> Option<NeuronRules> {
    if let Some(cell) = neuron.downcast_ref::<RLeakyCell>() {
        let resets_to_zero =
            cell.common.resets && cell.reset_delay && cell.common.v_reset.is_some();
        let drops_input = resets_to_zero && !cell.keeps_input;
        if resets_to_zero && cell.keeps_input && cell.one_to_one {
            return None;
        }
        let needs_feedback = drops_input && !cell.one_to_one;
        let rules = leaky(NeuronRules::new("Leaky"), cell)?;
        return Some(NeuronRules {
            needs_feedback,
            ..rules
        });
    }
    if let Some(cell) = neuron.downcast_ref::<RSynapticCell>() {
        let rules = factor(
            NeuronRules::new("Synaptic"),
            "alpha",
            cell.alpha,
            cell.common(),
        );
        // The reset of `Synaptic` drops the input.
        let resets_to_zero = cell.common().resets && cell.common().v_reset.is_some();
        if resets_to_zero && cell.neuron.keeps_input {
            return None;
        }
        return leaky(rules, &cell.neuron);
    }
    if let Some(cell) = neuron.downcast_ref::<Synaptic>() {
        // A reset to zero is another one in `Leaky`.
        let is_leaky = cell.alpha == 0.0
            && cell.common.v_reset.is_none()
            && !is_trained(&cell.common, "alpha");
        let class = if is_leaky { "Leaky" } else { "Synaptic" };
        let rules = NeuronRules::new(class);
        let rules = match class {
            "Leaky" => rules,
            _ => factor(rules, "alpha", cell.alpha, &cell.common),
        };
        let rules = factor(rules, "beta", cell.beta, &cell.common);
        return shared(rules, &cell.common);
    }
    if let Some(cell) = neuron.downcast_ref::<Alpha>() {
        let rules = factor(NeuronRules::new("Alpha"), "alpha", cell.alpha, &cell.common);
        return shared(factor(rules, "beta", cell.beta, &cell.common), &cell.common);
    }
    if let Some(lif) = neuron.downcast_ref::<Lif>().filter(|lif| !lif.decay_input) {
        let beta = Relation::new(Formula::TauOfBeta, &lif.common, "tau");
        let rules = NeuronRules::new("Leaky").stored("tau", "beta", lif.tau, beta);
        return resets_at_once(rules, &lif.common);
    }
    if let Some(plif) = neuron
        .downcast_ref::<Plif>()
        .filter(|plif| !plif.decay_input)
    {
        let beta = Relation {
            formula: Formula::WOfBeta,
            ..Relation::SAME
        };
        let rules =
            NeuronRules::new("Leaky").stored("w", "beta", -(plif.init_tau - 1.0).ln(), beta);
        return resets_at_once(rules, &plif.common);
    }
    let own = neuron.downcast_ref::<If>()?;
    resets_at_once(
        NeuronRules::new("Leaky").fixed("beta", scalar(1.0)),
        own.common(),
    )
}

fn is_trained(common: &Common, name: &str) -> bool {
    common.trainable.contains_key(name)
}

/// A decay factor, of the same name in both.
fn factor(rules: NeuronRules, name: &'static str, value: f64, common: &Common) -> NeuronRules {
    rules.stored(
        name,
        name,
        value,
        Relation::new(Formula::Same, common, name),
    )
}

/// The rest of a neuron with the resets of snnTorch.
fn leaky(rules: NeuronRules, cell: &RLeakyCell) -> Option<NeuronRules> {
    let common = &cell.common;
    let mut rules = factor(rules, "beta", cell.beta, common);
    if cell.one_to_one {
        let same = || Relation::new(Formula::Same, common, "feedback");
        rules = rules.stored("feedback", "V", cell.feedback, same());
        rules = rules.stored("feedback", "recurrent.V", cell.feedback, same());
    }
    if !cell.reset_delay {
        rules = rules.note(AT_ONCE);
    }
    shared(rules, common)
}

/// The rest of a neuron that resets in the step of its spike.
fn resets_at_once(rules: NeuronRules, common: &Common) -> Option<NeuronRules> {
    let rules = match common.v_reset {
        Some(_) => rules,
        None => rules.note(SUBTRACTS_AT_ONCE),
    };
    shared(rules, common)
}

/// Threshold, reset and factor of the spikes.
fn shared(rules: NeuronRules, common: &Common) -> Option<NeuronRules> {
    if common.fire_on != FireOn::Charged {
        return None;
    }
    let reset = match (common.resets, common.v_reset) {
        (false, _) => 2,
        (true, None) => 0,
        (true, Some(0.0)) => 1,
        // snnTorch resets to 0 only.
        (true, Some(_)) => return None,
    };
    let same = Relation::new(Formula::Same, common, "v_threshold");
    let rules = rules.stored("v_threshold", "threshold", common.v_threshold, same);
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
