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
mod list;
mod mix;
mod noise;
mod normalize;
mod op;
mod pipeline;
mod sequence;
mod transform;

use spikelet_events::transforms::EventTransform;
use spikelet_random::Stream;
use spikelet_schema::document::Node;
use spikelet_schema::{Member, Schema, outside};

use crate::error::{Error, Result};
use crate::image_error::ImageError;

pub use image::Image;
pub use mix::{CutMix, MixSometimes, MixUp, OneOf};
pub use normalize::Normalize;
pub use op::ImageOp;
#[cfg(feature = "images")]
pub(crate) use op::luma;
pub(crate) use pipeline::Pipeline;
pub(crate) use sequence::FIRST_TRANSFORM as FIRST_OF_SEQUENCES;
pub use sequence::*;
pub use transform::*;

/// The stream of random numbers except noise; its step is the epoch, its time the image.
const CHANGE_STREAM: u32 = 0xda7b_0001;

/// The stream of noise, with the same indices.
const NOISE_STREAM: u32 = 0xda7c_0001;

/// The maximal padding of a crop.
const MAX_PADDING: usize = 1 << 16;

/// Random data augmentation; none by default.
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
#[derive(Clone, Debug, PartialEq, Schema)]
#[schema(earlier = with_crop, own_value)]
pub struct Augment {
    /// Random crop of the original size after padding with black pixels: the width of the border.
    #[schema(key = "crop", at_least = 0, at_most = MAX_PADDING, unit = "pixels")]
    pub crop_padding: usize,
    /// Horizontal flip with probability 1/2.
    pub flip: bool,
    /// The maximal shift as a fraction of the height and width.
    #[schema(from = 0, to = 1)]
    pub shift: f32,
    /// The maximal rotation in both directions.
    #[schema(from = 0, to = 180, unit = "degrees")]
    pub rotate: f32,
    /// The maximal relative change of the size: 0.1 is a factor of 0.9 to 1.1.
    #[schema(from = 0, below = 1)]
    pub scale: f32,
    /// The maximal shear angle in both directions.
    #[schema(from = 0, below = 90, unit = "degrees")]
    pub shear: f32,
    /// The standard deviation of the noise in every channel and pixel, where white is 1. Without normalization pixels are
    /// clamped to 0 to 1.
    #[schema(at_least = 0)]
    pub noise: f32,
    /// The side of a square that is set to 0, which is black or, with normalization, the mean. Its center is a random pixel; it
    /// may extend beyond the image.
    #[schema(unit = "pixels")]
    pub cutout: usize,
    /// Changes of the bytes after crop and flip and before everything else, in this order.
    pub transforms: Vec<Member<dyn ImageTransform>>,
    /// Changes of sequences of features, the field `x`, in this order.
    pub sequences: Vec<Member<dyn SequenceTransform>>,
    /// Changes of the events of data sets of recordings, and of their frames, in this order.
    pub events: Vec<Member<dyn EventTransform>>,
}

/// The key of the crop was `crop_padding`.
fn with_crop(table: &Node) -> Option<Node> {
    let crop = table.get("crop_padding")?;
    Some(table.without("crop_padding").with("crop", crop.clone()))
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
    /// [`Error::Augment`] for the first field that is out of range; [`ImageError::Range`] for one of a transform;
    /// [`ImageError::ChangesShape`] for a transform of images to another size.
    pub fn check(&self) -> Result<()> {
        if let Some((field, value, domain)) = outside(self) {
            return Err(Error::Augment {
                field,
                value: value as f32,
                expected: domain.to_string(),
            });
        }
        for transform in &self.transforms {
            transform.check()?;
            let shape = [3, 7, 11].map(Some);
            if transform.output_shape(shape) != shape {
                let transform = transform.declaration().name;
                return Err(ImageError::ChangesShape { transform }.into());
            }
        }
        let mut sequences = self.sequences.iter();
        sequences.try_for_each(|transform| transform.check())
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
