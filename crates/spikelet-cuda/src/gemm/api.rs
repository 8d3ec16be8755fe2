//! cuBLASLt's functions and objects, see [`functions`](crate::library::functions).

use crate::library::driver::CUstream;
use crate::library::functions::{check, functions};
use std::ffi::{c_char, c_int, c_void};
use std::ptr;

/// The result of a call, or cuBLASLt's name of the status.
pub(super) type ApiResult<T> = Result<T, String>;

/// A handle, a description, a layout or a preference.
pub(super) type Raw = *mut c_void;

/// `cudaDataType_t`
pub(super) type DataType = c_int;
pub(super) const R_32F: DataType = 0;
pub(super) const R_16F: DataType = 2;
pub(super) const R_16BF: DataType = 14;

/// `cublasComputeType_t`
pub(super) type Compute = c_int;
pub(super) const COMPUTE_32F: Compute = 68;
pub(super) const COMPUTE_32F_FAST_TF32: Compute = 77;

/// `cublasLtMatmulDescAttributes_t`, of 32-bit integers.
pub(super) const TRANSA: c_int = 3;
pub(super) const TRANSB: c_int = 4;
/// `cublasLtMatrixLayoutAttribute_t`, of a 32-bit and a 64-bit integer.
pub(super) const BATCH_COUNT: c_int = 5;
pub(super) const STRIDED_BATCH_OFFSET: c_int = 6;
/// `cublasLtMatmulPreferenceAttributes_t`, of a 64-bit and a 32-bit integer.
pub(super) const MAX_WORKSPACE_BYTES: c_int = 1;
pub(super) const REDUCTION_SCHEME_MASK: c_int = 3;
/// `cublasLtReductionScheme_t`
pub(super) const REDUCE_COMPUTE_TYPE: u32 = 2;
pub(super) const REDUCE_OUTPUT_TYPE: u32 = 4;

/// `CUBLAS_STATUS_NOT_SUPPORTED`
const NOT_SUPPORTED: c_int = 15;

/// `cublasLtMatmulAlgo_t`
pub(super) type Algorithm = [u64; 8];

/// `cublasLtMatmulHeuristicResult_t`
#[derive(Default)]
#[repr(C)]
pub(super) struct Heuristic {
    algorithm: Algorithm,
    workspace: usize,
    state: c_int,
    waves: f32,
    reserved: [c_int; 4],
}

const _: () = assert!(size_of::<Heuristic>() == 96);

type Destroy = unsafe extern "C" fn(Raw) -> c_int;
type Set = unsafe extern "C" fn(Raw, c_int, *const c_void, usize) -> c_int;

functions! {
    /// The functions of `cublasLt.h` that are used.
    pub(super) struct Api of CublasLt "12" {
        create: "cublasLtCreate"(*mut Raw) -> c_int;
        destroy: "cublasLtDestroy"(Raw) -> c_int;
        create_layout: "cublasLtMatrixLayoutCreate"(*mut Raw, DataType, u64, u64, i64) -> c_int;
        set_layout: "cublasLtMatrixLayoutSetAttribute"(Raw, c_int, *const c_void, usize) -> c_int;
        destroy_layout: "cublasLtMatrixLayoutDestroy"(Raw) -> c_int;
        create_description: "cublasLtMatmulDescCreate"(*mut Raw, Compute, DataType) -> c_int;
        set_description: "cublasLtMatmulDescSetAttribute"(
            Raw, c_int, *const c_void, usize,
        ) -> c_int;
        destroy_description: "cublasLtMatmulDescDestroy"(Raw) -> c_int;
        create_preference: "cublasLtMatmulPreferenceCreate"(*mut Raw) -> c_int;
        set_preference: "cublasLtMatmulPreferenceSetAttribute"(
            Raw, c_int, *const c_void, usize,
        ) -> c_int;
        destroy_preference: "cublasLtMatmulPreferenceDestroy"(Raw) -> c_int;
        heuristic: "cublasLtMatmulAlgoGetHeuristic"(
            Raw, Raw, Raw, Raw, Raw, Raw, Raw, c_int, *mut Heuristic, *mut c_int,
        ) -> c_int;
        matmul: "cublasLtMatmul"(
            Raw, Raw, *const c_void, *const c_void, Raw, *const c_void, Raw, *const c_void, *const c_void, Raw,
            *mut c_void, Raw, *const Algorithm, *mut c_void, usize, CUstream,
        ) -> c_int;
        name_of: "cublasLtGetStatusName"(c_int) -> *const c_char;
    }
}

/// An object that is destroyed with its holder.
pub(super) struct Owned {
    api: &'static Api,
    pub(super) raw: Raw,
    set: Set,
    destroy: Destroy,
}

impl Owned {
    /// Sets an attribute; the library refuses a value of another size.
    pub(super) fn set<T: Copy>(&self, which: c_int, value: T) -> ApiResult<()> {
        let value = (&raw const value).cast::<c_void>();
        // SAFETY: the object is alive, and so many bytes are read.
        self.api
            .check(unsafe { (self.set)(self.raw, which, value, size_of::<T>()) })
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: created by a function of `Api`, destroyed once. A failure is ignored: there is no remedy.
        let _ = unsafe { (self.destroy)(self.raw) };
    }
}

impl Api {
    /// An error with the library's name of any status but success.
    pub(super) fn check(&self, status: c_int) -> ApiResult<()> {
        // SAFETY: the name is a static string, for unknown codes too.
        unsafe { check(status, || ((self.name_of)(status), None)) }
    }

    /// The pointer that a call writes.
    pub(super) fn created(&self, create: impl FnOnce(&mut Raw) -> c_int) -> ApiResult<Raw> {
        let mut raw = ptr::null_mut();
        self.check(create(&mut raw))?;
        Ok(raw)
    }

    /// The types of a product's sums and of its factors.
    pub(super) fn description(
        &'static self,
        compute: Compute,
        scale: DataType,
    ) -> ApiResult<Owned> {
        Ok(Owned {
            api: self,
            // SAFETY: one pointer is written.
            raw: self.created(|to| unsafe { (self.create_description)(to, compute, scale) })?,
            set: self.set_description,
            destroy: self.destroy_description,
        })
    }

    /// The layout of a column-major matrix without gaps.
    pub(super) fn layout(
        &'static self,
        dtype: DataType,
        rows: usize,
        columns: usize,
    ) -> ApiResult<Owned> {
        let (height, width, stride) = (rows as u64, columns as u64, rows as i64);
        let create = self.create_layout;
        Ok(Owned {
            api: self,
            // SAFETY: one pointer is written.
            raw: self.created(|to| unsafe { create(to, dtype, height, width, stride) })?,
            set: self.set_layout,
            destroy: self.destroy_layout,
        })
    }

    /// The algorithms that may be used.
    pub(super) fn preference(&'static self) -> ApiResult<Owned> {
        Ok(Owned {
            api: self,
            // SAFETY: one pointer is written.
            raw: self.created(|to| unsafe { (self.create_preference)(to) })?,
            set: self.set_preference,
            destroy: self.destroy_preference,
        })
    }

    /// The fastest algorithm by the library's estimate, for matrices of the layouts a, b, c and d, and the bytes of its
    /// workspace.
    pub(super) fn heuristic(
        &self,
        handle: Raw,
        description: &Owned,
        [a, b, c, d]: [&Owned; 4],
        preference: &Owned,
    ) -> ApiResult<(Algorithm, usize)> {
        let (mut found, mut count) = (Heuristic::default(), 0);
        // SAFETY: all objects are alive; one result at most and one number are written.
        self.check(unsafe {
            (self.heuristic)(
                handle,
                description.raw,
                a.raw,
                b.raw,
                c.raw,
                d.raw,
                preference.raw,
                1,
                &mut found,
                &mut count,
            )
        })?;
        self.check(if count == 0 {
            NOT_SUPPORTED
        } else {
            found.state
        })?;
        Ok((found.algorithm, found.workspace))
    }
}
