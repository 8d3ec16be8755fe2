//! What the driver reports, as errors of the graph.

use cudarc::driver::DriverError;
use cudarc::driver::sys::CUresult;
use spikelet_graph::{Error, Result};

/// An error of a device, in words.
pub(crate) fn failure(device: &str, problem: impl Into<String>) -> Error {
    Error::Backend {
        backend: device.to_string(),
        problem: problem.into(),
    }
}

/// A device's error with what it belongs to.
pub(crate) fn of(what: &str, error: Error) -> Error {
    match error {
        Error::Backend { backend, problem } => failure(&backend, format!("{what}: {problem}")),
        other => other,
    }
}

/// Whether the device's context is lost after this error.
pub(crate) fn is_sticky(error: &DriverError) -> bool {
    matches!(
        error.0,
        CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
            | CUresult::CUDA_ERROR_LAUNCH_TIMEOUT
            | CUresult::CUDA_ERROR_LAUNCH_FAILED
            | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS
            | CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE
            | CUresult::CUDA_ERROR_INVALID_PC
            | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
            | CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR
            | CUresult::CUDA_ERROR_ASSERT
    )
}

/// The driver's own words.
pub(crate) fn describe(error: &DriverError) -> String {
    let name = error.error_name().map_or_else(
        |_| format!("{:?}", error.0),
        |s| s.to_string_lossy().into_owned(),
    );
    match error.error_string() {
        Ok(text) => format!("{name}: {}", text.to_string_lossy()),
        Err(_) => name,
    }
}

/// Adds what was being done.
pub(crate) trait Doing<T>: Sized {
    /// With a text that is made for an error alone: launches are many.
    fn doing_with(self, device: &str, what: impl FnOnce() -> String) -> Result<T>;

    /// With a text that is there already.
    fn doing(self, device: &str, what: &str) -> Result<T> {
        self.doing_with(device, || what.to_string())
    }
}

impl<T> Doing<T> for std::result::Result<T, DriverError> {
    fn doing_with(self, device: &str, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| {
            let mut problem = format!("{}: {}", what(), describe(&error));
            if is_sticky(&error) {
                problem.push_str(
                    "; the device's context is lost, start the program anew (set \
                     SPIKELET_CUDA_CHECK=1 to run kernel by kernel and name the one that failed)",
                );
            }
            failure(device, problem)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_an_error_is_made_where_there_is_one() {
        let no_text = || panic!("it is made although nothing failed");
        let fine: std::result::Result<u8, DriverError> = Ok(3);
        assert_eq!(fine.doing_with("cuda:0", no_text).unwrap(), 3);
    }
}
