//! Devices by name.

#[cfg(feature = "distributed")]
mod ranks;

#[cfg(feature = "distributed")]
pub use ranks::{check_devices, device_of, open_in_group};
pub use spikelet_train::device::*;
