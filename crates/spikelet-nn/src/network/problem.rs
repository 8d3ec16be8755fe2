//! The errors of networks that are lists of layers.

use super::limits::{MAX_DEPTH, MAX_ELEMENTS, MAX_LAYERS, MAX_WEIGHTS};
use crate::DefinitionError;
use spikelet_core::document::{Located, Span};

/// A problem of a network that is a list of layers.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkProblem {
    /// An unknown layer.
    #[error("`{name}` is not a layer")]
    UnknownLayer {
        /// The given name.
        name: String,
        /// The name that may be meant, or all names.
        help: String,
    },
    /// A table without the name of a layer.
    #[error("this table has no key with the name of a layer")]
    NoKind {
        /// All names.
        help: String,
    },
    /// A value that is neither a string nor a table.
    #[error("a layer is a string, such as \"flatten\", or a table, such as {{ linear = 10 }}")]
    NotALayer,
    /// A table with the names of two layers.
    #[error("this layer is both `{first}` and `{second}`")]
    TwoKinds {
        /// The first name.
        first: String,
        /// The second name.
        second: String,
    },
    /// A layer without its value.
    #[error("`{kind}` needs {expected}")]
    NeedsValue {
        /// The layer.
        kind: &'static str,
        /// The value.
        expected: String,
    },
    /// A layer with a value that it does not have.
    #[error("`{kind}` takes no value")]
    TakesNoValue {
        /// The layer.
        kind: &'static str,
    },
    /// An input with a wrong number of axes.
    #[error("`{kind}` takes an input {expected}, its input is {input:?}")]
    Axes {
        /// The layer.
        kind: &'static str,
        /// The axes.
        expected: &'static str,
        /// The sizes of the input.
        input: Vec<usize>,
    },
    /// Sizes that do not divide those of the input.
    #[error("{parts} {what} do not divide {whole}")]
    Divisor {
        /// The parts.
        what: &'static str,
        /// Their number.
        parts: usize,
        /// The divided sizes.
        whole: String,
    },
    /// A window that is larger than the input.
    #[error(
        "a window of {window:?} is larger than the input {input:?} with a padding of {padding:?}"
    )]
    Window {
        /// The extent of the window in each axis, with its dilation.
        window: Vec<usize>,
        /// The padding on both sides.
        padding: Vec<usize>,
        /// The sizes of the input.
        input: Vec<usize>,
    },
    /// An input that the layer refuses.
    #[error("{problem}; its input is {input:?}")]
    Rejected {
        /// The reason.
        problem: String,
        /// How to correct it.
        help: String,
        /// The sizes of the input.
        input: Vec<usize>,
    },
    /// Branches whose outputs differ.
    #[error("{first} has the output {first_output}, {second} {second_output}")]
    Branches {
        /// A branch.
        first: String,
        /// The sizes of its output.
        first_output: String,
        /// Another branch.
        second: String,
        /// The sizes of its output.
        second_output: String,
        /// Whether the branches are concatenated.
        concat: bool,
    },
    /// Two layers of one name in a list.
    #[error("two layers are called `{name}`")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// A list without layers.
    #[error("the list of layers is empty")]
    Empty,
    /// Too many layers.
    #[error("there are more than {MAX_LAYERS} layers, repeated ones included")]
    TooManyLayers,
    /// Layers that are nested too deeply.
    #[error("layers are nested more than {MAX_DEPTH} deep")]
    TooDeep,
    /// A sequence that is too large.
    #[error("a sequence of {shape:?} at each time step has more than {MAX_ELEMENTS} elements")]
    TooManyElements {
        /// The sizes of one time step.
        shape: Vec<usize>,
    },
    /// Too many weights.
    #[error("the network has more than {MAX_WEIGHTS} weights")]
    TooManyWeights,
    /// A learning rule with a reward, without one.
    #[error("the rule `{rule}` needs a reward")]
    RuleReward {
        /// The rule.
        rule: &'static str,
    },
    /// The rule of another kind of layers.
    #[error("e-prop is no rule of this layer: it needs the values of recurrent neurons")]
    RuleOfLayer,
    /// A setting of a plastic layer whose weights the optimizer changes.
    #[error("with `update = \"gradient\"` the optimizer changes the weights, without `{key}`")]
    PlasticByOptimizer {
        /// The key.
        key: &'static str,
    },
    /// A wrong neuron, or a constant of a layer outside its domain.
    #[error("{}", .0.problem())]
    Definition(#[from] DefinitionError),
}

impl NetworkProblem {
    /// The problem at a position of a document.
    pub(crate) fn at(self, span: Option<Span>) -> Located {
        let help = self.help();
        Located::other(self, help).or_at(span)
    }

    /// How to correct it.
    pub fn help(&self) -> String {
        let text = match self {
            Self::UnknownLayer { help, .. } | Self::NoKind { help } => return help.clone(),
            Self::NotALayer => "write a list of layers within a list as { layers = […] }",
            Self::TwoKinds { .. } => "write two layers: one table for each",
            Self::NeedsValue { kind, .. } => return format!("write {{ {kind} = … }}"),
            Self::TakesNoValue { kind } => {
                return format!("write \"{kind}\", or {{ layer = \"{kind}\" }} with further keys");
            }
            Self::Axes { kind: "linear", .. } => "put \"flatten\" before it",
            Self::Axes { .. } => "check `input` of the network, and \"flatten\" before this layer",
            Self::Divisor { .. } => "use a number that divides it",
            Self::Window { .. } => {
                "use a smaller window, more padding, or fewer layers that halve the input"
            }
            Self::Rejected { help, .. } => return help.clone(),
            Self::Branches { concat: false, .. } => {
                "give them the same output; a shortcut can be a convolution with kernel 1"
            }
            Self::Branches { concat: true, .. } => {
                "only the first sizes, channels or features, may differ"
            }
            Self::DuplicateName { .. } => {
                "give each its own name; a layer without a name has its position, counted from 0"
            }
            Self::Empty => "write at least one layer, such as { linear = 10 }",
            Self::TooManyLayers => "use fewer layers or repetitions",
            Self::TooDeep => "use fewer levels",
            Self::TooManyElements { .. } | Self::TooManyWeights => "use smaller sizes",
            Self::RuleReward { .. } => {
                "add reward = { classes = 10, right = 1.0, wrong = -1.0 } to a layer `plastic`, or reward = \"signal\" where a \
                 program gives it"
            }
            Self::RuleOfLayer => {
                "use a layer `online-eprop`, or `local_gradient = true` of `rnn` and `recurrent`"
            }
            Self::PlasticByOptimizer { .. } => {
                "remove it, or use update = \"each-step\" or \"end-of-call\""
            }
            Self::Definition(error) => return error.help(),
        };
        text.to_string()
    }
}
