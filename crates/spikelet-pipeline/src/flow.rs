//! A compiled pipeline: the programs of the stages and their buffers.

use super::batch_split::BatchSplit;
use super::head::Head;
use super::partition::Partition;
use super::pipeline_plan::PipelinePlan;
use super::plans::StagePlans;
use super::program::{Buffers, Program};
use super::stage::{self, GRAD_X, Neighbor, Y};
use super::timetable::{FORWARD_BUFFERS, Timetable};
use spikelet_core::Result;
use spikelet_graph::{Backend, Buffer, DType, DeviceKind, Event, InputKind, TensorType};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The buffers and programs of a micro-batch in flight, and the event of the last use.
pub(super) struct Slot {
    pub(super) buffers: Buffers,
    pub(super) forward: BTreeMap<(bool, bool), Program>,
    pub(super) backward: BTreeMap<(bool, bool), Program>,
    pub(super) used: Option<Arc<dyn Event>>,
}

/// A stage on its device, for micro-batches of one size.
pub(super) struct SizeClass {
    pub(super) slots: Vec<Slot>,
    /// On the last stage, the loss of each micro-batch in flight.
    pub(super) head: Vec<Head>,
}

/// A stage on its device.
pub(super) struct StageRun {
    /// One for each size of micro-batches.
    pub(super) classes: Vec<SizeClass>,
}

/// A pipeline, loaded on its devices.
pub(super) struct Flow {
    pub(super) batch_split: BatchSplit,
    pub(super) training: bool,
    pub(super) timetable: Timetable,
    /// Each stage on each of its devices.
    pub(super) stages: Vec<Vec<Mutex<StageRun>>>,
    /// The devices of each stage.
    pub(super) stage_devices: Vec<Vec<usize>>,
    pub(super) devices: Vec<Arc<dyn Backend>>,
    arenas: Vec<Buffer>,
}

/// Returns the buffer of a parameter or accumulated gradient by the device, whether that is a replica, and
/// the name.
pub(super) type Find<'a> = dyn FnMut(usize, bool, &str, &TensorType) -> Result<Buffer> + 'a;

/// Loads the program of the loss by the device, the size of the micro-batch, and the buffers of its chunks.
pub(super) type MakeHead<'a> = dyn FnMut(usize, usize, &mut [Buffers]) -> Result<Head> + 'a;

impl Flow {
    /// Allocates the buffers and loads the programs.
    pub(super) fn new(
        partition: &Partition,
        pipeline_plan: &PipelinePlan,
        find: &mut Find<'_>,
        heads: &mut MakeHead<'_>,
    ) -> Result<Self> {
        let Partition {
            devices,
            stage_devices,
            ..
        } = partition;
        let PipelinePlan {
            batch_split,
            training,
            timetable,
            plans,
            ..
        } = pipeline_plan;
        let training = *training;
        let arenas = arenas(devices, stage_devices, plans)?;
        let mut stages = vec![];
        for (stage, own_devices) in stage_devices.iter().enumerate() {
            let mut copies = vec![];
            for &device in own_devices {
                let mut classes = vec![];
                for (class, size) in batch_split.sizes().into_iter().enumerate() {
                    let kept = match training {
                        true if class > 0 => 1,
                        true => timetable.in_flight[stage],
                        false => FORWARD_BUFFERS,
                    };
                    let loader = SlotLoader {
                        backend: &devices[device],
                        device,
                        copy: device != own_devices[0],
                        batch_split,
                        training,
                        arena: &arenas[device],
                    };
                    let plans = &plans[class][stage];
                    let mut buffers = loader.buffers(kept);
                    let mut head = vec![];
                    if training && stage + 1 == stage_devices.len() {
                        for chunks in buffers.chunks_mut(batch_split.chunks) {
                            head.push(heads(device, size, chunks)?);
                        }
                    }
                    let slots = loader.slots(buffers, plans, find)?;
                    classes.push(SizeClass { slots, head });
                }
                copies.push(Mutex::new(StageRun { classes }));
            }
            stages.push(copies);
        }
        Ok(Self {
            batch_split: *batch_split,
            training,
            timetable: timetable.clone(),
            stages,
            stage_devices: stage_devices.clone(),
            devices: devices.clone(),
            arenas,
        })
    }

    /// The size of the transfers through the host's memory that may be in progress at once, in bytes, by
    /// sender. A tensor stays in the sender's buffer until it has arrived, so each has at most one copy.
    pub(super) fn sent_bytes(&self) -> Vec<usize> {
        let mut bytes = vec![0; self.devices.len()];
        for (stage, (copies, own_devices)) in
            self.stages.iter().zip(&self.stage_devices).enumerate()
        {
            for (copy, device) in copies.iter().zip(own_devices) {
                if self.devices[*device].kind() == DeviceKind::Cuda {
                    continue;
                }
                let copy = copy.lock().unwrap_or_else(PoisonError::into_inner);
                for class in &copy.classes {
                    let size =
                        |slot: &Slot, name| slot.buffers.get(name).map_or(0, |b| b.ty.bytes());
                    if stage + 1 < self.stages.len() {
                        bytes[*device] += class.slots.iter().map(|s| size(s, Y)).sum::<usize>();
                    }
                    // All slots share it.
                    bytes[*device] += class.slots.first().map_or(0, |slot| size(slot, GRAD_X));
                }
            }
        }
        bytes
    }

    /// The size of the arena and of the tensors of micro-batches in flight, in bytes, by device.
    pub(super) fn bytes(&self) -> Vec<usize> {
        let mut bytes: Vec<usize> = self.arenas.iter().map(|a| a.ty.bytes()).collect();
        let devices = self.stage_devices.iter().flatten();
        for (stage, device) in self.stages.iter().flatten().zip(devices) {
            let stage = stage.lock().unwrap_or_else(PoisonError::into_inner);
            let slots = stage.classes.iter().flat_map(|c| &c.slots);
            bytes[*device] += slots.map(|s| s.buffers.bytes()).sum::<usize>();
        }
        bytes
    }
}

/// Where the programs of a stage are loaded.
struct SlotLoader<'a> {
    backend: &'a Arc<dyn Backend>,
    device: usize,
    /// Whether the stage has its parameters elsewhere, and copies here.
    copy: bool,
    batch_split: &'a BatchSplit,
    training: bool,
    arena: &'a Buffer,
}

impl SlotLoader<'_> {
    /// Empty sets of buffers: in training, one for each chunk of each micro-batch in flight; otherwise
    /// `kept` ones that are used in turn.
    fn buffers(&self, kept: usize) -> Vec<Buffers> {
        let count = if self.training {
            kept * self.batch_split.chunks
        } else {
            kept
        };
        vec![Buffers::default(); count]
    }

    /// Loads the programs of each set of buffers.
    fn slots(
        &self,
        mut buffers: Vec<Buffers>,
        plans: &StagePlans,
        find: &mut Find<'_>,
    ) -> Result<Vec<Slot>> {
        let count = buffers.len();
        // All slots share one buffer: it is sent before the next gradient is computed.
        let mut grad_x = Buffers::default();
        let mut loaded = vec![];
        for slot in 0..count {
            let mut bind = |name: &str, kind: InputKind, ty: &TensorType| -> Result<Buffer> {
                if kind != InputKind::Data {
                    return find(self.device, self.copy, name, ty);
                }
                if name == GRAD_X {
                    return grad_x.get_or_allocate(name, ty, &**self.backend);
                }
                let (at, name) = match stage::neighbor(name) {
                    Some(Neighbor::Previous(other)) => ((slot + count - 1) % count, other),
                    Some(Neighbor::Next(other)) => ((slot + 1) % count, other),
                    None => (slot, name.to_string()),
                };
                buffers[at].get_or_allocate(&name, ty, &**self.backend)
            };
            let mut programs = (BTreeMap::new(), BTreeMap::new());
            for (&position, passes) in &plans.passes {
                let own = self.batch_split.position(slot % self.batch_split.chunks);
                if self.training && position != own {
                    continue;
                }
                let mut load = |plan| Program::load(self.backend, plan, self.arena, &mut bind);
                programs.0.insert(position, load(&passes.forward)?);
                if let Some(backward) = &passes.backward {
                    programs.1.insert(position, load(backward)?);
                }
            }
            loaded.push(programs);
        }
        let slots = buffers.into_iter().zip(loaded);
        Ok(slots
            .map(|(mut buffers, (forward, backward))| {
                if let Some(shared) = grad_x.get(GRAD_X) {
                    buffers.insert(GRAD_X, shared.clone());
                }
                Slot {
                    buffers,
                    forward,
                    backward,
                    used: None,
                }
            })
            .collect())
    }
}

/// One arena per device, of the size of its largest plan: the plans run one after the other.
fn arenas(
    devices: &[Arc<dyn Backend>],
    stage_devices: &[Vec<usize>],
    plans: &[Vec<StagePlans>],
) -> Result<Vec<Buffer>> {
    let mut bytes = vec![0; devices.len()];
    for stages in plans {
        let devices = stages.iter().zip(stage_devices);
        for (plans, device) in
            devices.flat_map(|(p, own_devices)| own_devices.iter().map(move |d| (p, *d)))
        {
            for passes in plans.passes.values() {
                for plan in std::iter::once(&passes.forward).chain(&passes.backward) {
                    bytes[device] = bytes[device].max(plan.arena_bytes);
                }
            }
        }
    }
    let made = devices.iter().zip(bytes).map(|(backend, bytes)| {
        Ok(backend.allocate(&TensorType::new(DType::I64, [bytes.div_ceil(8)]))?)
    });
    made.collect()
}
