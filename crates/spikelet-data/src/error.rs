//! The errors of data sets.

use std::io;
use std::path::PathBuf;

#[cfg(feature = "download")]
use crate::download_error::DownloadError;
use crate::encode_error::EncodeError;
use crate::idx_error::IdxError;
use crate::image_error::ImageError;
use crate::lines::{first_names, lines};
use crate::tensor_error::TensorError;
use spikelet_schema::document::DocumentError;

/// The crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of this crate. Every message names what was given, what was expected and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be opened.
    #[error("cannot open {}: {source}\n  help: check the path and its permissions", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file is not a valid IDX file.
    #[error("{}: {problem}", path.display())]
    Idx {
        /// The file.
        path: PathBuf,
        /// The error in the file.
        #[source]
        problem: IdxError,
    },
    /// The numbers of images and labels in two files differ.
    #[error(
        "{} holds {images} images, but {} holds {labels} labels\n  \
         help: the two files must come from the same data set and the same split",
        images_path.display(), labels_path.display()
    )]
    CountMismatch {
        /// The file of images.
        images_path: PathBuf,
        /// The number of images.
        images: usize,
        /// The file of labels.
        labels_path: PathBuf,
        /// The number of labels.
        labels: usize,
    },
    /// A file has a label that is not a class.
    #[error(
        "{}: label {label} at position {index}, but there are {classes} classes (0 to {})\n  \
         help: the file belongs to another data set or is damaged; fetch it again",
        path.display(), classes - 1
    )]
    FileLabel {
        /// The file of labels.
        path: PathBuf,
        /// The index in the file, counted from 0.
        index: usize,
        /// The label.
        label: u8,
        /// The number of classes.
        classes: usize,
    },
    /// The images of a file have the wrong size.
    #[error(
        "{}: images of {}x{} pixels, {dataset} has {}x{}\n  \
         help: this is another data set's file; read it with `idx::read_images`",
        path.display(), found[0], found[1], expected[0], expected[1]
    )]
    ImageSize {
        /// The file of images.
        path: PathBuf,
        /// The requested data set.
        dataset: String,
        /// Height and width in the file.
        found: [usize; 2],
        /// Height and width of the data set.
        expected: [usize; 2],
    },
    /// A file has more images or labels than the data set.
    #[error(
        "{}: {found} images or labels, more than the {most_bytes} bytes of {dataset}'s own file\n  \
         help: this is another data set's file; read it with `idx::read`",
        path.display()
    )]
    TooMany {
        /// The file.
        path: PathBuf,
        /// The requested data set.
        dataset: String,
        /// The number of images or labels in the header.
        found: usize,
        /// The number in the file of the data set.
        most_bytes: u64,
    },
    /// A file cannot be read.
    #[error(
        "cannot read {}: {source}\n  help: check the disk, or get the file again",
        path.display()
    )]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file of records has the wrong length.
    #[error(
        "{}: {found} bytes, but the {records} images of a file of {dataset}, each with its labels, \
         take {expected}\n  \
         help: the file was not copied to its end, or is another data set's; get it again",
        path.display()
    )]
    RecordBytes {
        /// The file.
        path: PathBuf,
        /// The data set.
        dataset: String,
        /// The length of the file.
        found: u64,
        /// The expected length.
        expected: u64,
        /// The number of images per file.
        records: usize,
    },
    /// Files of a data set are missing.
    #[error(
        "{dataset} is not complete: no {} in any of\n{}  \
         help: download them, or put them ({}) into {}",
        missing.join(", "),
        lines(searched.iter().map(|path| path.display())),
        archive.as_ref().map_or("raw or .gz".into(), |name| format!("unpacked from {name}")),
        folder.display()
    )]
    MissingFiles {
        /// The data set.
        dataset: String,
        /// The folders that were searched.
        searched: Vec<PathBuf>,
        /// The missing files of the most complete folder.
        missing: Vec<String>,
        /// This folder, or the folder for the files if none of them exists.
        folder: PathBuf,
        /// The archive of the files, if there is one.
        archive: Option<String>,
    },
    /// A folder has another data set with the same file names.
    #[error(
        "{} holds the files of {found}, not those of {expected}\n  \
         help: the two use the same file names; put those of {expected} into {}",
        folder.display(), target.display()
    )]
    OtherDataset {
        /// The folder.
        folder: PathBuf,
        /// The data set of the files.
        found: String,
        /// The requested data set.
        expected: String,
        /// The folder for the files of the requested data set.
        target: PathBuf,
    },
    /// A file could not be downloaded from any mirror.
    #[cfg(feature = "download")]
    #[error(transparent)]
    Download(#[from] DownloadError),
    /// The shape of a data set has a zero or is too large, or there are no images.
    #[error(
        "data set `{dataset}`: {len} images of shape {shape:?} [channels, height, width] \
         cannot be used\n  help: every number must be at least 1, and there may be at most \
         2^32 - 1 images"
    )]
    Shape {
        /// The data set.
        dataset: String,
        /// Number of images.
        len: usize,
        /// Channels, height, width.
        shape: [usize; 3],
    },
    /// The number of pixels does not match the shape.
    #[error(
        "data set `{dataset}`: {found} bytes of images, but {len} labels and the shape {shape:?} \
         need {expected}\n  help: images are one byte a channel, [len, channels, height, width]"
    )]
    ImageBytes {
        /// The data set.
        dataset: String,
        /// The given number of bytes.
        found: usize,
        /// The expected number of bytes.
        expected: usize,
        /// Number of labels.
        len: usize,
        /// Channels, height, width.
        shape: [usize; 3],
    },
    /// A data set has a label that is not a class.
    #[error(
        "data set `{dataset}`: label {label} of image {index}, but there are {classes} classes\n  \
         help: labels are 0 to the number of classes minus 1; name every class in `classes`"
    )]
    Label {
        /// The data set.
        dataset: String,
        /// The index of the image, counted from 0.
        index: usize,
        /// Its label.
        label: u32,
        /// The number of classes.
        classes: usize,
    },
    /// Samples do not have the images that are wanted of them.
    #[error(
        "data set `{dataset}`: the samples are {}\n  help: the field `images`, u8 [channels, height, width], is needed, of one shape",
        .fields.join(", ")
    )]
    NoImages {
        /// The data set.
        dataset: String,
        /// Its fields.
        fields: Vec<String>,
    },
    /// No data set has this name.
    #[error(transparent)]
    Unknown(#[from] spikelet_schema::UnknownName),
    /// The validation fraction is invalid for this data set.
    #[error(
        "validation split: the share {share} of the {len} training samples of `{dataset}`\n  \
         help: give a share above 0 and below 1, of two samples at least"
    )]
    ValidationShare {
        /// The data set.
        dataset: String,
        /// The given fraction.
        share: f64,
        /// Number of samples.
        len: usize,
    },
    /// A field of the augmentation is out of range.
    #[error("augmentation: `{field}` is {value}\n  help: it must be {expected}")]
    Augment {
        /// The field of [`Augment`](crate::Augment).
        field: &'static str,
        /// Its value.
        value: f32,
        /// The allowed values.
        expected: String,
    },
    /// The number of normalization values does not match the channels.
    #[error(
        "normalization: `{field}` has {found} values, the images have {channels} channels\n  \
         help: give one value for each channel, or one for all"
    )]
    NormalizeLength {
        /// The field of [`Normalize`](crate::Normalize).
        field: &'static str,
        /// Number of values given.
        found: usize,
        /// Channels of an image.
        channels: usize,
    },
    /// A normalization value is invalid.
    #[error(
        "normalization: `{field}` has the value {value}\n  \
         help: means must be finite, deviations finite and more than 0"
    )]
    NormalizeValue {
        /// The field of [`Normalize`](crate::Normalize).
        field: &'static str,
        /// The value.
        value: f32,
    },
    /// An epoch would have no batch.
    #[error(
        "batches of {batch_size} from the {len} samples of `{dataset}`{} make no batch\n  \
         help: {}",
        if *drop_last { ", the last incomplete one dropped," } else { "" },
        match len {
            0 => "a data set needs a sample".to_string(),
            _ if u32::try_from(*len).is_err() => "a data set has at most 2^32 - 1 samples".to_string(),
            _ => format!("choose a batch size from 1 to {len}"),
        }
    )]
    BatchSize {
        /// The data set.
        dataset: String,
        /// The given batch size.
        batch_size: usize,
        /// Number of samples.
        len: usize,
        /// Whether an incomplete last batch is dropped.
        drop_last: bool,
    },
    /// An image or its augmentation is invalid.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// Recordings of events cannot be read, or a setting of their frames is wrong.
    #[error(transparent)]
    Events(#[from] spikelet_events::Error),
    /// The text of a setting cannot be read.
    #[error("{0}")]
    Setting(Box<DocumentError>),
    /// Neither the files of recordings nor the settings say the size of the sensor.
    #[error(
        "the files of `{dataset}` do not say the size of the sensor\n  \
         help: set `sensor`, its width and height, such as [346, 260]"
    )]
    NoSensor {
        /// The data set.
        dataset: String,
    },
    /// The frames of recordings cannot be made on a device.
    #[error(
        "frames cannot be made on the device: {problem}\n  \
         help: use frames by number, time or duration that are not larger than the sensor, and no changes of frames; or \
         make them on the host"
    )]
    DeviceFrames {
        /// The problem.
        problem: String,
    },
    /// A data set without events has changes of events.
    #[error(
        "data set `{dataset}` has no events, which the augmentation changes\n  \
         help: leave changes of events out, or use a data set of recordings"
    )]
    NoEvents {
        /// The data set.
        dataset: String,
    },
    /// An encoder of time series or its input is invalid.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// A tensor of a sample or a batch is missing or not as expected.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// A sample cannot be read or transformed.
    #[error("data set `{dataset}`, sample {index}: {source}")]
    Sample {
        /// The data set.
        dataset: String,
        /// The index of the sample.
        index: usize,
        /// The cause.
        source: Box<Error>,
    },
    /// A batch cannot be stacked or transformed.
    #[error("data set `{dataset}`, batch {index} of the epoch: {source}")]
    Batch {
        /// The data set.
        dataset: String,
        /// The index of the batch in the epoch.
        index: usize,
        /// The cause.
        source: Box<Error>,
    },
    /// There is no sample of this index.
    #[error(
        "data set `{dataset}` has no sample {index}\n  help: its {len} samples have the indices below {len}"
    )]
    Index {
        /// The data set.
        dataset: String,
        /// The requested index.
        index: usize,
        /// The number of samples.
        len: usize,
    },
    /// A field cannot be collated.
    #[error("data set `{dataset}`: field `{field}`: {problem}")]
    Field {
        /// The data set.
        dataset: String,
        /// The description of the field.
        field: String,
        /// The error in it, and what is expected.
        problem: &'static str,
    },
    /// The values of a field in memory do not match it.
    #[error(
        "data set `{dataset}`: field `{field}`: {problem}\n  \
         help: give the values of all samples, one after the other, as many for each as the product of its shape"
    )]
    Column {
        /// The data set.
        dataset: String,
        /// The description of the field.
        field: String,
        /// The error in the values.
        problem: String,
    },
    /// The contents of a file are damaged or of an unknown format.
    #[error("{}, byte {offset}: {problem}\n  help: {help}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// The offset in the file in bytes.
        offset: u64,
        /// The error in the contents.
        problem: String,
        /// The remedy.
        help: &'static str,
    },
    /// The arrays of a data set have different numbers of samples.
    #[error(
        "data set `{dataset}`: the arrays have different sizes of axis 0:\n{}  \
         help: axis 0 are the samples; name the arrays that are fields, and leave the others out",
        lines(lengths.iter())
    )]
    ArrayLengths {
        /// The data set.
        dataset: String,
        /// The name and the number of samples of each array.
        lengths: Vec<String>,
    },
    /// Data sets with different fields cannot be concatenated.
    #[error(
        "`{other}` cannot follow `{first}`: their fields differ.\n{first} has:\n{}{other} has:\n{}  \
         help: bring them to the same fields with `Map`, and give at least one data set",
        lines(expected.iter()), lines(found.iter())
    )]
    Concat {
        /// The first data set.
        first: String,
        /// Its fields.
        expected: Vec<String>,
        /// The other data set.
        other: String,
        /// Its fields.
        found: Vec<String>,
    },
    /// A data set cannot be divided like this.
    #[error(
        "the {len} samples of `{dataset}` cannot be divided into {given}\n  \
         help: give fractions above 0 with a sum of at most 1, or 2 to {len} folds; every part needs a sample"
    )]
    Division {
        /// The data set.
        dataset: String,
        /// The number of samples.
        len: usize,
        /// The parts that were asked for.
        given: String,
    },
    /// Recordings have no part for training, or none for testing.
    #[error(
        "{dataset}: of {len} recordings of {classes} classes, {train} are for training and {test} for testing\n  help: 9 of \
         10 recordings of a class train: give at least 10 of each class; or put those for testing into test/CLASS and the \
         others into train/CLASS in the data folder, or name the part of each file in recordings.csv: FILE,CLASS,test"
    )]
    FewRecordings {
        /// The data set.
        dataset: String,
        /// The number of recordings.
        len: usize,
        /// The number of classes.
        classes: usize,
        /// The number of recordings for training.
        train: usize,
        /// The number of recordings for testing.
        test: usize,
    },
    /// No folder has the files of a data set of sequences.
    #[error(
        "{dataset}: no {} in any of\n{}  help: {help}",
        files.join(" or "),
        lines(searched.iter().map(|path| path.display()))
    )]
    NoFiles {
        /// The data set.
        dataset: String,
        /// The files, of which one is enough.
        files: Vec<String>,
        /// The folders that were searched.
        searched: Vec<PathBuf>,
        /// The remedy.
        help: &'static str,
    },
    /// A data set whose samples are not in files of their own.
    #[error(
        "{}: no file with a sample of {dataset}\n  help: give an array [T, C] in a .npy file",
        path.display()
    )]
    NoSampleFiles {
        /// The data set.
        dataset: String,
        /// The file.
        path: PathBuf,
    },
    /// A data set has no split of this name.
    #[error(
        "{dataset} has no split `{given}`\n  help: {}",
        match &known[..] {
            [] => "leave it out: the data set has one split".to_string(),
            known => format!("its splits are: {}", first_names(known)),
        }
    )]
    UnknownSplit {
        /// The data set.
        dataset: String,
        /// The given name.
        given: String,
        /// The names of its splits.
        known: Vec<String>,
    },
    /// An order of pixels is not a permutation.
    #[error(
        "data set `{dataset}`: the order of the {pixels} pixels {problem}\n  \
         help: give each index below {pixels} once"
    )]
    Permutation {
        /// The data set.
        dataset: String,
        /// The number of pixels.
        pixels: usize,
        /// The error in the order.
        problem: String,
    },
    /// There is no image to augment or normalize.
    #[error(
        "data set `{dataset}` has no image field to augment or normalize; its fields are:\n{}  \
         help: describe the images with `Field::image`, or leave `augment` and `normalize` out",
        lines(fields.iter())
    )]
    NoImage {
        /// The data set.
        dataset: String,
        /// Its fields.
        fields: Vec<String>,
    },
    /// The weights of the samples are invalid.
    #[error(
        "weighted sampling of the {len} samples of `{dataset}`: {problem}\n  \
         help: give one weight for each sample, finite and at least 0, not all 0, and less than 2^32 samples"
    )]
    Weights {
        /// The data set.
        dataset: String,
        /// The number of samples.
        len: usize,
        /// The error in the weights.
        problem: String,
    },
    /// An error of a data set or a transform outside this crate.
    #[error(transparent)]
    Custom(Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// An error of a data set or a transform outside this crate: any error, or a message.
    ///
    /// ```
    /// let error = spikelet_data::Error::custom("recording 7 ends early\n  help: copy it again");
    /// assert!(error.to_string().starts_with("recording 7"));
    /// ```
    pub fn custom(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Custom(error.into())
    }
}
impl From<DocumentError> for Error {
    fn from(error: DocumentError) -> Self {
        Self::Setting(Box::new(error))
    }
}
