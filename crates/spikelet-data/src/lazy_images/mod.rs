//! Data sets of images by name that are not kept in memory: an image is decoded, or computed, where a batch needs it.

#[cfg(feature = "images")]
mod folders;
mod lazy_split;
mod patterns;
mod synthetic_images;

pub use lazy_split::LazySplit;
pub use synthetic_images::SyntheticImages;

use std::path::Path;

use crate::augment::Augment;
use crate::error::Result;

/// A data set of images by name whose images are read or computed when they are needed. They are brought to the shape that
/// a network takes, whatever their size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LazyImages {
    /// Files of one's own, a folder for each class.
    #[cfg(feature = "images")]
    Folder,
    /// ImageNet: the same in the subfolder `imagenet`, usually normalized.
    #[cfg(feature = "images")]
    ImageNet,
    /// Generated images.
    Synthetic,
}

/// The images that are wanted of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantedImages {
    /// Channels, height and width, as the network takes them.
    pub shape: [usize; 3],
    /// The number of classes of generated images.
    pub classes: usize,
    /// The number of training images: the first ones; all by default.
    pub train: Option<usize>,
    /// The number of test images: the first ones; all by default.
    pub test: Option<usize>,
}

impl LazyImages {
    /// All of them.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        [
            #[cfg(feature = "images")]
            Self::Folder,
            #[cfg(feature = "images")]
            Self::ImageNet,
            Self::Synthetic,
        ]
        .into_iter()
    }

    /// The name, as on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            #[cfg(feature = "images")]
            Self::Folder => "image-folder",
            #[cfg(feature = "images")]
            Self::ImageNet => "imagenet",
            Self::Synthetic => "synthetic-images",
        }
    }

    /// A description in one line.
    #[must_use]
    pub fn summary(self) -> &'static str {
        match self {
            #[cfg(feature = "images")]
            Self::Folder => {
                "One's own PNG and JPEG files: ROOT/train/CLASS and ROOT/test/CLASS, or ROOT/CLASS; imagenet is the same, augmented"
            }
            #[cfg(feature = "images")]
            Self::ImageNet => {
                "ImageNet in such folders; random crops and mirror images, normalized by its mean and deviation"
            }
            Self::Synthetic => {
                "Generated patterns in the size and with the classes of the network; needs no files"
            }
        }
    }

    /// The name of the data set in checkpoints.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            #[cfg(feature = "images")]
            Self::Folder => "image folder",
            #[cfg(feature = "images")]
            Self::ImageNet => "ImageNet",
            Self::Synthetic => "synthetic images",
        }
    }

    /// Whether pixels are normalized unless the user decides otherwise.
    #[must_use]
    pub fn is_normalized(self) -> bool {
        match self {
            #[cfg(feature = "images")]
            Self::ImageNet => true,
            _ => false,
        }
    }

    /// Whether the images have any number of classes, as the network has.
    #[must_use]
    pub fn is_generated(self) -> bool {
        self == Self::Synthetic
    }

    /// The usual augmentation of its training images: of ImageNet `resized-crop` and `flip`; none of the others.
    ///
    /// ```
    /// use spikelet_data::{Augment, LazyImages};
    /// assert!(LazyImages::ImageNet.augment().flip);
    /// assert_eq!(LazyImages::Folder.augment(), Augment::default());
    /// ```
    #[must_use]
    pub fn augment(self) -> Augment {
        match self {
            #[cfg(feature = "images")]
            Self::ImageNet => Augment {
                flip: true,
                transforms: vec![crate::RandomResizedCrop::default().into()],
                ..Augment::default()
            },
            _ => Augment::default(),
        }
    }

    /// Whether there are images in the folder of data sets `dir`.
    #[must_use]
    pub(crate) fn is_in(self, dir: &Path) -> bool {
        match (self, dir) {
            (Self::Synthetic, _) => false,
            #[cfg(feature = "images")]
            (Self::Folder | Self::ImageNet, dir) => folders::is_in(self, dir),
        }
    }

    /// The names of the classes in the folder of data sets `dir`; none of generated images, which have those of the network.
    ///
    /// # Errors
    /// If there is no folder of images.
    pub fn classes(self, dir: impl AsRef<Path>) -> Result<Vec<String>> {
        match (self, dir.as_ref()) {
            (Self::Synthetic, _) => Ok(vec![]),
            #[cfg(feature = "images")]
            (Self::Folder | Self::ImageNet, dir) => folders::classes(self, dir),
        }
    }

    /// The data set in the folder of data sets `dir`. Only names are read.
    ///
    /// # Errors
    /// [`ImageError::MissingFolder`](crate::ImageError::MissingFolder); the errors of
    /// [`ImageFolder::open_with_classes`](crate::ImageFolder::open_with_classes);
    /// [`ImageError::Channels`](crate::ImageError::Channels).
    pub fn load(self, dir: impl AsRef<Path>, wanted: WantedImages) -> Result<LazySplit> {
        match (self, dir.as_ref()) {
            (Self::Synthetic, _) => SyntheticImages::split(self.title(), wanted),
            #[cfg(feature = "images")]
            (Self::Folder | Self::ImageNet, dir) => folders::load(self, dir, wanted),
        }
    }
}
