//! Data augmentation: random changes of training images.
//!
//! In this order: the image is rotated, scaled, sheared and shifted ([`affine`]), cropped ([`crop`]) and flipped
//! ([`flip`]), all in one pass over the pixels; noise is added ([`noise`]); it is normalized; a square is set to 0
//! ([`cutout`]). Pixels from outside the image are black.
//!
//! If there are [`transform`]s, crop and flip come first, on bytes, then the transforms in their order, then the rest
//! as above.
//!
//! Sequences of features have augmentations of their own ([`sequence`]).

mod affine;
mod crop;
mod cutout;
mod flip;
mod image;
mod mix;
mod noise;
mod normalize;
mod op;
mod pipeline;
mod sequence;
mod transform;

use serde::{Deserialize, Serialize};
use spikelet_random::Stream;

use crate::error::{Error, Result};
use crate::event_augmentation::EventAugmentation;

pub use image::Image;
pub use mix::{CutMix, MixSometimes, MixUp, OneOf};
pub use normalize::Normalize;
pub use op::ImageOp;
#[cfg(feature = "images")]
pub(crate) use op::luma;
pub(crate) use pipeline::Pipeline;
pub(crate) use sequence::FIRST_TRANSFORM as FIRST_OF_SEQUENCES;
pub use sequence::{
    ChannelMask, ChannelShift, ChannelStretch, DropBins, SequenceAugmentation, SequenceTransform,
    TimeShift, TimeStretch,
};
pub use transform::{
    AlternatingFlip, AutoAugment, Border, CenterCrop, ColorJitter, EraseFill, ImageAugmentation,
    ImageTransform, RandAugment, RandomCrop, RandomErasing, RandomFlip, TimmOp, TimmRandAugment,
    TrivialAugment,
};
#[cfg(feature = "images")]
pub use transform::{RandomResizedCrop, Resize, ResizedCrop};

/// The stream of random numbers except noise; its step is the epoch, its time the image.
const CHANGE_STREAM: u32 = 0xda7b_0001;

/// The stream of noise, with the same indices.
const NOISE_STREAM: u32 = 0xda7c_0001;

/// The maximal padding of a crop.
const MAX_PADDING: usize = 1 << 16;

/// Random data augmentation; none by default.
///
/// | field | unit | |
/// |---|---|---|
/// | `crop_padding` | pixels | random crop of the original size after padding with black pixels |
/// | `flip` | | horizontal flip with probability 1/2 |
/// | `shift` | height, width | maximal shift in each direction, as a fraction |
/// | `rotate` | degrees | maximal rotation in both directions |
/// | `scale` | | maximal relative change of the size: 0.1 is a factor of 0.9 to 1.1 |
/// | `shear` | degrees | maximal shear in both directions |
/// | `noise` | white | standard deviation of normal noise in every channel and pixel |
/// | `cutout` | pixels | side of a square that is set to 0, with its center at a random pixel |
/// | `transforms` | | changes of the bytes after crop and flip: [`AutoAugment`], [`RandomErasing`], … |
/// | `sequences` | | changes of sequences of features: [`ChannelShift`], [`TimeShift`], … |
/// | `events` | | changes of events, before frames are made of them: see [`EventAugmentation`] |
///
/// The augmentation of an image depends only on the seed of the loader, the epoch and the index of the image in
/// the data set.
///
/// ```
/// use spikelet_data::{Augment, DataLoader, LoaderConfig, synthetic};
///
/// let digits = synthetic::digits_of(1, 100, 10).train;
/// let config = LoaderConfig {
///     augment: Augment { shift: 0.1, rotate: 10.0, ..Augment::default() },
///     ..LoaderConfig::default()
/// };
/// let loader = DataLoader::new(digits, config)?;
/// let batch = loader.epoch(0, 0).next().expect("an epoch has a batch")?;
/// assert!(batch.f32("images")?.iter().all(|pixel| (0.0..=1.0).contains(pixel)));
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Augment {
    /// The width of a black border, from which a crop of the original size is taken; 0 to 65536.
    pub crop_padding: usize,
    /// Whether images are flipped horizontally with probability 1/2.
    pub flip: bool,
    /// The maximal shift as a fraction of the height and width; 0 to 1.
    pub shift: f32,
    /// The maximal rotation in degrees; 0 to 180.
    pub rotate: f32,
    /// The maximal relative change of the size; 0 to below 1.
    pub scale: f32,
    /// The maximal shear angle in degrees; 0 to below 90.
    pub shear: f32,
    /// The standard deviation of the noise, where white is 1; at least 0. Without normalization pixels are
    /// clamped to 0 to 1.
    pub noise: f32,
    /// The side of a square that is set to 0, which is black or, with normalization, the mean. It may extend
    /// beyond the image.
    pub cutout: usize,
    /// Changes of the bytes after crop and flip and before everything else, in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub transforms: Vec<ImageTransform>,
    /// Changes of sequences of features, the field `x`, in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sequences: Vec<SequenceTransform>,
    /// Changes of the events of data sets of recordings, and of their frames, in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<EventAugmentation>,
}

impl Augment {
    /// Whether images are not changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether images are changed.
    #[must_use]
    pub fn changes_images(&self) -> bool {
        let images = Self {
            sequences: vec![],
            events: vec![],
            ..self.clone()
        };
        !images.is_empty()
    }

    /// Checks the range of every field. [`DataLoader`](crate::DataLoader) calls it.
    ///
    /// # Errors
    /// [`Error::Augment`] for the first field that is out of range; [`ImageError::Range`](crate::ImageError::Range) for
    /// one of a transform.
    pub fn check(&self) -> Result<()> {
        let padding = self.crop_padding;
        let fields = [
            (
                "crop_padding",
                padding as f32,
                padding <= MAX_PADDING,
                "0 to 65536 pixels",
            ),
            (
                "shift",
                self.shift,
                (0.0..=1.0).contains(&self.shift),
                "0 to 1",
            ),
            (
                "rotate",
                self.rotate,
                (0.0..=180.0).contains(&self.rotate),
                "0 to 180 degrees",
            ),
            (
                "scale",
                self.scale,
                (0.0..1.0).contains(&self.scale),
                "0 to less than 1",
            ),
            (
                "shear",
                self.shear,
                (0.0..90.0).contains(&self.shear),
                "0 to less than 90 degrees",
            ),
            (
                "noise",
                self.noise,
                (0.0..=f32::MAX).contains(&self.noise),
                "0 or more",
            ),
        ];
        match fields.into_iter().find(|&(_, _, good, _)| !good) {
            None => {
                self.transforms.iter().try_for_each(ImageTransform::check)?;
                self.sequences.iter().try_for_each(SequenceTransform::check)
            }
            Some((field, value, _, expected)) => Err(Error::Augment {
                field,
                value,
                expected,
            }),
        }
    }

    /// Whether pixels are interpolated.
    fn is_affine(&self) -> bool {
        self.shift != 0.0 || self.rotate != 0.0 || self.scale != 0.0 || self.shear != 0.0
    }
}

/// The index of each random number of an image. It is fixed, so that one change does not depend on the others.
#[derive(Clone, Copy, Debug)]
enum Purpose {
    CropX,
    CropY,
    Flip,
    ShiftX,
    ShiftY,
    Rotate,
    Scale,
    Shear,
    CutoutX,
    CutoutY,
}

/// The random numbers of one image in one epoch.
#[derive(Clone, Copy, Debug)]
struct Draws {
    changes: Stream,
    noise: Stream,
    image: u32,
}

impl Draws {
    fn new(seed: u64, epoch: u64, image: u32) -> Self {
        let (high, low) = ((epoch >> 32) as u32, epoch as u32);
        let stream = |id: u32| Stream {
            seed,
            id: id.wrapping_add(high),
            step: low,
        };
        Self {
            changes: stream(CHANGE_STREAM),
            noise: stream(NOISE_STREAM),
            image,
        }
    }

    fn word(&self, purpose: Purpose) -> u32 {
        self.changes.word(self.image, purpose as u64)
    }

    /// A random integer below `n`, which is at most 2³²; 0 for n = 0.
    fn below(&self, purpose: Purpose, n: usize) -> usize {
        ((u64::from(self.word(purpose)) * n as u64) >> 32) as usize
    }

    /// A random number from −1 to 1.
    fn around_zero(&self, purpose: Purpose) -> f32 {
        2.0 * spikelet_random::unit(self.word(purpose)) - 1.0
    }
}
