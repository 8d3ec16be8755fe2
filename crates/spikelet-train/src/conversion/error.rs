//! The errors of conversions.

/// A network that cannot be converted, or samples that do not say how.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConversionError {
    /// A layer that has no counterpart in a spiking network.
    #[error("layer `{layer}` ({kind}) cannot be converted: {problem}\n  help: {help}")]
    Layer {
        /// Its path.
        layer: String,
        /// Its kind, such as `leaky-relu`.
        kind: String,
        /// Why.
        problem: String,
        /// What to do.
        help: String,
    },
    /// The threshold of a neuron would be 0 or not finite.
    #[error("the activation `{layer}`{} has the scale {value}, expected a finite number above 0\n  help: {help}", of_channel(*channel))]
    Scale {
        /// The path of the activation.
        layer: String,
        /// The channel, if each has its own scale.
        channel: Option<usize>,
        /// The scale.
        value: f64,
        /// What to do.
        help: &'static str,
    },
    /// A tensor that is missing or has another shape.
    #[error(
        "tensor `{name}`: {problem}\n  help: give the weights of this network, with the names that `spikelet show` lists"
    )]
    Tensor {
        /// Its name.
        name: String,
        /// What was given and what was expected.
        problem: String,
    },
    /// Values that are not finite: a ReLU would hide them.
    #[error("{what} has values that are not finite\n  help: {help}")]
    NotFinite {
        /// The tensor or the samples.
        what: String,
        /// What to do.
        help: &'static str,
    },
    /// An option that is out of range.
    #[error("{option} is {given}, expected {expected}\n  help: {help}")]
    Option {
        /// Its name.
        option: &'static str,
        /// The value.
        given: String,
        /// The values that it may have.
        expected: &'static str,
        /// What to do.
        help: &'static str,
    },
    /// The network is not a list of layers.
    #[error("{problem}\n  help: {help}")]
    Network {
        /// What is wrong.
        problem: String,
        /// What to do.
        help: &'static str,
    },
    /// There are no samples.
    #[error("no samples to {purpose}\n  help: give a data set with at least one sample")]
    NoSamples {
        /// The use of the samples.
        purpose: &'static str,
    },
}

fn of_channel(channel: Option<usize>) -> String {
    channel.map_or_else(String::new, |channel| format!(", channel {channel},"))
}

impl spikelet_core::OtherError for ConversionError {}

impl ConversionError {
    pub(super) fn not_a_layer(layer: &str) -> Self {
        Self::Network {
            problem: format!("layer `{layer}` is not a layer of a list"),
            help: "give a network that `spikelet check` accepts",
        }
    }
}
