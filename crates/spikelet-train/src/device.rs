//! Devices by name.

pub use spikelet_nn::device::cpu;

use spikelet_core::{Error, Result};
use spikelet_cpu::Cpu;
#[cfg(feature = "cuda")]
use spikelet_cuda::Cuda;
use spikelet_graph::Backend;
use spikelet_schema::UnknownName;
use std::sync::Arc;

/// The backend of a device name: `auto` (the first GPU that can be used, else the CPU), `cpu`,
/// `cpu:0`, `cpu:1`, … (devices of their own that share the cores), `cuda` (the first GPU), `cuda:1`
/// (a certain one). `threads` is for the CPU; 0 takes all cores.
///
/// # Errors
/// When the name is unknown, the device cannot be used, or a GPU is asked for in a program that was
/// built without the feature `cuda`.
///
/// ```
/// assert_eq!(spikelet_train::device::find("cpu", 2)?.name(), "cpu");
/// assert!(spikelet_train::device::find("abacus", 0).is_err());
/// # Ok::<(), spikelet_core::Error>(())
/// ```
pub fn find(name: &str, threads: usize) -> Result<Arc<dyn Backend>> {
    let ordinal = match name {
        "cpu" => return Ok(Arc::new(Cpu::new(threads)?)),
        "auto" => {
            return match gpu(0) {
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
        Some(ordinal) => gpu(ordinal),
        None => Err(Error::from(UnknownName {
            family: "device",
            given: name.to_string(),
            known: vec!["auto", "cpu", "cpu:0", "cuda", "cuda:1"],
        })),
    }
}

#[cfg(feature = "cuda")]
fn gpu(ordinal: usize) -> Result<Arc<dyn Backend>> {
    Ok(cuda(ordinal)?)
}

#[cfg(not(feature = "cuda"))]
fn gpu(ordinal: usize) -> Result<Arc<dyn Backend>> {
    Err(Error::invalid(
        "device",
        format!("`cuda:{ordinal}` is a GPU, and this program was built without them"),
        "build it with the feature `cuda` of the crate spikelet, or use cpu",
    ))
}

/// GPU number `ordinal`, opened once a process.
///
/// # Errors
/// When there is no such GPU, or a library that it needs is missing; the error says what brings
/// it.
#[cfg(feature = "cuda")]
pub fn cuda(ordinal: usize) -> Result<Arc<Cuda>> {
    use std::collections::BTreeMap;
    use std::sync::{Mutex, PoisonError};
    static OPEN: Mutex<BTreeMap<usize, Arc<Cuda>>> = Mutex::new(BTreeMap::new());
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(gpu) = open.get(&ordinal) {
        return Ok(gpu.clone());
    }
    let gpu = Arc::new(Cuda::new(ordinal)?);
    open.insert(ordinal, gpu.clone());
    Ok(gpu)
}

#[cfg(all(test, not(feature = "cuda")))]
mod tests {
    use super::*;

    #[test]
    fn without_the_feature_a_gpu_is_an_error_that_names_it() {
        for name in ["cuda", "cuda:1"] {
            let error = find(name, 1).map(|found| found.name()).unwrap_err();
            let Error::Invalid { help, .. } = error else {
                panic!("{error}");
            };
            assert!(help.contains("feature `cuda`"), "{help}");
        }
        assert_eq!(find("auto", 1).unwrap().name(), "cpu");
    }
}
