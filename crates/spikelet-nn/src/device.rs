//! The CPU, a device that is always available.

use spikelet_core::Result;
use spikelet_cpu::Cpu;
use spikelet_graph::Backend;
use std::sync::{Arc, OnceLock};

/// The CPU with all its cores, created once per process.
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
