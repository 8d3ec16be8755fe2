//! The memory of the devices: the bytes that a pipeline needs, and whether they are free.

use super::partition::Partition;
use spikelet_core::{Error, Result};
use spikelet_graph::{Backend, DeviceKind};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The bytes on each device, and those of transfers on the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeviceBytes {
    /// By device: parameters, optimizer tensors, arenas, the tensors of micro-batches in flight.
    pub(crate) devices: Vec<usize>,
    /// On the host, in addition to the CPU devices: transfers between other devices, and the loss of an
    /// evaluation.
    pub(crate) host: usize,
}

impl DeviceBytes {
    /// The sum over all devices and the host.
    pub(crate) fn total(&self) -> usize {
        self.devices
            .iter()
            .fold(self.host, |sum, bytes| sum.saturating_add(*bytes))
    }

    /// Adds the tensors of transfers, which are in the memory of the host.
    pub(super) fn with_sent(mut self, partition: &Partition, sent: &[usize]) -> Self {
        for (k, (device, sent)) in partition.devices.iter().zip(sent).enumerate() {
            let at = match device.kind() {
                DeviceKind::Cpu => &mut self.devices[k],
                _ => &mut self.host,
            };
            *at = at.saturating_add(*sent);
        }
        self
    }
}

/// The devices that share a memory: all CPU devices, and all backends of one GPU.
pub(super) fn memories(devices: &[Arc<dyn Backend>]) -> Vec<Vec<usize>> {
    let mut shared: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (k, device) in devices.iter().enumerate() {
        shared.entry(device.memory_name()).or_default().push(k);
    }
    shared.into_values().collect()
}

/// Checks that the devices have enough free memory. The requirements of devices that share a memory are
/// added, and those of the host belong to the CPU devices.
pub(super) fn check(
    program: &str,
    partition: &Partition,
    bytes: &DeviceBytes,
    help: &str,
) -> Result<()> {
    let mut devices = partition.devices.clone();
    let mut needed = bytes.devices.clone();
    if bytes.host > 0 {
        devices.push(spikelet_nn::device::cpu()?);
        needed.push(bytes.host);
    }
    for shared in memories(&devices) {
        let known = shared.iter().filter_map(|k| devices[*k].memory());
        let Some(memory) = known.min_by_key(|memory| memory.available) else {
            continue;
        };
        let own = shared.iter().map(|k| needed[*k]);
        let needed = own.fold(0, usize::saturating_add);
        if needed > memory.available {
            let names: BTreeSet<String> = shared.iter().map(|k| devices[*k].name()).collect();
            return Err(Error::Memory {
                program: program.to_string(),
                device: Vec::from_iter(names).join(" and "),
                needed,
                available: memory.available,
                total: memory.total,
                help: help.to_string(),
            });
        }
    }
    Ok(())
}
