//! Tables of the functions of a library, looked up in the file that was loaded.
//!
//! A status is an integer: a later version of a library may return one that is unknown here.

use super::missing::{Refused, remedy};
use super::{Found, Library, LibraryFile, Missing, driver_generation};
use std::ffi::{CStr, c_char, c_int};

/// The status of a successful call of any library.
pub(crate) const SUCCESS: c_int = 0;

/// Declares a struct of a library's functions, with the oldest version that has all of them, their names and their
/// types in the library's header, where enumerations are 32-bit integers. `get` looks them up once per process.
macro_rules! functions {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $table:ident of $library:ident $oldest:literal {
            $($field:ident: $name:literal ($($argument:ty),* $(,)?) $(-> $result:ty)?;)*
        }
    ) => {
        $(#[$attribute])*
        $visibility struct $table {
            $($visibility $field: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl $table {
            /// The functions, looked up once per process.
            ///
            /// # Errors
            /// If the library is missing, or the version that was found lacks a function.
            $visibility fn get() -> ::std::result::Result<&'static Self, $crate::library::Missing> {
                use $crate::library::{Library, functions::lacks, open, symbol};
                static TABLE: ::std::sync::OnceLock<
                    ::std::result::Result<$table, $crate::library::Missing>,
                > = ::std::sync::OnceLock::new();
                let look_up = || {
                    let loaded = open(Library::$library)?;
                    let lacks = |reason| lacks(&loaded.found, reason, $oldest);
                    Ok(Self {
                        // SAFETY: the fields have the types of the functions in the library's header.
                        $($field: unsafe { symbol(&loaded.handle, $name) }.map_err(lacks)?,)*
                    })
                };
                TABLE.get_or_init(look_up).as_ref().map_err(Clone::clone)
            }
        }
    };
}
pub(crate) use functions;

/// The error of a library that lacks a function.
pub(crate) fn lacks(found: &Found, reason: String, oldest: &str) -> Missing {
    let library: Library = found.library;
    let has_it = match library {
        Library::Driver => format!("a driver for CUDA {oldest} or later has it"),
        _ => format!("version {oldest} has it"),
    };
    Missing {
        library,
        looked: vec![],
        refused: vec![Refused {
            target: LibraryFile::Path(found.path.clone()),
            reason: format!("{reason}; {has_it}"),
        }],
        remedy: remedy(library, driver_generation(library)),
    }
}

/// An error of any status but success: the library's name of it, which is null for an unknown one, and a message.
///
/// # Safety
/// `describe` returns null or a null-terminated string.
pub(crate) unsafe fn check(
    status: c_int,
    describe: impl FnOnce() -> (*const c_char, Option<String>),
) -> Result<(), String> {
    if status == SUCCESS {
        return Ok(());
    }
    let (name, message) = describe();
    // SAFETY: the caller's promise.
    let name = unsafe { text(name) }.unwrap_or_else(|| format!("error {status}"));
    Err(match message {
        Some(message) => format!("{name}: {message}"),
        None => name,
    })
}

/// A string of a library; `None` if it is null or blank.
///
/// # Safety
/// `text` is null or a null-terminated string.
pub(crate) unsafe fn text(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    Some(text.trim().to_string()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::Source;

    #[test]
    fn a_status_is_an_error_with_the_librarys_name_or_its_number() {
        // SAFETY: the names are null or null-terminated.
        let text = |status, name, message: Option<&str>| unsafe {
            check(status, || (name, message.map(str::to_string))).err()
        };
        let named = c"CUDA_ERROR_ASSERT".as_ptr();
        assert_eq!(text(SUCCESS, named, Some("no error")), None);
        assert_eq!(text(710, named, None).unwrap(), "CUDA_ERROR_ASSERT");
        let with_message = text(710, named, Some("assert triggered")).unwrap();
        assert_eq!(with_message, "CUDA_ERROR_ASSERT: assert triggered");
        assert_eq!(text(-5, std::ptr::null(), None).unwrap(), "error -5");
        assert_eq!(text(123_456, c" ".as_ptr(), None).unwrap(), "error 123456");
    }

    functions! {
        /// A table of another version of the C library.
        #[derive(Debug)]
        struct NotThere of Driver "99.0" {
            _missing: "cuNotAFunction"(c_int) -> c_int;
        }
    }

    #[test]
    fn a_table_of_a_library_without_a_function_is_an_error_with_the_remedy() {
        let missing = NotThere::get().unwrap_err();
        assert_eq!(missing.library, Library::Driver);
        assert!(missing.to_string().contains("nvidia.com"), "{missing}");
    }

    #[test]
    fn a_driver_that_lacks_a_function_is_told_the_cuda_version_that_has_it() {
        let found = Found {
            library: Library::Driver,
            path: "/usr/lib/libcuda.so.1".into(),
            version: Some("11.0".to_string()),
            source: Source::Loader,
        };
        let missing = lacks(&found, "function cuNew is missing".to_string(), "11.4");
        let message = missing.to_string();
        assert!(
            message.contains("cuNew is missing; a driver for CUDA 11.4"),
            "{message}"
        );
    }
}
