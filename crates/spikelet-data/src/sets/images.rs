//! Labeled images in memory.

use spikelet_expr::DType;

use super::InMemory;
use crate::error::{Error, Result};
use crate::field::Field;

impl InMemory {
    /// Labeled images: the field `images`, one byte per channel and pixel, and the field `labels`. `pixels` are row-major
    /// `[len, channels, height, width]`, 0 (black) to 255; `labels` are indices into `classes`, one for each image; `shape` is
    /// channels, height and width of an image.
    ///
    /// ```
    /// use spikelet_data::{Dataset, InMemory};
    ///
    /// let classes = vec!["dark".into(), "bright".into()];
    /// let data = InMemory::images("lamps", vec![0, 9, 250, 255], vec![0, 1], [1, 1, 2], classes)?;
    /// assert_eq!(data.len(), 2);
    /// assert_eq!(data.sample(1)?.require("images")?.as_u8(), Some(&[250, 255][..]));
    /// # Ok::<(), spikelet_data::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] if there are no images, [`Error::ImageBytes`] if the number of pixels does not match the shape and the
    /// number of labels, [`Error::Label`] if a label is no class.
    pub fn images(
        name: impl Into<String>,
        pixels: Vec<u8>,
        labels: Vec<u32>,
        shape: [usize; 3],
        classes: Vec<String>,
    ) -> Result<Self> {
        let (dataset, len) = (name.into(), labels.len());
        let mut sizes = shape.iter();
        let expected = sizes.try_fold(len, |product, &size| product.checked_mul(size));
        let Some(expected) = expected.filter(|&bytes| bytes > 0 && u32::try_from(len).is_ok())
        else {
            return Err(Error::Shape {
                dataset,
                len,
                shape,
            });
        };
        if pixels.len() != expected {
            return Err(Error::ImageBytes {
                dataset,
                found: pixels.len(),
                expected,
                len,
                shape,
            });
        }
        let is_stray = |&label: &u32| label as usize >= classes.len();
        if let Some(index) = labels.iter().position(is_stray) {
            return Err(Error::Label {
                dataset,
                index,
                label: labels[index],
                classes: classes.len(),
            });
        }
        let labels: Vec<i64> = labels.into_iter().map(i64::from).collect();
        let data = Self::new(dataset)
            .with(Field::image("images", shape), pixels)?
            .with(Field::new("labels", DType::I64, []), labels)?;
        Ok(data.classes("labels", classes))
    }
}
