//! What is doubtful in a graph that can be read.

use std::fmt;

/// Something that a reader may understand in another way, or that is unused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The path of the node.
    pub node: String,
    /// What was found, and how it is understood.
    pub problem: String,
}

impl Warning {
    pub(super) fn new(node: &str, problem: impl Into<String>) -> Self {
        let (node, problem) = (node.into(), problem.into());
        Self { node, problem }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node `{}`: {}", self.node, self.problem)
    }
}
