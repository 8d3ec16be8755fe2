//! Data for spiking networks: where it comes from, and how it reaches the network.
//!
//! | to have | use |
//! |---|---|
//! | digits at once, without a file or a network | [`synthetic::digits`] |
//! | MNIST, Fashion-MNIST, CIFAR-10 from a folder | [`mnist::load`], [`fashion_mnist::load`], [`cifar10::load`] |
//! | the same, fetched if they are not there | [`mnist::load_or_download`], [`fashion_mnist::load_or_download`], [`cifar10::load_or_download`] |
//! | other images in IDX files | [`idx::read_images`], [`idx::read_labels`], [`Dataset::new`] |
//! | shuffled batches of `f32`, prepared ahead | [`Loader`] |
//! | images cropped, mirrored, turned, … by chance | [`Augment`] in [`LoaderConfig`] |
//! | pixels with the mean 0 and the deviation 1 | [`Normalize`] in [`LoaderConfig`] |
//!
//! Downloads are behind the feature `download`, which is on by default: without it there are no
//! `load_or_download` and no [`download`], and no HTTP, TLS and tar are built.
//!
//! A [`Dataset`] keeps its images in memory as bytes; a [`Split`] is one for training and one for
//! testing. Whatever is random here depends on a seed and a position alone: the same seed gives the
//! same images and the same batches on every machine and with any number of threads.
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
mod batches;
pub mod cifar10;
mod dataset;
#[cfg(feature = "download")]
pub mod download;
mod error;
pub mod fashion_mnist;
mod gz;
pub mod idx;
mod loader;
pub mod mnist;
mod source;
pub mod synthetic;

pub use augment::{Augment, Normalize};
pub use batch::Batch;
pub use batches::Batches;
pub use dataset::{Dataset, Split};
#[cfg(feature = "download")]
pub use download::Progress;
pub use error::{Error, Result};
pub use loader::{Loader, LoaderConfig, Shard};
pub use source::{Files, RecordFiles, RemoteFile, Source};
