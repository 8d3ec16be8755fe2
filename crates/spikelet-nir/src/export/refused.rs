//! What NIR cannot say: an error for each reason.

use super::super::error::NirError;
use spikelet_nn::layer::Join;

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
        "Alif" | "YinAlif" | "EpropAlif" => "its threshold adapts; NIR's thresholds are constant",
        "AdLifCell" | "SiLifCell" | "SeAdLifCell" | "EfAdLifCell" => {
            "it has an adaptation current; NIR's neurons have none"
        }
        "Alpha" => "it has two synaptic currents; NIR's neurons have one",
        "Static" => "it reads the first time step only; NIR's nodes read every step",
        _ => return None,
    })
}

const NO_FORM: &str =
    "train the network with `nir_lif`, `lif`, `if` or `cuba_lif`, or keep it in spikelet's files";

/// A module without a form in NIR.
pub(super) fn module(path: &str, kind: &str) -> NirError {
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
pub(super) fn approximation(path: &str, kind: &str, text: &str) -> NirError {
    NirError::node(
        path,
        format!("`{kind}` has no exact form in NIR: {text}"),
        "allow it with --approximate, or `ExportOptions::approximate`",
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
        "use `AvgPool2d` with the size of the windows",
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
        "it feeds back a state of its neuron; NIR feeds back outputs",
        "remove `feeding(…)`",
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

/// A module behind a readout over time.
pub(super) fn behind_readout(path: &str, readout: &str) -> NirError {
    NirError::node(
        path,
        format!("it is behind the readout over time `{readout}`; NIR's nodes return every step"),
        "export the part of the network before the readout",
    )
}

pub(super) fn bidirectional(path: &str) -> NirError {
    NirError::node(
        path,
        "the layer also runs on the sequence in reverse; NIR's nodes run forward in time",
        "use a layer with `bidirectional(false)`",
    )
}

pub(super) fn no_reset(path: &str) -> NirError {
    NirError::node(
        path,
        "its potential is not reset (`resets` is false); NIR's neurons reset after a spike",
        "set `resets` to true",
    )
}

pub(super) fn fires_on_previous(path: &str) -> NirError {
    NirError::node(
        path,
        "it fires on the potential before the step (`fire_on` is previous); NIR's neurons fire on the charged potential",
        "set `fire_on` to charged",
    )
}

pub(super) fn above_threshold(path: &str) -> NirError {
    NirError::node(
        path,
        "its potential starts or is reset above the threshold, which resets it without a spike; NIR resets after spikes",
        "use a threshold that is at least 0 and at least v_reset",
    )
}

pub(super) fn subtracts_one(path: &str, v_threshold: f64) -> NirError {
    NirError::node(
        path,
        format!(
            "its reset subtracts 1, and its threshold is {v_threshold}; NIR's neurons subtract the threshold"
        ),
        "use a threshold of 1",
    )
}

/// A trained initial value of a state that is not the potential.
pub(super) fn other_start(path: &str, name: &str) -> NirError {
    NirError::node(
        path,
        format!("`{name}` is trained; NIR has no initial values"),
        format!("do not train `{name}`"),
    )
}

/// A graph in a network whose steps have another length than those of the export.
pub(super) fn other_dt(path: &str, dt: f64, expected: f64) -> NirError {
    NirError::node(
        path,
        format!("its graph has steps of {dt}, the export has steps of {expected}"),
        format!("set `ExportOptions::dt` to {dt}"),
    )
}

/// A cycle whose delay is at another place than that of the cycles before it.
pub(super) fn other_feedback(path: &str, given: &str, expected: &str) -> NirError {
    NirError::node(
        path,
        format!(
            "feedback of its cycles is `{given}`, that of the cycles before it is `{expected}`; a graph has one choice"
        ),
        format!("import the graph with `feedback` {expected}"),
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
        "its potential starts from a value that is neither 0, v_leak, v_reset nor half the threshold; NIR has no initial values",
        "do not train `v_start`",
    )
}

/// A residual block whose branches are not added.
pub(super) fn join(path: &str, join: Join) -> NirError {
    NirError::node(
        path,
        format!("its branches are joined by {join:?}; NIR adds the inputs of a node"),
        "join the branches with `add`",
    )
}

/// A sum in which a node occurs twice.
pub(super) fn twice(path: &str) -> NirError {
    NirError::node(
        path,
        "the output of a node is added to itself; two nodes of NIR have one edge",
        "give one of the branches a layer of its own",
    )
}

pub(super) fn by_step(path: &str, name: &str) -> NirError {
    NirError::node(
        path,
        format!("`{name}` has a value for each time step; NIR's parameters are constant"),
        "use one value for the layer, a channel or a neuron",
    )
}

/// A layer whose input has another shape.
pub(super) fn wrong_input(path: &str, shape: &[usize], expected: &str) -> NirError {
    NirError::node(
        path,
        format!("its input has the shape {shape:?}; expected {expected}"),
        "correct `ExportOptions::input`, the shape of the input without time and batch",
    )
}
