//! Folders of image files in the layout of ImageNet, `ROOT/train/CLASS/FILE` and `ROOT/val/CLASS/FILE`, or
//! `ROOT/CLASS/FILE`, of which a tenth is for testing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{LazyImages, LazySplit, WantedImages};
use crate::augment::{CenterCrop, Normalize, RandomFlip, RandomResizedCrop, Resize};
use crate::dataset::Dataset;
use crate::decode::Colors;
use crate::error::Result;
use crate::image_error::ImageError;
use crate::image_folder::ImageFolder;

/// The folders of the training and the test images.
const PARTS: [&str; 2] = ["train", "val"];

/// Of images without a part for testing, one of so many is for testing.
const TEST_SHARE: usize = 10;

/// The folders of a data set.
enum Layout {
    /// Training and test images.
    Parts([PathBuf; 2]),
    /// All images.
    One(PathBuf),
}

impl Layout {
    /// The layout of the data set in the folder of data sets `dir`.
    fn find(images: LazyImages, dir: &Path) -> Result<Self> {
        let own = dir.join(images.name());
        let root = if own.is_dir() { own } else { dir.to_path_buf() };
        if !root.is_dir() {
            return Err(ImageError::MissingFolder { path: root }.into());
        }
        let parts = PARTS.map(|part| root.join(part));
        match parts.iter().find(|part| !part.is_dir()) {
            None => Ok(Self::Parts(parts)),
            Some(missing) if parts.iter().any(|part| part.is_dir()) => {
                let path = missing.clone();
                Err(ImageError::MissingFolder { path }.into())
            }
            Some(_) => Ok(Self::One(root)),
        }
    }
}

/// The names of the classes.
pub(super) fn classes(images: LazyImages, dir: &Path) -> Result<Vec<String>> {
    match Layout::find(images, dir)? {
        Layout::Parts([train, _]) => ImageFolder::class_folders(&train),
        Layout::One(root) => ImageFolder::class_folders(&root),
    }
}

/// The images of both parts.
pub(super) fn load(images: LazyImages, dir: &Path, wanted: WantedImages) -> Result<LazySplit> {
    let [channels, height, width] = wanted.shape;
    let colors = match channels {
        1 => Colors::Gray,
        3 => Colors::Rgb,
        _ => return Err(ImageError::Channels { channels }.into()),
    };
    let (train, test) = match Layout::find(images, dir)? {
        Layout::Parts([train, val]) => {
            let train = match wanted.train {
                Some(0) => ImageFolder::without_images(train)?,
                _ => ImageFolder::open(train)?,
            };
            let test = ImageFolder::open_with_classes(val, train.classes())?;
            (train, test)
        }
        Layout::One(root) => ImageFolder::open(root)?.divided(TEST_SHARE),
    };
    let part = |folder: ImageFolder| -> Arc<dyn Dataset> {
        Arc::new(folder.named(images.title()).colors(colors).interleaved())
    };
    let size = [height, width];
    let normalize = Normalize::imagenet(channels);
    let mut split = LazySplit::new(part(train), part(test), normalize)
        .train_transforms(vec![
            Arc::new(RandomResizedCrop::new(size)),
            Arc::new(RandomFlip::default()),
        ])
        .test_transforms(vec![
            Arc::new(Resize::ShorterSide(resized(size))),
            Arc::new(CenterCrop { size }),
        ])?;
    split.keep_first(wanted.train, wanted.test)?;
    Ok(split)
}

/// The shorter side to which images are resized before the crop: 256 for crops of 224 pixels, and in proportion for others.
fn resized(size: [usize; 2]) -> usize {
    let largest = size[0].max(size[1]);
    (largest * 256 + 112) / 224
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_resized_in_the_proportion_of_256_to_224() {
        let sides = [224, 112, 64, 32, 1].map(|side| resized([side, side]));
        assert_eq!(sides, [256, 128, 73, 37, 1]);
    }
}
