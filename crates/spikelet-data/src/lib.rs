//! Data sets for spiking networks: sources, augmentation and batches.
//!
//! | data | API |
//! |---|---|
//! | generated digits, without files or a network connection | [`synthetic::digits`] |
//! | MNIST, Fashion-MNIST, CIFAR-10, CIFAR-100 from a folder | [`mnist::load`], [`fashion_mnist::load`], [`cifar10::load`], [`cifar100::load`] |
//! | spoken digits, electrocardiograms, Braille letters, MNIST pixel by pixel: sequences | [`fsdd::load`], [`qtdb::load`], [`braille::load`], [`synthetic_braille::generate`], [`sequential_mnist::load`], [`permuted_sequential_mnist::load`] |
//! | recordings of event cameras and cochleas as frames: N-MNIST, DVS128 Gesture, SHD, …, and one's own | [`find`], [`FrameSettings`] |
//! | images, downloaded if missing | [`mnist::load_or_download`], [`fashion_mnist::load_or_download`], [`cifar10::load_or_download`], [`cifar100::load_or_download`] |
//! | PNG and JPEG files of any number and size, read when they are needed; generated images of any size | [`ImageFolder`], [`LazyImages`], [`Split`] |
//! | other images in IDX files | [`idx::read_images`], [`idx::read_labels`], [`InMemory::images`] |
//! | data of your own | the trait [`Dataset`] |
//! | shuffled batches, prepared in advance on threads | [`DataLoader`] |
//! | random crops, flips, rotations, … (augmentation) | [`Augment`] in [`LoaderConfig`] |
//! | normalization to mean 0 and standard deviation 1 | [`Normalize`] in [`LoaderConfig`] |
//! | other changes of samples and batches, deterministic and on the loader's threads | the traits [`Transform`] and [`BatchTransform`] |
//! | spikes from audio and other time series, also from streams | [`encode`] |
//! | classes of unequal sizes | [`WeightedSampling`] in [`LoaderConfig`] |
//!
//! Downloads are behind the feature `download`, which is on by default: without it there are no
//! `load_or_download` and no [`download`], and no HTTP, TLS and tar are built.
//!
//! A [`Dataset`] gives samples of named tensors, a [`Batch`] has them stacked. A [`Split`] has a data set for training, one for
//! testing, and perhaps one for validation; [`find`] gives those that have a name. Random numbers depend only on a seed and a position: the same seed gives the same
//! images and batches on every machine and with any number of threads.
//!
//! ```
//! use spikelet_data::{DataLoader, LoaderConfig, synthetic};
//!
//! let digits = synthetic::digits_of(0, 1000, 100);
//! let config = LoaderConfig { batch_size: 256, drop_last: true, ..LoaderConfig::default() };
//! let loader = DataLoader::new(digits.train, config)?;
//! for batch in loader.epoch(0, 0) {
//!     let batch = batch?;
//!     let images = batch.f32("images")?;
//!     assert_eq!(images.len(), 256 * 28 * 28);
//!     assert!(images.iter().all(|&pixel| (0.0..=1.0).contains(&pixel)));
//! }
//! # Ok::<(), spikelet_data::Error>(())
//! ```

mod array_writer;
mod augment;
mod batch;
mod bits;
mod collate;
mod dataset;
#[cfg(feature = "images")]
mod decode;
#[cfg(feature = "images")]
mod decode_error;
mod derived;
mod device_frames;
mod digest;
#[cfg(feature = "download")]
pub mod download;
#[cfg(feature = "download")]
mod download_error;
pub mod encode;
mod encode_error;
mod error;
mod event_data;
mod events;
mod field;
mod gz;
pub mod idx;
mod idx_error;
mod image_error;
#[cfg(feature = "images")]
mod image_folder;
mod lazy_images;
mod lines;
mod loader;
mod mat5;
mod named;
mod parallel;
mod pixel_sequences;
mod progress;
mod remote_file;
mod sample;
mod sample_random;
mod sequence_files;
mod sets;
mod source;
mod split;
mod step_shape;
mod temporary;
mod tensor_error;
mod transform;
mod xz;

pub use array_writer::{ArrayFormat, ArraySpec, ArrayType, ArrayWriter};
// With a line for each transform of images and of sequences.
pub use augment::*;
pub use batch::{Batch, BatchTensor, BatchValues};
pub use bits::{bit_words, pack_bits, unpack_bits};
pub use dataset::{Dataset, image_shape};
#[cfg(feature = "images")]
pub use decode::{Colors, DecodeLimits, decode_image};
#[cfg(feature = "images")]
pub use decode_error::DecodeError;
pub use device_frames::DeviceFrames;
pub use error::{Error, Result};
pub use event_data::{EventRecordings, FrameSettings, FramesOn, SyntheticEvents};
pub use events::{EventBatch, Events};
pub use field::{Field, Unlabeled};
pub use image_error::ImageError;
#[cfg(feature = "images")]
pub use image_folder::ImageFolder;
pub use lazy_images::{LazyImages, SyntheticImages};
pub use loader::{Batches, DataLoader, LoaderConfig, Shard, WeightedSampling};
pub use named::{DataOptions, NamedDataset, Origin};
pub use pixel_sequences::PixelSequences;
pub use progress::Progress;
pub use remote_file::RemoteFile;
pub use sample::{Sample, SampleTensor, Values};
pub use sample_random::SampleRandom;
#[cfg(feature = "csv")]
pub use sets::CsvTable;
pub use sets::{
    ArrayFiles, Column, Concat, Fold, InMemory, Map, Subset, Transformed, k_fold, split,
};
pub use source::{Files, RecordFiles, Source};
pub use spikelet_events::frames::DeviceSlicing;
pub use spikelet_expr::DType;
pub use split::{Split, held_out};
pub use step_shape::StepShape;
pub use tensor_error::TensorError;
pub use transform::{BatchTransform, Transform};

named::data_sets! {
    synthetic,
    mnist,
    fashion_mnist,
    cifar10,
    cifar100,
    sequential_mnist,
    permuted_sequential_mnist,
    fsdd,
    qtdb,
    braille,
    synthetic_braille,
}
