//! Convolutions by cuDNN.
//!
//! A convolution is given to cuDNN's graph interface as a graph of one operation. Which of the
//! engines that it offers is the fastest is measured for each kind of convolution and kept:
//! in memory for the process, on disk for the next. Engines whose results differ from run to run
//! are never used, nor are those that round their operands, but for TF32 where it was asked for.

mod api;
mod descriptor;
mod measure;
mod problem;
mod session;
mod store;
#[cfg(test)]
mod tests;

use crate::error::failure;
use crate::gpu::Gpu;
use crate::library::{self, Library};
use crate::library_plans::LibraryPlans;
use crate::recent::Recent;
use api::ApiResult;
use problem::{Plan, Problem};
use session::Session;
use spikelet_graph::{DType, Result};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use store::Store;

/// What of `y = conv(x, w)` is computed, and from which two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    /// y, from x and w.
    Forward,
    /// The gradient of x, from the gradient of y and w.
    Input,
    /// The gradient of w, from x and the gradient of y.
    Weight,
}

/// A kind of convolution. Memory is in the order of the shapes: channels last.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Convolution {
    pub(crate) part: Part,
    /// Images, spatial sizes, channels.
    pub(crate) x: Vec<usize>,
    /// Channels of y, kernel sizes, channels of x in one group.
    pub(crate) w: Vec<usize>,
    /// Images, spatial sizes, channels.
    pub(crate) y: Vec<usize>,
    /// One number for each of one, two or three spatial axes; so are the next two.
    pub(crate) stride: Vec<usize>,
    /// Zeros on either side.
    pub(crate) padding: Vec<usize>,
    pub(crate) dilation: Vec<usize>,
    pub(crate) groups: usize,
    /// Type of both operands: f32, f16 or bf16.
    pub(crate) operands: DType,
    /// Type of the result.
    pub(crate) result: DType,
    /// Round f32 operands to TF32.
    pub(crate) tf32: bool,
}

impl fmt::Display for Convolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { x, w, y, .. } = self;
        match self.part {
            Part::Forward => write!(f, "conv {x:?} * {w:?} → {y:?}")?,
            Part::Input => write!(f, "gradient to the input of conv {x:?} * {w:?} → {y:?}")?,
            Part::Weight => write!(f, "gradient to the weight of conv {x:?} * {w:?} → {y:?}")?,
        }
        write!(
            f,
            " (stride {:?}, padding {:?}, dilation {:?}, groups {}, {} to {})",
            self.stride, self.padding, self.dilation, self.groups, self.operands, self.result
        )
    }
}

/// A convolution that is ready to run.
pub(crate) struct ConvCall {
    plan: Arc<Plan>,
    session: Arc<Session>,
    name: String,
}

/// Convolutions of which it is known that they have no plan, at most.
const KEPT_PROBLEMS: usize = 1024;

/// The library, loaded when the first convolution is planned.
pub(crate) struct Dnn {
    gpu: Arc<Gpu>,
    session: Mutex<Option<Arc<Session>>>,
    pub(crate) plans: LibraryPlans<Convolution, Plan>,
    /// Why a convolution has no plan.
    problems: Mutex<Recent<Convolution, String>>,
    store: OnceLock<Store>,
}

impl Dnn {
    pub(crate) fn new(gpu: Arc<Gpu>) -> Self {
        Self {
            gpu,
            session: Mutex::default(),
            plans: LibraryPlans::default(),
            problems: Mutex::new(Recent::new(KEPT_PROBLEMS)),
            store: OnceLock::new(),
        }
    }

    fn session(&self) -> Result<Arc<Session>> {
        let mut slot = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = &*slot {
            return Ok(session.clone());
        }
        let name = &self.gpu.name;
        library::find(Library::Cudnn).map_err(|missing| failure(name, missing.to_string()))?;
        self.gpu.bind()?;
        let session = Session::new(self.gpu.clone())
            .map_err(|e| failure(name, format!("cuDNN cannot be started: {e}")))?;
        let session = Arc::new(session);
        *slot = Some(session.clone());
        Ok(session)
    }

    /// A convolution ready to run. The first call of a kind may take seconds, in which it is
    /// measured on the GPU.
    ///
    /// # Errors
    /// When cuDNN is missing or has no engine for it.
    pub(crate) fn call(&self, c: &Convolution) -> Result<ConvCall> {
        let session = self.session()?;
        self.gpu.bind()?;
        let name = &self.gpu.name;
        let plan = self
            .plans
            .get(c, || self.plan_once(&session, c))
            .map_err(|e| failure(name, format!("{c}: cuDNN: {e}")))?;
        Ok(ConvCall {
            plan,
            session,
            name: c.to_string(),
        })
    }

    /// The scratch memory that a convolution asks for. One that cannot be planned asks for none:
    /// when it is loaded it fails, or is refused if it needs some then.
    pub(crate) fn workspace(&self, c: &Convolution) -> usize {
        self.call(c).map_or(0, |call| call.plan.workspace)
    }

    /// As [`Dnn::plan`]; a convolution that had no plan has none.
    fn plan_once(&self, session: &Session, c: &Convolution) -> ApiResult<Plan> {
        let problems = || self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(problem) = problems().get(c) {
            return Err(String::clone(&problem));
        }
        self.plan(session, c).inspect_err(|problem| {
            let mut problems = problems();
            if problems.is_full() {
                problems.take_unused();
            }
            problems.insert(c.clone(), problem.clone());
        })
    }

    /// From the choice on disk, or measured.
    fn plan(&self, session: &Session, c: &Convolution) -> ApiResult<Plan> {
        let running = session.lock();
        let problem = Problem::new(&running, c)?;
        let store = self.store.get_or_init(Store::usual);
        let key = store::key(c, &self.kind_of_gpu(), running.api().version);
        if let Some(choice) = store.read(&key)
            && let Ok(plan) = problem.plan(&choice)
        {
            return Ok(plan);
        }
        let (plan, measured) = measure::fastest(&running, c, problem.candidates()?)?;
        if let (true, Some(choice)) = (measured, &plan.choice) {
            store.write(&key, choice);
        }
        Ok(plan)
    }

    /// What the time of a kernel depends on.
    fn kind_of_gpu(&self) -> String {
        let model = self.gpu.context.name().unwrap_or_default();
        let (major, minor) = self.gpu.properties.capability;
        let multiprocessors = self.gpu.properties.multiprocessors;
        format!("{model} {major}.{minor}, {multiprocessors} multiprocessors")
    }
}

impl ConvCall {
    /// Bytes of scratch memory that it writes.
    pub(crate) fn workspace(&self) -> usize {
        self.plan.workspace
    }

    /// Starts the convolution on the GPU's stream.
    ///
    /// # Safety
    /// The addresses must lead to tensors of the convolution's sizes and to the plan's workspace,
    /// alive until it has run, and be multiples of 16. The GPU's context must be current.
    pub(crate) unsafe fn run(
        &self,
        gpu: &Gpu,
        a: u64,
        b: u64,
        y: u64,
        workspace: u64,
    ) -> Result<()> {
        let running = self.session.lock();
        // SAFETY: the caller's promise.
        unsafe { self.plan.start(&running, [a, b, y], workspace) }
            .map_err(|e| failure(&gpu.name, format!("{}: cuDNN: {e}", self.name)))
    }
}
