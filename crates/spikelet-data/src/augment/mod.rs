//! Changing images by chance, so that a network never sees the same one twice.
//!
//! In this order: the image is turned, sized, slanted and shifted ([`affine`]), cropped ([`crop`])
//! and mirrored ([`flip`]), all of it by reading every pixel once; noise is added ([`noise`]); it
//! is normalized; a square is cut out ([`cutout`]). What comes in from outside the image is black.

mod affine;
mod crop;
mod cutout;
mod flip;
mod noise;
mod normalize;
mod pipeline;

use serde::{Deserialize, Serialize};
use spikelet_random::Stream;

use crate::error::{Error, Result};

pub use normalize::Normalize;
pub(crate) use pipeline::Pipeline;

/// The stream of random numbers for changes but noise; its step is the epoch, its time the image.
const CHANGE_STREAM: u32 = 0xda7b_0001;

/// The stream for noise, numbered alike.
const NOISE_STREAM: u32 = 0xda7c_0001;

/// More black than this around an image can only be a mistake.
const MAX_PADDING: usize = 1 << 16;

/// By how much images are changed by chance; nothing, by default.
///
/// | field | unit | |
/// |---|---|---|
/// | `crop_padding` | pixels | crop at a random place after as many black pixels were put around |
/// | `flip` | | mirror left and right, every other time |
/// | `shift` | height, width | move by up to this share, up or down and left or right |
/// | `rotate` | degrees | turn by up to this, either way |
/// | `scale` | | make smaller or larger by up to this share: 0.1 is 0.9 to 1.1 times |
/// | `shear` | degrees | slant by up to this, either way |
/// | `noise` | white | standard deviation of normal noise in every channel and pixel |
/// | `cutout` | pixels | set a square of this side to 0, its middle anywhere in the image |
///
/// What happens to an image depends on the loader's seed, the epoch and the image's number in the
/// data set alone.
///
/// ```
/// use spikelet_data::{Augment, Loader, LoaderConfig, synthetic};
///
/// let digits = synthetic::digits_of(1, 100, 10).train;
/// let config = LoaderConfig {
///     augment: Augment { shift: 0.1, rotate: 10.0, ..Augment::default() },
///     ..LoaderConfig::default()
/// };
/// let loader = Loader::new(digits, config)?;
/// let batch = loader.epoch(0, 0).next().expect("an epoch has a batch");
/// assert!(batch.images.iter().all(|pixel| (0.0..=1.0).contains(pixel)));
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Augment {
    /// Black pixels put around the image, of which a piece of the image's size is taken; 0 to 65536.
    pub crop_padding: usize,
    /// Whether every other image, by chance, is mirrored left and right.
    pub flip: bool,
    /// Largest shift, as a share of the height and of the width; 0 to 1.
    pub shift: f32,
    /// Largest turn, in degrees; 0 to 180.
    pub rotate: f32,
    /// Largest relative change of the size; 0 to below 1.
    pub scale: f32,
    /// Largest slant, in degrees; 0 to below 90.
    pub shear: f32,
    /// Standard deviation of the noise, where white is 1; at least 0. Without normalization the
    /// pixels stay within 0 and 1, with it they may leave them.
    pub noise: f32,
    /// Side of a square that is set to 0, as far as it lies in the image: black, or, with
    /// normalization, the mean.
    pub cutout: usize,
}

impl Augment {
    /// Whether nothing is changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Checks that every number lies within the bounds that its field names.
    /// [`Loader`](crate::Loader) calls it.
    ///
    /// # Errors
    /// [`Error::Augment`] for the first that does not.
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
            None => Ok(()),
            Some((field, value, _, expected)) => Err(Error::Augment {
                field,
                value,
                expected,
            }),
        }
    }

    /// Whether pixels may come to lie between pixels.
    fn is_affine(&self) -> bool {
        self.shift != 0.0 || self.rotate != 0.0 || self.scale != 0.0 || self.shear != 0.0
    }
}

/// What each random number of an image is for. The numbers are fixed, so that one change does not
/// depend on which others there are.
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

    /// A whole number below `n`, which is at most 2³²; 0 for n = 0.
    fn below(&self, purpose: Purpose, n: usize) -> usize {
        ((u64::from(self.word(purpose)) * n as u64) >> 32) as usize
    }

    /// A number from −1 to 1.
    fn around_zero(&self, purpose: Purpose) -> f32 {
        2.0 * spikelet_random::unit(self.word(purpose)) - 1.0
    }
}
