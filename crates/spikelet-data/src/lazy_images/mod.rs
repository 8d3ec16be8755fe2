//! Data sets of images by name that are not kept in memory: an image is decoded, or computed, where a batch needs it.

#[cfg(feature = "images")]
mod folders;
mod patterns;
mod synthetic_images;

pub use synthetic_images::SyntheticImages;

use std::path::Path;

use spikelet_expr::DType;

use crate::augment::Augment;
use crate::error::Result;
use crate::field::Field;
use crate::named::{DataOptions, NamedDataset, Origin};
use crate::split::Split;

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
}

impl NamedDataset for LazyImages {
    fn name(&self) -> &'static str {
        match self {
            #[cfg(feature = "images")]
            Self::Folder => "image-folder",
            #[cfg(feature = "images")]
            Self::ImageNet => "imagenet",
            Self::Synthetic => "synthetic-images",
        }
    }

    fn summary(&self) -> &'static str {
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

    fn title(&self) -> String {
        match self {
            #[cfg(feature = "images")]
            Self::Folder => "image folder",
            #[cfg(feature = "images")]
            Self::ImageNet => "ImageNet",
            Self::Synthetic => "synthetic images",
        }
        .into()
    }

    fn origin(&self) -> Origin {
        match self {
            #[cfg(feature = "images")]
            Self::Folder => Origin::OwnFiles,
            #[cfg(feature = "images")]
            Self::ImageNet => Origin::Files,
            Self::Synthetic => Origin::Generated,
        }
    }

    fn fields(&self, options: &DataOptions) -> Result<Vec<Field>> {
        Ok(vec![
            Field::image("images", options.image),
            Field::new("labels", DType::I64, []),
        ])
    }

    /// Those of folders; none of generated images, which have those of the network.
    fn classes(&self, options: &DataOptions) -> Result<Vec<String>> {
        match (self, options) {
            (Self::Synthetic, _) => Ok(vec![]),
            #[cfg(feature = "images")]
            (images, options) => folders::classes(*images, &options.folder),
        }
    }

    fn is_in(&self, folder: &Path) -> bool {
        match (self, folder) {
            (Self::Synthetic, _) => false,
            #[cfg(feature = "images")]
            (images, folder) => folders::is_in(*images, folder),
        }
    }

    fn is_resized(&self) -> bool {
        true
    }

    /// Of ImageNet `resized-crop` and `flip`; none of the others.
    fn augment(&self) -> Augment {
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

    fn is_normalized(&self) -> bool {
        match self {
            #[cfg(feature = "images")]
            Self::ImageNet => true,
            _ => false,
        }
    }

    /// Only the names of files are read.
    fn read(&self, options: &DataOptions) -> Result<Split> {
        match self {
            Self::Synthetic => SyntheticImages::split(options),
            #[cfg(feature = "images")]
            images => folders::load(*images, options),
        }
    }
}
