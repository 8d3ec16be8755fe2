//! The toolkit's headers beside a compiler.

use super::places::target_folder;
use std::path::{Path, PathBuf};

/// The folder with `header` that was installed together with the file of a library, such as NVRTC.
/// Headers of another CUDA generation would be incompatible.
pub(crate) fn beside(library: &Path, header: &str) -> Option<PathBuf> {
    let folder = library.parent()?;
    let targets = Path::new(target_folder()).parent()?;
    [
        // The toolkit, conda, and pip's packages of CUDA 13.
        folder.join("../include"),
        // pip's packages of CUDA 12: a separate folder for each.
        folder.join("../../cuda_runtime/include"),
        // The second folder of conda.
        folder.join("..").join(targets).join("include"),
        // Debian's packages.
        folder.join("../../include"),
    ]
    .into_iter()
    .find(|include| include.join(header).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Whether `cuda_fp16.h` in `include` is found for a library at `library`.
    fn found(library: &str, include: &str) -> bool {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        for path in [library, &format!("{include}/cuda_fp16.h")] {
            fs::create_dir_all(at(path).parent().unwrap()).unwrap();
            fs::write(at(path), "").unwrap();
        }
        let expected = at(include).canonicalize().unwrap();
        beside(&at(library), "cuda_fp16.h").is_some_and(|p| p.canonicalize().unwrap() == expected)
    }

    #[test]
    fn headers_are_found_for_every_kind_of_installation() {
        let nvidia = "lib/python3.12/site-packages/nvidia";
        let targets = Path::new(target_folder()).parent().unwrap().display();
        for (library, include) in [
            ("cuda-13.0/lib64/libnvrtc.so.13", "cuda-13.0/include"),
            (
                &format!("cuda-13.0/{}/libnvrtc.so.13", target_folder()),
                &format!("cuda-13.0/{targets}/include"),
            ),
            (
                &format!("{nvidia}/cu13/lib/libnvrtc.so.13"),
                &format!("{nvidia}/cu13/include"),
            ),
            (
                &format!("{nvidia}/cuda_nvrtc/lib/libnvrtc.so.12"),
                &format!("{nvidia}/cuda_runtime/include"),
            ),
            (
                "conda/lib/libnvrtc.so.12",
                &format!("conda/{targets}/include"),
            ),
            ("usr/lib/x86_64-linux-gnu/libnvrtc.so.12", "usr/include"),
        ] {
            assert!(found(library, include), "{library}");
        }
        assert!(!found("a/lib/libnvrtc.so.13", "b/include"));
    }
}
