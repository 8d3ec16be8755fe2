//! The training and test images of a data set that is not in memory.

use std::sync::Arc;

use crate::augment::Normalize;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::image_dataset::ImageDataset;
use crate::loader::{DataLoader, LoaderConfig};
use crate::sample::Values;
use crate::sets::{Subset, Transformed};
use crate::transform::Transform;

/// The training and test images of a data set that are read or computed when they are needed, with the transforms that
/// bring them to one shape.
///
/// Samples have the fields `images`, u8 `[channels, height, width]` of any size, and `labels`, i64.
///
/// ```no_run
/// use std::sync::Arc;
/// use spikelet_data::{CenterCrop, ImageFolder, LazySplit, Normalize, RandomFlip, RandomResizedCrop, Resize};
///
/// let train = ImageFolder::open("photos/train")?;
/// let test = ImageFolder::open_with_classes("photos/val", train.classes())?;
/// let size = [224, 224];
/// let split = LazySplit::new(Arc::new(train), Arc::new(test), Normalize::imagenet(3))
///     .train_transforms(vec![Arc::new(RandomResizedCrop::new(size)), Arc::new(RandomFlip::default())])
///     .test_transforms(vec![Arc::new(Resize::shorter_side(256)), Arc::new(CenterCrop { size })])?;
/// assert_eq!(split.shown(&[0, 7])?.shape, [3, 224, 224]);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct LazySplit {
    train: Arc<dyn Dataset>,
    /// As they are evaluated.
    test: Arc<dyn Dataset>,
    train_transforms: Vec<Arc<dyn Transform>>,
    test_transforms: Vec<Arc<dyn Transform>>,
    normalize: Normalize,
    notes: Vec<String>,
}

impl LazySplit {
    /// Training and test images without transforms, and the usual normalization of their pixels.
    #[must_use]
    pub fn new(train: Arc<dyn Dataset>, test: Arc<dyn Dataset>, normalize: Normalize) -> Self {
        Self {
            train,
            test,
            train_transforms: vec![],
            test_transforms: vec![],
            normalize,
            notes: vec![],
        }
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

    /// The training images, before the transforms.
    #[must_use]
    pub fn train(&self) -> &Arc<dyn Dataset> {
        &self.train
    }

    /// The test images, as they are evaluated.
    #[must_use]
    pub fn test(&self) -> &Arc<dyn Dataset> {
        &self.test
    }

    /// The usual normalization of the pixels.
    #[must_use]
    pub fn normalize(&self) -> &Normalize {
        &self.normalize
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

    /// The names of the classes.
    #[must_use]
    pub fn classes(&self) -> &[String] {
        self.train.class_names("labels")
    }

    /// A loader of these training images, which are all or a part of them.
    ///
    /// # Errors
    /// As [`DataLoader::new`] and [`DataLoader::transform`].
    pub fn training(
        &self,
        images: Arc<dyn Dataset>,
        mut config: LoaderConfig,
    ) -> Result<DataLoader> {
        let crop = self.taken_crop(&mut config);
        let loader = DataLoader::new(images, config)?;
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

    /// These training images, as they are evaluated.
    ///
    /// # Errors
    /// As [`Transformed::new`].
    pub fn evaluated(&self, images: Arc<dyn Dataset>) -> Result<Arc<dyn Dataset>> {
        let transforms = self.test_transforms.clone();
        Ok(Arc::new(Transformed::new(images, transforms)?))
    }

    /// Keeps the first images of both parts.
    ///
    /// # Errors
    /// None: the indices are below the numbers of images.
    pub fn keep_first(&mut self, train: Option<usize>, test: Option<usize>) -> Result<()> {
        for (part, kept) in [(&mut self.train, train), (&mut self.test, test)] {
            if let Some(kept) = kept.filter(|&kept| kept < part.len()) {
                *part = Arc::new(Subset::new(part.clone(), (0..kept).collect())?);
            }
        }
        Ok(())
    }

    /// The test images of these indices, in memory.
    ///
    /// # Errors
    /// If one cannot be read, or they are not of one shape after the transforms.
    pub fn shown(&self, indices: &[usize]) -> Result<ImageDataset> {
        let test = &self.test;
        let (mut images, mut labels, mut shape) = (vec![], vec![], [0; 3]);
        for &index in indices {
            let sample = test.sample(index)?;
            let image = sample.require("images")?;
            if let (Values::U8(pixels), &[channels, height, width]) =
                (&image.values, &image.shape[..])
            {
                images.extend_from_slice(pixels);
                shape = [channels, height, width];
            }
            let label = sample.require("labels")?.as_i64().unwrap_or_default();
            labels.extend(label.iter().map(|&label| label as u32));
        }
        let classes = self.classes().to_vec();
        ImageDataset::new(test.name(), images, labels, shape, classes)
    }
}
