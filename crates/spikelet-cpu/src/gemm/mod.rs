//! Dense matrix products: C ← A·B, or C ← C + A·B.
//!
//! # The order of sums
//!
//! An element of a product is **one chain of sums**: from zero, or from the element that the product is added to, in
//! ascending order of the index that is summed. The chain is the same for any number of threads, rows and columns, with
//! the matrices in any layout. This holds for
//!
//! | product | index of the sum |
//! |---|---|
//! | matrices, batches of matrices | columns of A = rows of B |
//! | spikes stored as bits, rows that are mostly zeros, spikes that feed back | neurons that fired; for the gradient of a weight, rows |
//! | convolution, and gradient of its input for stride 1 | tap of the (flipped) kernel, then channel |
//! | gradient of the input for other strides | channel; then windows in the order of their positions |
//! | gradient of a convolution's kernel | windows: samples, then positions |
//! | delayed product | inputs |
//!
//! A link of the chain is `sum + a·b`. The product is rounded before it is added where weights have at most 16,384
//! elements, where windows have at most 32, and in rows that are mostly zeros; elsewhere the link is *fused*, rounded
//! once, where the processor can, and a chain has at most 256 links: the sums of the chains are added in order, since
//! long ones lose small terms. The gradient of a convolution's kernel is a chain for each tile of windows, and the tiles
//! of a chunk and the chunks are added in order.
//!
//! `SPIKELET_GEMM=ordered` is the plain loop on every machine: no link is fused, and a gradient is one chunk.
//!
//! # Libraries
//!
//! MKL or OpenBLAS, where one of the two is found at run time, computes the fused `f32` products of matrices, in its own
//! order, which may depend on the sizes, the library and the processor; `SPIKELET_GEMM=auto|gemm|mkl|openblas|ordered`
//! selects the library, `gemm` being the built-in one. It runs single-threaded on tiles of C whose partition depends on
//! the sizes alone: the result is the same for any number of threads. Convolutions, recurrent products, small weights
//! and `f64`, which serves as reference, are always computed by the built-in library.
//!
//! MKL and OpenBLAS have no settings for a single caller. Opening one changes them for the whole
//! process: one thread; for MKL also the sequential threading layer, 32-bit integers (LP64) and
//! reproducible results (`MKL_CBWR_AUTO`). Another user of the same library in the process, such as
//! NumPy, computes with these settings from then on. The built-in library changes nothing.
//!
//! The libraries keep scratch memory of their own for packed operands: the built-in one at most 1 MiB for each thread,
//! MKL and OpenBLAS a few buffers per thread, allocated on first use.

mod choice;
mod error;
mod kernel;
mod operand;
mod packed;
mod product;
mod search;
mod tile;
mod vendor;

#[cfg(test)]
mod tests;

pub use choice::{GEMM_VARIABLE, GemmChoice};
pub use error::GemmError;
pub(crate) use packed::{pack, pack_rows, packed_elements};
pub(crate) use product::{Factor, Gemm, GemmElement};

use std::path::Path;
use std::sync::OnceLock;
use vendor::Vendor;

/// How a product is added to a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// Rounded once, where the processor can.
    Fused,
    /// The product, then the sum: the same bits on every machine.
    Separate,
}

impl Rounding {
    /// That of this process for a product that is small or not.
    pub(crate) fn of(small: bool) -> Self {
        match small || is_ordered() {
            true => Self::Separate,
            false => Self::Fused,
        }
    }
}

/// Whether every product adds in the plain order, by [`GemmChoice::Ordered`].
pub(crate) fn is_ordered() -> bool {
    GemmLibrary::get().is_ok_and(|library| library.ordered)
}

/// The library that computes matrix products.
///
/// ```
/// # use spikelet_cpu::gemm::{GemmChoice, GemmLibrary};
/// let library = GemmLibrary::open(GemmChoice::Gemm)?;
/// assert_eq!(library.name(), "gemm");
/// assert!(library.path().is_none()); // built in
/// # Ok::<(), spikelet_cpu::gemm::GemmError>(())
/// ```
#[derive(Debug)]
pub struct GemmLibrary {
    vendor: Option<Vendor>,
    ordered: bool,
}

impl GemmLibrary {
    /// The library of this process: chosen on the first call, following `SPIKELET_GEMM`.
    ///
    /// # Errors
    /// [`GemmError::UnknownChoice`] or [`GemmError::Unavailable`], on every call.
    pub fn get() -> Result<&'static Self, GemmError> {
        static CHOSEN: OnceLock<Result<GemmLibrary, GemmError>> = OnceLock::new();
        CHOSEN
            .get_or_init(|| Self::open(GemmChoice::from_env()?))
            .as_ref()
            .map_err(Clone::clone)
    }

    /// Opens a library by name. It stays loaded, with the settings listed in the module's
    /// documentation, until the process ends.
    ///
    /// # Errors
    /// [`GemmError::Unavailable`] if MKL or OpenBLAS is named and cannot be loaded.
    pub fn open(choice: GemmChoice) -> Result<Self, GemmError> {
        let named = |choice| {
            Vendor::open(choice).map_err(|reason| GemmError::Unavailable { choice, reason })
        };
        let vendor = match choice {
            GemmChoice::Gemm | GemmChoice::Ordered => None,
            GemmChoice::Mkl | GemmChoice::OpenBlas => Some(named(choice)?),
            GemmChoice::Auto => named(GemmChoice::Mkl)
                .or_else(|_| named(GemmChoice::OpenBlas))
                .ok(),
        };
        Ok(Self {
            vendor,
            ordered: choice == GemmChoice::Ordered,
        })
    }

    /// `mkl`, `openblas`, `gemm` or `ordered`.
    pub fn name(&self) -> &'static str {
        match &self.vendor {
            Some(vendor) => vendor.name,
            None if self.ordered => "ordered",
            None => "gemm",
        }
    }

    /// The file that was loaded; `None` for the built-in library.
    pub fn path(&self) -> Option<&Path> {
        self.vendor.as_ref().map(|vendor| vendor.path.as_path())
    }

    /// The version text that the library reports, if any.
    pub fn version(&self) -> Option<&str> {
        self.vendor.as_ref()?.version.as_deref()
    }
}
