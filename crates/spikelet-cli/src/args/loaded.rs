//! The samples of a data set that was read.

use crate::failure::Failure;
use spikelet::data::{ImageDataset, LazySplit, SequenceSplit, Split, Subset};
use spikelet::train::{DatasetId, FitData, TestSamples};
use std::sync::Arc;

/// The samples of a data set.
pub enum Loaded {
    /// Images in memory.
    Images(Split),
    /// Images that are read when they are needed.
    LazyImages(LazySplit),
    /// Sequences of features.
    Sequences(SequenceSplit),
}

/// Test images in memory.
pub struct TestImages {
    /// The images, of which there may be more.
    pub images: Arc<ImageDataset>,
    /// The indices of those that were asked for.
    pub places: Vec<usize>,
}

impl Loaded {
    /// The name of the data set.
    pub fn name(&self) -> &str {
        match self {
            Self::Images(split) => &split.train.name,
            Self::LazyImages(split) => split.train().name(),
            Self::Sequences(split) => split.test.name(),
        }
    }

    /// The number of training samples, with those for validation, and of test samples.
    pub fn sizes(&self) -> [usize; 2] {
        match self {
            Self::Images(split) => [split.train.len(), split.test.len()],
            Self::LazyImages(split) => [split.train().len(), split.test().len()],
            Self::Sequences(split) => {
                let validation = split.validation.as_ref().map_or(0, |part| part.len());
                [split.train.len() + validation, split.test.len()]
            }
        }
    }

    /// The test images of these indices, in memory. `None` for sequences.
    ///
    /// # Errors
    /// When an image cannot be read.
    pub fn test_images(&self, indices: &[usize]) -> Result<Option<TestImages>, Failure> {
        Ok(match self {
            Self::Images(split) => Some(TestImages {
                images: split.test.clone(),
                places: indices.to_vec(),
            }),
            Self::LazyImages(split) => {
                let images = split.shown(indices).map_err(spikelet::Error::from)?;
                Some(TestImages {
                    images: Arc::new(images),
                    places: (0..indices.len()).collect(),
                })
            }
            Self::Sequences(_) => None,
        })
    }

    /// The test samples.
    pub fn test(&self) -> TestSamples {
        match self {
            Self::Images(split) => (&split.test).into(),
            Self::LazyImages(split) => split.into(),
            Self::Sequences(split) => split.into(),
        }
    }

    /// The names of the classes of images in files of one's own; of no other data.
    pub fn classes_of_files(&self) -> &[String] {
        match self {
            Self::LazyImages(split) => split.classes(),
            Self::Images(_) | Self::Sequences(_) => &[],
        }
    }

    /// What a user should know of the files; a sentence each.
    pub fn notes(&self) -> &[String] {
        match self {
            Self::LazyImages(split) => split.notes(),
            Self::Images(_) | Self::Sequences(_) => &[],
        }
    }

    /// The names of the classes; empty where labels have none.
    pub fn class_names(&self) -> &[String] {
        match self {
            Self::Images(split) => &split.train.classes,
            Self::LazyImages(split) => split.classes(),
            Self::Sequences(split) => split.train.class_names("labels"),
        }
    }

    /// The identity of the data, for a network that was not trained here.
    ///
    /// # Errors
    /// When samples cannot be read.
    pub fn id(&self) -> Result<DatasetId, Failure> {
        let [train_samples, test_samples] = self.sizes();
        let digests = self.digests()?.concat();
        Ok(DatasetId {
            name: self.name().to_string(),
            train_samples,
            validation_samples: 0,
            test_samples,
            sha256: digests.iter().map(|byte| format!("{byte:02x}")).collect(),
            classes: self.classes_of_files().to_vec(),
            folder: None,
        })
    }

    /// Digests of all samples, of each part that is separate.
    pub(super) fn digests(&self) -> Result<Vec<[u8; 32]>, Failure> {
        let parts = match self {
            Self::Images(split) => return Ok(vec![split.digest()]),
            Self::LazyImages(split) => vec![split.train(), split.test()],
            Self::Sequences(split) => {
                let parts = [
                    Some(&split.train),
                    split.validation.as_ref(),
                    Some(&split.test),
                ];
                parts.into_iter().flatten().collect()
            }
        };
        let digests = parts.into_iter().map(|part| part.digest());
        let digests: Result<_, _> = digests.collect();
        Ok(digests.map_err(spikelet::Error::from)?)
    }

    /// Keeps the first samples of both parts.
    pub(super) fn keep_first(
        &mut self,
        train: Option<usize>,
        test: Option<usize>,
    ) -> Result<(), spikelet::Error> {
        match self {
            Self::Images(split) => {
                keep_first_images(&mut split.train, train);
                keep_first_images(&mut split.test, test);
            }
            // They were read with these numbers of images.
            Self::LazyImages(_) => {}
            Self::Sequences(split) => {
                for (part, kept) in [(&mut split.train, train), (&mut split.test, test)] {
                    if let Some(kept) = kept.filter(|&kept| kept < part.len()) {
                        *part = Arc::new(Subset::new(part.clone(), (0..kept).collect())?);
                    }
                }
            }
        }
        Ok(())
    }
}

impl From<&Loaded> for FitData {
    fn from(loaded: &Loaded) -> Self {
        match loaded {
            Loaded::Images(split) => split.into(),
            Loaded::LazyImages(split) => split.into(),
            Loaded::Sequences(split) => split.into(),
        }
    }
}

fn keep_first_images(dataset: &mut Arc<ImageDataset>, images: Option<usize>) {
    let kept = images.unwrap_or(usize::MAX).min(dataset.len());
    // The data set was just loaded and has no other owner: nothing is copied.
    let dataset = Arc::make_mut(dataset);
    dataset.images.truncate(kept * dataset.image_len());
    dataset.labels.truncate(kept);
}
