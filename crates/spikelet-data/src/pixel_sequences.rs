//! Images as sequences of pixels.

use std::sync::Arc;

use crate::dataset::{Dataset, check_index};
use crate::digest::Parts;
use crate::error::{Error, Result};
use crate::field::{ElementType, Field};
use crate::image_dataset::ImageDataset;
use crate::sample::{Sample, SampleTensor};

/// The images of a data set as sequences: one pixel for each time step, row by row, with the channels of the image.
///
/// | field | type | shape | batch | |
/// |---|---|---|---|---|
/// | `x` | f32 | `[H·W, C]` | `[H·W, N, C]` | 0 (black) to 1 |
/// | `labels` | i64 | `[]` | `[N]` | |
///
/// ```
/// use spikelet_data::{Dataset, PixelSequences, synthetic};
///
/// let digits = synthetic::digits_of(0, 10, 10).train;
/// let sequences = PixelSequences::new(digits, "sequential digits");
/// assert_eq!(sequences.sample(3)?.require("x")?.shape, [784, 1]);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
///
/// Source: Q. V. Le, N. Jaitly, G. E. Hinton, *A simple way to initialize recurrent networks of rectified linear
/// units*, arXiv:1504.00941 (2015).
#[derive(Clone, Debug)]
pub struct PixelSequences {
    name: String,
    images: Arc<ImageDataset>,
    order: Option<Arc<[usize]>>,
}

impl PixelSequences {
    /// The pixels of these images, row by row.
    pub fn new(images: Arc<ImageDataset>, name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            images,
            order: None,
        }
    }

    /// Reads the pixels in another order: step t has the pixel `order[t]`, counted row by row.
    ///
    /// # Errors
    /// [`Error::Permutation`] if it does not have each pixel once.
    pub fn permuted(mut self, order: &[usize]) -> Result<Self> {
        let pixels = self.pixels();
        let error = |problem| Error::Permutation {
            dataset: self.name.clone(),
            pixels,
            problem,
        };
        if order.len() != pixels {
            return Err(error(format!("has {} indices", order.len())));
        }
        let mut seen = vec![false; pixels];
        for &pixel in order {
            match seen.get_mut(pixel) {
                Some(seen) if !*seen => *seen = true,
                Some(_) => return Err(error(format!("has the index {pixel} twice"))),
                None => return Err(error(format!("has the index {pixel}"))),
            }
        }
        self.order = Some(order.into());
        Ok(self)
    }

    /// The number of pixels of an image, which is the number of time steps.
    fn pixels(&self) -> usize {
        let [_, height, width] = self.images.shape;
        height * width
    }
}

impl Dataset for PixelSequences {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> usize {
        self.images.len()
    }

    fn fields(&self) -> Vec<Field> {
        let shape = [self.pixels(), self.images.shape[0]];
        vec![
            Field::new("x", ElementType::F32, shape).sequence(),
            Field::new("labels", ElementType::I64, []),
        ]
    }

    fn sample(&self, index: usize) -> Result<Sample<'_>> {
        check_index(self, index)?;
        let image = self.images.image(index).unwrap_or_default();
        let (pixels, channels) = (self.pixels(), self.images.shape[0]);
        let mut x = Vec::with_capacity(pixels * channels);
        for step in 0..pixels {
            let pixel = self.order.as_ref().map_or(step, |order| order[step]);
            let values = image.iter().skip(pixel).step_by(pixels);
            x.extend(values.map(|&byte| f32::from(byte) / 255.0));
        }
        let label = i64::from(self.images.labels[index]);
        Ok(Sample::new()
            .with("x", SampleTensor::f32(&[pixels, channels], x))
            .with("labels", SampleTensor::i64(&[], vec![label])))
    }

    fn digest(&self) -> Result<[u8; 32]> {
        let order = self.order.as_deref().unwrap_or_default();
        let digest = Parts::of("pixel sequences").part(&self.images.digest()?);
        Ok(digest
            .values(order, |pixel| (pixel as u64).to_le_bytes())
            .finish())
    }

    fn class_names(&self, field: &str) -> &[String] {
        self.images.class_names(field)
    }

    fn in_memory(&self) -> bool {
        true
    }

    fn check(&self) -> Result<()> {
        self.images.check()
    }
}
