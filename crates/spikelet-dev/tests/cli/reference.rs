//! Reference cases in files: what they expect is compared, and not read by the program.

use crate::common::{complaint, said};
use serde_json::Value;
use spikelet::tensors::TensorFile;
use std::path::{Path, PathBuf};

/// A folder of cases.
pub fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(name)
}

/// The cases of a folder, in alphabetical order.
pub fn cases(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).expect("the reference cases are there");
    let paths = files.map(|file| file.expect("readable").path());
    let is_case = |path: &PathBuf| path.extension().is_some_and(|end| end == "safetensors");
    let mut paths: Vec<PathBuf> = paths.filter(is_case).collect();
    paths.sort();
    paths
}

/// The specification of a case.
pub fn spec(case: &TensorFile) -> Value {
    serde_json::from_str(&case.metadata["spec"]).expect("JSON")
}

/// Whether a tensor of a case is a result.
pub fn is_expected(name: &str) -> bool {
    name.starts_with("out.") || name.starts_with("grad.")
}

/// The largest absolute value.
pub fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most, x| most.max(x.abs()))
}

/// The results of a case, computed without those that it expects.
pub fn run(case: &TensorFile, dtype: &str) -> TensorFile {
    let temporary = tempfile::tempdir().expect("a folder");
    let at = |name: &str| temporary.path().join(name).to_string_lossy().into_owned();
    let (stripped, out) = (at("case"), at("out"));
    let mut inputs = case.clone();
    inputs.tensors.retain(|name, _| !is_expected(name));
    inputs.write(Path::new(&stripped)).expect("written");
    let run = ["case", "run", "--case", &stripped, "--out", &out];
    said(&[&run[..], &["--dtype", dtype]].concat());
    TensorFile::read(Path::new(&out)).expect("a result")
}

/// The error of a changed case, which must be refused with the file's name.
pub fn refused(folder: &Path, name: &str, change: impl Fn(&mut TensorFile, &mut Value)) -> String {
    let temporary = tempfile::tempdir().expect("a folder");
    let mut case = TensorFile::read(folder.join(format!("{name}.safetensors"))).expect("a case");
    let mut spec = spec(&case);
    case.tensors.retain(|name, _| !is_expected(name));
    change(&mut case, &mut spec);
    case.metadata.insert("spec".to_string(), spec.to_string());
    let (path, out) = (temporary.path().join("case"), temporary.path().join("out"));
    case.write(&path).expect("written");
    let (path, text) = (path.to_string_lossy(), out.to_string_lossy());
    let message = complaint(&["case", "run", "--case", &path, "--out", &text], 1);
    assert!(message.contains(&*path) && !out.exists(), "{message}");
    message
}
