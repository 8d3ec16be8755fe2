//! A plan with prepared kernels, which runs in any memory of the planned sizes.

mod loop_kernel;

use crate::memory::{Slot, View, ViewMut};
use crate::op::{self, Kernel};
use crate::shared::failure;
use loop_kernel::LoopKernel;
use spikelet_graph::op::{Op, Operation};
use spikelet_graph::{Graph, Location, Node, Plan, Result, TensorType, ValueId};

/// Prepares the kernel of a node.
pub(crate) type Prepare<'a> = dyn Fn(&Graph, &Node) -> Result<Box<dyn Kernel>> + 'a;

/// A tensor in one of the plan's pieces of memory.
#[derive(Clone)]
struct Place {
    /// The index of the piece: the arena, then the inputs, then the outputs.
    memory: usize,
    offset: usize,
    /// Its type, and its address in the current run.
    slot: Slot,
}

/// The memory of a kernel's operand.
#[derive(Clone)]
enum Source {
    Place(Place),
    /// The old content of this result.
    InPlace(usize),
}

struct Step {
    kernel: Box<dyn Kernel>,
    name: String,
    reads: Vec<Source>,
    writes: Vec<Option<Place>>,
    /// Offset in the arena, and bytes.
    workspace: (usize, usize),
}

/// The addresses of the pieces of memory.
struct Memories(Vec<*mut u8>);

// SAFETY: addresses are only used by `BoundPlan::run`, whose caller guarantees access to the memory.
unsafe impl Send for Memories {}

pub(crate) struct BoundPlan {
    steps: Vec<Step>,
    copies: Vec<(Place, Place)>,
    memories: Memories,
    inputs: usize,
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

impl Place {
    /// A tensor of a plan with this many inputs; `None` for one that has no memory.
    fn new(at: Location, ty: &TensorType, inputs: usize) -> Option<Self> {
        let (memory, offset) = match at {
            Location::Arena(offset) => (0, offset),
            Location::Input(k) => (1 + k, 0),
            Location::Output(k) => (1 + inputs + k, 0),
            Location::InputAt(k, offset) => (1 + k, offset),
            Location::OutputAt(k, offset) => (1 + inputs + k, offset),
            Location::Unused => return None,
        };
        let slot = Slot {
            pointer: std::ptr::null_mut(),
            ty: ty.clone(),
        };
        Some(Self {
            memory,
            offset,
            slot,
        })
    }

    /// The tensor at its address in the current run.
    fn resolve(&mut self, memories: &Memories) -> &Slot {
        // The plan was checked: the offset lies within the piece of memory.
        self.slot.pointer = memories.0[self.memory].wrapping_add(self.offset);
        &self.slot
    }
}

impl BoundPlan {
    /// Prepares the kernels of a plan that was checked for this device.
    pub(crate) fn new(plan: &Plan, prepare: &Prepare<'_>) -> Result<Self> {
        let inputs = plan.graph.inputs.len();
        let place = |at: &Location, value: &ValueId| Place::new(*at, plan.graph.ty(*value), inputs);
        let mut steps = vec![];
        for kernel in &plan.kernels {
            let node = &plan.graph.nodes[kernel.node];
            let writes = kernel.writes.iter().zip(&node.outputs);
            let writes = writes.map(|(at, v)| place(at, v)).collect();
            let mut reads = vec![];
            for (at, value) in kernel.reads.iter().zip(&node.inputs) {
                let same = kernel
                    .writes
                    .iter()
                    .position(|w| w == at && *w != Location::Unused);
                if let Some(j) = same
                    && !op::takes_in_place(&node.op, j)
                {
                    return Err(failure(format!(
                        "{}: operand {} is in the memory of result {j}, from which its CPU kernel does not read; let \
                         `CpuKernel::takes_in_place` return true and handle `View::InPlace`",
                        node.op.name(),
                        reads.len(),
                    )));
                }
                reads.push(match (same, place(at, value)) {
                    (Some(j), _) => Source::InPlace(j),
                    (None, Some(place)) => Source::Place(place),
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
            let kernel_of_node: Box<dyn Kernel> = match (&node.op, &kernel.body) {
                (Op::Loop(op), Some(body)) => {
                    Box::new(LoopKernel::new(op, body, Self::new(body, prepare)?))
                }
                _ => prepare(&plan.graph, node)?,
            };
            steps.push(Step {
                kernel: kernel_of_node,
                name: name_of(node),
                reads,
                writes,
                workspace: kernel.workspace.unwrap_or((0, 0)),
            });
        }
        let copies = plan.copies.iter().filter_map(|(from, to, ty)| {
            let place = |at: &Location| Place::new(*at, ty, inputs);
            Some((place(from)?, place(to)?))
        });
        let copies = copies.collect();
        let max = |count: &dyn Fn(&Step) -> usize| steps.iter().map(count).max().unwrap_or(0);
        let (reads, writes) = (max(&|s| s.reads.len()), max(&|s| s.writes.len()));
        let memories = 1 + inputs + plan.graph.outputs.len();
        Ok(Self {
            copies,
            memories: Memories(vec![std::ptr::null_mut(); memories]),
            inputs,
            steps,
            reads: Vec::with_capacity(reads),
            writes: Vec::with_capacity(writes),
        })
    }

    /// The number of kernels.
    pub(crate) fn kernels(&self) -> usize {
        self.steps.len()
    }

    /// Sets the address of the arena.
    pub(crate) fn set_arena(&mut self, pointer: *mut u8) {
        self.memories.0[0] = pointer;
    }

    /// Sets the address of an input.
    pub(crate) fn set_input(&mut self, k: usize, pointer: *mut u8) {
        self.memories.0[1 + k] = pointer;
    }

    /// Sets the address of an output.
    pub(crate) fn set_output(&mut self, k: usize, pointer: *mut u8) {
        self.memories.0[1 + self.inputs + k] = pointer;
    }

    /// Runs all kernels, then copies the results that are not computed in place. Calls `after` with the number
    /// of each kernel.
    ///
    /// # Safety
    /// The addresses that were set are those of memory of the planned sizes, aligned for the elements, and nothing
    /// else accesses it meanwhile; inputs that the plan does not update may be shared for reading.
    pub(crate) unsafe fn run(&mut self, after: &mut dyn FnMut(usize)) -> Result<()> {
        for k in 0..self.steps.len() {
            // SAFETY: the caller's promise.
            unsafe { self.run_step(k) }?;
            after(k);
        }
        for (from, to) in &mut self.copies {
            let (from, to) = (from.resolve(&self.memories), to.resolve(&self.memories));
            // SAFETY: both have the size of the type and do not overlap.
            unsafe { std::ptr::copy_nonoverlapping(from.pointer, to.pointer, from.ty.bytes()) };
        }
        Ok(())
    }

    /// # Safety
    /// As [`BoundPlan::run`].
    unsafe fn run_step(&mut self, k: usize) -> Result<()> {
        // After a panic in a kernel, views of that run are left.
        self.reads.clear();
        self.writes.clear();
        let memories = &self.memories;
        let step = &mut self.steps[k];
        for write in &mut step.writes {
            self.writes.push(match write {
                // SAFETY: the plan was checked, so no other live value shares the memory; the views are dropped before
                // this function returns; the caller excludes other accesses.
                Some(place) => unsafe { place.resolve(memories).view_mut() },
                None => ViewMut::Unused,
            });
        }
        for read in &mut step.reads {
            self.reads.push(match read {
                // SAFETY: as above; no result of this kernel shares the memory of an operand, except those that are
                // passed as `InPlace`.
                Source::Place(place) => unsafe { place.resolve(memories).view() },
                Source::InPlace(j) => View::InPlace(*j),
            });
        }
        let (offset, bytes) = step.workspace;
        // SAFETY: the workspace is a separate part of the arena; parts start on cache lines, and full words are used.
        let workspace = unsafe {
            let start = memories.0[0].wrapping_add(offset);
            match bytes / 8 {
                0 => &mut [][..],
                words => std::slice::from_raw_parts_mut(start.cast::<u64>(), words),
            }
        };
        let done = step.kernel.run(&self.reads, &mut self.writes, workspace);
        self.reads.clear();
        self.writes.clear();
        done.map_err(|problem| failure(format!("{}: {problem}", step.name)))
    }
}
