//! Dense matrix products: C ← A·B, or C ← C + A·B.
//!
//! `f32` products are computed by MKL or OpenBLAS where one of the two is found at run time, and by
//! the `gemm` crate otherwise; `SPIKELET_GEMM=auto|gemm|mkl|openblas` overrides the choice. `f64`
//! products always use the `gemm` crate: they serve as references. The libraries run
//! single-threaded on tiles of C whose partition depends on the sizes alone, and rayon runs the
//! tiles: the result is bitwise the same for any number of threads. It is *not* the same from one
//! library to the next, nor from one CPU model to the next, because they sum in different orders.
//!
//! MKL and OpenBLAS have no settings for a single caller. Opening one changes them for the whole
//! process: one thread; for MKL also the sequential threading layer, 32-bit integers (LP64) and
//! reproducible results (`MKL_CBWR_AUTO`). Another user of the same library in the process, such as
//! NumPy, computes with these settings from then on. The built-in library changes nothing.
//!
//! The libraries keep scratch memory of their own for packed operands: the `gemm` crate a buffer
//! of the size of the L2 cache per thread plus one for each tile, MKL and OpenBLAS a few
//! buffers per thread, allocated on first use.

mod choice;
mod error;
mod operand;
mod product;
mod search;
mod tile;
mod vendor;

#[cfg(test)]
mod tests;

pub use choice::{GEMM_VARIABLE, GemmChoice};
pub use error::GemmError;
pub(crate) use product::{Gemm, GemmElement};

use std::path::Path;
use std::sync::OnceLock;
use vendor::Vendor;

/// The library that computes `f32` matrix products.
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
            GemmChoice::Gemm => None,
            GemmChoice::Mkl | GemmChoice::OpenBlas => Some(named(choice)?),
            GemmChoice::Auto => named(GemmChoice::Mkl)
                .or_else(|_| named(GemmChoice::OpenBlas))
                .ok(),
        };
        Ok(Self { vendor })
    }

    /// `mkl`, `openblas` or `gemm`.
    pub fn name(&self) -> &'static str {
        self.vendor.as_ref().map_or("gemm", |vendor| vendor.name)
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
