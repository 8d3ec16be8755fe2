//! The errors of images and their augmentations.

#[cfg(feature = "images")]
use std::path::PathBuf;

#[cfg(feature = "images")]
use crate::decode_error::DecodeError;
#[cfg(feature = "images")]
use crate::lines::first_names;

/// An error of an image or an augmentation.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// The number of pixels does not match the shape.
    #[error(
        "{found} pixels for an image of shape {shape:?} [channels, height, width]\n  \
         help: give one byte a channel and pixel, with every size at least 1"
    )]
    Pixels {
        /// The given number of pixels.
        found: usize,
        /// Channels, height, width.
        shape: [usize; 3],
    },
    /// A setting of an augmentation is out of range.
    #[error("augmentation `{transform}`: `{field}` is {value}\n  help: it must be {expected}")]
    Range {
        /// The name of the augmentation.
        transform: &'static str,
        /// The setting.
        field: &'static str,
        /// Its value.
        value: f64,
        /// The allowed values.
        expected: String,
    },
    /// An augmentation of a loader changes the shape of images.
    #[error(
        "augmentation `{transform}` changes the size of images\n  \
         help: leave its `size` out, or give it to `DataLoader::transform`"
    )]
    ChangesShape {
        /// The name of the augmentation.
        transform: &'static str,
    },
    /// An image does not have the shape that is needed.
    #[error(
        "{operation} needs {expected}, the image has the shape {shape:?} [channels, height, width]"
    )]
    Shape {
        /// The name of the operation.
        operation: &'static str,
        /// The needed shape.
        expected: String,
        /// Channels, height, width.
        shape: [usize; 3],
    },
    /// A label is not a class.
    #[error(
        "label {label}, but there are {classes} classes to mix\n  \
         help: labels are 0 to the number of classes minus 1; give the number of classes of the data set"
    )]
    MixedLabel {
        /// The label.
        label: i64,
        /// The number of classes.
        classes: usize,
    },
    /// An image cannot be resized.
    #[cfg(feature = "images")]
    #[error("cannot resize {size:?} pixels [height, width] to {new:?}: {problem}")]
    Resize {
        /// Height and width.
        size: [usize; 2],
        /// The new height and width.
        new: [usize; 2],
        /// The error of the library.
        problem: String,
    },
    /// A folder has no images.
    #[cfg(feature = "images")]
    #[error(
        "no images in {}\n  help: put PNG or JPEG files into one folder for each class, ROOT/CLASS/FILE",
        path.display()
    )]
    EmptyFolder {
        /// The folder.
        path: PathBuf,
    },
    /// A folder of test images has a class without training images.
    #[cfg(feature = "images")]
    #[error(
        "{}: a class without training images\n  help: remove the folder, or add images of this class to the training \
         images, whose classes are {}",
        path.display(), first_names(known)
    )]
    UnknownClass {
        /// The folder of the class.
        path: PathBuf,
        /// The classes of the training images.
        known: Vec<String>,
    },
    /// A folder of images is not there.
    #[cfg(feature = "images")]
    #[error(
        "{} is no folder\n  help: put images into ROOT/train/CLASS and ROOT/test/CLASS (or ROOT/val/CLASS), or into ROOT/CLASS, of \
         which a tenth is for testing, and name ROOT",
        path.display()
    )]
    MissingFolder {
        /// The folder.
        path: PathBuf,
    },
    /// Images have a number of channels that files of images do not have.
    #[cfg(feature = "images")]
    #[error(
        "images with {channels} channels\n  help: PNG and JPEG files have 3 channels, or 1 in grayscale: change the input of the network"
    )]
    Channels {
        /// The number.
        channels: usize,
    },
    /// A file of an image cannot be decoded.
    #[cfg(feature = "images")]
    #[error(
        "{}: {problem}\n  help: remove the file, or replace it by a valid PNG or JPEG file",
        path.display()
    )]
    Decode {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        problem: DecodeError,
    },
}
