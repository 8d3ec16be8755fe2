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
    /// The built-in library.
    Gemm,
    /// Intel oneMKL; an error if it is not found.
    Mkl,
    /// OpenBLAS; an error if it is not found.
    OpenBlas,
    /// The built-in library without fused operations: the same bits on every machine.
    Ordered,
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
        let text = text.trim().to_ascii_lowercase();
        let named = NAMES.iter().find(|(_, name)| *name == text);
        match named {
            Some((choice, _)) => Ok(*choice),
            None if text.is_empty() => Ok(Self::Auto),
            None => Err(GemmError::UnknownChoice { given: text }),
        }
    }
}

/// The names of the choices.
const NAMES: [(GemmChoice, &str); 5] = [
    (GemmChoice::Auto, "auto"),
    (GemmChoice::Gemm, "gemm"),
    (GemmChoice::Mkl, "mkl"),
    (GemmChoice::OpenBlas, "openblas"),
    (GemmChoice::Ordered, "ordered"),
];

impl fmt::Display for GemmChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = NAMES.iter().find(|(choice, _)| choice == self);
        f.write_str(named.map_or("", |(_, name)| name))
    }
}
