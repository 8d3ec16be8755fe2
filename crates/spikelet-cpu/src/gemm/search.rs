//! Search for MKL and OpenBLAS.
//!
//! Activated environments come first (`MKLROOT`, a conda or Python environment), then the names
//! that the system's loader resolves.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

const MKL_NAMES: [&str; 4] = [
    "libmkl_rt.so",
    "libmkl_rt.so.3",
    "libmkl_rt.so.2",
    "libmkl_rt.so.1",
];
const OPENBLAS_NAMES: [&str; 3] = ["libopenblas.so.0", "libopenblas.so", "libscipy_openblas.so"];

/// Candidate files and loader names of MKL, the likeliest first.
pub(super) fn mkl() -> Vec<PathBuf> {
    let mut found = Vec::new();
    if let Some(root) = std::env::var_os("MKLROOT").map(PathBuf::from) {
        push_existing(&mut found, &root.join("lib"), &MKL_NAMES);
        push_existing(&mut found, &root.join("lib/intel64"), &MKL_NAMES);
    }
    for prefix in prefixes() {
        push_existing(&mut found, &prefix.join("lib"), &MKL_NAMES);
    }
    found.extend(MKL_NAMES.map(PathBuf::from));
    found
}

/// Candidate files and loader names of OpenBLAS, the likeliest first.
pub(super) fn openblas() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for prefix in prefixes() {
        let lib = prefix.join("lib");
        push_existing(&mut found, &lib, &OPENBLAS_NAMES);
        // The wheel `scipy-openblas32` has its library beside its Python files.
        for python in entries_starting_with(&lib, "python3") {
            let wheel = python.join("site-packages/scipy_openblas32/lib");
            push_existing(&mut found, &wheel, &OPENBLAS_NAMES);
        }
    }
    found.extend(OPENBLAS_NAMES.map(PathBuf::from));
    found
}

/// Whether the folder of `library` contains a file whose name starts with `name`.
pub(super) fn has_sibling(library: &Path, name: &str) -> bool {
    library
        .parent()
        .is_some_and(|folder| !entries_starting_with(folder, name).is_empty())
}

/// The file that the process has mapped for a loader name; the name itself if it is not found.
pub(super) fn mapped_path(name: &Path) -> PathBuf {
    if name.is_absolute() {
        return name.to_owned();
    }
    let file = name.file_name().unwrap_or(OsStr::new("")).to_string_lossy();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    maps.lines()
        .filter_map(|line| line.find('/').map(|at| Path::new(&line[at..])))
        // A loader name is often a link to a longer name: libopenblas.so.0 → libopenblasp-r0.3.so.
        .find(|path| {
            let mapped = path.file_name().unwrap_or(OsStr::new("")).to_string_lossy();
            let stem = file.split(".so").next().unwrap_or(&file);
            mapped.starts_with(stem)
        })
        .map_or_else(|| name.to_owned(), Path::to_owned)
}

/// The activated environments.
fn prefixes() -> impl Iterator<Item = PathBuf> {
    ["CONDA_PREFIX", "VIRTUAL_ENV"]
        .into_iter()
        .filter_map(std::env::var_os)
        .map(PathBuf::from)
}

fn push_existing(found: &mut Vec<PathBuf>, folder: &Path, names: &[&str]) {
    found.extend(
        names
            .iter()
            .map(|name| folder.join(name))
            .filter(|path| path.is_file()),
    );
}

/// Paths in `folder` whose file name starts with `start`, sorted, so that the result does not
/// depend on the file system's order.
fn entries_starting_with(folder: &Path, start: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(start))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}
