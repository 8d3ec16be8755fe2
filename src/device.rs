//! Devices by name.

mod ranks;

pub use ranks::{check_devices, device_of, open_in_group};
pub use spikelet_nn::device::cpu;

use crate::{Error, Result};
use spikelet_cpu::Cpu;
use spikelet_cuda::Cuda;
use spikelet_graph::Backend;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The backend of a device name: `auto` (the first GPU that can be used, else the CPU), `cpu`,
/// `cpu:0`, `cpu:1`, … (devices of their own that share the cores), `cuda` (the first GPU), `cuda:1`
/// (a certain one). `threads` is for the CPU; 0 takes all cores.
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
    let ordinal = match name {
        "cpu" => return Ok(Arc::new(Cpu::new(threads)?)),
        "auto" => {
            return match cuda(0) {
                Ok(gpu) => Ok(gpu),
                Err(_) => Ok(Arc::new(Cpu::new(threads)?)),
            };
        }
        "cuda" => Some(0),
        _ if name.starts_with("cpu:") => {
            if let Some(number) = name.strip_prefix("cpu:").and_then(|n| n.parse().ok()) {
                return Ok(Arc::new(Cpu::numbered(number, threads)?));
            }
            None
        }
        _ => name.strip_prefix("cuda:").and_then(|n| n.parse().ok()),
    };
    match ordinal {
        Some(ordinal) => Ok(cuda(ordinal)?),
        None => Err(Error::invalid(
            "device",
            format!("`{name}` is not known"),
            "use auto, cpu, cpu:0, cuda or cuda:1",
        )),
    }
}

/// GPU number `ordinal`, opened once a process.
///
/// # Errors
/// When there is no such GPU, or a library that it needs is missing; the error says what brings
/// it.
pub fn cuda(ordinal: usize) -> Result<Arc<Cuda>> {
    static OPEN: Mutex<BTreeMap<usize, Arc<Cuda>>> = Mutex::new(BTreeMap::new());
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(gpu) = open.get(&ordinal) {
        return Ok(gpu.clone());
    }
    let gpu = Arc::new(Cuda::new(ordinal)?);
    open.insert(ordinal, gpu.clone());
    Ok(gpu)
}
