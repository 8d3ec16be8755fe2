//! The stable C interface of libtorch, looked up in the libtorch that Python has loaded.
//!
//! Nothing of libtorch is linked: the functions are declared in `torch/csrc/inductor/aoti_torch/c/shim.h` and
//! `torch/csrc/stable/c/shim.h`, and have been stable since version 2.10. They return 0 or an error code and do not throw,
//! except for `aoti_torch_check`, which is never called from Rust ([`super::kernel`]).

use libloading::os::unix::{Library, RTLD_LAZY};
use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A handle of a tensor.
pub(super) type Handle = *mut c_void;
/// A library of operators.
pub(super) type LibraryHandle = *mut c_void;
/// A string of a call.
pub(super) type StringHandle = *mut c_void;
/// A kernel: the stack of arguments and results, the number of arguments, the number of results.
pub(super) type Kernel = unsafe extern "C-unwind" fn(*mut u64, u64, u64);

/// The work of `torch_parallel_for`: the first and the end of a range, and the context.
pub(super) type RangeWork = unsafe extern "C-unwind" fn(i64, i64, *mut c_void);

/// The version of the headers that the layout of the stack is taken from: 2.10.
pub(super) const VERSION: u64 = 2 << 56 | 10 << 48;

macro_rules! shim {
    ($($name:ident : ($($type:ty),*);)*) => {
        /// The functions that are used here.
        pub(super) struct Shim {
            $(pub(super) $name: unsafe extern "C-unwind" fn($($type),*) -> i32,)*
            /// C++'s `operator delete`.
            pub(super) delete: unsafe extern "C-unwind" fn(*mut c_void),
            /// The codes of f32, f16, bf16, f64 and of bytes.
            pub(super) dtypes: [i32; 4],
            pub(super) byte: i32,
            pub(super) cpu: i32,
            pub(super) cuda: i32,
            pub(super) current_stream:
                Option<unsafe extern "C-unwind" fn(i32, *mut *mut c_void) -> i32>,
        }

        impl Shim {
            /// # Safety
            /// The libraries must be libtorch_cpu and libtorch_cuda.
            unsafe fn load(
                torch: &Library,
                gpu: Option<&Library>,
            ) -> Result<Self, libloading::Error> {
                // SAFETY: the types are those of the headers.
                unsafe {
                    let code = |name: &[u8]| -> Result<i32, libloading::Error> {
                        Ok(torch.get::<unsafe extern "C-unwind" fn() -> i32>(name)?())
                    };
                    Ok(Self {
                        $($name: *torch.get(concat!(stringify!($name), "\0").as_bytes())?,)*
                        // The symbols of a library include those of its dependencies: this is libstdc++'s.
                        delete: *torch.get(b"_ZdlPv\0")?,
                        dtypes: [
                            code(b"aoti_torch_dtype_float32\0")?,
                            code(b"aoti_torch_dtype_float16\0")?,
                            code(b"aoti_torch_dtype_bfloat16\0")?,
                            code(b"aoti_torch_dtype_float64\0")?,
                        ],
                        byte: code(b"aoti_torch_dtype_uint8\0")?,
                        cpu: code(b"aoti_torch_device_type_cpu\0")?,
                        cuda: code(b"aoti_torch_device_type_cuda\0")?,
                        current_stream: gpu
                            .and_then(|gpu| gpu.get(b"aoti_torch_get_current_cuda_stream\0").ok())
                            .map(|symbol| *symbol),
                    })
                }
            }
        }
    };
}

shim! {
    aoti_torch_library_init_fragment: (*const c_char, *const c_char, u32, *mut LibraryHandle);
    aoti_torch_library_init_impl: (*const c_char, *const c_char, *const c_char, u32, *mut LibraryHandle);
    aoti_torch_library_def: (LibraryHandle, *const c_char);
    torch_library_impl: (LibraryHandle, *const c_char, Kernel, u64);
    aoti_torch_get_data_ptr: (Handle, *mut *mut c_void);
    aoti_torch_get_dim: (Handle, *mut i64);
    aoti_torch_get_sizes: (Handle, *mut *mut i64);
    aoti_torch_get_strides: (Handle, *mut *mut i64);
    aoti_torch_get_dtype: (Handle, *mut i32);
    aoti_torch_get_device_type: (Handle, *mut i32);
    aoti_torch_get_device_index: (Handle, *mut i32);
    aoti_torch_empty_strided: (i64, *const i64, *const i64, i32, i32, i32, *mut Handle);
    aoti_torch_delete_tensor_object: (Handle);
    aoti_torch_copy_: (Handle, Handle, i32);
    aoti_torch_zero_: (Handle);
    torch_string_length: (StringHandle, *mut usize);
    torch_string_c_str: (StringHandle, *mut *const c_char);
    torch_delete_string: (StringHandle);
    torch_parallel_for: (i64, i64, i64, RangeWork, *mut c_void);
    torch_get_num_threads: (*mut u32);
}

static SHIM: OnceLock<Shim> = OnceLock::new();

/// The address of `aoti_torch_check`, which throws a C++ exception with a message.
pub(super) static CHECK: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// The interface. Kernels are registered after it is loaded.
pub(super) fn shim() -> &'static Shim {
    SHIM.get()
        .expect("kernels are registered after the interface is loaded")
}

/// Loads the interface from the libtorch at these paths, which the process has loaded.
pub(super) fn load(torch: &str, gpu: Option<&str>) -> Result<&'static Shim, String> {
    if let Some(shim) = SHIM.get() {
        return Ok(shim);
    }
    const RTLD_NOLOAD: c_int = 4;
    let open = |path: &str| {
        // SAFETY: it is loaded already, so that no initializer runs.
        let opened = unsafe { Library::open(Some(path), RTLD_LAZY | RTLD_NOLOAD) };
        opened.map_err(|error| format!("{path}: {error}"))
    };
    let torch = open(torch)?;
    let gpu = gpu.map(open).transpose()?;
    // SAFETY: they are these libraries.
    let shim = unsafe { Shim::load(&torch, gpu.as_ref()) }.map_err(|error| error.to_string())?;
    // SAFETY: only the address is used.
    let check = unsafe { torch.get::<*mut c_void>(b"aoti_torch_check\0") };
    let check = check.map_err(|error| error.to_string())?;
    CHECK.store(*check, Ordering::Release);
    // The libraries stay loaded.
    std::mem::forget((torch, gpu));
    Ok(SHIM.get_or_init(|| shim))
}
