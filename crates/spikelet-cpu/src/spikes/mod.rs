//! Products with spikes and with rows that are mostly zeros, at a cost proportional to the elements that are not 0.
//!
//! Instead of multiplying by zeros and ones, a product adds the rows of a table of the neurons that fired: of the
//! transposed weight ([`forward`], [`Fired::drive`]) or of the gradient of the output ([`weight_grad`]). The sums run in
//! ascending order, as those of [`crate::gemm`] do. Rows of spikes are the T·N of a sequence [T, N, features]; stored as
//! bits, a row takes [`words`] words of 64 bits.
//!
//! Compared with a dense product by MKL on a CPU with AVX-512 this is faster, for 784 → 196 features,
//! up to a density of a third to a half; for 196 → 10, up to about a fifth forward and a tenth for
//! the gradient, where both take well under a millisecond for ten thousand rows.

mod bits;
mod fired;
mod forward;
mod sparse;
mod table;
mod weight_grad;

#[cfg(test)]
mod tests;

pub(crate) use bits::{pack, pack_rows, unpack, unpack_rows, words};
pub(crate) use fired::{Fired, listed_rows};
pub(crate) use forward::forward;
pub(crate) use sparse::{DenseRow, SparseRows};
pub(crate) use table::{fill_table, table_elements};
pub(crate) use weight_grad::{weight_grad, weight_grad_scratch_words};

/// Sizes of a linear layer and its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinearShape {
    /// Rows of spikes: time steps times samples.
    pub(crate) rows: usize,
    /// Features of the spikes.
    pub(crate) in_features: usize,
    /// Features of the output.
    pub(crate) out_features: usize,
}
