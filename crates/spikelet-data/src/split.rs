//! The parts of a data set.

use std::sync::Arc;

use spikelet_random::{Generator, Stream};

use crate::augment::Normalize;
use crate::dataset::Dataset;
use crate::digest::Parts;
use crate::error::{Error, Result};
use crate::loader::{DataLoader, LoaderConfig};
use crate::sets::{Concat, Subset, Transformed, split};
use crate::transform::Transform;

/// The seed and the random stream of the selection of validation images in memory. They are constant, so that runs with
/// different seeds are compared on the same validation images.
const VALIDATION: Stream = Stream {
    seed: 0x7661_6c69_6461_7465,
    id: 0xda7a_0003,
    step: 0,
};

/// A part of a data set.
type Samples = Arc<dyn Dataset>;

/// The training, validation and test samples of a data set, and the transforms that bring its images to one shape.
///
/// ```
/// use std::sync::Arc;
/// use spikelet_data::{DType, Field, InMemory, Split};
///
/// let part = |values: Vec<f32>| -> spikelet_data::Result<Arc<InMemory>> {
///     let x = Field::new("x", DType::F32, [4, 2]).sequence();
///     let labels = Field::new("labels", DType::I64, []);
///     Ok(Arc::new(InMemory::new("walks").with(x, values)?.with(labels, vec![0_i64, 1])?))
/// };
/// let split = Split::new(part(vec![0.5; 16])?, part(vec![0.25; 16])?);
/// assert_eq!((split.train.len(), split.test.len()), (2, 2));
/// # Ok::<(), spikelet_data::Error>(())
/// ```
///
/// Files of any number and size, read when they are needed:
///
#[cfg_attr(feature = "images", doc = "```no_run")]
#[cfg_attr(not(feature = "images"), doc = "```ignore")]
/// use std::sync::Arc;
/// use spikelet_data::{CenterCrop, ImageFolder, Normalize, RandomFlip, RandomResizedCrop, Resize, Split};
///
/// let train = ImageFolder::open("photos/train")?;
/// let test = ImageFolder::open_with_classes("photos/val", train.classes())?;
/// let size = [224, 224];
/// let split = Split::new(Arc::new(train), Arc::new(test))
///     .with_normalize(Normalize::imagenet(3))
///     .train_transforms(vec![Arc::new(RandomResizedCrop::new(size)), Arc::new(RandomFlip::default())])
///     .test_transforms(vec![Arc::new(Resize::shorter_side(256)), Arc::new(CenterCrop { size })])?;
/// assert_eq!(split.test.sample(0)?.require("images")?.shape, [3, 224, 224]);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Split {
    /// The training samples, before the transforms.
    pub train: Samples,
    /// The samples that select the best epoch; `None` if the data set does not define them. See [`Split::parts`].
    pub validation: Option<Samples>,
    /// The test samples, as they are evaluated.
    pub test: Samples,
    train_transforms: Vec<Arc<dyn Transform>>,
    test_transforms: Vec<Arc<dyn Transform>>,
    normalize: Option<Normalize>,
    notes: Vec<String>,
}

impl Split {
    /// Training and test samples.
    #[must_use]
    pub fn new(train: Samples, test: Samples) -> Self {
        Self {
            train,
            validation: None,
            test,
            train_transforms: vec![],
            test_transforms: vec![],
            normalize: None,
            notes: vec![],
        }
    }

    /// Sets the validation samples, if there are any.
    #[must_use]
    pub fn with_validation(mut self, validation: Option<Samples>) -> Self {
        self.validation = validation;
        self
    }

    /// Sets the transforms of training images, which come before the augmentation of the settings. A
    /// [`RandomResizedCrop`](crate::RandomResizedCrop) among these takes their place.
    #[must_use]
    pub fn train_transforms(mut self, transforms: Vec<Arc<dyn Transform>>) -> Self {
        self.train_transforms = transforms;
        self
    }

    /// Sets the transforms of images for evaluations: of the test images, and of training images that are held out.
    ///
    /// # Errors
    /// If one cannot be applied to the images.
    pub fn test_transforms(mut self, transforms: Vec<Arc<dyn Transform>>) -> Result<Self> {
        self.test_transforms = transforms;
        self.test = self.evaluated(self.test.clone())?;
        Ok(self)
    }

    /// Sets the usual normalization of pixels.
    #[must_use]
    pub fn with_normalize(mut self, normalize: Normalize) -> Self {
        self.normalize = Some(normalize);
        self
    }

    /// Sets the notes.
    #[cfg(feature = "images")]
    #[must_use]
    pub(crate) fn with_notes(mut self, notes: Vec<String>) -> Self {
        self.notes = notes;
        self
    }

    /// What a user should know of the files, such as those that are not read; a sentence each.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The name of the data set.
    #[must_use]
    pub fn name(&self) -> &str {
        self.train.name()
    }

    /// The names of the classes; empty if labels have none.
    #[must_use]
    pub fn class_names(&self) -> &[String] {
        self.train.class_names("labels")
    }

    /// Whether samples have images, of one shape or of several.
    #[must_use]
    pub fn has_images(&self) -> bool {
        has_images(&self.train)
    }

    /// The usual normalization of pixels: that of the data set, or else mean and standard deviation of the training images.
    ///
    /// # Errors
    /// [`Error::NoImages`] if the samples have no images of one shape; if an image cannot be read.
    pub fn normalize(&self) -> Result<Normalize> {
        match &self.normalize {
            Some(normalize) => Ok(normalize.clone()),
            None => Normalize::of_images(&*self.train),
        }
    }

    /// The training samples and the validation samples. These are, as they are evaluated, those of the data set, or else a random
    /// `share` of the training samples, the same for all seeds. For 0 there are none, and those of the data set are training
    /// samples.
    ///
    /// ```
    /// let digits = spikelet_data::synthetic::digits_of(0, 1000, 10);
    /// let (train, validation) = digits.parts(0.1)?;
    /// assert_eq!((train.len(), validation.map(|part| part.len())), (900, Some(100)));
    /// # Ok::<(), spikelet_data::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ValidationShare`] if the share is not in 0 … 1, or there are fewer than two samples.
    pub fn parts(&self, share: f64) -> Result<(Samples, Option<Samples>)> {
        let train = self.train.clone();
        match (&self.validation, share == 0.0) {
            (None, true) => Ok((train, None)),
            (Some(validation), true) => Ok((
                Arc::new(Concat::new(vec![train, validation.clone()])?),
                None,
            )),
            (Some(validation), false) => Ok((train, Some(self.evaluated(validation.clone())?))),
            (None, false) => {
                let (train, validation) = held_out(&train, share)?;
                Ok((train, Some(self.evaluated(validation)?)))
            }
        }
    }

    /// A loader of these training samples, which are all or a part of them.
    ///
    /// # Errors
    /// As [`DataLoader::new`] and [`DataLoader::transform`].
    pub fn training(&self, samples: Samples, mut config: LoaderConfig) -> Result<DataLoader> {
        let crop = self.taken_crop(&mut config);
        let loader = DataLoader::new(samples, config)?;
        let mut transforms = match &crop {
            Some(crop) => std::slice::from_ref(crop).iter(),
            None => self.train_transforms.iter(),
        };
        transforms.try_fold(loader, |loader, transform| {
            loader.shared_transform(transform.clone())
        })
    }

    /// The crop of an augmentation, which is made of the images before they are resized. It is taken out of the settings.
    #[cfg(feature = "images")]
    fn taken_crop(&self, config: &mut LoaderConfig) -> Option<Arc<dyn Transform>> {
        use crate::augment::{ImageTransform, RandomResizedCrop};
        use spikelet_schema::{Family, Member, Schema, from_json, to_json};

        if self.train_transforms.is_empty() {
            return None;
        }
        let transforms = &mut config.augment.transforms;
        let name = RandomResizedCrop::DECLARATION.name;
        let is_crop = |crop: &Member<dyn ImageTransform>| crop.declaration().name == name;
        let fields = self.test.fields();
        let shape = &fields.iter().find(|field| field.name == "images")?.shape;
        let &[_, Some(height), Some(width)] = &shape[..] else {
            return None;
        };
        let crop = transforms.remove(transforms.iter().position(is_crop)?);
        let settings = to_json(<dyn ImageTransform>::record(&*crop));
        let crop: RandomResizedCrop = from_json(&settings.into()).ok()?;
        let size = Some([height, width]);
        Some(Arc::new(RandomResizedCrop { size, ..crop }))
    }

    #[cfg(not(feature = "images"))]
    #[expect(clippy::unused_self, reason = "the same signature")]
    fn taken_crop(&self, _: &mut LoaderConfig) -> Option<Arc<dyn Transform>> {
        None
    }

    /// These training samples, as they are evaluated.
    fn evaluated(&self, samples: Samples) -> Result<Samples> {
        match self.test_transforms.is_empty() {
            true => Ok(samples),
            false => Ok(Arc::new(Transformed::new(
                samples,
                self.test_transforms.clone(),
            )?)),
        }
    }

    /// The numbers of training samples, with those for validation, and of test samples.
    #[must_use]
    pub fn sizes(&self) -> [usize; 2] {
        let validation = self.validation.as_ref().map_or(0, |part| part.len());
        [self.train.len() + validation, self.test.len()]
    }

    /// A SHA-256 digest of all parts, which is the same on every machine.
    ///
    /// # Errors
    /// As [`Dataset::digest`].
    pub fn digest(&self) -> Result<[u8; 32]> {
        let parts = [
            Some(&self.train),
            self.validation.as_ref(),
            Some(&self.test),
        ];
        let mut digest = Parts::of("split");
        for part in parts.into_iter().flatten() {
            digest = digest.part(&part.digest()?);
        }
        Ok(digest.finish())
    }

    /// Keeps the first training and test samples.
    ///
    /// # Errors
    /// None: the indices are below the numbers of samples.
    pub fn keep_first(&mut self, train: Option<usize>, test: Option<usize>) -> Result<()> {
        for (part, kept) in [(&mut self.train, train), (&mut self.test, test)] {
            if let Some(kept) = kept.filter(|&kept| kept < part.len()) {
                *part = Arc::new(Subset::new(part.clone(), (0..kept).collect())?);
            }
        }
        Ok(())
    }
}

fn has_images(samples: &Samples) -> bool {
    samples.fields().iter().any(|field| field.image)
}

/// The samples without a random `share`, and that share for validation, the same for all seeds.
///
/// ```
/// let digits = spikelet_data::synthetic::digits_of(0, 100, 10).train;
/// let (train, validation) = spikelet_data::held_out(&digits, 0.2)?;
/// assert_eq!((train.len(), validation.len()), (80, 20));
/// # Ok::<(), spikelet_data::Error>(())
/// ```
///
/// # Errors
/// [`Error::ValidationShare`] if the share is not between 0 and 1, or there are fewer than two samples.
pub fn held_out(train: &Samples, share: f64) -> Result<(Samples, Samples)> {
    let len = train.len();
    if !(share > 0.0 && share < 1.0) || len < 2 {
        return Err(Error::ValidationShare {
            dataset: train.name().into(),
            share,
            len,
        });
    }
    if has_images(train) && train.in_memory() {
        let count = ((len as f64 * share).round() as usize).clamp(1, len - 1);
        let mut order: Vec<usize> = (0..len).collect();
        Generator::new(VALIDATION).shuffle(&mut order);
        let (validation, rest) = order.split_at_mut(count);
        let part = |indices: &mut [usize]| -> Result<Samples> {
            indices.sort_unstable();
            Ok(Arc::new(Subset::new(train.clone(), indices.to_vec())?))
        };
        return Ok((part(rest)?, part(validation)?));
    }
    // At least one sample is for validation, however small its share.
    let share = match (len as f64 * (1.0 - share)).round() as usize == len {
        true => share.max(1.0 / len as f64),
        false => share,
    };
    let parts = split(train.clone(), &[1.0 - share, share], 0)?;
    Ok((parts[0].clone(), parts[1].clone()))
}
