//! Each rank's device.

use crate::distributed::{RankGroup, World};
use crate::{Error, Result};
use spikelet_cpu::Cpu;
use spikelet_graph::Backend;
use std::sync::Arc;

/// How many GPUs this process may use; none if there is no driver.
fn gpus() -> usize {
    #[cfg(feature = "cuda")]
    let gpus = spikelet_cuda::library::gpus().map_or(0, |gpus| gpus.len());
    #[cfg(not(feature = "cuda"))]
    let gpus = 0;
    gpus
}

/// GPUs in words.
fn there_are(gpus: usize) -> String {
    match gpus {
        0 => "there is no GPU".to_string(),
        1 => "there is 1 GPU".to_string(),
        n => format!("there are {n} GPUs"),
    }
}

fn own_gpus(name: &str) -> Error {
    Error::invalid(
        "device",
        format!("`{name}` is one device, and there are several ranks"),
        "write cuda, and rank k of a host takes its GPU k; CUDA_VISIBLE_DEVICES chooses among them; or cpu, or auto",
    )
}

/// Checks, before any is started, that this host has a device `name` (`auto`, `cpu`, `cuda`) for
/// each of so many ranks.
///
/// # Errors
/// When there are fewer GPUs, or the name is that of a certain one.
///
/// ```
/// use spikelet::device::check_devices;
/// check_devices("cpu", 4)?;
/// assert!(check_devices("cuda:1", 2).is_err());
/// # Ok::<(), spikelet::Error>(())
/// ```
pub fn check_devices(name: &str, ranks: usize) -> Result<()> {
    let gpus = match name {
        "cpu" => return Ok(()),
        "auto" | "cuda" => gpus(),
        _ => return Err(own_gpus(name)),
    };
    if gpus >= ranks || (gpus == 0 && name == "auto") {
        return Ok(());
    }
    Err(Error::invalid(
        format!("--data-parallel {ranks}"),
        there_are(gpus),
        "each rank needs a GPU of its own: use fewer ranks, or --device cpu",
    ))
}

/// The device of a rank: `cpu`, or `cuda:k` with its number on the host. A rank that sees one GPU
/// only, because its launcher has given it that one, takes it.
///
/// # Errors
/// As [`check_devices`].
pub fn device_of(world: &World, name: &str) -> Result<String> {
    let gpus = match name {
        "cpu" => return Ok("cpu".to_string()),
        "auto" | "cuda" => gpus(),
        _ => return Err(own_gpus(name)),
    };
    match (gpus, world.local_rank) {
        (0, _) if name == "auto" => Ok("cpu".to_string()),
        (1, _) => Ok("cuda:0".to_string()),
        (gpus, k) if k < gpus => Ok(format!("cuda:{k}")),
        (gpus, k) => Err(Error::invalid(
            "device",
            format!(
                "rank {} is number {k} on {}, where {}",
                world.rank,
                world.host,
                there_are(gpus)
            ),
            "each rank needs a GPU of its own: start fewer ranks on this host, or use --device cpu",
        )),
    }
}

/// Opens this rank's device, as [`device_of`] names it, in the group: plans that it loads add up over
/// the ranks. All ranks must do so at the same time. When another rank ends the run, a GPU does not
/// wait for it any longer.
///
/// # Errors
/// When the device or, for GPUs, NCCL cannot be used, here or on another rank.
pub fn open_in_group(group: &RankGroup, name: &str, threads: usize) -> Result<Arc<dyn Backend>> {
    let ordinal = name.strip_prefix("cuda:").and_then(|k| k.parse().ok());
    let Some(ordinal) = ordinal else {
        let cpu = Cpu::new(threads)?.in_group(group.process_group());
        return Ok(Arc::new(cpu));
    };
    gpu_in_group(group, ordinal)
}

#[cfg(feature = "cuda")]
fn gpu_in_group(group: &RankGroup, ordinal: usize) -> Result<Arc<dyn Backend>> {
    let gpu = super::cuda(ordinal)?;
    gpu.join_group(group.process_group())?;
    let held = gpu.clone();
    group.on_abort(Box::new(move || held.abort_group()));
    Ok(gpu)
}

#[cfg(not(feature = "cuda"))]
fn gpu_in_group(_: &RankGroup, ordinal: usize) -> Result<Arc<dyn Backend>> {
    super::gpu(ordinal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_by_number_is_no_device_of_several_ranks() -> Result<()> {
        let world = World::new(1, 2, 1, "127.0.0.1:7000".parse()?)?;
        assert_eq!(device_of(&world, "cpu")?, "cpu");
        let message = device_of(&world, "cuda:1")
            .expect_err("refused")
            .to_string();
        assert!(message.contains("`cuda:1` is one device"), "{message}");
        Ok(())
    }

    #[test]
    fn too_few_gpus_are_counted() {
        let message = check_devices("cuda", 1000)
            .expect_err("refused")
            .to_string();
        assert!(
            message.contains("--data-parallel 1000: there "),
            "{message}"
        );
    }
}
