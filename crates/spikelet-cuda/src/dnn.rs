//! Convolutions by cuDNN.
//!
//! A convolution is passed to cuDNN's graph interface as a graph of one operation. The fastest of
//! the engines that it offers is measured for each kind of convolution and cached: in memory for the
//! process, on disk for later ones. Nondeterministic engines are never used, nor are those that
//! round their operands, except to TF32 where it was requested.

mod api;
mod descriptor;
mod measure;
mod names;
mod problem;
mod session;
mod store;
#[cfg(test)]
mod tests;

use crate::error::failure;
use crate::gpu::Gpu;
use crate::library::driver::Stream;
use crate::library_plans::{LibraryPlans, Planned};
use api::{Api, ApiResult};
use problem::{Plan, Problem};
use session::Session;
use spikelet_graph::op::{Conv, ConvPart, ConvSizes};
use spikelet_graph::{DType, Result};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use store::Store;

/// A convolution of given sizes and element types, channels last.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Convolution {
    pub(crate) op: Conv,
    pub(crate) sizes: ConvSizes,
    /// Type of both operands: f32, f16 or bf16.
    pub(crate) operands: DType,
    /// Type of the result.
    pub(crate) result: DType,
}

impl Convolution {
    /// The shapes of x and y, `[images, spatial sizes, channels]`, and between them that of w,
    /// `[channels of y, kernel sizes, channels of x in one group]`.
    pub(crate) fn shapes(&self) -> [Vec<usize>; 3] {
        let s = &self.sizes;
        let shape = |first: usize, spatial: &[usize], last: usize| -> Vec<usize> {
            [&[first], spatial, &[last]].concat()
        };
        [
            shape(s.batch, &s.x, s.inputs),
            shape(s.outputs, &s.kernel, s.inputs / self.op.groups),
            shape(s.batch, &s.y, s.outputs),
        ]
    }

    /// The shapes of the two operands and of the result.
    pub(crate) fn operand_shapes(&self) -> [Vec<usize>; 3] {
        let [x, w, y] = self.shapes();
        match self.op.part {
            ConvPart::Forward => [x, w, y],
            ConvPart::Input => [y, w, x],
            ConvPart::Weight => [x, y, w],
        }
    }
}

impl fmt::Display for Convolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([x, w, y], op) = (self.shapes(), &self.op);
        match op.part {
            ConvPart::Forward => write!(f, "conv {x:?} * {w:?} → {y:?}")?,
            ConvPart::Input => write!(f, "input gradient of conv {x:?} * {w:?} → {y:?}")?,
            ConvPart::Weight => write!(f, "weight gradient of conv {x:?} * {w:?} → {y:?}")?,
        }
        write!(
            f,
            " (stride {:?}, padding {:?}, dilation {:?}, groups {}, {} to {})",
            op.stride, op.padding, op.dilation, op.groups, self.operands, self.result
        )
    }
}

/// A convolution that is ready to run.
pub(crate) struct ConvCall {
    plan: Planned<Plan>,
    session: Arc<Session>,
    name: String,
}

/// A handle of the library, once it is created.
type Opened = Mutex<Option<Arc<Session>>>;

/// The library, loaded when the first convolution is planned.
pub(crate) struct Dnn {
    gpu: Arc<Gpu>,
    session: Opened,
    /// A second handle: convolutions run on the first while engines are measured.
    measuring: Opened,
    pub(crate) plans: LibraryPlans<Convolution, Plan>,
    store: OnceLock<Store>,
}

impl Dnn {
    pub(crate) fn new(gpu: Arc<Gpu>) -> Self {
        Self {
            gpu,
            session: Opened::default(),
            measuring: Opened::default(),
            plans: LibraryPlans::default(),
            store: OnceLock::new(),
        }
    }

    /// Creates the library's handles, which waits for the whole GPU, before they are needed.
    pub(crate) fn open(&self) -> Result<()> {
        self.session(&self.session)?;
        self.session(&self.measuring).map(|_| ())
    }

    /// The handle of a slot, created by the first call.
    fn session(&self, slot: &Opened) -> Result<Arc<Session>> {
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = &*slot {
            return Ok(session.clone());
        }
        let name = &self.gpu.name;
        let api = Api::get().map_err(|missing| failure(name, missing.to_string()))?;
        self.gpu.bind()?;
        let session = Session::new(api, self.gpu.clone())
            .map_err(|e| failure(name, format!("cuDNN cannot be initialized: {e}")))?;
        let session = Arc::new(session);
        *slot = Some(session.clone());
        Ok(session)
    }

    /// A convolution ready to run. The first call of a kind measures engines on the GPU, which may
    /// take seconds.
    ///
    /// # Errors
    /// If cuDNN is missing or has no engine for it.
    pub(crate) fn call(&self, c: &Convolution) -> Result<ConvCall> {
        let session = self.session(&self.session)?;
        self.gpu.bind()?;
        let name = &self.gpu.name;
        let plan = self
            .plans
            .get(c, || self.plan(&session, c))
            .map_err(|e| failure(name, format!("{c}: cuDNN: {e}")))?;
        Ok(ConvCall {
            plan,
            session,
            name: c.to_string(),
        })
    }

    /// The workspace of a convolution in bytes; 0 for one that cannot be planned, whose loading fails,
    /// or is rejected if it needs a workspace by then.
    pub(crate) fn workspace(&self, c: &Convolution) -> usize {
        self.call(c).map_or(0, |call| call.plan.workspace)
    }

    /// Whether the engine of a convolution computes on tensor cores; not so for one that cannot be planned.
    pub(crate) fn is_on_tensor_cores(&self, c: &Convolution) -> bool {
        self.call(c).is_ok_and(|call| call.plan.on_tensor_cores)
    }

    /// The plan of the choice on disk, or the fastest measured.
    fn plan(&self, session: &Session, c: &Convolution) -> ApiResult<Plan> {
        let store = self.store.get_or_init(Store::in_default_folder);
        let key = store::key(c, &self.kind_of_gpu(), session.api().version());
        if let Some(choice) = store.read(&key)
            && let Ok(plan) = Problem::new(&session.lock(), c)?.plan(&choice)
        {
            return Ok(plan);
        }
        let fastest = {
            let measuring = self.session(&self.measuring).map_err(|e| e.to_string())?;
            let running = measuring.lock();
            let plans = Problem::new(&running, c)?.candidates()?;
            let (fastest, is_known) = measure::fastest(&running, c, plans)?;
            if let (true, Some(choice)) = (is_known, &fastest.choice) {
                store.write(&key, choice);
            }
            fastest
        };
        // A plan belongs to the handle that runs it.
        let running = session.lock();
        let problem = Problem::new(&running, c)?;
        match &fastest.choice {
            Some(choice) => problem.plan(choice),
            None => {
                let mut plans = problem.candidates()?.into_iter();
                let again = plans.find(|plan| plan.engine == fastest.engine);
                again.ok_or_else(|| "the fastest engine is not offered again".to_string())
            }
        }
    }

    /// The GPU's properties that kernel times depend on.
    fn kind_of_gpu(&self) -> String {
        let model = self.gpu.context.device.name().unwrap_or_default();
        let (major, minor) = self.gpu.properties.capability;
        let multiprocessors = self.gpu.properties.multiprocessors;
        format!("{model} {major}.{minor}, {multiprocessors} multiprocessors")
    }
}

impl ConvCall {
    /// Bytes of its workspace.
    pub(crate) fn workspace(&self) -> usize {
        self.plan.workspace
    }

    /// Starts the convolution on a stream of the GPU.
    ///
    /// # Safety
    /// The addresses of operands and result must be those of tensors of the convolution's sizes and of the
    /// plan's workspace, alive until it has finished, and multiples of 16. The GPU's context must be
    /// current.
    pub(crate) unsafe fn run(
        &self,
        gpu: &Gpu,
        stream: &Arc<Stream>,
        tensors: [u64; 3],
        workspace: u64,
    ) -> Result<()> {
        let running = self.session.lock();
        // SAFETY: the caller's promise.
        let start = || unsafe { self.plan.start(&running, tensors, workspace) };
        let started = match Arc::ptr_eq(stream, &gpu.stream) {
            true => start(),
            false => running.on(stream, start),
        };
        started.map_err(|e| failure(&gpu.name, format!("{}: cuDNN: {e}", self.name)))
    }
}
