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
    let message = in_python(&error.to_string());
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

/// Words of Rust and of the command line in messages, and those of Python.
const WORDS: [(&str, &str); 12] = [
    (
        "`Outputs::loss(loss).output(\"scores\", &scores)`",
        "`return loss, metrics, {\"scores\": scores}`",
    ),
    ("to the result of the function, as in", "to it:"),
    ("`shared_input`", "`Step.shared`"),
    ("`loss.mean_all()`", "`loss.mean()`"),
    ("`Step::ema`", "`Step(ema=…)`"),
    ("`Step::read_gradients`", "`Step(read_gradients=[\"*\"])`"),
    (
        "`Step::read_activations`",
        "`Step(read_activations=[\"*\"])`",
    ),
    ("(--resume)", "(`resume=True`)"),
    ("(--force)", "(`force=True`)"),
    ("without --resume", "without `resume=True`"),
    ("with --force", "with `force=True`"),
    ("::new(", "("),
];

/// A message of the library for users of the Python package.
pub(crate) fn in_python(message: &str) -> String {
    let text = WORDS
        .iter()
        .fold(message.to_string(), |text, (rust, python)| {
            text.replace(rust, python)
        });
    // Names of a type, such as `TrainStep::save_state`; not addresses.
    let mut parts = text.split("::");
    let mut made = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let word = made.rsplit(|c: char| !c.is_alphanumeric()).next();
        let is_type = word.is_some_and(|word| word.starts_with(char::is_uppercase));
        made.push_str(if is_type { "." } else { "::" });
        made.push_str(part);
    }
    made
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
