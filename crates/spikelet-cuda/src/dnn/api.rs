//! cuDNN's functions, from the file that [`library`](crate::library) chose.
//!
//! cudarc has bindings too, whose names of things are used here. But they open cuDNN by name, the
//! one without a generation first, which may be another file than the one chosen. And they return
//! statuses as an `enum` of the codes known to one version, which a code of a later version must
//! never be read into.

use crate::library::{self, Library};
use cudarc::cudnn::sys;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

/// What cuDNN answers, or what is wrong in words.
pub(super) type ApiResult<T> = std::result::Result<T, String>;

/// What cuDNN returns if all is well.
const SUCCESS: c_int = 0;

type Raw = sys::cudnnBackendDescriptor_t;

/// The functions that are used, with the types of `cudnn.h`.
pub(super) struct Api {
    pub(super) version: usize,
    pub(super) create: unsafe extern "C" fn(*mut sys::cudnnHandle_t) -> c_int,
    pub(super) destroy: unsafe extern "C" fn(sys::cudnnHandle_t) -> c_int,
    pub(super) set_stream: unsafe extern "C" fn(sys::cudnnHandle_t, sys::cudaStream_t) -> c_int,
    pub(super) make: unsafe extern "C" fn(sys::cudnnBackendDescriptorType_t, *mut Raw) -> c_int,
    pub(super) unmake: unsafe extern "C" fn(Raw) -> c_int,
    pub(super) finish: unsafe extern "C" fn(Raw) -> c_int,
    pub(super) set: unsafe extern "C" fn(
        Raw,
        sys::cudnnBackendAttributeName_t,
        sys::cudnnBackendAttributeType_t,
        i64,
        *const c_void,
    ) -> c_int,
    pub(super) get: unsafe extern "C" fn(
        Raw,
        sys::cudnnBackendAttributeName_t,
        sys::cudnnBackendAttributeType_t,
        i64,
        *mut i64,
        *mut c_void,
    ) -> c_int,
    pub(super) execute: unsafe extern "C" fn(sys::cudnnHandle_t, Raw, Raw) -> c_int,
    name_of: unsafe extern "C" fn(c_int) -> *const c_char,
    last_error: unsafe extern "C" fn(*mut c_char, usize),
}

impl Api {
    /// The functions, looked up once in a process.
    pub(super) fn get() -> ApiResult<&'static Self> {
        static API: OnceLock<ApiResult<Api>> = OnceLock::new();
        API.get_or_init(Self::open).as_ref().map_err(String::clone)
    }

    fn open() -> ApiResult<Self> {
        let loaded = library::open(Library::Cudnn).map_err(|missing| missing.to_string())?;
        // Some engines compile with NVRTC or call cuBLASLt, which cuDNN opens by name: a library
        // that is loaded already is found by it. Engines that lack one are not offered.
        let _ = library::find(Library::Nvrtc);
        let _ = library::find(Library::CublasLt);
        let handle = &loaded.handle;
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the type of the place is the function's type in `cudnn.h`, where
                // enumerations are passed as 32-bit integers.
                *unsafe { handle.get($name.as_bytes()) }.map_err(|_| {
                    let path = loaded.found.path.display();
                    format!(
                        "{path} has no function {}; bring cuDNN 9 or later with \
                         `pip install nvidia-cudnn-cu13`",
                        $name
                    )
                })?
            };
        }
        let version: unsafe extern "C" fn() -> usize = function!("cudnnGetVersion");
        Ok(Self {
            // SAFETY: it takes nothing and returns a number.
            version: unsafe { version() },
            create: function!("cudnnCreate"),
            destroy: function!("cudnnDestroy"),
            set_stream: function!("cudnnSetStream"),
            make: function!("cudnnBackendCreateDescriptor"),
            unmake: function!("cudnnBackendDestroyDescriptor"),
            finish: function!("cudnnBackendFinalize"),
            set: function!("cudnnBackendSetAttribute"),
            get: function!("cudnnBackendGetAttribute"),
            execute: function!("cudnnBackendExecute"),
            name_of: function!("cudnnGetErrorString"),
            last_error: function!("cudnnGetLastErrorString"),
        })
    }

    /// An error for any status but success, in cuDNN's words.
    pub(super) fn check(&self, status: c_int, doing: impl std::fmt::Debug) -> ApiResult<()> {
        if status == SUCCESS {
            return Ok(());
        }
        let mut told = [0_u8; 512];
        // SAFETY: the name is a string that lives for ever, for unknown codes too; the message is
        // at most as long as its place, with a zero at its end.
        let name = unsafe {
            (self.last_error)(told.as_mut_ptr().cast(), told.len());
            let name = (self.name_of)(status);
            match name.is_null() {
                true => format!("error {status}"),
                false => CStr::from_ptr(name).to_string_lossy().into_owned(),
            }
        };
        let told = CStr::from_bytes_until_nul(&told).map(CStr::to_string_lossy);
        Err(match told.as_deref().map(str::trim) {
            Ok(told) if !told.is_empty() => format!("{doing:?}: {name} ({told})"),
            _ => format!("{doing:?}: {name}"),
        })
    }
}
