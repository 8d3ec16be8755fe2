//! Data sets for spiking networks: sources, augmentation and batches.
//!
//! | data | API |
//! |---|---|
//! | generated digits, without files or a network connection | [`synthetic::digits`] |
//! | MNIST, Fashion-MNIST, CIFAR-10 from a folder | [`mnist::load`], [`fashion_mnist::load`], [`cifar10::load`] |
//! | the same, downloaded if missing | [`mnist::load_or_download`], [`fashion_mnist::load_or_download`], [`cifar10::load_or_download`] |
//! | other images in IDX files | [`idx::read_images`], [`idx::read_labels`], [`Dataset::new`] |
//! | shuffled batches of `f32`, prepared in advance | [`Loader`] |
//! | random crops, flips, rotations, … (augmentation) | [`Augment`] in [`LoaderConfig`] |
//! | normalization to mean 0 and standard deviation 1 | [`Normalize`] in [`LoaderConfig`] |
//!
//! Downloads are behind the feature `download`, which is on by default: without it there are no
//! `load_or_download` and no [`download`], and no HTTP, TLS and tar are built.
//!
//! A [`Dataset`] keeps its images in memory as bytes; a [`Split`] is one for training and one for
//! testing. Random numbers depend only on a seed and a position: the same seed gives the same
//! images and batches on every machine and with any number of threads.
//!
//! ```
//! use spikelet_data::{Loader, LoaderConfig, synthetic};
//!
//! let digits = synthetic::digits_of(0, 1000, 100);
//! let config = LoaderConfig { batch_size: 256, drop_last: true, ..LoaderConfig::default() };
//! let loader = Loader::new(digits.train, config)?;
//! for batch in loader.epoch(0, 0) {
//!     assert_eq!(batch.images.len(), 256 * 28 * 28);
//!     assert!(batch.images.iter().all(|&pixel| (0.0..=1.0).contains(&pixel)));
//! }
//! # Ok::<(), spikelet_data::Error>(())
//! ```

mod augment;
mod batch;
mod bits;
mod dataset;
#[cfg(feature = "download")]
pub mod download;
#[cfg(feature = "download")]
mod download_error;
mod error;
mod events;
mod field;
mod gz;
pub mod idx;
mod idx_error;
mod lines;
mod loader;
mod registry;
mod remote_file;
mod sample;
mod sample_random;
mod source;
mod tensor_error;
mod transform;

pub use augment::{Augment, Normalize};
pub use batch::Batch;
pub use bits::{bit_words, pack_bits, unpack_bits};
pub use dataset::{Dataset, Split};
#[cfg(feature = "download")]
pub use download::Progress;
pub use error::{Error, Result};
pub use events::{EventBatch, Events};
pub use field::{ElementType, Field};
pub use loader::{Batches, Loader, LoaderConfig, Shard};
pub use registry::Entry;
pub use remote_file::RemoteFile;
pub use sample::{Sample, SampleTensor, Values};
pub use sample_random::SampleRandom;
pub use source::{Files, RecordFiles, Source};
pub use tensor_error::TensorError;
pub use transform::{BatchTransform, Transform};

registry::data_sets! {
    synthetic,
    mnist,
    fashion_mnist,
    cifar10,
}
