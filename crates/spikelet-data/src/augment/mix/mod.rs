//! Mixtures of the samples of a batch, with soft labels.

mod beta;
mod cutmix;
mod mixup;
mod one_of;
mod soft_labels;
mod sometimes;

pub use cutmix::CutMix;
pub use mixup::MixUp;
pub use one_of::OneOf;
pub use sometimes::MixSometimes;

/// The tensors that are mixed.
const IMAGES: &str = "images";
const LABELS: &str = "labels";

/// Three images of 2 × 2 pixels, for tests.
#[cfg(test)]
fn three_images() -> crate::batch::Batch {
    let images = (0..3 * 4).map(|k| k as f32).collect();
    crate::batch::Batch::of_images([1, 2, 2], images, vec![2, 0, 1])
}
