//! The CPU as a backend.

use crate::callable::CallablePlan;
use crate::executor::CpuExecutor;
use crate::machine;
use crate::memory::{View, ViewMut, for_each_dtype};
use crate::op::{self, PrepareContext};
use crate::parallel::Pool;
use crate::shared::{Shared, failure};
use spikelet_graph::op::{HostTensor, HostTensorMut, Op};
use spikelet_graph::{
    Backend, Bound, Buffer, DType, Determinism, DeviceId, DeviceKind, Error, Executor, Graph,
    InPlaceUpdates, Node, Plan, ProcessGroup, Result, SchedulingPolicy, SpikeStorage, Target,
    TensorType, WorkspaceQuery,
};
use std::fmt;
use std::sync::{Arc, Mutex};

/// The CPU, with a thread pool. In a process that is forked afterwards, plans run on the calling thread.
///
/// ```
/// use spikelet_cpu::Cpu;
/// use spikelet_graph::{Backend, DType, TensorType, op::{HostTensor, HostTensorMut}};
/// let cpu = Cpu::new(2)?;
/// let buffer = cpu.allocate(&TensorType::new(DType::F32, [3]))?;
/// cpu.upload(&buffer, HostTensor::F32(&[1.0, 2.0, 3.0]))?;
/// let mut back = [0.0; 3];
/// cpu.download(&buffer, HostTensorMut::F32(&mut back))?;
/// assert_eq!(back, [1.0, 2.0, 3.0]);
/// # Ok::<(), spikelet_graph::Error>(())
/// ```
#[derive(Clone)]
pub struct Cpu {
    shared: Arc<Shared>,
    group: Option<Arc<dyn ProcessGroup>>,
}

impl Cpu {
    /// The bits of every CPU are the same, but matrix libraries (`SPIKELET_GEMM`) sum in different orders.
    pub const DETERMINISM: Determinism = Determinism::BITWISE_BUT_SUMS;

    /// The CPU with this many threads; 0 uses one per core.
    ///
    /// The first CPU of a process selects the matrix library by `SPIKELET_GEMM`. For MKL and OpenBLAS
    /// this changes the library's settings **for the whole process**, since it has none for a single
    /// caller: one thread per product, and for MKL the sequential threading layer, 32-bit integers
    /// (LP64) and reproducible results (`MKL_CBWR_AUTO`). A program that uses the same library for
    /// other work sets `SPIKELET_GEMM=gemm` first, which loads neither and changes nothing.
    ///
    /// # Errors
    /// If the threads cannot be started, or the matrix library requested by `SPIKELET_GEMM` cannot be
    /// loaded.
    pub fn new(threads: usize) -> Result<Self> {
        Self::named("cpu", threads)
    }

    /// As [`Cpu::new`], one of several devices that share the machine's cores: `cpu:0`, `cpu:1`, …
    ///
    /// # Errors
    /// As [`Cpu::new`].
    pub fn numbered(number: usize, threads: usize) -> Result<Self> {
        Self::named(&format!("cpu:{number}"), threads)
    }

    fn named(name: &str, threads: usize) -> Result<Self> {
        crate::gemm::GemmLibrary::get().map_err(|e| failure(e.to_string()))?;
        let pool = Pool::new(threads)
            .map_err(|e| failure(format!("cannot start {threads} threads: {e}")))?;
        Ok(Self {
            shared: Arc::new(Shared {
                name: name.to_string(),
                id: DeviceId::unique(),
                pool,
                lock: Mutex::new(()),
            }),
            group: None,
        })
    }

    /// This CPU as a rank of a process group: plans that it loads from now on all-reduce over its ranks
    /// ([`spikelet_graph::op::AllReduceStart`]). Ranks in threads of one process need a separate CPU
    /// each, since a CPU runs one plan at a time.
    ///
    /// ```
    /// # use spikelet_graph::ProcessGroup;
    /// # use std::sync::Arc;
    /// # fn example(group: Arc<dyn ProcessGroup>) -> spikelet_graph::Result<()> {
    /// use spikelet_cpu::Cpu;
    /// let cpu = Cpu::new(1)?.in_group(group);
    /// # Ok(())
    /// # }
    /// ```
    pub fn in_group(self, group: Arc<dyn ProcessGroup>) -> Self {
        Self {
            group: Some(group),
            ..self
        }
    }

    /// Prepares the kernels of a plan for calls with memory and threads of another program; a call uses at most as many
    /// threads as this CPU has.
    ///
    /// # Errors
    /// When the plan was computed for another device, or has an operation that cannot run on the threads of a
    /// caller.
    pub fn callable(&self, plan: &Plan) -> Result<CallablePlan> {
        plan.check()?;
        plan.check_target(self)?;
        CallablePlan::new(plan, self.threads())
    }

    /// The number of threads.
    pub fn threads(&self) -> usize {
        self.shared.pool.threads()
    }

    /// The instruction sets that the kernels use: `AVX-512`, `AVX2` or `baseline`.
    pub fn instructions() -> &'static str {
        let found = format!("{:?}", pulp::Arch::new());
        if found.starts_with("V4") {
            "AVX-512"
        } else if found.starts_with("V3") {
            "AVX2"
        } else {
            "baseline"
        }
    }
}

impl WorkspaceQuery for Cpu {
    fn workspace(&self, graph: &Graph, node: &Node) -> usize {
        PrepareContext::new(graph, node, self.threads(), None).workspace()
    }
}

impl SpikeStorage for Cpu {
    fn reads_bits(&self, op: &Op, inputs: &[TensorType], operand: usize) -> bool {
        op::reads_bits(op, inputs, operand)
    }

    fn writes_bits(&self, op: &Op, _: &[TensorType], _: usize) -> bool {
        op::writes_bits(op)
    }
}

impl SchedulingPolicy for Cpu {}

impl InPlaceUpdates for Cpu {}

impl Target for Cpu {}

fn transfer_error(ty: &TensorType, given: DType, length: usize) -> Error {
    failure(format!(
        "cannot copy {length} {given} values to or from a buffer of {ty} ({} elements); type and size must match",
        ty.len()
    ))
}

impl Backend for Cpu {
    fn name(&self) -> String {
        self.shared.name.clone()
    }

    fn determinism(&self) -> Determinism {
        Self::DETERMINISM
    }

    fn kind(&self) -> DeviceKind {
        DeviceKind::Cpu
    }

    fn memory(&self) -> Option<spikelet_graph::Memory> {
        machine::memory()
    }

    fn allocate(&self, ty: &TensorType) -> Result<Buffer> {
        ty.check("allocate")?;
        let memory = self
            .shared
            .memory(ty.bytes(), &format!("a tensor of {ty}"))?;
        Ok(Buffer {
            ty: ty.clone(),
            handle: Arc::new(memory),
        })
    }

    fn arena(&self, plan: &Plan) -> Result<Buffer> {
        let words = plan.arena_bytes.div_ceil(8);
        let what = "a plan's arena, the memory of all intermediate values,";
        Ok(Buffer {
            ty: TensorType::new(DType::I64, [words]),
            handle: Arc::new(self.shared.memory(8 * words, what)?),
        })
    }

    fn upload(&self, to: &Buffer, values: HostTensor<'_>) -> Result<()> {
        let slot = self.shared.slot_of(to)?;
        let _guard = self.shared.lock()?;
        // SAFETY: the buffer keeps the memory alive, and the lock keeps others away.
        let target = unsafe { slot.view_mut() };
        macro_rules! copy {
            ($($type:ident: $_:ty),*) => {
                match (target, values) {
                    $((ViewMut::$type(to), HostTensor::$type(from)) if to.len() == from.len() => {
                        to.copy_from_slice(from)
                    })*
                    $((_, HostTensor::$type(from)) => {
                        return Err(transfer_error(&to.ty, DType::$type, from.len()));
                    })*
                }
            };
        }
        for_each_dtype!(copy);
        Ok(())
    }

    fn download(&self, from: &Buffer, values: HostTensorMut<'_>) -> Result<()> {
        let slot = self.shared.slot_of(from)?;
        let _guard = self.shared.lock()?;
        // SAFETY: the buffer keeps the memory alive, and the lock keeps writers away.
        let source = unsafe { slot.view() };
        macro_rules! copy {
            ($($type:ident: $_:ty),*) => {
                match (source, values) {
                    $((View::$type(from), HostTensorMut::$type(to)) if to.len() == from.len() => {
                        to.copy_from_slice(from)
                    })*
                    $((_, HostTensorMut::$type(to)) => {
                        return Err(transfer_error(&from.ty, DType::$type, to.len()));
                    })*
                }
            };
        }
        for_each_dtype!(copy);
        Ok(())
    }

    fn load_into(
        &self,
        plan: &Plan,
        inputs: &[Buffer],
        outputs: &[Option<Buffer>],
        arena: &Buffer,
    ) -> Result<Box<dyn Executor>> {
        let bound = Bound {
            inputs,
            outputs,
            arena,
        };
        plan.check()?;
        plan.check_target(self)?;
        plan.check_buffers(&bound, self.shared.id, &self.shared.name)?;
        let kernel = |graph: &Graph, node: &Node| {
            PrepareContext::new(graph, node, self.threads(), self.group.as_ref()).prepare()
        };
        let executor = CpuExecutor::new(self.shared.clone(), &kernel, plan, &bound)?;
        Ok(Box::new(executor))
    }
}

impl fmt::Debug for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cpu")
            .field("name", &self.shared.name)
            .finish_non_exhaustive()
    }
}
