//! cuDNN's functions, see [`functions`](crate::library::functions).

use crate::library::functions::{functions, text};
use crate::library::{self, Library};
use cudarc::cudnn::sys;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

/// The result of a call, or cuDNN's message.
pub(super) type ApiResult<T> = std::result::Result<T, String>;

/// The status of a successful call.
const SUCCESS: c_int = 0;

type Raw = sys::cudnnBackendDescriptor_t;

functions! {
    /// The functions of `cudnn.h` that are used.
    pub(super) struct Api {
        version: "cudnnGetVersion"() -> usize;
        pub(super) create: "cudnnCreate"(*mut sys::cudnnHandle_t) -> c_int;
        pub(super) destroy: "cudnnDestroy"(sys::cudnnHandle_t) -> c_int;
        pub(super) set_stream: "cudnnSetStream"(sys::cudnnHandle_t, sys::cudaStream_t) -> c_int;
        pub(super) create_descriptor: "cudnnBackendCreateDescriptor"(
            sys::cudnnBackendDescriptorType_t,
            *mut Raw,
        ) -> c_int;
        pub(super) destroy_descriptor: "cudnnBackendDestroyDescriptor"(Raw) -> c_int;
        pub(super) finish: "cudnnBackendFinalize"(Raw) -> c_int;
        pub(super) set: "cudnnBackendSetAttribute"(
            Raw,
            sys::cudnnBackendAttributeName_t,
            sys::cudnnBackendAttributeType_t,
            i64,
            *const c_void,
        ) -> c_int;
        pub(super) get: "cudnnBackendGetAttribute"(
            Raw,
            sys::cudnnBackendAttributeName_t,
            sys::cudnnBackendAttributeType_t,
            i64,
            *mut i64,
            *mut c_void,
        ) -> c_int;
        pub(super) execute: "cudnnBackendExecute"(sys::cudnnHandle_t, Raw, Raw) -> c_int;
        name_of: "cudnnGetErrorString"(c_int) -> *const c_char;
        last_error: "cudnnGetLastErrorString"(*mut c_char, usize);
    }
}

impl Api {
    /// The functions, looked up once per process.
    pub(super) fn get() -> ApiResult<&'static Self> {
        static API: OnceLock<ApiResult<Api>> = OnceLock::new();
        API.get_or_init(Self::open).as_ref().map_err(String::clone)
    }

    fn open() -> ApiResult<Self> {
        let loaded = library::open(Library::Cudnn).map_err(|missing| missing.to_string())?;
        // Some engines compile with NVRTC or call cuBLASLt, which cuDNN opens by name and finds if
        // it is already loaded. Engines without them are not offered.
        let _ = library::find(Library::Nvrtc);
        let _ = library::find(Library::CublasLt);
        Self::of(loaded).map_err(|missing| {
            format!(
                "{}: {missing}; install cuDNN 9 or later with `pip install nvidia-cudnn-cu13`",
                loaded.found.path.display()
            )
        })
    }

    /// The version as one number: 91002 is 9.10.2.
    pub(super) fn version(&self) -> usize {
        // SAFETY: it has no arguments and returns a number.
        unsafe { (self.version)() }
    }

    /// An error with cuDNN's message for any status but success.
    pub(super) fn check(&self, status: c_int, call: impl std::fmt::Debug) -> ApiResult<()> {
        if status == SUCCESS {
            return Ok(());
        }
        let mut message = [0_u8; 512];
        // SAFETY: the name is a static string, for unknown codes too; the message is truncated to
        // the buffer and null-terminated.
        let name = unsafe {
            (self.last_error)(message.as_mut_ptr().cast(), message.len());
            text((self.name_of)(status))
        };
        let name = name.unwrap_or_else(|| format!("error {status}"));
        let message = CStr::from_bytes_until_nul(&message).map(CStr::to_string_lossy);
        Err(match message.as_deref().map(str::trim) {
            Ok(message) if !message.is_empty() => format!("{call:?}: {name} ({message})"),
            _ => format!("{call:?}: {name}"),
        })
    }
}
