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

/// The inputs of a case with its whole specification.
pub fn whole(path: &Path) -> (TensorFile, Value) {
    let mut case = TensorFile::read(path).expect("a case");
    let spec = spec(&case);
    case.tensors.retain(|name, _| !is_expected(name));
    (case, spec)
}

/// The inputs of a case of the group learning, with the parts of its specification that are read.
pub fn inputs(path: &Path) -> (TensorFile, Value) {
    let (mut case, spec) = whole(path);
    let is_input = |name: &str| name.starts_with("in.") || name.starts_with("param.");
    case.tensors.retain(|name, _| is_input(name));
    case.metadata.clear();
    let read = ["group", "kind", "constants"].map(|key| (key.to_string(), spec[key].clone()));
    (case, Value::Object(read.into_iter().collect()))
}

/// Calls `run` with the words that run a case, with its path and with that of the results.
fn with_files<T>(
    (case, spec): (&TensorFile, &Value),
    options: &[&str],
    run: impl FnOnce(&[&str], &Path, &Path) -> T,
) -> T {
    let folder = tempfile::tempdir().expect("a folder");
    let [path, out] = ["case.safetensors", "out.safetensors"].map(|name| folder.path().join(name));
    let mut case = case.clone();
    case.metadata.insert("spec".to_string(), spec.to_string());
    case.write(&path).expect("written");
    let [from, to] = [&path, &out].map(|path| path.to_string_lossy());
    let words = ["case", "run", "--case", &*from, "--out", &*to];
    run(&[&words[..], options].concat(), &path, &out)
}

/// The results of a case with these options.
pub fn results(case: &TensorFile, spec: &Value, options: &[&str]) -> TensorFile {
    with_files((case, spec), options, |words, _, out| {
        said(words);
        TensorFile::read(out).expect("a result")
    })
}

/// The error of a case that must be refused with the file's name.
pub fn refused(case: &TensorFile, spec: &Value, options: &[&str]) -> String {
    with_files((case, spec), options, |words, path, out| {
        let message = complaint(words, 1);
        let named = message.contains(&*path.to_string_lossy());
        assert!(named && !out.exists(), "{message}");
        message
    })
}
