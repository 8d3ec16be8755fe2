//! Which library computes matrix products.

use super::GemmError;
use std::fmt;
use std::str::FromStr;

/// The environment variable that overrides the choice of library.
pub const GEMM_VARIABLE: &str = "SPIKELET_GEMM";

/// Which library computes matrix products: the values of `SPIKELET_GEMM`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GemmChoice {
    /// MKL if it is found, else OpenBLAS, else the built-in one.
    #[default]
    Auto,
    /// The built-in one, the `gemm` crate.
    Gemm,
    /// Intel oneMKL, or an error.
    Mkl,
    /// OpenBLAS, or an error.
    OpenBlas,
}

impl GemmChoice {
    /// The choice that the environment makes; `Auto` if it makes none.
    ///
    /// # Errors
    /// [`GemmError::UnknownChoice`] if `SPIKELET_GEMM` holds another word.
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
