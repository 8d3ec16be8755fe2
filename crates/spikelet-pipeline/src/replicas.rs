//! Stages on several devices: copies of the parameters, and sums of the gradients.

use super::partition::Partition;
use super::stage::sum_name;
use spikelet_core::Result;
use spikelet_graph::{Backend, Buffer, DType, Event, TensorType, Tracer};
use spikelet_nn::module::{Traced, TracedTensor};
use spikelet_nn::runtime::{Program, VarStore};
use std::sync::Arc;

/// The name of the copy of a tensor on a device.
pub(super) fn copy_name(name: &str, backend: &dyn Backend) -> String {
    format!("{name} on {}", backend.name())
}

/// A tensor on the first device of a stage, and its copies on the others.
struct ReplicatedTensor {
    name: String,
    first: Buffer,
    copies: Vec<Buffer>,
}

/// A stage on several devices.
pub(super) struct Replicas {
    first: Arc<dyn Backend>,
    others: Vec<Arc<dyn Backend>>,
    /// Accumulated gradients, and buffers.
    found: Vec<ReplicatedTensor>,
    parameters: Vec<ReplicatedTensor>,
    gather: Program,
    gathered: Option<Arc<dyn Event>>,
}

impl Replicas {
    /// The replicas of each stage on several devices.
    pub(super) fn of_stages(
        partition: &Partition,
        stages: &[Traced],
        store: &mut VarStore,
    ) -> Result<Vec<Self>> {
        let mut all = vec![];
        for (own_devices, stage) in partition.stage_devices.iter().zip(stages) {
            if own_devices.len() > 1 {
                let devices: Vec<_> = own_devices
                    .iter()
                    .map(|d| partition.devices[*d].clone())
                    .collect();
                all.push(Self::new(&devices, stage, store)?);
            }
        }
        Ok(all)
    }

    fn new(devices: &[Arc<dyn Backend>], stage: &Traced, store: &mut VarStore) -> Result<Self> {
        let (first, others) = (devices[0].clone(), devices[1..].to_vec());
        let mut held = |name: &str, shape: &[usize], lasts: bool| -> Result<ReplicatedTensor> {
            let ty = TensorType::new(DType::F32, shape);
            let copies = others
                .iter()
                .map(|device| store.buffer(device, &copy_name(name, &**device), &ty, false));
            let copies = copies.collect::<Result<_>>()?;
            Ok(ReplicatedTensor {
                name: name.to_string(),
                first: store.buffer(&first, name, &ty, lasts)?,
                copies,
            })
        };
        let (mut found, mut parameters) = (vec![], vec![]);
        for TracedTensor { name, shape, .. } in &stage.parameters {
            parameters.push(held(name, shape, true)?);
            found.push(held(&sum_name(name), shape, false)?);
        }
        for TracedTensor { name, shape, .. } in &stage.buffers {
            found.push(held(name, shape, true)?);
        }
        let tracer = Tracer::new(DType::F32);
        let sums = stage.parameters.len();
        for (k, held) in found.iter().enumerate() {
            let shape = &held.first.ty.shape;
            let own = tracer.state(&held.name, shape.clone());
            let others = (1..devices.len())
                .map(|r| tracer.input(&arrival(&held.name, r), DType::F32, shape.clone()));
            let all = others.fold(own.clone(), |sum, other| sum + other);
            // Gradients are summed, running statistics are averaged over the devices.
            let all = if k < sums {
                all
            } else {
                all / devices.len() as f64
            };
            tracer.update(&own, &all);
        }
        store.place(&first);
        Ok(Self {
            gather: Program::new(tracer.finish()?, store)?,
            first,
            others,
            found,
            parameters,
            gathered: None,
        })
    }

    /// Sums the gradients and averages the buffers of all devices on the first one.
    pub(super) fn gather(&mut self) -> Result<()> {
        for (r, other) in self.others.iter().enumerate() {
            for held in &self.found {
                if let Some(to) = self.gather.input(&arrival(&held.name, r + 1)) {
                    let transfer = other.send(&held.copies[r])?;
                    self.first
                        .receive(to, &*transfer, self.gathered.as_deref())?;
                }
            }
        }
        self.gather.run()?;
        self.gathered = Some(self.first.record_event()?);
        Ok(())
    }

    /// Copies the tensors of the first device to the others.
    pub(super) fn spread(&self) -> Result<()> {
        for (r, other) in self.others.iter().enumerate() {
            let free = other.record_event()?;
            for held in self.parameters.iter().chain(&self.found) {
                let transfer = self.first.send(&held.first)?;
                let arrived = other.receive(&held.copies[r], &*transfer, Some(&*free))?;
                // The first device changes the tensor in its next step.
                self.first.wait_for(&*arrived)?;
            }
        }
        Ok(())
    }
}

fn arrival(name: &str, rank: usize) -> String {
    format!("{name}, of device {rank}")
}
