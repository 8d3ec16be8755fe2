//! Labelled images in memory.

use std::fmt;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use spikelet_random::{Generator, Stream};

use crate::error::{Error, Result};

/// The seed of validation splits. It is no setting: networks and runs with other seeds are compared
/// on the same validation images.
const VALIDATION_SEED: u64 = 0x7661_6c69_6461_7465;

/// The stream of random numbers for the choice of validation images.
const VALIDATION_STREAM: u32 = 0xda7a_0003;

/// Labelled images, one byte a channel and pixel.
///
/// ```
/// use spikelet_data::Dataset;
///
/// let classes = vec!["dark".into(), "bright".into()];
/// let data = Dataset::new("lamps", vec![0, 9, 250, 255], vec![0, 1], [1, 1, 2], classes)?;
/// assert_eq!(data.len(), 2);
/// assert_eq!(data.image(1), Some(&[250, 255][..]));
/// assert_eq!(data.class_of(1), Some("bright"));
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Dataset {
    /// What to call it.
    pub name: String,
    /// The pixels, row-major `[len, channels, height, width]`, 0 (black) to 255.
    pub images: Vec<u8>,
    /// The class of each image, an index into `classes`.
    pub labels: Vec<u8>,
    /// Channels, height, width of an image.
    pub shape: [usize; 3],
    /// Name of each class.
    pub classes: Vec<String>,
    /// Whether the images were made by a program instead of people or cameras.
    pub synthetic: bool,
}

/// Everything but the pixels and labels themselves, of which there may be millions.
impl fmt::Debug for Dataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dataset")
            .field("name", &self.name)
            .field("len", &self.len())
            .field("shape", &self.shape)
            .field("classes", &self.classes)
            .field("synthetic", &self.synthetic)
            .finish_non_exhaustive()
    }
}

impl Dataset {
    /// A checked data set of natural images: see [`Self::check`] for what must hold.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub fn new(
        name: impl Into<String>,
        images: Vec<u8>,
        labels: Vec<u8>,
        shape: [usize; 3],
        classes: Vec<String>,
    ) -> Result<Self> {
        let dataset = Self {
            name: name.into(),
            images,
            labels,
            shape,
            classes,
            synthetic: false,
        };
        dataset.check()?;
        Ok(dataset)
    }

    /// Number of images.
    #[must_use]
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are no images.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Bytes of one image: channels · height · width.
    #[must_use]
    pub fn image_len(&self) -> usize {
        self.shape.iter().product()
    }

    /// The bytes of image `index`, `[channels, height, width]`; `None` past the end.
    #[must_use]
    pub fn image(&self, index: usize) -> Option<&[u8]> {
        let len = self.image_len();
        self.images
            .get(index.checked_mul(len)?..)?
            .get(..len)
            .filter(|_| index < self.len())
    }

    /// The name of the class of image `index`; `None` past the end.
    #[must_use]
    pub fn class_of(&self, index: usize) -> Option<&str> {
        let label = *self.labels.get(index)?;
        self.classes.get(usize::from(label)).map(String::as_str)
    }

    /// Checks that there are images, that there are as many pixels as the shape and the number of
    /// labels say, and that every label names a class. The fields are public; who fills them by
    /// hand calls this. [`Loader`](crate::Loader) calls it too.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::ImageBytes`] or [`Error::Label`].
    pub fn check(&self) -> Result<()> {
        let len = self.len();
        let expected = self
            .shape
            .iter()
            .try_fold(len, |product, &size| product.checked_mul(size))
            .filter(|&bytes| bytes > 0 && u32::try_from(len).is_ok());
        let Some(expected) = expected else {
            return Err(Error::Shape {
                dataset: self.name.clone(),
                len,
                shape: self.shape,
            });
        };
        if self.images.len() != expected {
            return Err(Error::ImageBytes {
                dataset: self.name.clone(),
                found: self.images.len(),
                expected,
                len,
                shape: self.shape,
            });
        }
        let classes = self.classes.len();
        let stray = self
            .labels
            .iter()
            .position(|&label| usize::from(label) >= classes);
        match stray {
            None => Ok(()),
            Some(index) => Err(Error::Label {
                dataset: self.name.clone(),
                index,
                label: self.labels[index],
                classes,
            }),
        }
    }
}

impl Dataset {
    /// Splits off a share of the images for validation: the images that remain, and the validation
    /// images, both in their order. Which images these are depends on their number and the share
    /// alone. At least one image goes to each part.
    ///
    /// ```
    /// use spikelet_data::synthetic;
    ///
    /// let digits = synthetic::digits_of(0, 1000, 10).train;
    /// let (train, validation) = digits.split_off(0.1)?;
    /// assert_eq!((train.len(), validation.len()), (900, 100));
    /// # Ok::<(), spikelet_data::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ValidationShare`] if the share is not above 0 and below 1, or there are fewer than
    /// two images.
    pub fn split_off(&self, share: f64) -> Result<(Self, Self)> {
        let len = self.len();
        if !(share > 0.0 && share < 1.0) || len < 2 {
            return Err(Error::ValidationShare {
                dataset: self.name.clone(),
                share,
                len,
            });
        }
        let count = ((len as f64 * share).round() as usize).clamp(1, len - 1);
        let mut order: Vec<usize> = (0..len).collect();
        let stream = Stream {
            seed: VALIDATION_SEED,
            id: VALIDATION_STREAM,
            step: 0,
        };
        Generator::new(stream).shuffle(&mut order);
        let (validation, train) = order.split_at_mut(count);
        validation.sort_unstable();
        train.sort_unstable();
        Ok((self.select(train), self.select(validation)))
    }

    /// The images of these numbers.
    fn select(&self, indices: &[usize]) -> Self {
        let images = indices.iter().filter_map(|&index| self.image(index));
        Self {
            name: self.name.clone(),
            images: images.flatten().copied().collect(),
            labels: indices.iter().map(|&index| self.labels[index]).collect(),
            shape: self.shape,
            classes: self.classes.clone(),
            synthetic: self.synthetic,
        }
    }

    /// Adds everything that makes this data set to a digest. Every part is preceded by its length.
    fn digest_into(&self, digest: &mut Sha256) {
        let mut part = |bytes: &[u8]| {
            digest.update((bytes.len() as u64).to_le_bytes());
            digest.update(bytes);
        };
        part(self.name.as_bytes());
        let shape = self.shape.map(|size| (size as u64).to_le_bytes());
        part(shape.as_flattened());
        part(&(self.classes.len() as u64).to_le_bytes());
        for class in &self.classes {
            part(class.as_bytes());
        }
        part(&self.images);
        part(&self.labels);
    }
}

/// A data set in its two customary parts, which are shared: a clone copies no image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// The images to learn from.
    pub train: Arc<Dataset>,
    /// The images to measure with.
    pub test: Arc<Dataset>,
}

impl Split {
    /// Two checked parts of one data set.
    ///
    /// # Errors
    /// As [`Dataset::check`] on either part; [`Error::SplitMismatch`] if their shapes or their
    /// numbers of classes differ.
    pub fn new(train: Dataset, test: Dataset) -> Result<Self> {
        train.check()?;
        test.check()?;
        if train.shape != test.shape || train.classes.len() != test.classes.len() {
            return Err(Error::SplitMismatch {
                train: train.shape,
                train_classes: train.classes.len(),
                test: test.shape,
                test_classes: test.classes.len(),
            });
        }
        Ok(Self {
            train: Arc::new(train),
            test: Arc::new(test),
        })
    }

    /// The SHA-256 digest of all images, labels, shapes and names. It is the same on every machine
    /// and in every version, so that hosts and checkpoints can compare it.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let mut digest = Sha256::new();
        self.train.digest_into(&mut digest);
        self.test.digest_into(&mut digest);
        digest.finalize().into()
    }
}
