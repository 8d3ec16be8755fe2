//! The errors of training steps.

use spikelet_core::OtherError;
use spikelet_graph::TensorType;
use std::fmt::Display;

/// An invalid definition or use of a [`Step`](super::Step).
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StepError {
    /// An input that was not declared.
    #[error("step: there is no input `{name}`\n  help: declared inputs: {}", list(.known))]
    UnknownInput {
        /// The given name.
        name: String,
        /// The declared inputs.
        known: Vec<String>,
    },
    /// Inputs without values.
    #[error(
        "step: no values for {}\n  help: give values for each input at each run; inputs that keep their values are \
         declared with `shared_input`",
        list(.names)
    )]
    MissingInputs {
        /// Their names.
        names: Vec<String>,
    },
    /// An input that a batch has no tensor for.
    #[error("step: the batch has no tensor `{name}`\n  help: it has {}; give the data set's field the name of the input", list(.known))]
    NotInBatch {
        /// The input.
        name: String,
        /// The tensors of the batch.
        known: Vec<String>,
    },
    /// A tensor of a batch of another type or shape than the input.
    #[error(
        "step: the batch has `{name}` as {element} {shape:?}, the input is {expected}\n  help: declare the input with \
         the shape of a sample, and compile the step for the loader's batch size"
    )]
    BatchTensor {
        /// The input.
        name: String,
        /// The type of the batch's elements.
        element: String,
        /// The shape of the batch's tensor.
        shape: Vec<usize>,
        /// The type of the input.
        expected: TensorType,
    },
    /// A field of data that cannot be an input.
    #[error(
        "step: the field {field} cannot be an input: its size varies, or its elements are no numbers\n  help: give it one shape, \
         with `Field::pad` for shorter samples, or make numbers of it by a transform"
    )]
    Field {
        /// The field.
        field: String,
    },
    /// A loss that is not a scalar.
    #[error(
        "step: the loss is {given}, not a scalar\n  help: take its mean over the batch, `loss.mean_all()`"
    )]
    LossShape {
        /// The type of the loss.
        given: TensorType,
    },
    /// Sums of a metric that are neither a scalar nor a vector.
    #[error("metric `{name}`: its sums are {given}; expected is a scalar or a vector of f32")]
    MetricShape {
        /// The metric.
        name: String,
        /// The type of its sums.
        given: TensorType,
    },
    /// A metric named `loss`, or two metrics of one name.
    #[error(
        "metric `{name}`: a step has one {kind} of this name already\n  help: give each metric a name of its own"
    )]
    MetricName {
        /// The metric.
        name: String,
        /// `loss` or `metric`.
        kind: &'static str,
    },
    /// An invalid pattern of names.
    #[error(
        "step: the pattern `{pattern}` is invalid: {problem}\n  help: `*` stands for any characters, `?` for one, \
         `[ab]` for one of these"
    )]
    Pattern {
        /// The pattern.
        pattern: String,
        /// Its error.
        problem: String,
    },
    /// A pattern that matches no name.
    #[error("step: the pattern `{pattern}` matches {}", match .names.as_slice() {
        [] => "nothing\n  help: the network has nothing of this kind; leave the pattern out".to_string(),
        names => format!("no name\n  help: the names are {}", list(names)),
    })]
    NoMatch {
        /// The pattern.
        pattern: String,
        /// The names.
        names: Vec<String>,
    },
    /// A monitor of values that the network does not have.
    #[error("monitor {monitor}: the network has no {what}\n  help: leave this monitor out")]
    NothingMonitored {
        /// The name of the monitor.
        monitor: &'static str,
        /// What it measures.
        what: &'static str,
    },
    /// A penalty on the spikes of layers that matches no layer of neurons.
    #[error(
        "penalty {penalty}: no layer of neurons matches `{pattern}`\n  help: {}",
        match .layers.as_slice() {
            [] => "the network has none: leave the penalty out".to_string(),
            layers => format!("the layers of neurons are {}", list(layers)),
        }
    )]
    PenaltyLayers {
        /// The name of the penalty.
        penalty: &'static str,
        /// The pattern.
        pattern: String,
        /// The paths of the layers of neurons.
        layers: Vec<String>,
    },
    /// Parameters that are neither trained nor frozen.
    #[error(
        "step: no optimizer for {}\n  help: set one for all parameters with `optimizer`, for some with `group`, or \
         freeze them",
        list(.parameters)
    )]
    NoOptimizer {
        /// The parameters.
        parameters: Vec<String>,
    },
    /// A training step that trains nothing.
    #[error("step: no parameter is trained\n  help: {}", match .parameters.as_slice() {
        [] => "the network has none; give it a layer with weights".to_string(),
        frozen => format!("frozen are {}; leave some of them out of `freeze`", list(frozen)),
    })]
    NothingTrained {
        /// The parameters.
        parameters: Vec<String>,
    },
    /// A prediction without outputs.
    #[error(
        "step: it has no outputs to predict\n  help: add them to the result of the function, as in `Outputs::loss(loss).output(\"scores\", &scores)`"
    )]
    NoOutputs,
    /// Learning in a stream, without a layer that does.
    #[error(
        "step: no layer of the network learns while it runs\n  help: use a layer `plastic` with update = \"each-step\" (`learning::Plastic`)"
    )]
    NothingLearns,
    /// Averages of a step that keeps none.
    #[error("step: it keeps no averages\n  help: set their decay with `Step::ema`")]
    NoAverages,
    /// A setting outside its domain.
    #[error("step: {setting} is {given}; it must be {expected}")]
    Setting {
        /// The setting.
        setting: &'static str,
        /// The given value.
        given: f64,
        /// The allowed values.
        expected: &'static str,
    },
    /// A value that the step does not have.
    #[error("step: there is no {kind} `{name}`\n  help: there are: {}{}", list(.known), match *.kind {
        "readable gradient" => "; `Step::read_gradients` makes them readable",
        "readable activation" => "; `Step::read_activations` makes them readable",
        _ => "",
    })]
    Unknown {
        /// Gradient, activation, metric or output.
        kind: &'static str,
        /// The given name.
        name: String,
        /// The known names.
        known: Vec<String>,
    },
    /// Weights in a file that are not those of the step.
    #[error("{file}: {}\n  help: load the file that belongs to this network, or load a part of it: `TrainStep::load` with `strict` false", differences(.missing, .unknown, .types))]
    Weights {
        /// The file.
        file: String,
        /// Tensors that the file lacks.
        missing: Vec<String>,
        /// Tensors that the network does not have.
        unknown: Vec<String>,
        /// Tensors of another type or shape.
        types: Vec<TypeDifference>,
    },
    /// No tensor of a file belongs to the step.
    #[error("{file}: no tensor has a name of the network\n  help: the file has {}; the network has {}", list(.found), list(.expected))]
    NothingLoaded {
        /// The file.
        file: String,
        /// The names in the file, mapped.
        found: Vec<String>,
        /// The names of the network.
        expected: Vec<String>,
    },
    /// The state of a run that does not belong to the step.
    #[error("{file}: {problem}\n  help: give a file that `TrainStep::save_state` has written")]
    State {
        /// The file.
        file: String,
        /// The problem.
        problem: String,
    },
}

/// A tensor that has another type or shape in a file than in the network.
#[derive(Debug, Clone, PartialEq)]
pub struct TypeDifference {
    /// The tensor.
    pub name: String,
    /// Its type in the file.
    pub found: TensorType,
    /// Its type in the network.
    pub expected: TensorType,
}

/// The largest number of names in a message.
const SHOWN: usize = 12;

fn list(names: &[impl Display]) -> String {
    let shown: Vec<String> = names.iter().take(SHOWN).map(|n| format!("`{n}`")).collect();
    match (names.len(), names.len().saturating_sub(SHOWN)) {
        (0, _) => "none".to_string(),
        (_, 0) => shown.join(", "),
        (_, more) => format!("{} and {more} more", shown.join(", ")),
    }
}

fn differences(missing: &[String], unknown: &[String], types: &[TypeDifference]) -> String {
    let mut found = vec![];
    if !missing.is_empty() {
        found.push(format!("missing are {}", list(missing)));
    }
    if !unknown.is_empty() {
        found.push(format!("the network does not have {}", list(unknown)));
    }
    found.extend(types.iter().take(SHOWN).map(|d| {
        let TypeDifference {
            name,
            found,
            expected,
        } = d;
        format!("`{name}` is {found} in the file and {expected} in the network")
    }));
    found.join("; ")
}

impl OtherError for StepError {}
