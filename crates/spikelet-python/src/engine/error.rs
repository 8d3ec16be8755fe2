//! Errors of the engine as Python exceptions.

use crate::errors::{exception, in_python};
use pyo3::exceptions::{
    PyFileNotFoundError, PyFloatingPointError, PyOSError, PyPermissionError, PyValueError,
};
use pyo3::prelude::*;
use spikelet::document::DocumentError;
use spikelet::schema::UnknownName;
use spikelet::train::checkpoint::CheckpointError;
use spikelet::train::recording::RecordingError;
use spikelet::train::run::RunFolderError;
use spikelet::train::{StepError, TrainError};
use spikelet::weights::WeightMapError;
use spikelet::{DefinitionError, Error, LayerError, RuntimeError};
use std::io;

/// The Python exception for an error of the engine: `ValueError` for what the caller can correct, `FloatingPointError` for
/// a loss that is not finite, and the others as [`exception`] has them.
pub(super) fn raise(error: impl Into<Error>) -> PyErr {
    let error = error.into();
    // The exception of a function of Python that the engine has called.
    let error = match error.downcast::<PyErr>() {
        Ok(exception) => return exception,
        Err(error) => error,
    };
    if let Some(TrainError::Diverged { .. }) = error.downcast_ref() {
        return PyFloatingPointError::new_err(in_python(&error.to_string()));
    }
    if let Some(kind) = system_error(&error) {
        let message = in_python(&error.to_string());
        return match kind {
            io::ErrorKind::NotFound => PyFileNotFoundError::new_err(message),
            io::ErrorKind::PermissionDenied => PyPermissionError::new_err(message),
            _ => PyOSError::new_err(message),
        };
    }
    if let Error::Data(inner) = &error
        && let spikelet::data::Error::MissingFiles { .. } | spikelet::data::Error::NoFiles { .. } =
            &**inner
    {
        return PyFileNotFoundError::new_err(in_python(&error.to_string()));
    }
    let is_wrong_value = match &error {
        Error::Graph(error) => matches!(
            error,
            spikelet::graph::Error::Shape { .. }
                | spikelet::graph::Error::Name { .. }
                | spikelet::graph::Error::Type { .. }
                | spikelet::graph::Error::Expression { .. }
                | spikelet::graph::Error::Gradient { .. }
        ),
        Error::Other(inner) => {
            inner.is::<CheckpointError>()
                || inner.is::<DefinitionError>()
                || inner.is::<DocumentError>()
                || inner.is::<LayerError>()
                || inner.is::<RecordingError>()
                || inner.is::<RunFolderError>()
                || inner.is::<RuntimeError>()
                || inner.is::<StepError>()
                || inner.is::<TrainError>()
                || inner.is::<UnknownName>()
                || inner.is::<WeightMapError>()
                || inner.is::<spikelet::nir::NirError>()
                || inner.is::<spikelet::events::Error>()
        }
        _ => false,
    };
    // A file that is missing is an `OSError`, whatever names it.
    let plain = exception(error);
    Python::attach(|py| {
        let is_os = plain.is_instance_of::<PyOSError>(py);
        match is_wrong_value && !is_os {
            true => PyValueError::new_err(plain.value(py).to_string()),
            false => plain,
        }
    })
}

/// The kind of the system's error, of readers whose errors have it as a part of their message.
fn system_error(error: &Error) -> Option<io::ErrorKind> {
    use spikelet::events::ErrorKind as OfEvents;
    use spikelet::nir::{ErrorKind as OfGraphs, NirError};
    use spikelet_weights::ErrorKind as OfFiles;
    if let Some(error) = error.downcast_ref::<spikelet::events::Error>() {
        return match &*error.kind {
            OfEvents::Open(error) | OfEvents::Write(error) => Some(error.kind()),
            OfEvents::Read { source, .. } => Some(source.kind()),
            _ => None,
        };
    }
    let file = match error.downcast_ref::<NirError>() {
        Some(NirError::Graph(error)) => match &*error.kind {
            OfGraphs::File(file) => file,
            _ => return None,
        },
        _ => &*error.downcast_ref::<spikelet_weights::Error>()?.kind,
    };
    match file {
        OfFiles::Open(error) | OfFiles::Read(error) | OfFiles::Write(error) => Some(error.kind()),
        _ => None,
    }
}

/// The exception for an invalid value of an argument.
pub(super) fn invalid(
    what: impl Into<String>,
    problem: impl Into<String>,
    help: impl Into<String>,
) -> PyErr {
    raise(Error::invalid(what, problem, help))
}

/// A name that no member of a family has.
pub(super) fn unknown(what: &str, error: &UnknownName) -> PyErr {
    invalid(what, error.problem(), error.help())
}
