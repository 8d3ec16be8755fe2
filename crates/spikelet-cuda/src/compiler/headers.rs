//! The header of `#include <cuda_fp16.h>`.
//!
//! NVRTC contains no headers. If the toolkit's headers are installed beside it, they are used;
//! otherwise a small built-in header with the functions that the kernels of `spikelet-auto-cuda` call.

use crate::library;
use sha2::{Digest, Sha256};
use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};

/// The only header that sources include.
const NAME: &CStr = c"cuda_fp16.h";

/// The files of the toolkit's header.
const FILES: [&str; 2] = ["cuda_fp16.h", "cuda_fp16.hpp"];

/// The text of the built-in header.
const BUILTIN: &str = include_str!("../text/half.cuh");

/// The headers of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Headers {
    /// The source includes none.
    None,
    /// In a folder; with a hash of their content.
    Folder(PathBuf, String),
    /// The built-in header.
    Builtin,
}

impl Headers {
    /// The toolkit's headers beside the file of NVRTC, or the built-in one.
    pub(super) fn beside(nvrtc: &Path) -> Self {
        let Some(folder) = library::beside(nvrtc, FILES[0]) else {
            return Headers::Builtin;
        };
        let mut hash = Sha256::new();
        for file in FILES {
            // Older toolkits do not have the second file.
            hash.update(std::fs::read(folder.join(file)).unwrap_or_default());
        }
        let hash = hash.finalize();
        let digits = hash.iter().map(|byte| format!("{byte:02x}"));
        Headers::Folder(folder, digits.collect())
    }

    /// The text or hash that the compiled code of a source with these headers depends on.
    pub(crate) fn key(&self) -> Option<&str> {
        match self {
            Headers::None => None,
            Headers::Folder(_, hash) => Some(hash),
            Headers::Builtin => Some(BUILTIN),
        }
    }

    /// The compiler option with the folder.
    pub(super) fn option(&self) -> Option<String> {
        match self {
            Headers::Folder(folder, _) => Some(format!("--include-path={}", folder.display())),
            Headers::None | Headers::Builtin => None,
        }
    }

    /// The text of the header, if it is the built-in one.
    pub(super) fn text(&self) -> Option<(&'static CStr, CString)> {
        let text = || CString::new(BUILTIN).expect("the header has no zero bytes");
        (*self == Headers::Builtin).then(|| (NAME, text()))
    }

    /// A remark to be added to a log of errors.
    pub(super) fn remark(&self) -> &'static str {
        match self {
            Headers::Builtin => {
                "\nthe CUDA headers are not installed beside NVRTC, so the small built-in cuda_fp16.h was \
                 used; install the complete header with `pip install nvidia-cuda-runtime`"
            }
            Headers::None | Headers::Folder(..) => "",
        }
    }

    /// Whether a log has an error in the headers themselves, which are then incomplete.
    pub(super) fn are_broken(&self, log: &str) -> bool {
        let Headers::Folder(folder, _) = self else {
            return false;
        };
        let folder = folder.display().to_string();
        log.lines()
            .any(|line| line.starts_with(&folder) && line.contains("error"))
    }
}

/// Whether a source includes the header.
pub(super) fn are_included(source: &str) -> bool {
    source.lines().any(|line| {
        let included = line.trim_start().strip_prefix('#').map(str::trim_start);
        included.is_some_and(|rest| rest.starts_with("include") && rest.contains(FILES[0]))
    })
}

#[cfg(test)]
mod builtin_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_include_is_recognized_in_every_spelling() {
        assert!(are_included("#include <cuda_fp16.h>\nvoid f();"));
        assert!(are_included("// halves\n  # include \"cuda_fp16.h\"\n"));
        assert!(!are_included("// #include <cuda_fp16.h>\n"));
        assert!(!are_included("#include <cuda_bf16.h>\n"));
    }

    #[test]
    fn a_change_of_the_headers_changes_the_key() {
        let root = tempfile::tempdir().unwrap();
        let nvrtc = root.path().join("lib/libnvrtc.so.13");
        std::fs::create_dir_all(root.path().join("include")).unwrap();
        assert_eq!(Headers::beside(&nvrtc), Headers::Builtin);
        std::fs::create_dir_all(root.path().join("lib")).unwrap();
        let key = |text: &str| {
            std::fs::write(root.path().join("include/cuda_fp16.h"), text).unwrap();
            let headers = Headers::beside(&nvrtc);
            assert!(headers.option().is_some() && headers.text().is_none());
            headers.key().unwrap().to_string()
        };
        assert_ne!(key("a"), key("b"));
        assert_eq!(key("a").len(), 64);
    }

    #[test]
    fn errors_in_the_headers_are_distinguished_from_those_of_the_source() {
        let headers = Headers::Folder("/cuda/include".into(), String::new());
        assert!(headers.are_broken(
            "/cuda/include/cuda_fp16.h(143): catastrophic error: cannot open source file \"a.h\""
        ));
        assert!(!headers.are_broken("k.cu(2): error: no\n/cuda/include/cuda_fp16.h(9): note: x"));
        assert!(!Headers::Builtin.are_broken("cuda_fp16.h(1): error: no"));
    }
}
