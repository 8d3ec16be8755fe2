//! Matrix products by cuBLASLt.
//!
//! Descriptor, layouts and algorithm are determined once for each kind of product. TF32 is used only
//! where it was requested, and only algorithms with a fixed order of summation.

mod api;

use crate::error::failure;
use crate::gpu::Gpu;
use crate::library::driver::Stream;
use crate::library_plans::{LibraryPlans, Planned};
use api::{Algorithm, Api, ApiResult, DataType, Owned, Raw};
use spikelet_graph::{DType, Result};
use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};

/// The largest workspace of an algorithm, in bytes.
pub(crate) const WORKSPACE: usize = 32 << 20;

/// A kind of row-major product `y [m, n] = op(a) · op(b)`, or of several such products whose matrices lie
/// one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Product {
    /// The number of products.
    pub(crate) batch: usize,
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
    pub(crate) transpose_a: bool,
    pub(crate) transpose_b: bool,
    /// Type of both operands.
    pub(crate) operands: DType,
    /// Type of the result.
    pub(crate) result: DType,
    /// Round f32 operands to TF32.
    pub(crate) tf32: bool,
}

/// The cuBLASLt objects of one kind of product.
pub(crate) struct GemmPlan {
    description: Owned,
    a: Owned,
    b: Owned,
    y: Owned,
    algorithm: Algorithm,
    pub(crate) workspace: usize,
}

// SAFETY: the handles are read-only descriptions once they are created.
unsafe impl Send for GemmPlan {}
// SAFETY: as above.
unsafe impl Sync for GemmPlan {}

struct Handle {
    api: &'static Api,
    raw: Raw,
    gpu: Arc<Gpu>,
}

// SAFETY: cuBLASLt's handle may be used by several threads.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.gpu.bind().is_ok() {
            let _waits = self.gpu.captures.none();
            // SAFETY: created by `Gemm::handle`, destroyed once. A failure is ignored: there is no remedy.
            let _ = unsafe { (self.api.destroy)(self.raw) };
        }
    }
}

/// A product that is ready to run.
pub(crate) struct GemmCall {
    pub(crate) plan: Planned<GemmPlan>,
    handle: Arc<Handle>,
    name: String,
}

/// The library, loaded when the first product is planned.
pub(crate) struct Gemm {
    gpu: Arc<Gpu>,
    handle: Mutex<Option<Arc<Handle>>>,
    pub(crate) plans: LibraryPlans<Product, GemmPlan>,
}

impl Gemm {
    pub(crate) fn new(gpu: Arc<Gpu>) -> Self {
        Self {
            gpu,
            handle: Mutex::default(),
            plans: LibraryPlans::default(),
        }
    }

    /// Creates the library's handle, which waits for the whole GPU, before it is needed.
    pub(crate) fn open(&self) -> Result<()> {
        self.handle().map(|_| ())
    }

    fn handle(&self) -> Result<Arc<Handle>> {
        let mut slot = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(handle) = &*slot {
            return Ok(handle.clone());
        }
        let name = &self.gpu.name;
        let api = Api::get().map_err(|missing| failure(name, missing.to_string()))?;
        self.gpu.bind()?;
        let created = {
            let _waits = self.gpu.captures.none();
            // SAFETY: one pointer is written.
            api.created(|to| unsafe { (api.create)(to) })
        };
        let raw =
            created.map_err(|e| failure(name, format!("cuBLASLt cannot be initialized: {e}")))?;
        let handle = Arc::new(Handle {
            api,
            raw,
            gpu: self.gpu.clone(),
        });
        *slot = Some(handle.clone());
        Ok(handle)
    }

    /// A product ready to run.
    pub(crate) fn call(&self, product: Product) -> Result<GemmCall> {
        let handle = self.handle()?;
        let Product { batch, m, n, k, .. } = product;
        let name = match batch {
            1 => format!("matmul [{m}, {k}] · [{k}, {n}]"),
            _ => format!("batch_matmul [{batch}, {m}, {k}] · [{batch}, {k}, {n}]"),
        };
        let plan = self
            .plans
            .get(&product, || plan(handle.api, handle.raw, product))
            .map_err(|e| failure(&self.gpu.name, format!("{name}: cuBLASLt: {e}")))?;
        Ok(GemmCall { plan, handle, name })
    }

    /// The workspace of a product in bytes; 0 for one that cannot be planned, whose loading fails, or
    /// is rejected if it needs a workspace by then.
    pub(crate) fn workspace(&self, product: Product) -> usize {
        self.call(product).map_or(0, |call| call.plan.workspace)
    }
}

fn data_type(dtype: DType) -> DataType {
    match dtype {
        DType::F16 => api::R_16F,
        DType::BF16 => api::R_16BF,
        _ => api::R_32F,
    }
}

/// cuBLASLt is column-major: a row-major matrix is its transpose there, so the product is computed
/// as `yᵀ = op(b)ᵀ · op(a)ᵀ`.
fn plan(api: &'static Api, handle: Raw, p: Product) -> ApiResult<GemmPlan> {
    let compute = match p.tf32 && p.operands == DType::F32 {
        true => api::COMPUTE_32F_FAST_TF32,
        false => api::COMPUTE_32F,
    };
    let description = api.description(compute, api::R_32F)?;
    for (which, value) in [(api::TRANSA, p.transpose_b), (api::TRANSB, p.transpose_a)] {
        description.set(which, i32::from(value))?;
    }
    let layout = |rows: usize, columns: usize, dtype: DType| {
        let layout = api.layout(data_type(dtype), columns, rows)?;
        if p.batch != 1 {
            let too_large = || "there are too many products, or their matrices are too large";
            let count = i32::try_from(p.batch).map_err(|_| too_large())?;
            let stride = i64::try_from(rows.saturating_mul(columns)).map_err(|_| too_large())?;
            layout.set(api::BATCH_COUNT, count)?;
            layout.set(api::STRIDED_BATCH_OFFSET, stride)?;
        }
        ApiResult::Ok(layout)
    };
    let a = match p.transpose_a {
        true => layout(p.k, p.m, p.operands)?,
        false => layout(p.m, p.k, p.operands)?,
    };
    let b = match p.transpose_b {
        true => layout(p.n, p.k, p.operands)?,
        false => layout(p.k, p.n, p.operands)?,
    };
    let y = layout(p.m, p.n, p.result)?;
    let preference = api.preference()?;
    preference.set(api::MAX_WORKSPACE_BYTES, WORKSPACE as u64)?;
    // In-place reductions of split sums are nondeterministic.
    preference.set(
        api::REDUCTION_SCHEME_MASK,
        api::REDUCE_COMPUTE_TYPE | api::REDUCE_OUTPUT_TYPE,
    )?;
    let layouts = [&b, &a, &y, &y];
    let (algorithm, workspace) = api.heuristic(handle, &description, layouts, &preference)?;
    Ok(GemmPlan {
        description,
        a,
        b,
        y,
        algorithm,
        workspace,
    })
}

impl GemmCall {
    /// Starts the product on a stream of the GPU.
    ///
    /// # Safety
    /// The addresses of operands and result must be those of matrices of the product's sizes and of the plan's workspace,
    /// alive until it has finished.
    pub(crate) unsafe fn run(
        &self,
        gpu: &Gpu,
        stream: &Stream,
        [a, b, y]: [u64; 3],
        workspace: u64,
    ) -> Result<()> {
        let (one, zero) = (1.0_f32, 0.0_f32);
        let plan = &*self.plan;
        let api = self.handle.api;
        // SAFETY: the caller's promise; scalars are read before the call returns.
        let status = unsafe {
            (api.matmul)(
                self.handle.raw,
                plan.description.raw,
                (&raw const one).cast(),
                b as *const c_void,
                plan.b.raw,
                a as *const c_void,
                plan.a.raw,
                (&raw const zero).cast(),
                y as *const c_void,
                plan.y.raw,
                y as *mut c_void,
                plan.y.raw,
                &raw const plan.algorithm,
                workspace as *mut c_void,
                plan.workspace,
                stream.raw(),
            )
        };
        api.check(status)
            .map_err(|e| failure(&gpu.name, format!("{}: cuBLASLt: {e}", self.name)))
    }
}
