//! Permuted sequential MNIST: as [`sequential_mnist`](crate::sequential_mnist), with the pixels in a random order.
//!
//! The order is the same for all images, of training, validation and test. Papers draw one permutation each and keep
//! it: Yin et al. `numpy.random.permutation(784)`, DelRec `perm` with `inputs[:, perm, :]`. [`load`] uses
//! [`permutation`] of seed 0, which is the same on every machine; [`load_with`] takes the permutation of another program.
//!
//! Source: Q. V. Le, N. Jaitly, G. E. Hinton, *A simple way to initialize recurrent networks of rectified linear
//! units*, arXiv:1504.00941 (2015), section 4.2.

use std::path::Path;

use spikelet_random::{Generator, Stream};

use crate::error::Result;
use crate::mnist;
use crate::pixel_sequences::PixelSequences;
use crate::sequence_files::SequenceFiles;
use crate::sequential_mnist::{OF_MNIST, divide};
use crate::split::Split;

pub(crate) const ENTRY: SequenceFiles = SequenceFiles {
    name: "permuted-sequential-mnist",
    summary: "Handwritten digits, one pixel a time step in a fixed random order",
    title: NAME,
    sample_files: None,
    read: |options| load(&options.folder),
    ..OF_MNIST
};

const NAME: &str = "permuted sequential MNIST";

/// The random stream of permutations.
const PERMUTATION_STREAM: u32 = 0xda7a_0030;

/// The number of pixels of an image.
const PIXELS: usize = 28 * 28;

/// A random order of the 784 pixels, all orders equally likely: step t has the pixel `permutation(seed)[t]`.
///
/// ```
/// use spikelet_data::permuted_sequential_mnist::permutation;
///
/// let mut order = permutation(0);
/// assert_ne!(order, permutation(1));
/// order.sort_unstable();
/// assert!(order.into_iter().eq(0..784));
/// ```
#[must_use]
pub fn permutation(seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..PIXELS).collect();
    let stream = Stream {
        seed,
        id: PERMUTATION_STREAM,
        step: 0,
    };
    Generator::new(stream).shuffle(&mut order);
    order
}

/// Reads MNIST from a subfolder of `dir`, as [`mnist::load`] does, in the order [`permutation`] of seed 0.
///
/// # Errors
/// As [`mnist::load`].
pub fn load(dir: impl AsRef<Path>) -> Result<Split> {
    load_with(dir, &permutation(0))
}

/// As [`load`], in a given order.
///
/// # Errors
/// As [`mnist::load`], and [`Error::Permutation`](crate::Error::Permutation).
pub fn load_with(dir: impl AsRef<Path>, order: &[usize]) -> Result<Split> {
    sequences(mnist::load(dir)?, order)
}

/// Images as sequences of pixels in this order, divided as [`sequential_mnist`](crate::sequential_mnist).
///
/// # Errors
/// [`Error::Permutation`](crate::Error::Permutation) if it is not an order of the pixels.
pub fn sequences(images: Split, order: &[usize]) -> Result<Split> {
    divide(images, |images| {
        PixelSequences::new(images, NAME)?.permuted(order)
    })
}
