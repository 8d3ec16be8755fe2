//! Folders of image files in the layout of ImageNet, `ROOT/train/CLASS/FILE` and `ROOT/val/CLASS/FILE` or
//! `ROOT/test/CLASS/FILE`, or `ROOT/CLASS/FILE`, of which a tenth is for testing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::LazyImages;
use crate::augment::{CenterCrop, Normalize, Resize};
use crate::dataset::Dataset;
use crate::decode::Colors;
use crate::error::Result;
use crate::image_error::ImageError;
use crate::image_folder::ImageFolder;
use crate::named::{DataOptions, NamedDataset};
use crate::split::Split;
use crate::transform::Transform;

/// The folder of the training images.
const TRAIN: &str = "train";
/// The folders of the test images, of which the first that exists is read.
const TEST: [&str; 2] = ["test", "val"];

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
        let train = root.join(TRAIN);
        let mut tests = TEST.map(|part| root.join(part)).into_iter();
        match (train.is_dir(), tests.find(|test| test.is_dir())) {
            (true, Some(test)) => Ok(Self::Parts([train, test])),
            (true, None) => Err(ImageError::MissingFolder {
                path: root.join(TEST[1]),
            }
            .into()),
            (false, Some(_)) => Err(ImageError::MissingFolder { path: train }.into()),
            (false, None) => Ok(Self::One(root)),
        }
    }

    /// Images that are not read: those of a second folder for testing.
    fn left_over(&self) -> Option<PathBuf> {
        let Self::Parts([train, test]) = self else {
            return None;
        };
        let other = train.with_file_name(TEST[1]);
        (other != *test && other.is_dir()).then_some(other)
    }
}

/// Whether there are images in the folder of data sets `dir`.
pub(super) fn is_in(images: LazyImages, dir: &Path) -> bool {
    // Only one's own images may be in the data folder itself: it cannot be told whose they are.
    let named = images == LazyImages::Folder || dir.join(images.name()).is_dir();
    named
        && match Layout::find(images, dir) {
            Ok(Layout::Parts([train, _])) => ImageFolder::is_at(&train),
            Ok(Layout::One(root)) => ImageFolder::is_at(&root),
            Err(_) => false,
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
pub(super) fn load(images: LazyImages, options: &DataOptions) -> Result<Split> {
    let [channels, height, width] = options.image;
    let colors = match channels {
        1 => Colors::Gray,
        3 => Colors::Rgb,
        _ => return Err(ImageError::Channels { channels }.into()),
    };
    let layout = Layout::find(images, &options.folder)?;
    let left_over = layout.left_over();
    let (train, test) = match layout {
        Layout::Parts([train, test]) => {
            let train = match options.train {
                Some(0) => ImageFolder::without_images(train)?,
                _ => ImageFolder::open(train)?,
            };
            let test = ImageFolder::open_with_classes(test, train.classes())?;
            (train, test)
        }
        Layout::One(root) => ImageFolder::open(root)?.divided(TEST_SHARE),
    };
    let mut notes = notes(&[&train, &test]);
    if let Some(folder) = left_over {
        notes.push(format!(
            "{folder:?} is not read: `{}` has the test images, and a share of the training images is for validation",
            TEST[0]
        ));
    }
    let part = |folder: ImageFolder| -> Arc<dyn Dataset> {
        Arc::new(folder.named(images.title()).colors(colors).interleaved())
    };
    let size = [height, width];
    let resize = match images {
        LazyImages::ImageNet => Resize::shorter_side(resized(size)),
        _ => Resize::cover(size),
    };
    let transforms: Vec<Arc<dyn Transform>> = vec![Arc::new(resize), Arc::new(CenterCrop { size })];
    Ok(Split::new(part(train), part(test))
        .with_normalize(Normalize::imagenet(channels))
        .train_transforms(transforms.clone())
        .test_transforms(transforms)?
        .with_notes(notes))
}

/// What a user should know of the files.
fn notes(parts: &[&ImageFolder; 2]) -> Vec<String> {
    let mut skipped: BTreeMap<&str, usize> = BTreeMap::new();
    // Two parts of one folder have the same files.
    let own = match parts[0].root() == parts[1].root() {
        true => &parts[..1],
        false => &parts[..],
    };
    for (ending, count) in own.iter().flat_map(|part| part.skipped()) {
        *skipped.entry(ending).or_default() += count;
    }
    let mut notes = vec![];
    let endings = skipped
        .iter()
        .map(|(ending, count)| format!("{count} {ending}"));
    let endings: Vec<String> = endings.collect();
    match skipped.values().sum() {
        0 => {}
        1 => notes.push(format!(
            "1 file is not read ({}): images are PNG and JPEG files",
            endings.join(", ")
        )),
        count => notes.push(format!(
            "{count} files are not read ({}): images are PNG and JPEG files",
            endings.join(", ")
        )),
    }
    notes
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
