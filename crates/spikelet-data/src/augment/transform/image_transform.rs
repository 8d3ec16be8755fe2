//! The interface of transforms of images.

use std::borrow::Cow;
use std::fmt::Debug;

use spikelet_expr::DType;
use spikelet_schema::Record;

use super::check_settings;
use crate::augment::image::Image;
use crate::error::Result;
use crate::field::Field;
use crate::sample::{Sample, Values};
use crate::sample_random::SampleRandom;
use crate::tensor_error::TensorError;
use crate::transform::Transform;

/// A change of an 8-bit image. It is a [`Transform`] of the tensor `images` of a sample.
///
/// In a sequence `[time, channels, height, width]` every frame has the same random numbers, hence the same change.
///
/// ```
/// use spikelet_data::{Image, ImageTransform, Result, SampleRandom};
/// use spikelet_schema::Schema;
///
/// /// Inverts an image with probability `p`.
/// #[derive(Debug, Schema)]
/// struct RandomInvert {
///     /// The probability.
///     #[schema(main, default = 0.5, from = 0, to = 1)]
///     p: f32,
/// }
///
/// impl ImageTransform for RandomInvert {
///     fn augment(&self, image: &mut Image, random: &mut SampleRandom) -> Result<()> {
///         if random.chance(self.p) {
///             image.pixels_mut().iter_mut().for_each(|pixel| *pixel = 255 - *pixel);
///         }
///         Ok(())
///     }
/// }
/// ```
pub trait ImageTransform: Record + Debug + Send + Sync {
    /// Changes the image. All random numbers come from `random`.
    ///
    /// # Errors
    /// If the change is not defined for the shape of the image.
    fn augment(&self, image: &mut Image, random: &mut SampleRandom) -> Result<()>;

    /// Refuses settings that do not fit together.
    ///
    /// # Errors
    /// [`ImageError::Range`](crate::ImageError::Range).
    fn fits(&self) -> Result<()> {
        Ok(())
    }

    /// Checks the settings. The loader calls it once.
    ///
    /// # Errors
    /// [`ImageError::Range`](crate::ImageError::Range) for the first setting that is out of range.
    fn check(&self) -> Result<()> {
        check_settings(self)?;
        self.fits()
    }

    /// Channels, height and width after the change; `None` where they vary. By default they do not change.
    fn output_shape(&self, shape: [Option<usize>; 3]) -> [Option<usize>; 3] {
        shape
    }
}

/// The tensor that is changed.
const TENSOR: &str = "images";

impl<T: ImageTransform> Transform for T {
    fn apply(&self, sample: &mut Sample<'_>, random: &mut SampleRandom) -> Result<()> {
        let tensor = sample.require_mut(TENSOR)?;
        let dtype = tensor.dtype();
        let Values::U8(values) = &mut tensor.values else {
            return Err(wrong_type(dtype).into());
        };
        match tensor.shape[..] {
            [channels, height, width] => {
                let pixels = std::mem::take(values).into_owned();
                let mut image = Image::new(pixels, [channels, height, width])?;
                self.augment(&mut image, random)?;
                tensor.shape = image.shape().to_vec();
                *values = Cow::Owned(image.into_pixels());
            }
            [frames, channels, height, width] if !values.is_empty() => {
                let mut changed = Vec::with_capacity(values.len());
                let mut shape = [channels, height, width];
                for frame in values.chunks_exact((values.len() / frames).max(1)) {
                    let mut image = Image::new(frame.to_vec(), [channels, height, width])?;
                    self.augment(&mut image, &mut random.clone())?;
                    changed.extend_from_slice(image.pixels());
                    shape = image.shape();
                }
                tensor.shape = [&[frames], &shape[..]].concat();
                *values = Cow::Owned(changed);
            }
            _ => {
                return Err(TensorError::Shape {
                    name: TENSOR.into(),
                    found: tensor.shape.clone(),
                    expected: "[channels, height, width], or a sequence of these".into(),
                    help: "augment images before they are flattened or encoded",
                }
                .into());
            }
        }
        Ok(())
    }

    fn fields(&self, mut fields: Vec<Field>) -> Result<Vec<Field>> {
        self.check()?;
        let names: Vec<String> = fields.iter().map(|field| field.name.clone()).collect();
        let field = fields.iter_mut().find(|field| field.name == TENSOR);
        let field = field.ok_or_else(|| TensorError::Missing {
            name: TENSOR.into(),
            names,
        })?;
        if field.tensor_dtype() != Some(DType::U8) {
            return Err(wrong_type(field.tensor_dtype()).into());
        }
        if let [.., channels, height, width] = &mut field.shape[..] {
            let shape = self.output_shape([*channels, *height, *width]);
            [*channels, *height, *width] = shape;
        }
        Ok(fields)
    }
}

fn wrong_type(found: Option<DType>) -> TensorError {
    TensorError::Element {
        name: TENSOR.into(),
        found,
        expected: Some(DType::U8),
        help: "augment images before they are converted to another type",
    }
}
