//! The errors of the crate.

/// The crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of EventProp. Every message names what was given, what was expected and what to do.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A constant is outside its range.
    #[error("{name} is {given}, it has to be {expected}\n  help: {help}")]
    Constant {
        /// The constant, and what it belongs to.
        name: String,
        /// The value.
        given: f64,
        /// The range.
        expected: &'static str,
        /// What to do.
        help: &'static str,
    },
    /// Two sizes do not fit.
    #[error("{what} has {given}, expected {expected}\n  help: {help}")]
    Size {
        /// The value with the size.
        what: String,
        /// Its size.
        given: String,
        /// The size that fits.
        expected: String,
        /// What to do.
        help: &'static str,
    },
    /// An input spike cannot be used.
    #[error("sample {sample}, input spike {spike}: {problem}\n  help: {help}")]
    Input {
        /// The sample of the batch.
        sample: usize,
        /// The spike's place in the sample, ordered by time.
        spike: usize,
        /// What was given and what was expected.
        problem: String,
        /// What to do.
        help: &'static str,
    },
    /// The spike buffer of a layer is full. No spike was dropped; the sample has no result.
    #[error(
        "sample {sample}: layer {layer} fires more than {budget} spikes (neuron {neuron} at t = {time})\n  \
         help: raise `max_spikes` of the layer, or lower its weights"
    )]
    SpikeBudget {
        /// The sample of the batch.
        sample: usize,
        /// The layer.
        layer: usize,
        /// The number of spikes that its buffer holds.
        budget: usize,
        /// The neuron that fired the spike without a place.
        neuron: usize,
        /// The time of that spike.
        time: f64,
    },
    /// A potential or a current is infinite or not a number.
    #[error(
        "sample {sample}: {place} has a potential or a current that is not finite\n  \
         help: lower the weights or the learning rate"
    )]
    NotFinite {
        /// The sample of the batch.
        sample: usize,
        /// The layer or the readout.
        place: String,
    },
    /// A loss does not fit the network's output or the batch.
    #[error("{problem}\n  help: {help}")]
    Loss {
        /// What was given and what was expected.
        problem: String,
        /// What to do.
        help: &'static str,
    },
}

/// Checks that a constant is finite and greater than 0.
pub(crate) fn positive(name: impl Into<String>, given: f64, help: &'static str) -> Result<f64> {
    match given.is_finite() && given > 0.0 {
        true => Ok(given),
        false => Err(Error::Constant {
            name: name.into(),
            given,
            expected: "finite and greater than 0",
            help,
        }),
    }
}

/// Checks that a constant is finite and at least 0.
pub(crate) fn not_negative(name: impl Into<String>, given: f64, help: &'static str) -> Result<f64> {
    match given.is_finite() && given >= 0.0 {
        true => Ok(given),
        false => Err(Error::Constant {
            name: name.into(),
            given,
            expected: "finite and at least 0",
            help,
        }),
    }
}
