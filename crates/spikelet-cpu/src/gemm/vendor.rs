//! MKL and OpenBLAS, looked up at run time.
//!
//! Both are called through the C interface of BLAS with 32-bit integers. Each is set to one thread,
//! because the product is already partitioned into tiles that run in parallel, and because one
//! thread a tile keeps the order of summation independent of the number of threads.

use super::operand::BlasOperand;
use super::{GemmChoice, search};
use libloading::Library;
use std::ffi::{CStr, c_char, c_int};
use std::path::{Path, PathBuf};

const ROW_MAJOR: c_int = 101;
const NO_TRANSPOSE: c_int = 111;
const TRANSPOSE: c_int = 112;

type CblasSgemm = unsafe extern "C" fn(
    layout: c_int,
    transpose_a: c_int,
    transpose_b: c_int,
    m: c_int,
    n: c_int,
    k: c_int,
    alpha: f32,
    a: *const f32,
    lda: c_int,
    b: *const f32,
    ldb: c_int,
    beta: f32,
    c: *mut f32,
    ldc: c_int,
);
type SetInt = unsafe extern "C" fn(c_int) -> c_int;
type SetThreads = unsafe extern "C" fn(c_int);
type GetInt = unsafe extern "C" fn() -> c_int;
type GetText = unsafe extern "C" fn() -> *const c_char;
type FillText = unsafe extern "C" fn(*mut c_char, c_int);

/// A vendor's library, loaded for the rest of the process.
#[derive(Debug)]
pub(super) struct Vendor {
    pub(super) name: &'static str,
    pub(super) path: PathBuf,
    pub(super) version: Option<String>,
    sgemm: CblasSgemm,
}

impl Vendor {
    /// Loads the first usable library of this kind; the error lists the files that were tried.
    pub(super) fn open(choice: GemmChoice) -> Result<Self, String> {
        let candidates = match choice {
            GemmChoice::Mkl => search::mkl(),
            _ => search::openblas(),
        };
        let mut tried = Vec::new();
        for path in candidates {
            let opened = match choice {
                GemmChoice::Mkl => open_mkl(&path),
                _ => open_openblas(&path),
            };
            match opened.and_then(Self::checked) {
                Ok(vendor) => return Ok(vendor),
                Err(reason) => tried.push(format!("{}: {reason}", path.display())),
            }
        }
        Err(tried.join("; "))
    }

    /// C ← A·B, or C ← C + A·B, in this thread; C has a leading dimension.
    ///
    /// # Safety
    /// `a`, `b` and `c` must be valid for the m×k, k×n and m×n elements that their strides reach,
    /// and no other thread may access those of `c` meanwhile.
    pub(super) unsafe fn sgemm(
        &self,
        (m, n, k): (c_int, c_int, c_int),
        (a, a_layout): (*const f32, BlasOperand),
        (b, b_layout): (*const f32, BlasOperand),
        accumulate: bool,
        (c, ldc): (*mut f32, c_int),
    ) {
        let flag = |operand: BlasOperand| {
            if operand.transposed {
                TRANSPOSE
            } else {
                NO_TRANSPOSE
            }
        };
        // SAFETY: the caller guarantees that the three matrices are valid; the layouts are valid for them by
        // construction of `BlasOperand`; the function pointer lives as long as the process.
        unsafe {
            (self.sgemm)(
                ROW_MAJOR,
                flag(a_layout),
                flag(b_layout),
                m,
                n,
                k,
                1.0,
                a,
                a_layout.leading,
                b,
                b_layout.leading,
                if accumulate { 1.0 } else { 0.0 },
                c,
                ldc,
            );
        }
    }

    /// Rejects a library whose 2×2 product is wrong (another integer width, another ABI).
    fn checked(self) -> Result<Self, String> {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
        let mut c = [0.0; 4];
        let plain = BlasOperand {
            transposed: false,
            leading: 2,
        };
        // SAFETY: three 2×2 row-major matrices with two elements a row.
        unsafe {
            self.sgemm(
                (2, 2, 2),
                (a.as_ptr(), plain),
                (b.as_ptr(), plain),
                false,
                (c.as_mut_ptr(), 2),
            );
        }
        if c == [19.0, 22.0, 43.0, 50.0] {
            Ok(self)
        } else {
            Err(format!(
                "a 2×2 product gives {c:?} instead of [19, 22, 43, 50]"
            ))
        }
    }
}

fn load(path: &Path) -> Result<Library, String> {
    // SAFETY: loading runs the library's initializers. The candidates are BLAS libraries by
    // name, whose initializers only set up their own tables and thread pools.
    unsafe { Library::new(path) }.map_err(|error| error.to_string())
}

/// The address of a function of the library.
///
/// # Safety
/// `F` must be the type of the C function called `name`, and the library must never be unloaded.
unsafe fn function<F: Copy>(library: &Library, name: &str) -> Result<F, String> {
    // SAFETY: the caller guarantees the type.
    unsafe { library.get::<F>(name) }
        .map(|symbol| *symbol)
        .map_err(|error| error.to_string())
}

fn open_mkl(path: &Path) -> Result<Vendor, String> {
    let library = load(path)?;
    let path = search::mapped_path(path);
    // MKL aborts the process when one of its parts is missing, so check for them first.
    for part in ["libmkl_core.so", "libmkl_sequential.so"] {
        if path.is_absolute() && !search::has_sibling(&path, part) {
            return Err(format!("{part} is missing from its folder"));
        }
    }
    // SAFETY: the types are those of the C functions in mkl_service.h and mkl_cblas.h, and the
    // library is forgotten below, never unloaded.
    let (sgemm, interface, threading, threads, reproducible, version) = unsafe {
        (
            function::<CblasSgemm>(&library, "cblas_sgemm")?,
            function::<SetInt>(&library, "MKL_Set_Interface_Layer")?,
            function::<SetInt>(&library, "MKL_Set_Threading_Layer")?,
            function::<SetThreads>(&library, "MKL_Set_Num_Threads")?,
            function::<SetInt>(&library, "MKL_CBWR_Set")?,
            function::<FillText>(&library, "MKL_Get_Version_String")?,
        )
    };
    std::mem::forget(library);
    const LP64: c_int = 0;
    const SEQUENTIAL: c_int = 1;
    const CBWR_AUTO: c_int = 2;
    let mut text = [0; 256];
    // SAFETY: the setters take plain integers and precede the first product; the buffer has the
    // length that is passed.
    unsafe {
        interface(LP64);
        threading(SEQUENTIAL);
        // The same result for any alignment of the operands.
        reproducible(CBWR_AUTO);
        threads(1);
        version(text.as_mut_ptr(), text.len() as c_int - 1);
    }
    // SAFETY: the library was not given the last element, which is zero.
    let version = unsafe { text_at(text.as_ptr()) };
    Ok(Vendor {
        name: "mkl",
        path,
        version,
        sgemm,
    })
}

fn open_openblas(path: &Path) -> Result<Vendor, String> {
    let library = load(path)?;
    // The builds in Python wheels prefix every name.
    let prefix = ["", "scipy_"]
        .into_iter()
        // SAFETY: the symbol is looked up and not called.
        .find(|p| unsafe { function::<CblasSgemm>(&library, &format!("{p}cblas_sgemm")) }.is_ok())
        .ok_or("it has no cblas_sgemm with 32-bit integers")?;
    let name = |rest: &str| format!("{prefix}{rest}");
    // SAFETY: the types are those of the C functions in cblas.h of OpenBLAS, and the library is
    // forgotten below, never unloaded.
    let (sgemm, threads, parallel, config) = unsafe {
        (
            function::<CblasSgemm>(&library, &name("cblas_sgemm"))?,
            function::<SetThreads>(&library, &name("openblas_set_num_threads"))?,
            function::<GetInt>(&library, &name("openblas_get_parallel"))?,
            function::<GetText>(&library, &name("openblas_get_config"))?,
        )
    };
    std::mem::forget(library);
    const OPENMP: c_int = 2;
    // SAFETY: the function has no arguments and reads a constant of the library.
    if unsafe { parallel() } == OPENMP {
        // Its number of threads is a property of each calling thread and cannot be set globally.
        return Err("it is built with OpenMP; a pthreads or serial build is needed".to_owned());
    }
    // SAFETY: the setter takes a plain integer and precedes the first product.
    unsafe { threads(1) };
    // SAFETY: the function returns a null-terminated string that lives as long as the library.
    let version = unsafe { text_at(config()) };
    Ok(Vendor {
        name: "openblas",
        path: search::mapped_path(path),
        version,
        sgemm,
    })
}

/// A C string as a `String`; `None` if it is null or empty.
///
/// # Safety
/// `text` must be null or point to a null-terminated string.
unsafe fn text_at(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not null, and null-terminated as the caller guarantees.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}
