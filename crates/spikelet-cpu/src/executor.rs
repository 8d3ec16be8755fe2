//! A loaded plan: arena, prepared kernels, and the loop that runs them.

use crate::backend::{Shared, failure, is_host_type, memory, memory_of};
use crate::memory::{Memory, Slot, View, ViewMut};
use crate::op::{self, Kernel};
use spikelet_graph::op::{Op, Operation};
use spikelet_graph::{
    Buffer, Error, Executor, Kernel as PlannedKernel, Place, Plan, Result, TensorType, ValueId,
};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

/// Where a kernel's operand comes from.
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

// SAFETY: the addresses lead into memory that the executor keeps alive and touches only under
// the backend's lock.
unsafe impl Send for Step {}

pub(crate) struct CpuExecutor {
    shared: Arc<Shared>,
    arena: Memory,
    steps: Vec<Step>,
    copies: Vec<(Slot, Slot)>,
    /// Keeps the memory behind the slots alive.
    _buffers: Vec<Buffer>,
    reads: Vec<View<'static>>,
    writes: Vec<ViewMut<'static>>,
}

impl CpuExecutor {
    pub(crate) fn new(
        shared: Arc<Shared>,
        threads: usize,
        plan: &Plan,
        inputs: &[Buffer],
        outputs: &[Option<Buffer>],
    ) -> Result<Self> {
        check_buffers(plan, inputs, outputs)?;
        if !plan.is_sound() {
            return Err(failure(
                "the plan's allocations overlap; it was not made by Plan::new",
            ));
        }
        let arena = memory(plan.arena_bytes, "the plan's arena")?;
        let pointer = |place: Place| -> Result<Option<*mut u8>> {
            Ok(match place {
                Place::Arena(offset) => Some(arena.at(offset)),
                Place::Input(k) => Some(memory_of(&inputs[k])?.at(0)),
                Place::Output(k) => match &outputs[k] {
                    Some(buffer) => Some(memory_of(buffer)?.at(0)),
                    None => return Err(missing_output(plan, k)),
                },
                Place::Unused => None,
            })
        };
        let slot = |place: Place, ty: &TensorType| -> Result<Option<Slot>> {
            let room = match place {
                Place::Arena(offset) => plan.arena_bytes.saturating_sub(offset),
                Place::Input(k) => inputs[k].ty.bytes(),
                Place::Output(k) => outputs[k].as_ref().map_or(0, |b| b.ty.bytes()),
                Place::Unused => ty.bytes(),
            };
            if ty.bytes() > room {
                return Err(failure(format!(
                    "{ty} does not fit its place {place:?} in the plan"
                )));
            }
            Ok(pointer(place)?.map(|pointer| Slot {
                pointer,
                ty: ty.clone(),
            }))
        };

        let mut steps = vec![];
        for kernel in &plan.kernels {
            let node = &plan.graph.nodes[kernel.node];
            check_pieces(plan, kernel)?;
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
                    .position(|w| w == place && *w != Place::Unused);
                reads.push(match (same, slot(*place, plan.graph.ty(*value))?) {
                    (Some(j), _) if matches!(node.op, Op::Map(_)) => Source::InPlace(j),
                    (None, Some(slot)) => Source::Slot(slot),
                    _ => {
                        return Err(failure(format!(
                            "{} reads what it overwrites",
                            node.op.name()
                        )));
                    }
                });
            }
            let workspace = match kernel.workspace {
                Some((offset, bytes)) => (arena.at(offset), bytes),
                None => (arena.at(0), 0),
            };
            steps.push(Step {
                kernel: op::prepare(&plan.graph, node, threads)?,
                name: node.op.name(),
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
        let most = |count: &dyn Fn(&Step) -> usize| steps.iter().map(count).max().unwrap_or(0);
        let (reads, writes) = (most(&|s| s.reads.len()), most(&|s| s.writes.len()));
        let buffers = inputs
            .iter()
            .chain(outputs.iter().flatten())
            .cloned()
            .collect();
        Ok(Self {
            shared,
            arena,
            steps,
            copies,
            _buffers: buffers,
            reads: Vec::with_capacity(reads),
            writes: Vec::with_capacity(writes),
        })
    }

    fn run_step(&mut self, k: usize) -> Result<()> {
        // After a panic in a kernel, views of that run would still be here.
        self.reads.clear();
        self.writes.clear();
        let step = &mut self.steps[k];
        for write in &step.writes {
            self.writes.push(match write {
                // SAFETY: the plan is sound, so nothing else that is alive lies here; the views
                // are dropped before this function returns; the lock keeps other runs away.
                Some(slot) => unsafe { slot.view_mut() },
                None => ViewMut::Unused,
            });
        }
        for read in &step.reads {
            self.reads.push(match read {
                // SAFETY: as above; no result of this kernel lies in the memory of an operand,
                // but for those that are passed as `InPlace`.
                Source::Slot(slot) => unsafe { slot.view() },
                Source::InPlace(j) => View::InPlace(*j),
            });
        }
        let (pointer, bytes) = step.workspace;
        // SAFETY: the workspace is this kernel's own piece of the arena; pieces start on cache
        // lines, and whole words are used.
        let workspace = unsafe { std::slice::from_raw_parts_mut(pointer.cast::<u64>(), bytes / 8) };
        let done = step.kernel.run(&self.reads, &mut self.writes, workspace);
        self.reads.clear();
        self.writes.clear();
        done.map_err(|problem| failure(format!("{}: {problem}", step.name)))
    }

    fn copy_results(&self) {
        for (from, to) in &self.copies {
            // SAFETY: both are as large as the type says, and lie in different pieces of memory.
            unsafe { std::ptr::copy_nonoverlapping(from.pointer, to.pointer, from.ty.bytes()) };
        }
    }

    fn run_all(&mut self, mut after: impl FnMut(usize) + Send) -> Result<()> {
        let shared = self.shared.clone();
        let _guard = shared.lock();
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
        self.arena.bytes()
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

/// Checks that what a kernel writes in the arena overlaps nothing else that it touches there.
fn check_pieces(plan: &Plan, kernel: &PlannedKernel) -> Result<()> {
    let node = &plan.graph.nodes[kernel.node];
    let pieces = |places: &[Place], values: &[ValueId]| -> Vec<(usize, usize)> {
        let arena = places
            .iter()
            .zip(values)
            .filter_map(|(place, v)| match place {
                Place::Arena(offset) => Some((*offset, offset + plan.graph.ty(*v).bytes())),
                _ => None,
            });
        arena.collect()
    };
    let mut written = pieces(&kernel.writes, &node.outputs);
    written.extend(
        kernel
            .workspace
            .map(|(offset, bytes)| (offset, offset + bytes)),
    );
    let read = pieces(&kernel.reads, &node.inputs);
    let meets = |a: &(usize, usize), b: &(usize, usize)| a.0 < b.1 && b.0 < a.1;
    for (k, piece) in written.iter().enumerate() {
        let others = written[k + 1..].iter().chain(&read);
        if piece.1 > plan.arena_bytes || others.into_iter().any(|other| meets(piece, other)) {
            return Err(failure(format!(
                "{} writes over what it uses; the plan was not made by Plan::new",
                node.op.name()
            )));
        }
    }
    Ok(())
}

fn missing_output(plan: &Plan, k: usize) -> Error {
    failure(format!(
        "output `{}` needs a buffer, none was given",
        plan.graph.outputs[k].name
    ))
}

fn check_buffers(plan: &Plan, inputs: &[Buffer], outputs: &[Option<Buffer>]) -> Result<()> {
    let graph = &plan.graph;
    if inputs.len() != graph.inputs.len() || outputs.len() != graph.outputs.len() {
        return Err(failure(format!(
            "the plan has {} inputs and {} outputs, {} and {} buffers were given",
            graph.inputs.len(),
            graph.outputs.len(),
            inputs.len(),
            outputs.len()
        )));
    }
    let given_inputs = graph.inputs.iter().map(|i| (&i.name, i.value)).zip(inputs);
    let given_outputs = graph
        .outputs
        .iter()
        .map(|o| (&o.name, o.value))
        .zip(outputs);
    let given_outputs = given_outputs.filter_map(|(o, b)| Some((o, b.as_ref()?)));
    for ((name, value), buffer) in given_inputs.chain(given_outputs) {
        let expected = graph.ty(value);
        if buffer.ty != *expected || !is_host_type(expected) {
            return Err(Error::Type {
                name: name.clone(),
                given: buffer.ty.clone(),
                expected: expected.clone(),
            });
        }
    }
    for (k, output) in graph.outputs.iter().enumerate() {
        if output.updates.is_none() && outputs[k].is_none() {
            return Err(missing_output(plan, k));
        }
        if let Some(input) = output.updates
            && graph.ty(input) != graph.ty(output.value)
        {
            return Err(Error::Type {
                name: output.name.clone(),
                given: graph.ty(output.value).clone(),
                expected: graph.ty(input).clone(),
            });
        }
    }
    check_writers(plan, inputs, outputs)
}

/// What is written must be nobody else's memory.
fn check_writers(plan: &Plan, inputs: &[Buffer], outputs: &[Option<Buffer>]) -> Result<()> {
    let graph = &plan.graph;
    let updated = |value| graph.outputs.iter().any(|o| o.updates == Some(value));
    let held = graph
        .inputs
        .iter()
        .zip(inputs)
        .map(|(i, b)| (&i.name, b, updated(i.value)));
    let fresh = graph
        .outputs
        .iter()
        .zip(outputs)
        .filter(|(o, _)| o.updates.is_none());
    let fresh = fresh.filter_map(|(o, b)| Some((&o.name, b.as_ref()?, true)));
    let mut owners: HashMap<*const (), (&String, bool)> = HashMap::new();
    for (name, buffer, written) in held.chain(fresh) {
        let address = Arc::as_ptr(&buffer.handle).cast::<()>();
        if let Some((other, also)) = owners.insert(address, (name, written))
            && (written || also)
        {
            return Err(failure(format!(
                "`{other}` and `{name}` share a buffer and one of them is written; give each its own"
            )));
        }
    }
    Ok(())
}
