//! Errors of the library as Python exceptions.

use pyo3::exceptions::{
    PyFileNotFoundError, PyIsADirectoryError, PyMemoryError, PyOSError, PyPermissionError,
    PyRuntimeError, PyValueError,
};
use pyo3::prelude::*;
use std::io;

/// The Python exception for an error of the library, with its message.
///
/// | error | exception |
/// |---|---|
/// | an invalid value, a layer that does not fit, a definition that is wrong | `ValueError` |
/// | not enough memory | `MemoryError` |
/// | a file that cannot be read or written | `OSError` or the fitting subclass |
/// | everything else | `RuntimeError` |
pub(crate) fn exception(error: spikelet_core::Error) -> PyErr {
    use spikelet_core::Error;
    let message = error.to_string();
    match &error {
        Error::Invalid { .. } | Error::TensorFile { .. } => PyValueError::new_err(message),
        Error::Memory { .. } => PyMemoryError::new_err(message),
        Error::File(_) => file_exception(io_kind(&error), message),
        #[cfg(feature = "engine")]
        Error::Data(_) => match io_kind(&error) {
            None => PyValueError::new_err(message),
            kind => file_exception(kind, message),
        },
        Error::Other(inner) => match io_kind(&error) {
            Some(kind) => file_exception(Some(kind), message),
            None if inner.is::<spikelet_nn::DefinitionError>()
                || inner.is::<spikelet_nn::LayerError>() =>
            {
                PyValueError::new_err(message)
            }
            None => PyRuntimeError::new_err(message),
        },
        _ => PyRuntimeError::new_err(message),
    }
}

/// The kind of the I/O error among an error and its sources.
fn io_kind(error: &(dyn std::error::Error + 'static)) -> Option<io::ErrorKind> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(io) = error.downcast_ref::<io::Error>() {
            return Some(io.kind());
        }
        next = error.source();
    }
    None
}

fn file_exception(kind: Option<io::ErrorKind>, message: String) -> PyErr {
    match kind {
        Some(io::ErrorKind::NotFound) => PyFileNotFoundError::new_err(message),
        Some(io::ErrorKind::PermissionDenied) => PyPermissionError::new_err(message),
        Some(io::ErrorKind::IsADirectory) => PyIsADirectoryError::new_err(message),
        _ => PyOSError::new_err(message),
    }
}
