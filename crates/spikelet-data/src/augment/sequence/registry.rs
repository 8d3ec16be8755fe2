//! The augmentations that have a name: in settings and on the command line.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::augmentation::{self, SequenceAugmentation};
use crate::error::Result;
use crate::field::Field;
use crate::image_error::ImageError;
use crate::sample::Sample;
use crate::sample_random::SampleRandom;
use crate::transform::Transform;

/// An augmentation that can be named in a list.
pub(super) trait Named: SequenceAugmentation + Sized {
    /// The name.
    const NAME: &'static str;

    /// How it is written in a list, with its value.
    const USAGE: &'static str;

    /// The augmentation with this value; `None` if it cannot be its value.
    fn from_value(value: f64) -> Option<Self>;

    /// Its value.
    fn value(&self) -> f64;
}

/// Declares [`SequenceTransform`]. Messages have the order of the list.
macro_rules! sequence_transforms {
    ($($module:ident::$name:ident,)*) => {
        /// An augmentation of sequences with a name, as listed in [`Augment::sequences`](crate::Augment::sequences).
        ///
        /// ```
        /// use spikelet_data::{SequenceTransform, TimeShift};
        ///
        /// let transform = SequenceTransform::parse("time-shift", Some("8"))?;
        /// assert_eq!(transform, SequenceTransform::TimeShift(TimeShift { steps: 8 }));
        /// assert_eq!(transform.to_string(), "time-shift=8");
        /// assert!(SequenceTransform::parse("time-shift", Some("much")).is_err());
        /// # Ok::<(), spikelet_data::Error>(())
        /// ```
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        #[non_exhaustive]
        pub enum SequenceTransform {
            $(
                #[doc = concat!("See [`", stringify!($name), "`](crate::", stringify!($name), ").")]
                $name(super::$module::$name),
            )*
        }

        impl SequenceTransform {
            /// The names of all transforms.
            pub const NAMES: &[&str] = &[$(<super::$module::$name as Named>::NAME),*];

            /// How each transform is written in a list, with its value.
            pub const USAGES: &[&str] = &[$(<super::$module::$name as Named>::USAGE),*];

            /// The transform of this name with its value.
            ///
            /// # Errors
            /// [`ImageError::UnknownTransform`], [`ImageError::Values`], [`ImageError::Range`].
            pub fn parse(name: &str, value: Option<&str>) -> Result<Self> {
                let transform = match name {
                    $(<super::$module::$name as Named>::NAME => Self::$name(read(value)?),)*
                    _ => {
                        let known = Self::NAMES.join(", ");
                        return Err(ImageError::UnknownTransform { name: name.into(), known }.into());
                    }
                };
                transform.check()?;
                Ok(transform)
            }

            /// Checks the settings.
            ///
            /// # Errors
            /// [`ImageError::Range`] for the first setting that is out of range.
            pub fn check(&self) -> Result<()> {
                match self {
                    $(Self::$name(transform) => transform.check(),)*
                }
            }
        }

        /// As in a list: `time-shift=8`.
        impl fmt::Display for SequenceTransform {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let (name, value) = match self {
                    $(Self::$name(own) => (<super::$module::$name as Named>::NAME, own.value()),)*
                };
                write!(f, "{name}={value}")
            }
        }

        impl Transform for SequenceTransform {
            fn apply(&self, sample: &mut Sample<'_>, random: &mut SampleRandom) -> Result<()> {
                match self {
                    $(Self::$name(transform) => augmentation::apply(transform, sample, random),)*
                }
            }

            fn fields(&self, fields: Vec<Field>) -> Result<Vec<Field>> {
                match self {
                    $(Self::$name(transform) => augmentation::check_fields(transform, &fields)?,)*
                }
                Ok(fields)
            }
        }
    };
}

sequence_transforms! {
    channel_shift::ChannelShift,
    channel_stretch::ChannelStretch,
    channel_mask::ChannelMask,
    time_shift::TimeShift,
    time_stretch::TimeStretch,
    drop_bins::DropBins,
}

/// Reads the value.
fn read<N: Named>(value: Option<&str>) -> Result<N> {
    let text = value.unwrap_or_default();
    let number = text.trim().parse().ok();
    number.and_then(N::from_value).ok_or_else(|| {
        ImageError::Values {
            name: N::NAME,
            value: text.into(),
            usage: N::USAGE,
        }
        .into()
    })
}

/// A value that must be an integer from 0.
pub(super) fn integer(value: f64) -> Option<usize> {
    ((0.0..1e6).contains(&value) && value.fract() == 0.0).then_some(value as usize)
}
