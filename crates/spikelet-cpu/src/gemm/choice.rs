//! The choice of the matrix library.

use super::GemmError;
use std::fmt;
use std::str::FromStr;

/// The environment variable that overrides the choice of library.
pub const GEMM_VARIABLE: &str = "SPIKELET_GEMM";

/// The library that computes matrix products: the values of `SPIKELET_GEMM`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GemmChoice {
    /// MKL if it is found, else OpenBLAS, else the built-in library.
    #[default]
    Auto,
    /// The built-in library: the kernels of the `gemm` crate.
    Gemm,
    /// Intel oneMKL; an error if it is not found.
    Mkl,
    /// OpenBLAS; an error if it is not found.
    OpenBlas,
}

impl GemmChoice {
    /// The choice from `SPIKELET_GEMM`; `Auto` if it is not set.
    ///
    /// # Errors
    /// [`GemmError::UnknownChoice`] if `SPIKELET_GEMM` has another value.
    pub fn from_env() -> Result<Self, GemmError> {
        match std::env::var_os(GEMM_VARIABLE) {
            None => Ok(Self::Auto),
            Some(value) => value.to_string_lossy().parse(),
        }
    }
}

impl FromStr for GemmChoice {
    type Err = GemmError;

    fn from_str(text: &str) -> Result<Self, GemmError> {
        match text.trim().to_ascii_lowercase().as_str() {
            "" | "auto" => Ok(Self::Auto),
            "gemm" => Ok(Self::Gemm),
            "mkl" => Ok(Self::Mkl),
            "openblas" => Ok(Self::OpenBlas),
            _ => Err(GemmError::UnknownChoice {
                given: text.to_owned(),
            }),
        }
    }
}

impl fmt::Display for GemmChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Gemm => "gemm",
            Self::Mkl => "mkl",
            Self::OpenBlas => "openblas",
        })
    }
}
