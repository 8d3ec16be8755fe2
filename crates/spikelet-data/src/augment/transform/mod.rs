//! Augmentations of 8-bit images, one in each file.
//!
//! [`registry`] lists those that [`Augment`](super::Augment) and the command line know.

mod alternating_flip;
mod augmentation;
mod auto_augment;
mod center_crop;
mod color_jitter;
mod policy;
mod rand_augment;
mod random_crop;
mod random_erasing;
mod random_flip;
#[cfg(feature = "images")]
mod random_resized_crop;
mod registry;
#[cfg(feature = "images")]
mod resample;
#[cfg(feature = "images")]
mod resize;
#[cfg(feature = "images")]
mod resized_crop;
mod size;
mod timm_rand_augment;
mod trivial_augment;

pub use alternating_flip::AlternatingFlip;
pub use augmentation::ImageAugmentation;
pub use auto_augment::AutoAugment;
pub use center_crop::CenterCrop;
pub use color_jitter::ColorJitter;
pub use rand_augment::RandAugment;
pub use random_crop::{Border, RandomCrop};
pub use random_erasing::{EraseFill, RandomErasing};
pub use random_flip::RandomFlip;
#[cfg(feature = "images")]
pub use random_resized_crop::RandomResizedCrop;
pub use registry::ImageTransform;
#[cfg(feature = "images")]
pub use resize::Resize;
#[cfg(feature = "images")]
pub use resized_crop::ResizedCrop;
pub use timm_rand_augment::{TimmOp, TimmRandAugment};
pub use trivial_augment::TrivialAugment;

use crate::error::Result;
use crate::image_error::ImageError;

/// The gray with which policies fill pixels from outside the image.
const GRAY: u8 = 128;

/// Checks the range of a setting.
pub(super) fn check_range(
    transform: &'static str,
    field: &'static str,
    value: f64,
    good: bool,
    expected: &'static str,
) -> Result<()> {
    if good {
        return Ok(());
    }
    Err(ImageError::Range {
        transform,
        field,
        value,
        expected,
    }
    .into())
}
