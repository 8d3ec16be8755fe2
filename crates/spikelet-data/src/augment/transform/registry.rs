//! The augmentations that have a name: in settings and on the command line.

use serde::{Deserialize, Serialize};

use super::ImageAugmentation;
use crate::augment::image::Image;
use crate::error::Result;
use crate::image_error::ImageError;
use crate::sample_random::SampleRandom;

/// An augmentation that can be named in a list. It does not change the shape of images.
pub(super) trait Named: ImageAugmentation + Default {
    /// The name.
    const NAME: &'static str;

    /// How it is written in a list, with its values.
    const USAGE: &'static str;

    /// The augmentation with these values, which are separated by `/` in a list; `None` if their number or one of
    /// them is wrong. Without values it is the default.
    fn from_values(values: &[f32]) -> Option<Self>;
}

/// Declares [`ImageTransform`]. Messages have the order of the list.
macro_rules! image_transforms {
    ($($(#[$cfg:meta])? $module:ident::$name:ident,)*) => {
        /// An augmentation with a name, as listed in [`Augment::transforms`](crate::Augment::transforms).
        ///
        /// ```
        /// use spikelet_data::{ImageTransform, RandAugment};
        ///
        /// let transform = ImageTransform::parse("rand-augment", Some("2/9"))?;
        /// let expected = RandAugment { ops: 2, magnitude: 9, ..RandAugment::default() };
        /// assert_eq!(transform, ImageTransform::RandAugment(expected));
        /// assert!(ImageTransform::parse("rand-augment", Some("much")).is_err());
        /// # Ok::<(), spikelet_data::Error>(())
        /// ```
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        #[non_exhaustive]
        pub enum ImageTransform {
            $(
                $(#[$cfg])?
                #[doc = concat!("See [`", stringify!($name), "`](crate::", stringify!($name), ").")]
                $name(super::$module::$name),
            )*
        }

        impl ImageTransform {
            /// The names of all transforms.
            pub const NAMES: &[&str] = &[$($(#[$cfg])? <super::$module::$name as Named>::NAME),*];

            /// How each transform is written in a list, with its values.
            pub const USAGES: &[&str] = &[$($(#[$cfg])? <super::$module::$name as Named>::USAGE),*];

            /// The transform of this name with values separated by `/`, or with its defaults without values.
            ///
            /// # Errors
            /// [`ImageError::UnknownTransform`], [`ImageError::Values`], [`ImageError::Range`].
            pub fn parse(name: &str, values: Option<&str>) -> Result<Self> {
                let transform = match name {
                    $($(#[$cfg])? <super::$module::$name as Named>::NAME => Self::$name(read(values)?),)*
                    _ => {
                        let known = Self::NAMES.join(", ");
                        return Err(ImageError::UnknownTransform { name: name.into(), known }.into());
                    }
                };
                transform.check()?;
                Ok(transform)
            }
        }

        impl ImageAugmentation for ImageTransform {
            fn augment(&self, image: &mut Image, random: &mut SampleRandom) -> Result<()> {
                match self {
                    $($(#[$cfg])? Self::$name(transform) => transform.augment(image, random),)*
                }
            }

            fn check(&self) -> Result<()> {
                match self {
                    $($(#[$cfg])? Self::$name(transform) => transform.check(),)*
                }
            }
        }

        $(
            $(#[$cfg])?
            impl From<super::$module::$name> for ImageTransform {
                fn from(transform: super::$module::$name) -> Self {
                    Self::$name(transform)
                }
            }
        )*
    };
}

image_transforms! {
    auto_augment::AutoAugment,
    rand_augment::RandAugment,
    timm_rand_augment::TimmRandAugment,
    trivial_augment::TrivialAugment,
    color_jitter::ColorJitter,
    random_erasing::RandomErasing,
    alternating_flip::AlternatingFlip,
    #[cfg(feature = "images")]
    resized_crop::ResizedCrop,
}

/// Reads values separated by `/`.
fn read<N: Named>(values: Option<&str>) -> Result<N> {
    let Some(text) = values else {
        return Ok(N::default());
    };
    let numbers: Result<Vec<f32>, _> = text.split('/').map(|value| value.trim().parse()).collect();
    let transform = numbers.ok().and_then(|numbers| N::from_values(&numbers));
    transform.ok_or_else(|| {
        ImageError::Values {
            name: N::NAME,
            value: text.into(),
            usage: N::USAGE,
        }
        .into()
    })
}

/// A value that must be an integer from 0.
pub(super) fn integer(value: f32) -> Option<usize> {
    ((0.0..1e6).contains(&value) && value.fract() == 0.0).then_some(value as usize)
}
