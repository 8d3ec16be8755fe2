//! The errors of encoders.

#[cfg(feature = "audio")]
use std::path::PathBuf;

/// An error of an encoder of time series.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// A setting of an encoder is out of range.
    #[error("encoder `{encoder}`: `{field}` is {value}\n  help: it must be {expected}")]
    Range {
        /// The name of the encoder.
        encoder: &'static str,
        /// The setting.
        field: &'static str,
        /// Its value.
        value: f64,
        /// The allowed values.
        expected: &'static str,
    },
    /// The samples are not complete time steps.
    #[error(
        "encoder `{encoder}`: {samples} samples are not whole time steps of {channels} channels\n  \
         help: give [T, {channels}] samples, all channels of a time step together"
    )]
    Channels {
        /// The name of the encoder.
        encoder: &'static str,
        /// The number of samples.
        samples: usize,
        /// The number of channels of the encoder.
        channels: usize,
    },
    /// A sample is infinite or not a number.
    #[error(
        "encoder `{encoder}`: sample {index} is {value}\n  \
         help: samples must be finite; replace missing values before encoding"
    )]
    NotFinite {
        /// The name of the encoder.
        encoder: &'static str,
        /// The index in the given samples.
        index: usize,
        /// The sample.
        value: f32,
    },
    /// The lists of coefficients do not have one value for each channel.
    #[error(
        "encoder `cochlea`: {found} coefficients `{field}` for {channels} channels\n  \
         help: give one value for each channel"
    )]
    Coefficients {
        /// The list.
        field: &'static str,
        /// Its length.
        found: usize,
        /// The number of channels.
        channels: usize,
    },
    /// Units cannot be divided into groups of equal size.
    #[error(
        "{units} units are not a multiple of `group`, which is {group}\n  \
         help: choose a `group` that divides the number of units"
    )]
    Group {
        /// The number of units of the encoder.
        units: usize,
        /// The units of a group.
        group: usize,
    },
    /// The counts of time steps and groups do not fit into memory.
    #[error(
        "{steps} steps of {columns} inputs are too many\n  help: choose fewer `steps`, or a larger `group`"
    )]
    BinsTooLarge {
        /// The number of time steps.
        steps: usize,
        /// The number of inputs.
        columns: usize,
    },
    /// An event has a unit that the encoder does not have.
    #[error(
        "event {index} has the unit {unit}, expected below {units}\n  help: give the units of the encoder of these events"
    )]
    Unit {
        /// The index of the event.
        index: usize,
        /// Its unit.
        unit: u32,
        /// The number of units.
        units: usize,
    },
    /// A file is not a WAV file that can be read.
    #[cfg(feature = "audio")]
    #[error(
        "{}: {problem}\n  help: convert it to a WAV file of integer samples of up to 32 bits, or float samples of 32 bits",
        path.display()
    )]
    Wav {
        /// The file.
        path: PathBuf,
        /// The error in the file.
        problem: String,
    },
}
