//! The errors of imports, exports and simulations of NIR graphs.

use spikelet_core::OtherError;

/// A NIR graph that cannot be imported or simulated, or a network that cannot be exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NirError {
    /// The file or the graph is wrong.
    #[error(transparent)]
    Graph(#[from] crate::graph::Error),
    /// A node that cannot be imported.
    #[error("node `{node}`: {problem}\n  help: {help}")]
    Node {
        /// The path of the node: `sub/lif` is `lif` in the graph `sub`.
        node: String,
        /// What was found, and what was expected.
        problem: String,
        /// What to do.
        help: String,
    },
    /// The length of a step is unknown or no length.
    #[error("the length of a time step: {problem}\n  help: {help}")]
    StepLength {
        /// What was found.
        problem: String,
        /// What to do.
        help: String,
    },
    /// Input sequences that do not match the graph.
    #[error("input `{input}`: {problem}\n  help: {help}")]
    Input {
        /// The path of the Input node.
        input: String,
        /// What was given, and what was expected.
        problem: String,
        /// What to do.
        help: String,
    },
    /// Networks that cannot be compared.
    #[error("{problem}\n  help: {help}")]
    Diff {
        /// What was found, and what was expected.
        problem: String,
        /// What to do.
        help: String,
    },
    /// A graph without one Input and one Output, used as a module.
    #[error(
        "the graph has {inputs} Inputs and {outputs} Outputs; a module in a network has one of each\n  \
         help: use `GraphModule::run`, which takes and returns several sequences"
    )]
    Ports {
        /// The number of Inputs.
        inputs: usize,
        /// The number of Outputs.
        outputs: usize,
    },
}

impl From<spikelet_weights::Error> for NirError {
    fn from(error: spikelet_weights::Error) -> Self {
        Self::Graph(error.into())
    }
}

impl OtherError for NirError {}

impl NirError {
    /// A [`NirError::Diff`].
    pub(super) fn diff(problem: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Diff {
            problem: problem.into(),
            help: help.into(),
        }
    }

    /// A [`NirError::Node`].
    pub(super) fn node(
        node: impl Into<String>,
        problem: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self::Node {
            node: node.into(),
            problem: problem.into(),
            help: help.into(),
        }
    }
}
