//! Devices that count the requested bytes and allocate nothing.
//!
//! A pipeline that is loaded on them shows how much memory it needs on each device, with the same code that
//! allocates it.

use super::device_memory::DeviceBytes;
use super::partition::Partition;
use spikelet_graph::op::{HostTensor, HostTensorMut, Op};
use spikelet_graph::{
    Backend, Buffer, DType, Determinism, DeviceId, DeviceKind, Executor, Graph, InPlaceUpdates,
    Memory, Node, Plan, Result, SchedulingPolicy, SpikeStorage, Storage, Target, TensorType,
    WorkspaceQuery,
};
use spikelet_nn::module::{Traced, TracedTensor};
use spikelet_nn::runtime::VarStore;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The allocated bytes, and their peak.
#[derive(Default)]
struct Count {
    held: AtomicUsize,
    peak: AtomicUsize,
}

/// A stand-in for a device, with the same plans.
struct DryDevice {
    real: Arc<dyn Backend>,
    id: DeviceId,
    count: Arc<Count>,
}

/// Memory that is counted until it is dropped.
struct Counted {
    device: DeviceId,
    bytes: usize,
    count: Option<Arc<Count>>,
}

impl Drop for Counted {
    fn drop(&mut self) {
        if let Some(count) = &self.count {
            count.held.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

impl Storage for Counted {
    fn device(&self) -> DeviceId {
        self.device
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

/// A program that is never run. It owns its arena.
struct Loaded(Buffer);

impl Executor for Loaded {
    fn run(&mut self) -> Result<()> {
        Ok(())
    }

    fn arena_bytes(&self) -> usize {
        self.0.ty.bytes()
    }

    fn profile(&mut self) -> Result<Vec<f64>> {
        Ok(vec![])
    }
}

impl DryDevice {
    fn new(real: &Arc<dyn Backend>) -> Self {
        Self {
            real: real.clone(),
            id: DeviceId::unique(),
            count: Arc::default(),
        }
    }

    /// The peak of the allocated bytes.
    fn peak(&self) -> usize {
        self.count.peak.load(Ordering::Relaxed)
    }

    /// A buffer that exists on the device.
    fn existing(&self, ty: &TensorType) -> Buffer {
        self.buffer(ty, None)
    }

    fn buffer(&self, ty: &TensorType, count: Option<Arc<Count>>) -> Buffer {
        Buffer {
            ty: ty.clone(),
            handle: Arc::new(Counted {
                device: self.id,
                bytes: ty.bytes(),
                count,
            }),
        }
    }
}

impl WorkspaceQuery for DryDevice {
    fn workspace(&self, graph: &Graph, node: &Node) -> usize {
        self.real.workspace(graph, node)
    }
}

impl SpikeStorage for DryDevice {
    fn reads_bits(&self, op: &Op, inputs: &[TensorType], operand: usize) -> bool {
        self.real.reads_bits(op, inputs, operand)
    }

    fn writes_bits(&self, op: &Op, inputs: &[TensorType], result: usize) -> bool {
        self.real.writes_bits(op, inputs, result)
    }
}

impl SchedulingPolicy for DryDevice {
    fn sums_channels(&self, graph: &Graph, node: &Node) -> bool {
        self.real.sums_channels(graph, node)
    }

    fn chunk_elements(&self) -> usize {
        self.real.chunk_elements()
    }

    fn scan_checkpoint(&self, graph: &Graph, node: &Node) -> Option<usize> {
        self.real.scan_checkpoint(graph, node)
    }
}

impl InPlaceUpdates for DryDevice {
    fn overwrites_sequences(&self) -> bool {
        self.real.overwrites_sequences()
    }
}

impl Target for DryDevice {
    fn check_node(&self, graph: &Graph, node: &Node) -> Result<()> {
        self.real.check_node(graph, node)
    }
}

impl Backend for DryDevice {
    fn name(&self) -> String {
        self.real.name()
    }

    fn determinism(&self) -> Determinism {
        self.real.determinism()
    }

    fn kind(&self) -> DeviceKind {
        self.real.kind()
    }

    fn memory_bytes(&self) -> Option<usize> {
        self.real.memory_bytes()
    }

    fn memory(&self) -> Option<Memory> {
        self.real.memory()
    }

    fn memory_name(&self) -> String {
        self.real.memory_name()
    }

    fn allocate(&self, ty: &TensorType) -> Result<Buffer> {
        let bytes = ty.bytes();
        let held = self.count.held.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.count.peak.fetch_max(held, Ordering::Relaxed);
        Ok(self.buffer(ty, Some(self.count.clone())))
    }

    fn upload(&self, _: &Buffer, _: HostTensor<'_>) -> Result<()> {
        Ok(())
    }

    fn download(&self, _: &Buffer, _: HostTensorMut<'_>) -> Result<()> {
        Ok(())
    }

    fn load_into(
        &self,
        _: &Plan,
        _: &[Buffer],
        _: &[Option<Buffer>],
        arena: &Buffer,
    ) -> Result<Box<dyn Executor>> {
        Ok(Box::new(Loaded(arena.clone())))
    }
}

/// The stages and tensors of a pipeline on counting devices.
pub(super) struct DryRun {
    devices: Vec<Arc<DryDevice>>,
    /// The CPU device for the loss of an evaluation.
    host: Arc<DryDevice>,
    /// The partition on these devices.
    pub(super) partition: Partition,
    /// Tensors with the names and types of those of the store, which are not counted.
    pub(super) store: VarStore,
}

impl DryRun {
    pub(super) fn new(partition: &Partition, store: &VarStore) -> spikelet_core::Result<Self> {
        let stand_in = |device: &Arc<dyn Backend>| Arc::new(DryDevice::new(device));
        let devices: Vec<Arc<DryDevice>> = partition.devices.iter().map(stand_in).collect();
        let backends = devices.iter().map(|d| d.clone() as Arc<dyn Backend>);
        let backends: Vec<Arc<dyn Backend>> = backends.collect();
        let store = store.mirrored(&backends[0], |real, ty| {
            let k = partition
                .devices
                .iter()
                .position(|d| Arc::ptr_eq(d, real))?;
            Some((backends[k].clone(), devices[k].existing(ty)))
        });
        Ok(Self {
            devices,
            host: stand_in(&spikelet_nn::device::cpu()?),
            partition: Partition {
                devices: backends,
                ..partition.clone()
            },
            store,
        })
    }

    /// The CPU device for the loss of an evaluation.
    pub(super) fn host(&self) -> Arc<dyn Backend> {
        self.host.clone()
    }

    /// Allocates the parameters of the stages without values: those of a network that is too large may not
    /// even fit into the memory of the host.
    pub(super) fn allocate(&mut self, stages: &[Traced]) -> spikelet_core::Result<()> {
        for (stage, backend) in stages.iter().zip(self.partition.backends()) {
            for TracedTensor { name, shape, .. } in stage.parameters.iter().chain(&stage.buffers) {
                let ty = TensorType::new(DType::F32, shape.clone());
                self.store.buffer(&backend, name, &ty, true)?;
            }
        }
        Ok(())
    }

    /// The peak of the allocated bytes of each device.
    pub(super) fn peaks(&self) -> DeviceBytes {
        DeviceBytes {
            devices: self.devices.iter().map(|device| device.peak()).collect(),
            host: self.host.peak(),
        }
    }
}
