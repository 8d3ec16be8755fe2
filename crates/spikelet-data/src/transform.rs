//! Transforms of samples and batches on the threads of the loader.

use std::fmt::Debug;

use crate::batch::Batch;
use crate::error::Result;
use crate::field::Field;
use crate::sample::Sample;
use crate::sample_random::SampleRandom;

/// A change of one sample: augmentation, feature extraction, encoding.
///
/// The loader applies its transforms in order, after the sample was read and before it is copied into the batch. All
/// random numbers must come from `random`: then batches are the same for any number of threads, and a resumed epoch
/// continues with the same ones.
///
/// Pixels of an image field are `u8`, `[channels, height, width]`; in a sequence `[time, channels, height, width]`. The
/// loader converts them to `f32` after the transforms. A transform that converts them itself, to `f32`, clears
/// [`Field::image`] and sets [`Field::dtype`] in [`Self::fields`].
///
/// ```
/// use spikelet_data::{Result, Sample, SampleRandom, Transform, Values};
///
/// /// Inverts the pixels with probability `p`.
/// #[derive(Debug)]
/// struct Invert {
///     p: f32,
/// }
///
/// impl Transform for Invert {
///     fn apply(&self, sample: &mut Sample<'_>, random: &mut SampleRandom) -> Result<()> {
///         if random.chance(self.p)
///             && let Values::U8(pixels) = &mut sample.require_mut("images")?.values
///         {
///             // Copies borrowed pixels first: the data set itself is not changed.
///             for pixel in pixels.to_mut() {
///                 *pixel = 255 - *pixel;
///             }
///         }
///         Ok(())
///     }
/// }
/// ```
pub trait Transform: Debug + Send + Sync {
    /// Changes the sample.
    ///
    /// # Errors
    /// Any error ends the epoch; the loader adds the data set and the index of the sample.
    fn apply(&self, sample: &mut Sample<'_>, random: &mut SampleRandom) -> Result<()>;

    /// The fields of the changed sample, from those of the sample before. By default they are the same. The loader calls
    /// it once; a transform checks here that its fields exist and have the right type.
    ///
    /// # Errors
    /// If the transform cannot be applied to samples with these fields.
    fn fields(&self, fields: Vec<Field>) -> Result<Vec<Field>> {
        Ok(fields)
    }
}

/// A change of a batch: mixup, cutmix, soft labels.
///
/// The loader applies its batch transforms in order, after the samples were stacked. Images are `f32` by then. All
/// random numbers must come from `random`, which depends on the seed, the epoch and the position of the batch in it.
pub trait BatchTransform: Debug + Send + Sync {
    /// Changes the batch. Its tensors can be changed, added and removed; the number of samples stays.
    ///
    /// # Errors
    /// Any error ends the epoch; the loader adds the data set and the index of the batch.
    fn apply(&self, batch: &mut Batch, random: &mut SampleRandom) -> Result<()>;

    /// The fields of the changed batch, each described by one sample. By default they are the same. The loader calls it
    /// once.
    ///
    /// # Errors
    /// If the transform cannot be applied to batches with these fields.
    fn fields(&self, fields: Vec<Field>) -> Result<Vec<Field>> {
        Ok(fields)
    }
}
