//! Transforms of 8-bit images, one in each file with its declaration. [`IMAGE_TRANSFORMS`] lists them.

mod image_transform;
mod policy;
#[cfg(feature = "images")]
mod resample;
mod size;

pub use image_transform::ImageTransform;

use spikelet_schema::document::Node;
use spikelet_schema::{Record, members, outside};

use crate::error::Result;
use crate::image_error::ImageError;

members! {
    /// All transforms of images.
    pub static IMAGE_TRANSFORMS: dyn ImageTransform = "transform of images" {
        auto_augment: AutoAugment;
        rand_augment: RandAugment;
        timm_rand_augment: TimmRandAugment, TimmOp;
        trivial_augment: TrivialAugment;
        color_jitter: ColorJitter;
        gaussian_blur: GaussianBlur;
        random_erasing: RandomErasing, EraseFill;
        alternating_flip: AlternatingFlip;
        random_flip: RandomFlip;
        random_crop: RandomCrop, Border;
        center_crop: CenterCrop;
        #[cfg(feature = "images")]
        random_resized_crop: RandomResizedCrop;
        #[cfg(feature = "images")]
        resize: Resize;
    } or {
        "resized-crop" = "random-resized-crop", "";
    }
}

/// The gray with which policies fill pixels from outside the image.
const GRAY: u8 = 128;

/// Refuses settings outside of the domains of their declaration.
pub(super) fn check_settings<R: Record + ?Sized>(transform: &R) -> Result<()> {
    match outside(transform) {
        None => Ok(()),
        Some((field, value, domain)) => {
            let name = transform.declaration().name;
            check_range(name, field, value, false, &domain.to_string())
        }
    }
}

/// Checks the range of a setting.
pub(super) fn check_range(
    transform: &'static str,
    field: &'static str,
    value: f64,
    good: bool,
    expected: &str,
) -> Result<()> {
    if good {
        return Ok(());
    }
    Err(ImageError::Range {
        transform,
        field,
        value,
        expected: expected.into(),
    }
    .into())
}

/// Checks that the limits of a range are in increasing order.
fn check_ordered(transform: &'static str, field: &'static str, range: [f32; 2]) -> Result<()> {
    let [least, most] = range;
    let expected = "at most the second value";
    check_range(transform, field, least.into(), least <= most, expected)
}

/// Several values of a transform were one text, `2/9`: those of these fields.
fn slashes(table: &Node, fields: &[&str]) -> Option<Node> {
    let values: Vec<&str> = table.get(fields[0])?.as_text()?.split('/').collect();
    if values.len() != fields.len() {
        return None;
    }
    let mut pairs = fields.iter().zip(values);
    pairs.try_fold(table.clone(), |table, (field, value)| {
        let number = serde_json::from_str(value).ok()?;
        Some(table.with(field, Node::from_json(&number).ok()?))
    })
}
