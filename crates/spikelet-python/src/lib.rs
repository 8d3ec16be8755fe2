//! The native part of the Python package `spikelet`: neurons as PyTorch operators (`torch`), and the
//! engine with its readers (`engine`). The public layer is Python, in the folder `python` of the repository.

#[cfg(feature = "engine")]
mod engine;
mod errors;
mod operator;
mod torch;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
fn _native(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    #[cfg(feature = "engine")]
    engine::register(m)?;
    torch::register(m)
}
