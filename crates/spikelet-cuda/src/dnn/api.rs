//! cuDNN's functions, see [`functions`](crate::library::functions).

use super::names::{AttributeType, Kind, Name};
use crate::library::driver::CUstream;
use crate::library::functions::{check, functions, text};
use std::ffi::{c_char, c_int, c_void};

/// The result of a call, or cuDNN's message.
pub(super) type ApiResult<T> = std::result::Result<T, String>;

/// `cudnnHandle_t`
pub(super) type RawHandle = *mut HandleContent;
pub(super) enum HandleContent {}

/// `cudnnBackendDescriptor_t`
pub(super) type Raw = *mut DescriptorContent;
pub(super) enum DescriptorContent {}

functions! {
    /// The functions of `cudnn.h` that are used.
    pub(super) struct Api of Cudnn "9" {
        version: "cudnnGetVersion"() -> usize;
        create: "cudnnCreate"(*mut RawHandle) -> c_int;
        destroy: "cudnnDestroy"(RawHandle) -> c_int;
        set_stream: "cudnnSetStream"(RawHandle, CUstream) -> c_int;
        create_descriptor: "cudnnBackendCreateDescriptor"(
            Kind,
            *mut Raw,
        ) -> c_int;
        destroy_descriptor: "cudnnBackendDestroyDescriptor"(Raw) -> c_int;
        finish: "cudnnBackendFinalize"(Raw) -> c_int;
        set: "cudnnBackendSetAttribute"(
            Raw,
            Name,
            AttributeType,
            i64,
            *const c_void,
        ) -> c_int;
        get: "cudnnBackendGetAttribute"(
            Raw,
            Name,
            AttributeType,
            i64,
            *mut i64,
            *mut c_void,
        ) -> c_int;
        execute: "cudnnBackendExecute"(RawHandle, Raw, Raw) -> c_int;
        name_of: "cudnnGetErrorString"(c_int) -> *const c_char;
        last_error: "cudnnGetLastErrorString"(*mut c_char, usize);
    }
}

impl Api {
    /// The version as one number: 91002 is 9.10.2.
    pub(super) fn version(&self) -> usize {
        // SAFETY: it has no arguments and returns a number.
        unsafe { (self.version)() }
    }

    /// An error with cuDNN's message for any status but success.
    pub(super) fn check(&self, status: c_int, call: impl std::fmt::Debug) -> ApiResult<()> {
        // SAFETY: the name is a static string, for unknown codes too; the message is truncated to
        // the buffer and null-terminated.
        let checked = unsafe {
            check(status, || {
                let mut message = [0; 512];
                (self.last_error)(message.as_mut_ptr(), message.len());
                ((self.name_of)(status), text(message.as_ptr()))
            })
        };
        checked.map_err(|problem| format!("{call:?}: {problem}"))
    }
}
