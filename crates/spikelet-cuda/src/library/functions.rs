//! Tables of the functions of a library, looked up in the file that was loaded.
//!
//! cudarc has bindings too, but it opens libraries by name, which may be another file than the one
//! found, and some of its bindings panic if a function is missing. It also returns statuses as an
//! `enum` of the codes of one version, which must never contain a code of a later version; these
//! tables return them as integers.

use std::ffi::{CStr, c_char};

/// Declares a struct of a library's functions, with their names and their types in the library's
/// header, where enumerations are 32-bit integers.
macro_rules! functions {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $table:ident {
            $($field_visibility:vis $field:ident: $name:literal
                ($($argument:ty),* $(,)?) $(-> $result:ty)?;)*
        }
    ) => {
        $(#[$attribute])*
        $visibility struct $table {
            $($field_visibility $field: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl $table {
            /// Looks the functions up; the error names the first that is missing.
            fn of(loaded: &$crate::library::Loaded) -> ::std::result::Result<Self, String> {
                Ok(Self {
                    // SAFETY: the fields have the types of the functions in the library's header.
                    $($field: unsafe { $crate::library::symbol(&loaded.handle, $name) }?,)*
                })
            }
        }
    };
}
pub(crate) use functions;

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
