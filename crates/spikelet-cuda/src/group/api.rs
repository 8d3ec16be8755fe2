//! NCCL's functions, from the file that [`library`](crate::library) chose.
//!
//! cudarc has bindings too, but they open NCCL by name, which may be another file than the one
//! chosen, panic where a function is missing, and return results as an `enum` of the codes known
//! to one version, which a code of a later version must never be read into.

use crate::library::{self, Library};
use cudarc::driver::sys::CUstream;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::mem::size_of;
use std::sync::OnceLock;

/// What NCCL answers, or what is wrong in words.
pub(super) type ApiResult<T> = Result<T, String>;

/// What NCCL returns if all is well.
pub(super) const SUCCESS: c_int = 0;
/// What it returns while it is still at work.
pub(super) const IN_PROGRESS: c_int = 7;

const FLOAT: c_int = 7;
const SUM: c_int = 0;

/// Bytes of what ranks find each other by.
pub(super) const ID_BYTES: usize = 128;

/// `ncclUniqueId`
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Id(pub(super) [u8; ID_BYTES]);

/// `ncclComm_t`
pub(super) type Raw = *mut c_void;

/// `ncclConfig_t` as version 2.14 has it; later versions take their defaults for what came after.
#[repr(C)]
pub(super) struct Config {
    size: usize,
    magic: c_uint,
    version: c_uint,
    blocking: c_int,
    /// Where a later version has a setting: its mark for "not set".
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

/// The functions that are used, with the types of `nccl.h`, where enumerations are passed as
/// 32-bit integers.
pub(super) struct Api {
    unique_id: unsafe extern "C" fn(*mut Id) -> c_int,
    pub(super) join: unsafe extern "C" fn(*mut Raw, c_int, Id, c_int, *mut Config) -> c_int,
    pub(super) state: unsafe extern "C" fn(Raw, *mut c_int) -> c_int,
    pub(super) finalize: unsafe extern "C" fn(Raw) -> c_int,
    pub(super) destroy: unsafe extern "C" fn(Raw) -> c_int,
    pub(super) abort: unsafe extern "C" fn(Raw) -> c_int,
    all_reduce: unsafe extern "C" fn(
        *const c_void,
        *mut c_void,
        usize,
        c_int,
        c_int,
        Raw,
        CUstream,
    ) -> c_int,
    group_start: unsafe extern "C" fn() -> c_int,
    group_end: unsafe extern "C" fn() -> c_int,
    name_of: unsafe extern "C" fn(c_int) -> *const c_char,
    last_error: unsafe extern "C" fn(Raw) -> *const c_char,
}

impl Api {
    /// The functions, looked up once in a process.
    pub(super) fn get() -> ApiResult<&'static Self> {
        static API: OnceLock<ApiResult<Api>> = OnceLock::new();
        API.get_or_init(Self::open).as_ref().map_err(String::clone)
    }

    fn open() -> ApiResult<Self> {
        let loaded = library::open(Library::Nccl).map_err(|missing| missing.to_string())?;
        let handle = &loaded.handle;
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the type of the place is the function's type in `nccl.h`.
                *unsafe { handle.get($name.as_bytes()) }.map_err(|_| {
                    let path = loaded.found.path.display();
                    format!(
                        "{path} has no function {}; bring NCCL 2.14 or later with \
                         `pip install nvidia-nccl-cu13`",
                        $name
                    )
                })?
            };
        }
        Ok(Self {
            unique_id: function!("ncclGetUniqueId"),
            join: function!("ncclCommInitRankConfig"),
            state: function!("ncclCommGetAsyncError"),
            finalize: function!("ncclCommFinalize"),
            destroy: function!("ncclCommDestroy"),
            abort: function!("ncclCommAbort"),
            all_reduce: function!("ncclAllReduce"),
            group_start: function!("ncclGroupStart"),
            group_end: function!("ncclGroupEnd"),
            name_of: function!("ncclGetErrorString"),
            last_error: function!("ncclGetLastError"),
        })
    }

    /// What the ranks of a new group find each other by.
    pub(super) fn unique_id(&self) -> ApiResult<Vec<u8>> {
        let mut id = Id([0; ID_BYTES]);
        // SAFETY: it writes the 128 bytes.
        self.check(unsafe { (self.unique_id)(&mut id) })?;
        Ok(id.0.to_vec())
    }

    /// Starts sums of f32 over all ranks: from, to, how many elements. [`IN_PROGRESS`] says that
    /// they are still being given to the stream.
    ///
    /// # Safety
    /// The communicator is alive, and its GPU's context is current; the addresses lead to as many
    /// elements until the stream has passed the sums; those of an operand and of its own result
    /// may be the same, nothing else overlaps.
    pub(super) unsafe fn sums(
        &self,
        comm: Raw,
        stream: CUstream,
        tensors: &[(u64, u64, usize)],
    ) -> c_int {
        let went_well = |status: &c_int| *status == SUCCESS || *status == IN_PROGRESS;
        // SAFETY: the caller's promise; a group that was started is ended whatever happens.
        unsafe {
            let started = (self.group_start)();
            if started != SUCCESS {
                return started;
            }
            let mut all = tensors.iter().map(|(from, to, count)| {
                let (from, to) = (*from as *const c_void, *to as *mut c_void);
                (self.all_reduce)(from, to, *count, FLOAT, SUM, comm, stream)
            });
            let failed = all.find(|status| !went_well(status));
            let ended = (self.group_end)();
            failed.unwrap_or(ended)
        }
    }

    /// An error for any result but success, in NCCL's words.
    pub(super) fn check(&self, status: c_int) -> ApiResult<()> {
        if status == SUCCESS {
            return Ok(());
        }
        // SAFETY: the name is a string that lives for ever, for unknown codes too; the last error
        // is asked for without a communicator, and copied before anything else can fail here.
        let (name, told) = unsafe {
            let text = |at: *const c_char| match at.is_null() {
                true => String::new(),
                false => CStr::from_ptr(at).to_string_lossy().trim().to_string(),
            };
            let told = text((self.last_error)(std::ptr::null_mut()));
            (text((self.name_of)(status)), told)
        };
        Err(match told.is_empty() {
            true => format!("{name} ({status})"),
            false => format!("{name} ({status}): {told}"),
        })
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
    fn all_functions_are_there_and_nccl_has_words_for_its_errors() {
        let api = Api::get().unwrap_or_else(|told| panic!("{told}"));
        assert!(api.check(SUCCESS).is_ok());
        let told = api.check(5).unwrap_err();
        assert!(told.starts_with("invalid usage"), "{told}");
        assert!(told.contains("(5)"), "{told}");
    }
}
