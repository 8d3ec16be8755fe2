//! Matrix products by cuBLASLt.
//!
//! Descriptor, layouts and algorithm are determined once for each kind of product. TF32 is used only
//! where it was requested, and only algorithms with a fixed order of summation.

use crate::error::failure;
use crate::gpu::Gpu;
use crate::library::{self, Library};
use crate::library_plans::{LibraryPlans, Planned};
use cudarc::cublaslt::{result as lt, sys};
use cudarc::driver::CudaStream;
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

/// A cuBLASLt object that is destroyed with its holder.
struct Owned<T: Copy> {
    raw: T,
    destroy: unsafe fn(T) -> std::result::Result<(), lt::CublasError>,
}

impl<T: Copy> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: created by `plan` and destroyed once. A failure is ignored: there is no remedy.
        let _ = unsafe { (self.destroy)(self.raw) };
    }
}

type Layout = Owned<sys::cublasLtMatrixLayout_t>;

/// The cuBLASLt objects of one kind of product.
pub(crate) struct GemmPlan {
    description: Owned<sys::cublasLtMatmulDesc_t>,
    a: Layout,
    b: Layout,
    y: Layout,
    algorithm: sys::cublasLtMatmulAlgo_t,
    pub(crate) workspace: usize,
}

// SAFETY: the handles are read-only descriptions once they are created.
unsafe impl Send for GemmPlan {}
// SAFETY: as above.
unsafe impl Sync for GemmPlan {}

struct Handle {
    raw: sys::cublasLtHandle_t,
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
            // SAFETY: created by `create_handle`, destroyed once. A failure is ignored: there is no remedy.
            let _ = unsafe { lt::destroy_handle(self.raw) };
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
        library::find(Library::CublasLt).map_err(|missing| failure(name, missing.to_string()))?;
        self.gpu.bind()?;
        let raw = {
            let _waits = self.gpu.captures.none();
            lt::create_handle()
        };
        let handle = Arc::new(Handle {
            raw: raw.map_err(|e| failure(name, format!("cuBLASLt cannot be initialized: {e}")))?,
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
            .get(&product, || {
                plan(handle.raw, product).map_err(|e| e.to_string())
            })
            .map_err(|e| failure(&self.gpu.name, format!("{name}: cuBLASLt: {e}")))?;
        Ok(GemmCall { plan, handle, name })
    }

    /// The workspace of a product in bytes; 0 for one that cannot be planned, whose loading fails, or
    /// is rejected if it needs a workspace by then.
    pub(crate) fn workspace(&self, product: Product) -> usize {
        self.call(product).map_or(0, |call| call.plan.workspace)
    }
}

fn data_type(dtype: DType) -> sys::cudaDataType_t {
    match dtype {
        DType::F16 => sys::cudaDataType_t::CUDA_R_16F,
        DType::BF16 => sys::cudaDataType_t::CUDA_R_16BF,
        _ => sys::cudaDataType_t::CUDA_R_32F,
    }
}

/// Makes a layout that of `count` matrices, `stride` elements apart.
fn set_batch(
    layout: sys::cublasLtMatrixLayout_t,
    count: usize,
    stride: usize,
) -> std::result::Result<(), lt::CublasError> {
    use sys::cublasLtMatrixLayoutAttribute_t as Describe;
    let too_large = lt::CublasError(sys::cublasStatus_t::CUBLAS_STATUS_INVALID_VALUE);
    let (Ok(count), Ok(stride)) = (i32::try_from(count), i64::try_from(stride)) else {
        return Err(too_large);
    };
    // SAFETY: the layout exists; the attributes have the sizes that the library documents for them.
    unsafe {
        lt::set_matrix_layout_attribute(
            layout,
            Describe::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
            (&raw const count).cast::<c_void>(),
            4,
        )?;
        lt::set_matrix_layout_attribute(
            layout,
            Describe::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
            (&raw const stride).cast::<c_void>(),
            8,
        )
    }
}

/// cuBLASLt is column-major: a row-major matrix is its transpose there, so the product is computed
/// as `yᵀ = op(b)ᵀ · op(a)ᵀ`.
fn plan(
    handle: sys::cublasLtHandle_t,
    p: Product,
) -> std::result::Result<GemmPlan, lt::CublasError> {
    use sys::cublasLtMatmulDescAttributes_t as Describe;
    use sys::cublasLtMatmulPreferenceAttributes_t as Prefer;
    let compute = if p.tf32 && p.operands == DType::F32 {
        sys::cublasComputeType_t::CUBLAS_COMPUTE_32F_FAST_TF32
    } else {
        sys::cublasComputeType_t::CUBLAS_COMPUTE_32F
    };
    let description = Owned {
        raw: lt::create_matmul_desc(compute, sys::cudaDataType_t::CUDA_R_32F)?,
        destroy: lt::destroy_matmul_desc,
    };
    let transpose = |yes: bool| i32::from(yes);
    // SAFETY: both attributes are 32-bit integers.
    unsafe {
        for (which, value) in [
            (
                Describe::CUBLASLT_MATMUL_DESC_TRANSA,
                transpose(p.transpose_b),
            ),
            (
                Describe::CUBLASLT_MATMUL_DESC_TRANSB,
                transpose(p.transpose_a),
            ),
        ] {
            lt::set_matmul_desc_attribute(
                description.raw,
                which,
                (&raw const value).cast::<c_void>(),
                4,
            )?;
        }
    }
    let layout = |rows: usize, columns: usize, dtype: DType| {
        let (kind, wide) = (data_type(dtype), columns as i64);
        let layout = Owned {
            raw: lt::create_matrix_layout(kind, columns as u64, rows as u64, wide)?,
            destroy: lt::destroy_matrix_layout,
        };
        if p.batch != 1 {
            set_batch(layout.raw, p.batch, rows.saturating_mul(columns))?;
        }
        Ok::<_, lt::CublasError>(layout)
    };
    let a = if p.transpose_a {
        layout(p.k, p.m, p.operands)?
    } else {
        layout(p.m, p.k, p.operands)?
    };
    let b = if p.transpose_b {
        layout(p.n, p.k, p.operands)?
    } else {
        layout(p.k, p.n, p.operands)?
    };
    let y = layout(p.m, p.n, p.result)?;
    let preference = Owned {
        raw: lt::create_matmul_pref()?,
        destroy: lt::destroy_matmul_pref,
    };
    let max_workspace = WORKSPACE;
    // In-place reductions of split sums are nondeterministic.
    let reductions = (sys::cublasLtReductionScheme_t::CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE
        as u32)
        | (sys::cublasLtReductionScheme_t::CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE as u32);
    // SAFETY: the attributes have the sizes that the library documents for them.
    let found = unsafe {
        lt::set_matmul_pref_attribute(
            preference.raw,
            Prefer::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
            (&raw const max_workspace).cast::<c_void>(),
            8,
        )?;
        lt::set_matmul_pref_attribute(
            preference.raw,
            Prefer::CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
            (&raw const reductions).cast::<c_void>(),
            4,
        )?;
        lt::get_matmul_algo_heuristic(
            handle,
            description.raw,
            b.raw,
            a.raw,
            y.raw,
            y.raw,
            preference.raw,
        )?
    };
    Ok(GemmPlan {
        description,
        a,
        b,
        y,
        algorithm: found.algo,
        workspace: found.workspaceSize,
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
        stream: &CudaStream,
        [a, b, y]: [u64; 3],
        workspace: u64,
    ) -> Result<()> {
        let (one, zero) = (1.0_f32, 0.0_f32);
        let plan = &*self.plan;
        // SAFETY: the caller's promise; scalars are read before the call returns.
        unsafe {
            lt::matmul(
                self.handle.raw,
                plan.description.raw,
                (&raw const one).cast(),
                (&raw const zero).cast(),
                b as *const c_void,
                plan.b.raw,
                a as *const c_void,
                plan.a.raw,
                y as *const c_void,
                plan.y.raw,
                y as *mut c_void,
                plan.y.raw,
                &raw const plan.algorithm,
                workspace as *mut c_void,
                plan.workspace,
                stream.cu_stream().cast(),
            )
        }
        .map_err(|e| failure(&gpu.name, format!("{}: cuBLASLt: {e}", self.name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;

    thread_local! {
        static DESTROYED: Rc<Cell<usize>> = Rc::default();
    }

    unsafe fn destroy(count: usize) -> std::result::Result<(), lt::CublasError> {
        DESTROYED.with(|destroyed| destroyed.set(destroyed.get() + count));
        Ok(())
    }

    #[test]
    fn objects_are_destroyed_when_a_later_one_cannot_be_created() {
        let create = |raw: usize| match raw {
            0 => Err("no memory"),
            raw => Ok(Owned { raw, destroy }),
        };
        let all = || Ok::<_, &str>([create(1)?, create(10)?, create(0)?]);
        assert!(all().is_err());
        assert_eq!(DESTROYED.with(|destroyed| destroyed.get()), 11);
    }
}
