//! The GPUs that the driver knows.

use super::{Library, Missing, find};
use cudarc::driver::result::{self, DriverError, device};
use cudarc::driver::sys::{CUdevice_attribute, CUresult};

/// A GPU as the driver describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// Its number, from 0, among those that this process may use (`CUDA_VISIBLE_DEVICES`).
    pub index: usize,
    /// Its name, such as `NVIDIA H200`.
    pub name: String,
    /// Its memory in bytes.
    pub memory: u64,
    /// Its compute capability, such as `(9, 0)`.
    pub capability: (i32, i32),
}

/// Why the GPUs cannot be listed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GpuError {
    /// There is no driver.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The driver is there but refuses.
    #[error(
        "the NVIDIA driver cannot {action}: {code}; `nvidia-smi` says whether the driver and its \
         kernel module fit together"
    )]
    Driver {
        /// What it was asked to do.
        action: &'static str,
        /// The driver's error code, by name.
        code: String,
    },
}

/// The GPUs that this process may use, in the driver's order; none if there is a driver but no
/// GPU.
///
/// # Errors
///
/// If there is no driver, or if it cannot be started.
pub fn gpus() -> Result<Vec<Gpu>, GpuError> {
    find(Library::Driver)?;
    match result::init() {
        Err(DriverError(CUresult::CUDA_ERROR_NO_DEVICE)) => return Ok(Vec::new()),
        answer => answer.map_err(refusal("start"))?,
    }
    let count = device::get_count().map_err(refusal("count the GPUs"))?;
    (0..count)
        .map(|index| describe(index).map_err(refusal("describe a GPU")))
        .collect()
}

fn describe(index: i32) -> Result<Gpu, DriverError> {
    use CUdevice_attribute as Attribute;

    let device = device::get(index)?;
    // SAFETY: `device` comes from `device::get`.
    let attribute = |which| unsafe { device::get_attribute(device, which) };
    Ok(Gpu {
        index: usize::try_from(index).unwrap_or_default(),
        name: device::get_name(device)?,
        // SAFETY: as above.
        memory: unsafe { device::total_mem(device)? } as u64,
        capability: (
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
    })
}

fn refusal(action: &'static str) -> impl Fn(DriverError) -> GpuError {
    move |DriverError(code)| GpuError::Driver {
        action,
        code: format!("{code:?}"),
    }
}
