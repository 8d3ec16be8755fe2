//! Reference cases: safetensors files whose metadata has `spec`, or deep networks in JSON, and their results.
//!
//! Names and shapes of the results follow from the specification and the inputs. Tensors that a
//! file expects are never read.

mod encoder;
mod learning;
mod model;
mod network;
mod neuron;
mod recurrent;

use serde::de::DeserializeOwned;
use serde_json::Value;
use spikelet::graph::{Backend, DType, Data, Tensor};
use spikelet::tensors::TensorFile;
use spikelet::{Error, Result};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// The largest file: reading holds its bytes and its tensors at the same time.
const MOST_BYTES: u64 = 256 << 20;

/// The largest number of elements of one tensor that a case computes.
const MOST_ELEMENTS: usize = 1 << 25;

/// The largest number of multiplications of a forward pass.
const MOST_PRODUCTS: usize = 20_000_000_000;

/// Results by name.
type Results = BTreeMap<String, Tensor>;

/// A case: a safetensors file, or the description of a deep network in JSON.
pub enum Case {
    /// A file whose metadata has a specification.
    Tensors(TensorFile),
    /// A network, whose parameters and inputs follow from formulas.
    Model(Value),
}

/// Reads a case of limited size.
pub fn read(path: &Path) -> Result<Case> {
    let size = std::fs::metadata(path).map_or(0, |found| found.len());
    if size > MOST_BYTES {
        return Err(file_error(
            path,
            format!("it has {size} bytes; a case has at most {MOST_BYTES}"),
            "give a smaller case",
        ));
    }
    match is_json(path) {
        true => {
            let text = std::fs::read_to_string(path);
            let text = text.map_err(|e| file_error(path, e.to_string(), "give a text in UTF-8"))?;
            let read = serde_json::from_str(&text);
            read.map(Case::Model)
                .map_err(|e| file_error(path, format!("it is not JSON: {e}"), "correct it"))
        }
        false => TensorFile::read(path).map(Case::Tensors),
    }
}

/// Whether a file begins as a JSON object: with a brace, and not with the eight bytes of a length.
fn is_json(path: &Path) -> bool {
    let mut first = [0_u8; 8];
    let opened = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut first));
    let text = first.trim_ascii_start();
    opened.is_ok() && text.first() == Some(&b'{') && !first.contains(&0)
}

/// Computes the results of a case; they have the case's metadata.
///
/// # Errors
/// [`Error::TensorFile`] when the file is not a case, an input is missing, or a size is wrong.
pub fn run(
    case: &Case,
    path: &Path,
    backend: Arc<dyn Backend>,
    dtype: DType,
) -> Result<TensorFile> {
    let case = match case {
        Case::Tensors(case) => case,
        Case::Model(spec) => {
            let computed = model::run(spec.clone(), &backend, dtype);
            return Ok(TensorFile {
                tensors: computed.map_err(|error| of_file(path, error))?,
                ..TensorFile::default()
            });
        }
    };
    let computed = spec(case).and_then(|spec| match kind(&spec)? {
        _ if learning::is_one(&spec) => learning::run(case, &spec, backend, dtype),
        _ if spec.get("family").is_some() => recurrent::run(case, spec, backend, dtype),
        "neuron" => neuron::run(case, path, &spec, backend, dtype),
        "network" => network::run(case, spec, backend, dtype),
        "encoder" => encoder::run(case, spec, backend, dtype),
        other => Err(wrong(
            format!("the spec's kind is `{other}`"),
            "use neuron, network or encoder",
        )),
    });
    let tensors = computed.map_err(|error| of_file(path, error))?;
    Ok(TensorFile {
        tensors,
        metadata: case.metadata.clone(),
    })
}

fn spec(case: &TensorFile) -> Result<Value> {
    let help = "give a case: a safetensors file with the metadata `spec`";
    let text =
        (case.metadata.get("spec")).ok_or_else(|| wrong("no `spec` in the metadata", help))?;
    serde_json::from_str(text).map_err(|e| wrong(format!("`spec` is not JSON: {e}"), help))
}

fn kind(spec: &Value) -> Result<&str> {
    let help = "give `kind` as neuron, network or encoder";
    let kind = spec.get("kind").and_then(Value::as_str);
    kind.ok_or_else(|| wrong("the spec has no `kind`", help))
}

/// The fields of a specification.
fn fields<T: DeserializeOwned>(spec: Value) -> Result<T> {
    serde_json::from_value(spec).map_err(|e| wrong(format!("the spec: {e}"), "correct `spec`"))
}

/// An input, in the type of the computation.
fn input(case: &TensorFile, name: &str, dtype: DType) -> Result<Tensor> {
    Ok(raw(case, name)?.cast(dtype))
}

fn raw<'a>(case: &'a TensorFile, name: &str) -> Result<&'a Tensor> {
    let missing = || wrong(format!("it has no tensor `{name}`"), "give all inputs");
    case.tensors.get(name).ok_or_else(missing)
}

/// The class numbers `in.label`, one for each sample.
fn labels(case: &TensorFile, batch: usize, classes: usize) -> Result<Tensor> {
    let label = raw(case, "in.label")?;
    expect("in.label", &label.shape, &[batch])?;
    let Data::I64(values) = &label.data else {
        return Err(wrong("`in.label` is not I64", "give class numbers as I64"));
    };
    match values.iter().find(|l| !(0..classes as i64).contains(*l)) {
        Some(outside) => Err(wrong(
            format!("`in.label` has the label {outside} with {classes} classes"),
            "give labels from 0 to the number of classes − 1",
        )),
        None => Ok(label.clone()),
    }
}

/// Checks that the sizes of an input are those of the specification.
fn expect(name: &str, given: &[usize], expected: &[usize]) -> Result<()> {
    if given == expected {
        return Ok(());
    }
    Err(wrong(
        format!("`{name}` is {given:?}, the spec says {expected:?}"),
        "give tensors of the sizes of the spec",
    ))
}

/// The limit of the product of sizes, for all results of a case.
fn bounded(sizes: &[usize]) -> Result<usize> {
    limited(sizes, MOST_ELEMENTS, "elements")
}

fn limited(sizes: &[usize], most: usize, what: &str) -> Result<usize> {
    let product = (sizes.iter()).try_fold(1_usize, |all, &n| all.checked_mul(n));
    product
        .filter(|&all| (1..=most).contains(&all))
        .ok_or_else(|| {
            wrong(
                format!("sizes {sizes:?} give no number of {what} from 1 to {most}"),
                "give a case of another size",
            )
        })
}

/// An error in the case; [`of_file`] adds the path.
fn wrong(problem: impl Into<String>, help: &str) -> Error {
    Error::invalid("case", problem, help)
}

fn file_error(path: &Path, problem: String, help: impl Into<String>) -> Error {
    Error::TensorFile {
        path: path.to_path_buf(),
        problem,
        help: help.into(),
    }
}

/// The error with the file's name.
fn of_file(path: &Path, error: Error) -> Error {
    match error {
        Error::TensorFile { .. } => error,
        Error::Invalid {
            what,
            problem,
            help,
        } if what == "case" => file_error(path, problem, help),
        other => {
            let text = other.to_string();
            let (problem, help) = spikelet::problem_and_help(&text);
            file_error(
                path,
                problem.to_string(),
                help.unwrap_or("correct the case"),
            )
        }
    }
}
