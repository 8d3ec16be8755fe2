//! Neurons as PyTorch operators.

use pyo3::prelude::*;

/// Adds the classes and functions of the operators to the module.
pub(crate) fn register(_m: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(())
}
