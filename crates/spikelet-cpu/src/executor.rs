//! A loaded plan: arena, prepared kernels, and the loop that executes them.

use crate::memory::{Slot, View, ViewMut};
use crate::op::Kernel;
use crate::shared::{Shared, failure};
use spikelet_graph::op::Operation;
use spikelet_graph::{Bound, Buffer, Executor, Graph, Location, Node, Plan, Result, TensorType};
use std::sync::Arc;
use std::time::Instant;

/// The memory of a kernel's operand.
#[derive(Clone)]
enum Source {
    Slot(Slot),
    /// The old content of this result.
    InPlace(usize),
}

struct Step {
    kernel: Box<dyn Kernel>,
    name: String,
    reads: Vec<Source>,
    writes: Vec<Option<Slot>>,
    workspace: (*mut u8, usize),
}

// SAFETY: the addresses are in memory that the executor keeps alive and accesses only under the
// backend's lock.
unsafe impl Send for Step {}

pub(crate) struct CpuExecutor {
    shared: Arc<Shared>,
    arena_bytes: usize,
    steps: Vec<Step>,
    copies: Vec<(Slot, Slot)>,
    /// Keeps the memory behind the slots alive.
    _buffers: Vec<Buffer>,
    reads: Vec<View<'static>>,
    writes: Vec<ViewMut<'static>>,
}

/// The operation and its layer, for errors.
fn name_of(node: &Node) -> String {
    let name = node.op.name();
    match &*node.layer {
        "" => name,
        layer => format!("{name} in `{layer}`"),
    }
}

impl CpuExecutor {
    /// Binds a plan that was checked, for this device and with these buffers.
    pub(crate) fn new(
        shared: Arc<Shared>,
        prepare: impl Fn(&Graph, &Node) -> Result<Box<dyn Kernel>>,
        plan: &Plan,
        bound: &Bound<'_>,
    ) -> Result<Self> {
        let Bound {
            inputs,
            outputs,
            arena: buffer,
        } = *bound;
        let arena = shared.memory_of(buffer)?;
        let slot = |place: Location, ty: &TensorType| -> Result<Option<Slot>> {
            let pointer = match place {
                Location::Arena(offset) => arena.at(offset),
                Location::Input(k) => shared.memory_of(&inputs[k])?.at(0),
                Location::Output(k) => match &outputs[k] {
                    Some(buffer) => shared.memory_of(buffer)?.at(0),
                    None => return Ok(None),
                },
                Location::Unused => return Ok(None),
            };
            Ok(Some(Slot {
                pointer,
                ty: ty.clone(),
            }))
        };

        let mut steps = vec![];
        for kernel in &plan.kernels {
            let node = &plan.graph.nodes[kernel.node];
            let writes = kernel
                .writes
                .iter()
                .zip(&node.outputs)
                .map(|(place, v)| slot(*place, plan.graph.ty(*v)))
                .collect::<Result<Vec<_>>>()?;
            let mut reads = vec![];
            for (place, value) in kernel.reads.iter().zip(&node.inputs) {
                let same = kernel
                    .writes
                    .iter()
                    .position(|w| w == place && *w != Location::Unused);
                reads.push(match (same, slot(*place, plan.graph.ty(*value))?) {
                    (Some(j), _) => Source::InPlace(j),
                    (None, Some(slot)) => Source::Slot(slot),
                    (None, None) => {
                        let name = node.op.name();
                        return Err(failure(format!(
                            "{name}: operand {} has no storage in this plan (internal error; \
                             please report it)",
                            reads.len()
                        )));
                    }
                });
            }
            let workspace = match kernel.workspace {
                Some((offset, bytes)) => (arena.at(offset), bytes),
                None => (arena.at(0), 0),
            };
            steps.push(Step {
                kernel: prepare(&plan.graph, node)?,
                name: name_of(node),
                reads,
                writes,
                workspace,
            });
        }
        let mut copies = vec![];
        for (from, to, ty) in &plan.copies {
            if let (Some(from), Some(to)) = (slot(*from, ty)?, slot(*to, ty)?) {
                copies.push((from, to));
            }
        }
        let max = |count: &dyn Fn(&Step) -> usize| steps.iter().map(count).max().unwrap_or(0);
        let (reads, writes) = (max(&|s| s.reads.len()), max(&|s| s.writes.len()));
        let buffers = inputs
            .iter()
            .chain(outputs.iter().flatten())
            .chain([buffer])
            .cloned()
            .collect();
        Ok(Self {
            shared,
            arena_bytes: plan.arena_bytes,
            steps,
            copies,
            _buffers: buffers,
            reads: Vec::with_capacity(reads),
            writes: Vec::with_capacity(writes),
        })
    }

    fn run_step(&mut self, k: usize) -> Result<()> {
        // After a panic in a kernel, views of that run are left.
        self.reads.clear();
        self.writes.clear();
        let step = &mut self.steps[k];
        for write in &step.writes {
            self.writes.push(match write {
                // SAFETY: the plan was checked, so no other live value shares the memory; the views
                // are dropped before this function returns; the lock excludes other runs.
                Some(slot) => unsafe { slot.view_mut() },
                None => ViewMut::Unused,
            });
        }
        for read in &step.reads {
            self.reads.push(match read {
                // SAFETY: as above; no result of this kernel shares the memory of an operand,
                // except those that are passed as `InPlace`.
                Source::Slot(slot) => unsafe { slot.view() },
                Source::InPlace(j) => View::InPlace(*j),
            });
        }
        let (pointer, bytes) = step.workspace;
        // SAFETY: the workspace is a separate part of the arena; parts start on cache lines, and full
        // words are used.
        let workspace = unsafe { std::slice::from_raw_parts_mut(pointer.cast::<u64>(), bytes / 8) };
        let done = step.kernel.run(&self.reads, &mut self.writes, workspace);
        self.reads.clear();
        self.writes.clear();
        done.map_err(|problem| failure(format!("{}: {problem}", step.name)))
    }

    fn copy_results(&self) {
        for (from, to) in &self.copies {
            // SAFETY: both have the size of the type and do not overlap.
            unsafe { std::ptr::copy_nonoverlapping(from.pointer, to.pointer, from.ty.bytes()) };
        }
    }

    fn run_all(&mut self, mut after: impl FnMut(usize) + Send) -> Result<()> {
        let shared = self.shared.clone();
        let _guard = shared.lock()?;
        shared.pool.install(|| {
            for k in 0..self.steps.len() {
                self.run_step(k)?;
                after(k);
            }
            self.copy_results();
            Ok(())
        })
    }
}

impl Executor for CpuExecutor {
    fn run(&mut self) -> Result<()> {
        self.run_all(|_| ())
    }

    fn arena_bytes(&self) -> usize {
        self.arena_bytes
    }

    fn profile(&mut self) -> Result<Vec<f64>> {
        let mut seconds = vec![0.0; self.steps.len()];
        let mut last = Instant::now();
        self.run_all(|k| {
            let now = Instant::now();
            seconds[k] = (now - last).as_secs_f64();
            last = now;
        })?;
        Ok(seconds)
    }
}
