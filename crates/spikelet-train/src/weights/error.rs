//! The errors of maps.

use super::framework::Framework;

/// An error of a [`WeightMap`](super::WeightMap).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WeightMapError {
    /// The network has neurons or tensors that the framework does not have.
    #[error(
        "{} has no place for {}\n  help: give the layer a neuron that it has; the guide's page of the framework lists them",
        framework.summary(), list(names)
    )]
    NoCounterpart {
        /// The framework.
        framework: Framework,
        /// The neurons, as `path (type)`, and tensors.
        names: Vec<String>,
    },
    /// Two tensors would have the same name.
    #[error(
        "`{name}` of {} would be two tensors\n  help: give the layers of the network other names",
        framework.summary()
    )]
    Twice {
        /// The framework.
        framework: Framework,
        /// The name.
        name: String,
    },
    /// A tensor of the network was not given.
    #[error("the tensor `{name}` of the network is missing\n  help: export a complete checkpoint")]
    MissingTensor {
        /// Its name.
        name: String,
    },
    /// A file does not have all tensors of the network, or has other constants.
    #[error("the weights do not fit the network\n{report}\n  help: {help}")]
    Incomplete {
        /// What is missing, ambiguous, of another shape, of another value, or left over, a line for each.
        report: String,
        /// What to do.
        help: &'static str,
    },
}

fn list(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
