//! The engine from Python.

use pyo3::prelude::*;

/// Adds the classes and functions of the engine to the module.
pub(crate) fn register(_m: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(())
}
