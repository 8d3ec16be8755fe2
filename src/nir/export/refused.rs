//! What NIR cannot say: an error for each reason.

use super::super::error::NirError;
use spikelet_nn::module::Tree;

/// The reason why a neuron has no form in NIR, by the name of its type.
fn reason(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "Qif" | "Eif" | "Adex" | "Izhikevich" => {
            "its potential follows a nonlinear equation; NIR's neurons are linear between spikes"
        }
        "Klif" => "its potential is rectified and scaled; NIR's neurons are linear between spikes",
        "GatedLif" => {
            "its gates mix two ways of leaking, charging and resetting; NIR's neurons have one"
        }
        "Liaf" => "its output is a real number; NIR's neurons emit spikes",
        "Ilif" => "it emits several spikes in a step; NIR's neurons emit one",
        "TernaryIf" | "TernaryLif" => "it emits negative spikes; NIR's neurons emit 0 or 1",
        "Clif" => "its reset depends on a complementary potential; NIR resets to a constant",
        "Raf" | "Brf" | "CSiLifCell" => "its potential oscillates; NIR's neurons do not",
        "Psn" | "MaskedPsn" | "SlidingPsn" => {
            "it is a product over the time axis; NIR's neurons are differential equations"
        }
        "Alif" | "YinAlif" => "its threshold adapts; NIR's thresholds are constant",
        "AdLifCell" | "SiLifCell" | "SeAdLifCell" | "EfAdLifCell" => {
            "it has an adaptation current; NIR's neurons have none"
        }
        "Alpha" => "it has two synaptic currents; NIR's neurons have one",
        "Synaptic" | "SparchLif" | "RLeakyCell" | "RSynapticCell" => {
            "its reset comes one step after the spike; NIR resets at once"
        }
        _ => return None,
    })
}

const NO_FORM: &str =
    "train the network with `nir_lif`, `lif`, `if` or `cuba_lif`, or keep it in spikelet's files";

/// A module without a form in NIR.
pub(super) fn module(path: &str, tree: &Tree) -> NirError {
    let kind = tree.kind();
    match reason(kind) {
        Some(reason) => NirError::node(
            path,
            format!("`{kind}` has no form in NIR: {reason}"),
            NO_FORM,
        ),
        None => NirError::node(
            path,
            format!("`{kind}` has no form in NIR"),
            "export the part of the network that consists of linear layers, convolutions, average pooling, \
             fixed delays and neurons",
        ),
    }
}

/// A neuron with an approximation that was not asked for.
pub(super) fn approximation(path: &str, tree: &Tree, text: &str) -> NirError {
    NirError::node(
        path,
        format!("`{}` has no exact form in NIR: {text}", tree.kind()),
        "set `ExportOptions::approximate`",
    )
}

pub(super) fn max_pooling(path: &str) -> NirError {
    NirError::node(
        path,
        "maximum pooling has no form in NIR: it has sums and means of windows",
        "train the network with average pooling",
    )
}

pub(super) fn adaptive_pooling(path: &str) -> NirError {
    NirError::node(
        path,
        "adaptive pooling has windows of different sizes; NIR's windows have one size",
        "use `Pool2d::average` with the size of the windows",
    )
}

pub(super) fn pooling(path: &str) -> NirError {
    NirError::node(
        path,
        "the means leave padding out, or the last window extends beyond the end; in NIR padding counts, and incomplete windows are dropped",
        "use `count_padding(true)` and `ceil(false)`",
    )
}

pub(super) fn reshape(path: &str, from: &[usize], to: &[usize]) -> NirError {
    NirError::node(
        path,
        format!("it changes {from:?} to {to:?}; NIR joins axes and does not divide them"),
        "give the network an input of this shape",
    )
}

pub(super) fn recurrent(path: &str) -> NirError {
    NirError::node(
        path,
        "it returns the last step only, or feeds back a state of its neuron; NIR feeds back outputs and returns all steps",
        "remove `last()` and `feeding(…)`",
    )
}

pub(super) fn temporal_batch_norm(path: &str) -> NirError {
    NirError::node(
        path,
        "the batch normalization has a factor for each time step; NIR's parameters are constant",
        "use `BatchNorm1d::new` or `BatchNorm2d::new`",
    )
}

pub(super) fn batch_norm(path: &str) -> NirError {
    NirError::node(
        path,
        "the batch normalization is not behind a linear layer or a convolution, of which it could become part",
        "put it directly behind the weights",
    )
}

pub(super) fn not_spikes(path: &str) -> NirError {
    NirError::node(
        path,
        "its output is not 0 or 1: `spiking` is false, or the surrogate counts spikes; NIR's neurons emit 0 or 1",
        "use a binary surrogate, and `spiking(true)`",
    )
}

pub(super) fn no_decay(path: &str, name: &str, decay: f64) -> NirError {
    NirError::node(
        path,
        format!("`{name}` is {decay}: without a decay the time constant is infinite"),
        "use a decay factor below 1, or an integrator such as `if`",
    )
}

pub(super) fn readout(path: &str) -> NirError {
    NirError::node(
        path,
        "it has a readout over time; NIR's neurons return every step",
        "remove the readout, and reduce the exported sequence outside of the graph",
    )
}

pub(super) fn random_start(path: &str) -> NirError {
    NirError::node(
        path,
        "its potential starts from random values; NIR has no initial values",
        "set `random_start` to false",
    )
}

pub(super) fn start(path: &str) -> NirError {
    NirError::node(
        path,
        "its potential starts from a value that is neither 0, v_leak nor v_reset; NIR has no initial values",
        "do not train `v_start`",
    )
}

pub(super) fn by_step(path: &str, name: &str) -> NirError {
    NirError::node(
        path,
        format!("`{name}` has a value for each time step; NIR's parameters are constant"),
        "use one value for the layer, a channel or a neuron",
    )
}
