//! Plans that another program calls: in its memory, on its threads.

use crate::bound_plan::BoundPlan;
use crate::op::PrepareContext;
use crate::parallel::{self, Workers};
use crate::shared::failure;
use spikelet_graph::{Graph, Node, Plan, Result};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

/// A plan that runs in memory of the caller, on threads of the caller.
///
/// Calls may come from several threads at the same time.
///
/// ```
/// use spikelet_cpu::{CallingThread, Cpu};
/// use spikelet_graph::{DType, Plan, Tracer};
/// let cpu = Cpu::new(1)?;
/// let tracer = Tracer::new(DType::F32);
/// let x = tracer.input("x", DType::F32, [3]);
/// tracer.output("y", &(&x * 2.0));
/// let plan = Plan::new(tracer.finish()?, &cpu);
/// let double = cpu.callable(&plan)?;
///
/// let (x, mut y) = ([1.0_f32, 2.0, 3.0], [0.0_f32; 3]);
/// let mut arena = vec![0_u64; double.arena_bytes().div_ceil(8)];
/// let (from, to) = (x.as_ptr().addr(), y.as_mut_ptr().addr());
/// // SAFETY: the memory has the types of the plan.
/// unsafe { double.run(&[from], &[to], arena.as_mut_ptr().addr(), &CallingThread) }?;
/// assert_eq!(y, [2.0, 4.0, 6.0]);
/// # Ok::<(), spikelet_graph::Error>(())
/// ```
pub struct CallablePlan {
    plan: Plan,
    /// The number of threads that the plan was computed for.
    threads: usize,
    /// The most threads that work at the same time.
    at_once: usize,
    /// Prepared kernels that no call uses.
    idle: Mutex<Vec<BoundPlan>>,
}

/// The bytes that a plan moves at least before its work is divided among threads: less takes less time than it takes to
/// wake a thread.
const DIVIDED: u64 = 256 << 10;

impl CallablePlan {
    /// Prepares the kernels of a plan that was checked, for at most this many threads at a time.
    pub(crate) fn new(plan: &Plan, threads: usize) -> Result<Self> {
        let this = Self {
            threads,
            at_once: match plan.moved_bytes() < DIVIDED {
                true => 1,
                false => threads,
            },
            plan: plan.clone(),
            idle: Mutex::default(),
        };
        let first = this.prepare()?;
        this.give_back(first);
        Ok(this)
    }

    fn prepare(&self) -> Result<BoundPlan> {
        let kernel = |graph: &Graph, node: &Node| {
            PrepareContext::new(graph, node, self.threads, None).prepare()
        };
        BoundPlan::new(&self.plan, &kernel)
    }

    fn give_back(&self, plan: BoundPlan) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(plan);
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The bytes of the memory for intermediate values.
    pub fn arena_bytes(&self) -> usize {
        self.plan.arena_bytes
    }

    /// Runs the plan.
    ///
    /// # Errors
    /// When a kernel fails.
    ///
    /// # Safety
    /// `inputs` and `outputs` are the addresses of the plan's inputs and outputs in order, each of memory of the
    /// size of its type, aligned for its elements; outputs that update an input are not used. `arena` is the
    /// address of [`CallablePlan::arena_bytes`] bytes, aligned to 64 bytes. During the call nothing else accesses
    /// the outputs, the arena and inputs that are updated, and nothing writes to the other inputs.
    pub unsafe fn run(
        &self,
        inputs: &[usize],
        outputs: &[usize],
        arena: usize,
        workers: &dyn Workers,
    ) -> Result<()> {
        let graph = &self.plan.graph;
        if inputs.len() != graph.inputs.len() || outputs.len() != graph.outputs.len() {
            return Err(failure(format!(
                "the plan has {} inputs and {} outputs, {} and {} addresses were given",
                graph.inputs.len(),
                graph.outputs.len(),
                inputs.len(),
                outputs.len()
            )));
        }
        let idle = self
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        let mut bound = match idle {
            Some(bound) => bound,
            None => self.prepare()?,
        };
        bound.set_arena(arena as *mut u8);
        for (k, pointer) in inputs.iter().enumerate() {
            bound.set_input(k, *pointer as *mut u8);
        }
        for (k, pointer) in outputs.iter().enumerate() {
            bound.set_output(k, *pointer as *mut u8);
        }
        let done = catch_unwind(AssertUnwindSafe(|| {
            parallel::on_workers(workers, self.at_once, || {
                // SAFETY: the caller's promise; the plan was checked.
                unsafe { bound.run(&mut |_| ()) }
            })
        }));
        let done = done.unwrap_or_else(|_| {
            Err(failure(
                "a kernel panicked (internal error; please report it)",
            ))
        });
        self.give_back(bound);
        done
    }
}

impl fmt::Debug for CallablePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallablePlan")
            .field("kernels", &self.plan.kernels.len())
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}
