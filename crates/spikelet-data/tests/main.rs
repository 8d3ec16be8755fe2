//! The tests of data sets, loaders and encoders.

mod array_files;
#[cfg(feature = "audio")]
mod audio;
mod augmentation;
mod batches;
#[cfg(feature = "download")]
mod cifar10;
mod cifar100;
mod cochlea;
#[cfg(feature = "csv")]
mod csv;
#[cfg(feature = "download")]
mod downloads;
mod encoders;
mod folders;
#[path = "common/gzip.rs"]
mod gzip;
#[path = "common/idx_file.rs"]
mod idx_file;
mod idx_files;
#[cfg(feature = "images")]
mod image_folders;
mod image_operations;
#[path = "common/images.rs"]
mod images;
#[cfg(feature = "images")]
mod lazy_images;
mod loader;
#[cfg(feature = "images")]
mod pages;
#[path = "common/references.rs"]
mod references;
#[cfg(feature = "images")]
mod resampling;
mod sequences;
#[path = "common/server.rs"]
mod server;
mod sets;
mod synthetic_digits;
mod validation_split;
