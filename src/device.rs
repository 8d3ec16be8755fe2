//! Devices by name.

use crate::error::{Error, Result};
use spikelet_cpu::Cpu;
use spikelet_graph::Backend;
use std::sync::{Arc, OnceLock};

/// The backend of a device name: `auto` or `cpu`.
///
/// # Errors
/// When the name is unknown or the device cannot be used.
///
/// ```
/// assert_eq!(spikelet::device::find("cpu", 2)?.name(), "cpu");
/// assert!(spikelet::device::find("abacus", 0).is_err());
/// # Ok::<(), spikelet::Error>(())
/// ```
pub fn find(name: &str, threads: usize) -> Result<Arc<dyn Backend>> {
    match name {
        "auto" | "cpu" => Ok(Arc::new(Cpu::new(threads)?)),
        _ => Err(Error::invalid(
            "device",
            format!("`{name}` is not known"),
            "use auto or cpu",
        )),
    }
}

/// The CPU with all its cores, made once a process.
///
/// # Errors
/// When the CPU backend cannot be started.
pub fn cpu() -> Result<Arc<dyn Backend>> {
    static SHARED: OnceLock<Arc<Cpu>> = OnceLock::new();
    if let Some(cpu) = SHARED.get() {
        return Ok(cpu.clone());
    }
    let made = Arc::new(Cpu::new(0)?);
    Ok(SHARED.get_or_init(|| made).clone())
}
