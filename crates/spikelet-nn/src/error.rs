//! The errors of this crate. Each converts into [`spikelet_core::Error`], from which
//! [`Error::downcast_ref`] returns it.

use crate::domain::Domain;
use crate::learning::LearningError;
use crate::trainable::OutsideBound;
use serde_json::Value;
use spikelet_core::Error;
use spikelet_core::suggest::closest;
use spikelet_expr::CompileError;
use spikelet_graph::{DType, TensorType};
use spikelet_schema::document::{DocumentProblem, Located, Node};
use spikelet_schema::{Family, Registry, UnknownName, problem_and_help};
use std::sync::Arc;

/// An invalid definition or specification of a neuron, a surrogate, an encoder or a network.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DefinitionError {
    /// An unknown name.
    #[error(transparent)]
    UnknownName(#[from] UnknownName),
    /// A field that the declaration does not have, or a wrong value.
    #[error("{}", of_owner(.owner, .problem))]
    Field {
        /// The owner of the field, such as ``neuron `lif` ``.
        owner: String,
        /// The problem.
        problem: Box<DocumentProblem>,
    },
    /// A state whose reset value is not finite.
    #[error(
        "the state `{state}` of neuron `{neuron}` starts from {value}; it must be {}",
        Domain::FINITE
    )]
    StateStart {
        /// The neuron.
        neuron: String,
        /// The state.
        state: &'static str,
        /// Its reset value.
        value: f64,
    },
    /// An equation that uses a state or a parameter that the neuron does not declare.
    #[error("neuron `{neuron}`: {kind} `{name}` is not declared; declared: {}", .declared.join(", "))]
    Undeclared {
        /// The neuron.
        neuron: String,
        /// `state` or `parameter`.
        kind: &'static str,
        /// The name that was used.
        name: String,
        /// The declared names.
        declared: Vec<&'static str>,
    },
    /// A required primitive that the surrogate does not have.
    #[error(
        "neuron `{neuron}`: {surrogate} has no primitive; `spiking = false` and the soft reset gradient need one"
    )]
    NoPrimitive {
        /// The neuron.
        neuron: String,
        /// The surrogate in its `Debug` format.
        surrogate: String,
    },
    /// A parameter that is not used by any equation and would never be trained.
    #[error(
        "neuron `{neuron}` declares the parameter `{parameter}`, which its equations do not use"
    )]
    UnusedParameter {
        /// The neuron.
        neuron: String,
        /// The parameter.
        parameter: &'static str,
    },
    /// A trainable constant that the neuron does not have.
    #[error("neuron `{neuron}` has no constant `{constant}` that could be trainable; it has: {}", list(.known))]
    NotTrainable {
        /// The neuron.
        neuron: String,
        /// The given name.
        constant: String,
        /// The constants and initial states that can be trainable.
        known: Vec<String>,
    },
    /// A trainable constant with the name of a parameter, a state or an input.
    #[error("neuron `{neuron}` uses the name `{name}` twice; it cannot be trainable")]
    DuplicateName {
        /// The neuron.
        neuron: String,
        /// The name.
        name: String,
    },
    /// A trainable constant with a value for each time step.
    #[error(
        "the constant `{constant}` of neuron `{neuron}` cannot have a value for each time step; \
         share it by layer, channel or neuron"
    )]
    PerStepConstant {
        /// The neuron.
        neuron: String,
        /// The constant.
        constant: String,
    },
    /// A trainable constant whose initial value is outside its bound.
    #[error("`{constant}` of neuron `{neuron}` {source}")]
    Bound {
        /// The neuron.
        neuron: String,
        /// The constant.
        constant: String,
        /// Value and bound.
        source: OutsideBound,
    },
    /// Equations that cannot be compiled.
    #[error("neuron `{neuron}`: {source}")]
    Equation {
        /// The neuron.
        neuron: String,
        /// The reason.
        source: CompileError,
    },
}

impl DefinitionError {
    /// How to correct it.
    pub(crate) fn help(&self) -> String {
        match self {
            Self::UnknownName(error) => error.help(),
            Self::Field { problem, .. } => match &**problem {
                // The message has all keys.
                DocumentProblem::UnknownKey { key, known, .. } => {
                    let meant = closest(key, known.iter().map(String::as_str));
                    meant.map_or_else(
                        || "correct the definition".to_string(),
                        |name| format!("did you mean `{name}`?"),
                    )
                }
                problem => problem.help(),
            },
            _ => "correct the definition".to_string(),
        }
    }

    /// The message without the help that it may have.
    pub(crate) fn problem(&self) -> String {
        problem_and_help(&self.to_string()).0.to_string()
    }

    /// A problem of a field.
    pub(crate) fn of(owner: String, error: Located) -> Self {
        Self::Field {
            owner,
            problem: error.problem,
        }
    }

    /// The member of a family that a specification gives: a name, or an object with `name` and fields.
    pub(crate) fn reading<T: Family + ?Sized>(
        registry: &Registry<T>,
        spec: &Value,
    ) -> Result<Arc<T>, Self> {
        let family = registry.family;
        let name = spec.as_str().or_else(|| spec.get("name")?.as_str());
        let name = name.map(|name| registry.find(name).map(|_| name));
        let owner = match name.transpose()? {
            Some(name) => format!("{family} `{name}`"),
            None => family.to_string(),
        };
        let read = Node::from_json(spec).and_then(|node| registry.read(family, &node));
        read.map_err(|error| Self::of(owner, error))
    }
}

/// A problem of a field with its owner.
fn of_owner(owner: &str, problem: &DocumentProblem) -> String {
    match problem {
        DocumentProblem::WrongValue {
            key,
            given,
            expected,
        } => format!("`{key}` of {owner} is {given}; it must be {expected}"),
        DocumentProblem::UnknownKey { owner, key, known } => {
            let own = known.iter().filter(|known| *known != "name");
            let own: Vec<String> = own.cloned().collect();
            format!("{owner} has no constant `{key}`; it has: {}", list(&own))
        }
        problem => problem.to_string(),
    }
}

fn list(names: &[String]) -> String {
    match names {
        [] => "none".to_string(),
        names => names.join(", "),
    }
}

/// A layer that cannot be traced.
#[derive(Debug, thiserror::Error)]
#[error("{layer}: {problem}\n  help: {}", .problem.help())]
pub struct LayerError {
    /// The layer's kind and path, such as ``linear `fc.1` ``.
    pub layer: String,
    /// The reason.
    #[source]
    pub problem: LayerProblem,
}

/// The reason of a [`LayerError`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LayerProblem {
    /// Too few axes.
    #[error("expects a sequence with at least {expected} axes [T, N, …], the input is {given}")]
    Rank {
        /// The smallest number of axes.
        expected: usize,
        /// The input.
        given: TensorType,
    },
    /// A wrong number of spatial axes.
    #[error("expects a sequence {expected}, the input is {given}")]
    Axes {
        /// The expected axes, such as `[T, N, C, H, W]`.
        expected: &'static str,
        /// The input.
        given: TensorType,
    },
    /// Heads that do not divide the channels.
    #[error("cannot divide {channels} channels among {heads} heads")]
    Heads {
        /// The heads.
        heads: usize,
        /// The channels.
        channels: usize,
    },
    /// An axis without elements.
    #[error("the sequence {given} has {}", match .axis {
        0 => "no time steps".to_string(),
        1 => "an empty batch".to_string(),
        axis => format!("no elements in axis {axis}"),
    })]
    EmptyAxis {
        /// The axis.
        axis: usize,
        /// The input.
        given: TensorType,
    },
    /// A wrong number of features in the last axis.
    #[error("expects {expected} input features, the sequence {given} has {}", last(.given))]
    Features {
        /// The expected number.
        expected: usize,
        /// The layer's output features.
        outputs: usize,
        /// The input.
        given: TensorType,
    },
    /// A wrong number of channels in axis 2.
    #[error("expects {expected} channels, the sequence is {given}")]
    Channels {
        /// The expected number.
        expected: usize,
        /// The input.
        given: TensorType,
    },
    /// Feature axes with another number of elements.
    #[error(
        "gives the feature axes {shape:?}, the sequence is {given}, with another number of features"
    )]
    Reshape {
        /// The feature axes of the output.
        shape: Vec<usize>,
        /// The input.
        given: TensorType,
    },
    /// A layer of delays without a delay.
    #[error("has no delay; expected at least one")]
    NoDelay,
    /// Wrong sizes of the last axes.
    #[error("normalizes axes of {expected:?}, the sequence is {given}")]
    NormalizedShape {
        /// The expected sizes.
        expected: Vec<usize>,
        /// The input.
        given: TensorType,
    },
    /// Groups that do not divide the channels.
    #[error("{groups} groups of {channels} channels, the sequence is {given}")]
    Groups {
        /// The groups.
        groups: usize,
        /// The expected channels.
        channels: usize,
        /// The input.
        given: TensorType,
    },
    /// A path without neurons.
    #[error("the network has no neurons at this path")]
    NoNeurons {
        /// The paths of all layers of neurons.
        known: Vec<String>,
    },
    /// Features that are not a multiple of the votes for each class.
    #[error("{votes} votes for each class do not divide the features of {given}")]
    Votes {
        /// The votes.
        votes: usize,
        /// The input.
        given: TensorType,
    },
    /// Padding of a transposed convolution that removes all elements of an axis.
    #[error("its padding {padding:?} removes all elements of {given}")]
    Padding {
        /// The padding.
        padding: Vec<usize>,
        /// The input.
        given: TensorType,
    },
    /// A wrong number of time steps.
    #[error("has factors for {expected} time steps, the sequence is {given}")]
    TimeSteps {
        /// The expected number.
        expected: usize,
        /// The input.
        given: TensorType,
    },
    /// Two settings that exclude each other.
    #[error("`{0}` and `{1}` exclude each other")]
    Exclusive(&'static str, &'static str),
    /// No input with the lengths of the sequences.
    #[error("there is no input `{name}`, {expected}, with the lengths of the sequences")]
    NoLengths {
        /// The name of the input.
        name: &'static str,
        /// Its type.
        expected: TensorType,
    },
    /// A residual block whose two branches have different shapes.
    #[error("its main branch has the output {main}, its shortcut {shortcut}")]
    Branches {
        /// The output of the main branch.
        main: TensorType,
        /// The output of the shortcut.
        shortcut: TensorType,
    },
    /// Parallel branches whose outputs cannot be combined.
    #[error("branch 0 has the output {first}, branch {index} {other}")]
    ParallelBranches {
        /// The output of the first branch.
        first: TensorType,
        /// The branch that differs, from 0.
        index: usize,
        /// Its output.
        other: TensorType,
    },
    /// A neuron without the state `trace`.
    #[error("the neuron `{neuron}` has no state `trace`")]
    NoTrace {
        /// The neuron.
        neuron: String,
    },
    /// A layer that needs all time steps, in a network that runs step by step.
    #[error("needs all time steps at once, the network runs step by step")]
    StepByStep,
    /// A layer that needs all time steps, in a sequence that is divided into chunks.
    #[error("needs all time steps at once, the sequence is cut into chunks")]
    Chunked,
    /// Two modules with one name.
    #[error("two modules are called `{name}`; they would share their parameters")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// A connection of a recurrent block from or to a layer that it does not have.
    #[error("has no layer `{name}`; its layers: {known}")]
    UnknownLayer {
        /// The given name.
        name: String,
        /// The names of the layers.
        known: String,
    },
    /// A connection whose output does not have the shape of the current that it is added to.
    #[error(
        "the connection from `{from}` to `{to}` passes {given}, the current of `{to}` is {expected}"
    )]
    Connection {
        /// The layer whose output is passed.
        from: String,
        /// The layer that receives it.
        to: String,
        /// The current.
        expected: TensorType,
        /// The output of the connection.
        given: TensorType,
    },
    /// An invalid neuron, surrogate or encoder, or a constant of the layer outside its domain.
    #[error("{}", .0.problem())]
    Definition(#[from] DefinitionError),
    /// A learning rule that cannot be used here.
    #[error(transparent)]
    Learning(#[from] LearningError),
}

impl LayerProblem {
    /// How to correct it.
    pub fn help(&self) -> String {
        let text = match self {
            Self::Rank { .. } => "add the time axis, for example with `repeat_over_time`",
            Self::Axes { .. } => {
                "add the missing axes with `repeat_over_time` or `reshape`, or use the layer for this number of axes"
            }
            Self::Heads { .. } => "give a number of heads that divides the number of channels",
            Self::EmptyAxis { .. } => "give at least one element in each axis",
            Self::Features { outputs, given, .. } => {
                let inputs = last(given);
                return format!(
                    "use `Linear::new({inputs}, {outputs})`, or put a `Flatten` before it"
                );
            }
            Self::Channels { given, .. } => match given.shape.get(2) {
                Some(channels) => return format!("build it for {channels} channels"),
                None => "give a sequence [T, N, C, …]",
            },
            Self::Reshape { given, .. } => {
                let features: usize = given.shape.iter().skip(2).product();
                return format!("give axes whose product is {features}");
            }
            Self::NoDelay => "give the delays in steps, such as `FixedDelay::new([3])`",
            Self::NormalizedShape { given, .. } => {
                let shape = given.shape.get(2..).unwrap_or_default();
                return format!("use `LayerNorm::new({shape:?})`");
            }
            Self::Groups { .. } => {
                "give the number of channels of the sequence, and a number of groups that divides it"
            }
            Self::NoNeurons { known } if known.is_empty() => {
                "trace the network first; it must have a layer of neurons"
            }
            Self::NoNeurons { known } => {
                return format!("its layers of neurons: {}", known.join(", "));
            }
            Self::Votes { .. } => "give the layer before it classes · votes output features",
            Self::Padding { .. } => "use less padding",
            Self::TimeSteps { given, .. } => {
                let steps = given.shape.first().copied().unwrap_or_default();
                return format!("build it for {steps} time steps");
            }
            Self::Exclusive(..) => "leave one of them out",
            Self::NoLengths { name, .. } => {
                return format!("declare it: `.input(\"{name}\", DType::I64, [])` of a `Step`");
            }
            Self::Branches { .. } => {
                "give it a shortcut whose output has the same shape, such as a 1×1 convolution"
            }
            Self::ParallelBranches { .. } => {
                "give all branches the same output shape; concatenated ones may differ in axis 2"
            }
            Self::NoTrace { .. } => "use `OtttLif`, or a neuron that keeps a trace of its spikes",
            Self::StepByStep => {
                "run it layer by layer, or take the mean or the last step of its output instead"
            }
            Self::Chunked => "do not cut time: set the chunk length to that of the sequence",
            Self::DuplicateName { .. } => {
                "give each its own name; `add` takes the position, counted from 0"
            }
            Self::UnknownLayer { .. } => "add the layer with `layer`, or correct the name",
            Self::Connection { .. } => {
                "let the module of the connection have the shape of the current as its output"
            }
            Self::Definition(error) => return error.help(),
            Self::Learning(problem) => problem.help(),
        };
        text.to_string()
    }
}

fn last(ty: &TensorType) -> usize {
    ty.shape.last().copied().unwrap_or(1)
}

/// An invalid use of a program or a [`VarStore`](crate::runtime::VarStore).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// An unknown tensor.
    #[error("tensor `{name}`: there is no tensor of this name\n  help: there are: {}", list(.known))]
    UnknownTensor {
        /// The given name.
        name: String,
        /// All names.
        known: Vec<String>,
    },
    /// A tensor and a program on different devices.
    #[error(
        "tensor `{name}`: it is on {device}, the program runs on {program}\n  help: gather the tensors on one device first"
    )]
    OtherDevice {
        /// The tensor.
        name: String,
        /// Its device.
        device: String,
        /// The program's device.
        program: String,
    },
    /// A parameter of a program without values.
    #[error(
        "parameter `{name}`: the store has no values for it\n  help: call `VarStore::initialize` with the result of `Trace::traced`, or `VarStore::insert`"
    )]
    MissingParameter {
        /// The parameter.
        name: String,
    },
    /// An output that is read before the first run.
    #[error("output `{name}`: the program has not run yet\n  help: call `run` first")]
    NotRun {
        /// The output.
        name: String,
    },
    /// An input that was never set.
    #[error(
        "input `{name}`: it is {expected} and was never set\n  help: call `set` for each input before the first run"
    )]
    InputNotSet {
        /// The input.
        name: String,
        /// Its type.
        expected: TensorType,
    },
    /// An input of a wrong type or size.
    #[error(
        "input `{name}`: expects {expected}, {} elements of {}; given were {elements} elements of {dtype}\n  help: give \
         this type and number of elements, or compile the network for another shape",
        .expected.len(), .expected.dtype
    )]
    InputType {
        /// The input.
        name: String,
        /// Its type.
        expected: TensorType,
        /// The given number of elements.
        elements: usize,
        /// Their type.
        dtype: DType,
    },
    /// A label without a score of the network.
    #[error(
        "input `{name}`: the label {label} is outside the {classes} scores of the network\n  help: give the last layer \
         as many outputs as there are classes; labels count from 0"
    )]
    Label {
        /// The input.
        name: String,
        /// The label.
        label: i64,
        /// The number of scores.
        classes: usize,
    },
    /// An index outside the axis that it points into.
    #[error(
        "input `{name}`: the index {index} is outside the axis, which has {length} elements\n  help: indices count \
         from 0; give a table as many rows as there are different indices"
    )]
    Index {
        /// The input.
        name: String,
        /// The index.
        index: i64,
        /// The length of the axis.
        length: usize,
    },
}

impl RuntimeError {
    pub(crate) fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Error {
        let known = known.map(str::to_string).collect();
        let name = name.to_string();
        Self::UnknownTensor { name, known }.into()
    }
}

impl spikelet_core::OtherError for DefinitionError {}

impl spikelet_core::OtherError for LayerError {}

impl spikelet_core::OtherError for RuntimeError {}
