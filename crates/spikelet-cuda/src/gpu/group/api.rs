//! NCCL's functions, see [`functions`](crate::library::functions).

use crate::library::driver::CUstream;
pub(super) use crate::library::functions::SUCCESS;
use crate::library::functions::{check, functions, text};
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::mem::size_of;

/// The result of a call, or NCCL's message.
pub(super) type ApiResult<T> = Result<T, String>;

/// The status of a call that has not finished.
pub(super) const IN_PROGRESS: c_int = 7;

const FLOAT: c_int = 7;
const SUM: c_int = 0;

/// Bytes of the identifier of a group.
pub(super) const ID_BYTES: usize = 128;

/// `ncclUniqueId`
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Id(pub(super) [u8; ID_BYTES]);

/// `ncclComm_t`
pub(super) type Raw = *mut c_void;

/// `ncclConfig_t` of version 2.14; later versions use their defaults for fields added since.
#[repr(C)]
pub(super) struct Config {
    size: usize,
    magic: c_uint,
    version: c_uint,
    blocking: c_int,
    /// The place of a field of later versions: "not set".
    padding: c_int,
}

impl Config {
    /// Calls that would wait for other ranks return [`IN_PROGRESS`] instead.
    pub(super) fn not_blocking() -> Self {
        Self {
            size: size_of::<Self>(),
            magic: 0xcafe_beef,
            version: 21_400,
            blocking: 0,
            padding: c_int::MIN,
        }
    }
}

functions! {
    /// The functions of `nccl.h` that are used.
    pub(super) struct Api of Nccl "2.14" {
        unique_id: "ncclGetUniqueId"(*mut Id) -> c_int;
        join: "ncclCommInitRankConfig"(
            *mut Raw,
            c_int,
            Id,
            c_int,
            *mut Config,
        ) -> c_int;
        state: "ncclCommGetAsyncError"(Raw, *mut c_int) -> c_int;
        finalize: "ncclCommFinalize"(Raw) -> c_int;
        destroy: "ncclCommDestroy"(Raw) -> c_int;
        abort: "ncclCommAbort"(Raw) -> c_int;
        all_reduce: "ncclAllReduce"(
            *const c_void,
            *mut c_void,
            usize,
            c_int,
            c_int,
            Raw,
            CUstream,
        ) -> c_int;
        group_start: "ncclGroupStart"() -> c_int;
        group_end: "ncclGroupEnd"() -> c_int;
        name_of: "ncclGetErrorString"(c_int) -> *const c_char;
        last_error: "ncclGetLastError"(Raw) -> *const c_char;
    }
}

impl Api {
    /// A new identifier by which the ranks of a group find each other.
    pub(super) fn unique_id(&self) -> ApiResult<Vec<u8>> {
        let mut id = Id([0; ID_BYTES]);
        // SAFETY: it writes the 128 bytes.
        self.check(unsafe { (self.unique_id)(&mut id) })?;
        Ok(id.0.to_vec())
    }

    /// Starts all-reduces of f32 tensors: source, destination, number of elements. [`IN_PROGRESS`]
    /// means that they are still being enqueued.
    ///
    /// # Safety
    /// The communicator is alive, and its GPU's context is current; the addresses are those of so
    /// many elements until the stream has finished the sums; an operand may be its own result,
    /// otherwise nothing overlaps.
    pub(super) unsafe fn sums(
        &self,
        comm: Raw,
        stream: CUstream,
        tensors: &[(u64, u64, usize)],
    ) -> c_int {
        let succeeded = |status: &c_int| *status == SUCCESS || *status == IN_PROGRESS;
        // SAFETY: the caller's promise; a group that was started is always ended.
        unsafe {
            let started = (self.group_start)();
            if started != SUCCESS {
                return started;
            }
            let mut all = tensors.iter().map(|(from, to, count)| {
                let (from, to) = (*from as *const c_void, *to as *mut c_void);
                (self.all_reduce)(from, to, *count, FLOAT, SUM, comm, stream)
            });
            let failed = all.find(|status| !succeeded(status));
            let ended = (self.group_end)();
            failed.unwrap_or(ended)
        }
    }

    /// An error with NCCL's message for any status but success.
    pub(super) fn check(&self, status: c_int) -> ApiResult<()> {
        // SAFETY: the name is a static string, for unknown codes too; the last error needs no
        // communicator, and is copied before another call can fail here.
        unsafe {
            check(status, || {
                let message = text((self.last_error)(std::ptr::null_mut()));
                ((self.name_of)(status), message)
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_has_the_size_that_it_names() {
        let config = Config::not_blocking();
        assert_eq!((config.size, size_of::<Id>()), (24, 128));
        assert_eq!((config.version, config.blocking), (21_400, 0));
        assert_eq!(config.padding, c_int::MIN);
    }

    #[test]
    #[ignore = "needs NCCL"]
    fn all_functions_are_found_and_errors_have_nccls_message() {
        let api = Api::get().unwrap_or_else(|message| panic!("{message}"));
        assert!(api.check(SUCCESS).is_ok());
        let message = api.check(5).unwrap_err();
        assert!(message.starts_with("invalid usage"), "{message}");
    }
}
