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
