//! The GPUs that the driver reports.

use super::Missing;
use super::driver::{Device, Driver, DriverError, DriverResult};

/// A GPU as reported by the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// Its index, from 0, among the GPUs that this process may use (`CUDA_VISIBLE_DEVICES`).
    pub index: usize,
    /// Its name, such as `NVIDIA H200`.
    pub name: String,
    /// Its memory in bytes.
    pub memory: u64,
    /// Its compute capability, such as `(9, 0)`.
    pub capability: (i32, i32),
}

/// A reason why the GPUs cannot be listed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GpuError {
    /// The driver is not installed.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// A call of the driver failed.
    #[error(
        "the NVIDIA driver cannot {action}: {code}; check with `nvidia-smi` whether the driver and \
         its kernel module have the same version"
    )]
    Driver {
        /// The action that failed.
        action: &'static str,
        /// The name of the driver's error code.
        code: String,
    },
}

/// The GPUs that this process may use, in the driver's order; empty if there is a driver but no GPU.
///
/// # Errors
///
/// If the driver is not installed or a call of it fails.
pub fn gpus() -> Result<Vec<Gpu>, GpuError> {
    let driver = Driver::get()?;
    match driver.start() {
        Err(DriverError::NO_DEVICE) => return Ok(Vec::new()),
        status => status.map_err(driver_error("start"))?,
    }
    let count = driver.count().map_err(driver_error("count the GPUs"))?;
    (0..count)
        .map(|index| describe(driver, index).map_err(driver_error("describe a GPU")))
        .collect()
}

fn describe(driver: &'static Driver, index: usize) -> DriverResult<Gpu> {
    let device = Device::new(driver, index)?;
    Ok(Gpu {
        index,
        name: device.name()?,
        memory: device.memory()? as u64,
        capability: device.capability()?,
    })
}

fn driver_error(action: &'static str) -> impl Fn(DriverError) -> GpuError {
    move |error| GpuError::Driver {
        action,
        code: error.name(),
    }
}
