//! Errors of the driver as errors of the graph.

use crate::library::driver::DriverError;
use spikelet_graph::{Error, Result};

/// An error of a device.
pub(crate) fn failure(device: &str, problem: impl Into<String>) -> Error {
    Error::Backend {
        backend: device.to_string(),
        problem: problem.into(),
    }
}

/// Prefixes the message of a device's error.
pub(crate) fn of(what: &str, error: Error) -> Error {
    match error {
        Error::Backend { backend, problem } => failure(&backend, format!("{what}: {problem}")),
        other => other,
    }
}

/// Whether the device's context is lost after this error.
pub(crate) fn is_sticky(error: DriverError) -> bool {
    matches!(
        error,
        DriverError::ILLEGAL_ADDRESS
            | DriverError::LAUNCH_TIMEOUT
            | DriverError::LAUNCH_FAILED
            | DriverError::MISALIGNED_ADDRESS
            | DriverError::INVALID_ADDRESS_SPACE
            | DriverError::INVALID_PC
            | DriverError::ILLEGAL_INSTRUCTION
            | DriverError::HARDWARE_STACK_ERROR
            | DriverError::ASSERT
    )
}

/// An error of the driver, with the action that failed.
pub(crate) fn in_context<'a>(
    device: &'a str,
    action: &'a str,
) -> impl Fn(DriverError) -> Error + 'a {
    move |error| {
        let mut problem = format!("{action}: {error}");
        if is_sticky(error) {
            problem.push_str(
                "; the CUDA context is lost: restart the program (SPIKELET_CUDA_CHECK=1 runs kernels one \
                 by one and names the one that fails)",
            );
        }
        failure(device, problem)
    }
}

/// Adds the action that failed to an error of the driver.
pub(crate) trait Context<T>: Sized {
    /// With a text that is computed only for an error, since launches are frequent.
    fn with_context(self, device: &str, action: impl FnOnce() -> String) -> Result<T>;

    /// With a given text.
    fn context(self, device: &str, action: &str) -> Result<T> {
        self.with_context(device, || action.to_string())
    }
}

impl<T> Context<T> for std::result::Result<T, DriverError> {
    fn with_context(self, device: &str, action: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| in_context(device, &action())(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_an_error_is_computed_only_for_an_error() {
        let no_text = || panic!("computed without an error");
        let fine: std::result::Result<u8, DriverError> = Ok(3);
        assert_eq!(fine.with_context("cuda:0", no_text).unwrap(), 3);
    }
}
