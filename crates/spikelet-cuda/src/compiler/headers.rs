//! What `#include <cuda_fp16.h>` leads to.
//!
//! NVRTC has no headers inside. Where the toolkit's are installed beside it they are taken; else
//! the source gets a small header of this crate's own, which has what the kernels of
//! `spikelet-auto-cuda` call.

use crate::library;
use sha2::{Digest, Sha256};
use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};

/// The one header that sources include.
const NAME: &CStr = c"cuda_fp16.h";

/// What its text is in.
const FILES: [&str; 2] = ["cuda_fp16.h", "cuda_fp16.hpp"];

/// This crate's own.
const OWN: &str = include_str!("../text/half.cuh");

/// Where a source finds its headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Headers {
    /// It includes none.
    None,
    /// In a folder; with a hash of what is there.
    Folder(PathBuf, String),
    /// In this program.
    CustomKernel,
}

impl Headers {
    /// The toolkit's headers beside the file of NVRTC, or this crate's own.
    pub(super) fn beside(nvrtc: &Path) -> Self {
        let Some(folder) = library::beside(nvrtc, FILES[0]) else {
            return Headers::CustomKernel;
        };
        let mut hash = Sha256::new();
        for file in FILES {
            // The second file came later: older toolkits have one.
            hash.update(std::fs::read(folder.join(file)).unwrap_or_default());
        }
        let hash = hash.finalize();
        let digits = hash.iter().map(|byte| format!("{byte:02x}"));
        Headers::Folder(folder, digits.collect())
    }

    /// What the code of a source with these headers depends on.
    pub(crate) fn key(&self) -> Option<&str> {
        match self {
            Headers::None => None,
            Headers::Folder(_, hash) => Some(hash),
            Headers::CustomKernel => Some(OWN),
        }
    }

    /// The option that names the folder.
    pub(super) fn option(&self) -> Option<String> {
        match self {
            Headers::Folder(folder, _) => Some(format!("--include-path={}", folder.display())),
            Headers::None | Headers::CustomKernel => None,
        }
    }

    /// The text of the header, if it is in this program.
    pub(super) fn text(&self) -> Option<(&'static CStr, CString)> {
        let own = || CString::new(OWN).expect("the header has no zero bytes");
        (*self == Headers::CustomKernel).then(|| (NAME, own()))
    }

    /// What to say with a log of errors.
    pub(super) fn remark(&self) -> &'static str {
        match self {
            Headers::CustomKernel => {
                "\nthere are no headers of CUDA beside NVRTC, so cuda_fp16.h was a small one of \
                 this program's own; `pip install nvidia-cuda-runtime` brings the whole one"
            }
            Headers::None | Headers::Folder(..) => "",
        }
    }

    /// Whether a log has an error in the headers themselves, which are not complete then.
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
mod own_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_include_is_seen_however_it_is_written() {
        assert!(are_included("#include <cuda_fp16.h>\nvoid f();"));
        assert!(are_included("// halves\n  # include \"cuda_fp16.h\"\n"));
        assert!(!are_included("// #include <cuda_fp16.h>\n"));
        assert!(!are_included("#include <cuda_bf16.h>\n"));
    }

    #[test]
    fn headers_that_change_change_the_key() {
        let root = tempfile::tempdir().unwrap();
        let nvrtc = root.path().join("lib/libnvrtc.so.13");
        std::fs::create_dir_all(root.path().join("include")).unwrap();
        assert_eq!(Headers::beside(&nvrtc), Headers::CustomKernel);
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
    fn errors_in_the_headers_are_told_from_those_of_the_source() {
        let headers = Headers::Folder("/cuda/include".into(), String::new());
        assert!(headers.are_broken(
            "/cuda/include/cuda_fp16.h(143): catastrophic error: cannot open source file \"a.h\""
        ));
        assert!(!headers.are_broken("k.cu(2): error: no\n/cuda/include/cuda_fp16.h(9): note: x"));
        assert!(!Headers::CustomKernel.are_broken("cuda_fp16.h(1): error: no"));
    }
}
