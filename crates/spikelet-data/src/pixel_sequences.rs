//! Images as sequences of pixels.

use std::sync::Arc;

use spikelet_expr::DType;

use crate::dataset::{Dataset, check_index, image_shape};
use crate::digest::Parts;
use crate::error::{Error, Result};
use crate::field::Field;
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
/// let sequences = PixelSequences::new(digits, "sequential digits")?;
/// assert_eq!(sequences.sample(3)?.require("x")?.shape, [784, 1]);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
///
/// Source: Q. V. Le, N. Jaitly, G. E. Hinton, *A simple way to initialize recurrent networks of rectified linear
/// units*, arXiv:1504.00941 (2015).
#[derive(Clone, Debug)]
pub struct PixelSequences {
    name: String,
    images: Arc<dyn Dataset>,
    /// The number of pixels of an image, which is the number of time steps, and of channels.
    shape: [usize; 2],
    order: Option<Arc<[usize]>>,
}

impl PixelSequences {
    /// The pixels of these images, row by row.
    ///
    /// # Errors
    /// As [`image_shape`].
    pub fn new(images: Arc<dyn Dataset>, name: impl Into<String>) -> Result<Self> {
        let [channels, height, width] = image_shape(&*images)?;
        Ok(Self {
            name: name.into(),
            shape: [height * width, channels],
            images,
            order: None,
        })
    }

    /// Reads the pixels in another order: step t has the pixel `order[t]`, counted row by row.
    ///
    /// # Errors
    /// [`Error::Permutation`] if it does not have each pixel once.
    pub fn permuted(mut self, order: &[usize]) -> Result<Self> {
        let [pixels, _] = self.shape;
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
}

impl Dataset for PixelSequences {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> usize {
        self.images.len()
    }

    fn fields(&self) -> Vec<Field> {
        vec![
            Field::new("x", DType::F32, self.shape).sequence(),
            Field::new("labels", DType::I64, []),
        ]
    }

    fn sample(&self, index: usize) -> Result<Sample<'_>> {
        check_index(self, index)?;
        let mut sample = self.images.sample(index)?;
        let image = sample.require("images")?.as_u8().unwrap_or_default();
        let [pixels, channels] = self.shape;
        let mut x = Vec::with_capacity(pixels * channels);
        for step in 0..pixels {
            let pixel = self.order.as_ref().map_or(step, |order| order[step]);
            let values = image.iter().skip(pixel).step_by(pixels);
            x.extend(values.map(|&byte| f32::from(byte) / 255.0));
        }
        sample.remove("images");
        Ok(sample.with("x", SampleTensor::f32(&[pixels, channels], x)))
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
        self.images.in_memory()
    }

    fn check(&self) -> Result<()> {
        self.images.check()
    }
}
