//! Files with weights, and the names of other frameworks.

use super::array::{Array, Values, numpy_of};
use super::error::{invalid, raise, unknown};
use super::model::PyModel;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spikelet::weights::{Framework, InitialWeights, Tensor, WeightMap, Weights};
use std::path::Path;

/// An array of a tensor of a file: floating point as float32 or float64, integers as int64.
fn array<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    match tensor.to_i64() {
        Some(values) if !is_float(tensor) => numpy_of(py, tensor.shape(), values),
        _ if tensor.bytes().len() == 8 * tensor.len() => {
            numpy_of(py, tensor.shape(), tensor.to_f64())
        }
        _ => numpy_of(py, tensor.shape(), tensor.to_f32()),
    }
}

fn is_float(tensor: &Tensor) -> bool {
    let name = format!("{:?}", tensor.dtype()).to_lowercase();
    name.starts_with('f') || name.starts_with("bf")
}

fn dict_of<'py>(py: Python<'py>, weights: &Weights) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, tensor) in weights.iter() {
        dict.set_item(name, array(py, tensor)?)?;
    }
    Ok(dict)
}

fn weights_of(given: &Bound<'_, PyDict>) -> PyResult<Weights> {
    let mut weights = Weights::default();
    for (name, array) in given {
        let (name, array): (String, Array) = (name.extract()?, Array::of(&array)?);
        let tensor = match &array.values {
            Values::F32(values) => Tensor::from_f32(&array.shape, values),
            Values::I64(values) => Tensor::from_i64(&array.shape, values),
            Values::U8(_) => return Err(invalid(&name, "it has bytes", "give float32 or int64")),
        };
        let inserted = tensor.and_then(|tensor| weights.insert(&name, tensor));
        inserted.map_err(file_error)?;
    }
    Ok(weights)
}

/// The exception of an error of a file.
fn file_error(error: spikelet_weights::Error) -> PyErr {
    raise(spikelet::nir::NirError::from(error))
}

/// The tensors of a file, or of the checkpoint that a path names: safetensors, npz, or a checkpoint of PyTorch. No code of the
/// file runs.
#[pyfunction]
pub(super) fn read_weights<'py>(py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyDict>> {
    let weights = py.detach(|| {
        let path = spikelet::train::run::checkpoint_file(path).map_err(raise)?;
        Weights::read(&path).map_err(file_error)
    })?;
    dict_of(py, &weights)
}

/// Writes tensors to a file, by its extension.
#[pyfunction]
pub(super) fn write_weights(
    py: Python<'_>,
    path: &str,
    tensors: &Bound<'_, PyDict>,
) -> PyResult<()> {
    let weights = weights_of(tensors)?;
    let extension = Path::new(path)
        .extension()
        .and_then(|extension| extension.to_str());
    py.detach(|| match extension {
        Some("safetensors") => weights.write_safetensors(path).map_err(file_error),
        Some("pt" | "pth") => weights.write_torch(path).map_err(file_error),
        Some("npz") => weights.write_npz(path).map_err(file_error),
        _ => Err(invalid(
            path,
            "the extension is unknown",
            "use .safetensors, .npz, .pt or .pth",
        )),
    })
}

fn framework(name: &str) -> PyResult<Framework> {
    Framework::find(name).map_err(|error| unknown("framework", &error))
}

impl PyModel {
    /// An input of the network, `[T, N, …]`.
    fn example(&self) -> Vec<usize> {
        [&[2, 1], &self.network.input()[..]].concat()
    }
}

/// Sets the weights of a model from the state dict of a framework; those of a file if a path is given, whose framework is
/// found by its names. What does not fit, as text; with `strict` that is an error.
#[pyfunction]
#[pyo3(signature = (model, source, framework_name, strict))]
pub(super) fn load_weights(
    py: Python<'_>,
    model: &PyModel,
    source: &Bound<'_, PyAny>,
    framework_name: Option<&str>,
    strict: bool,
) -> PyResult<String> {
    let example = model.example();
    let path = source.extract::<String>();
    let given = match &path {
        Ok(_) => None,
        Err(_) => Some(weights_of(source.cast::<PyDict>()?)?),
    };
    let framework = framework_name.map(framework).transpose()?;
    py.detach(|| {
        let file = match &path {
            Ok(path) => spikelet::train::run::checkpoint_file(path).map_err(raise)?,
            Err(_) => "the arrays".into(),
        };
        let weights = match given {
            Some(given) => given,
            None => Weights::read(&file).map_err(file_error)?,
        };
        let (module, input) = (&*model.module, &example);
        let found = InitialWeights::of_weights(&weights, &file, framework, module, input);
        let found = found.map_err(raise)?;
        let differences = found.differences();
        if strict && !(found.new_head.is_empty() && found.left_over.is_empty()) {
            return Err(invalid(
                "weights",
                differences,
                "load the tensors that fit with strict=False",
            ));
        }
        let notes = match framework {
            Some(framework) => {
                WeightMap::new(framework, module, input)
                    .map_err(raise)?
                    .notes
            }
            None => vec![],
        };
        let mut tensors = model.tensors()?;
        tensors.extend(found.tensors);
        model.set_tensors(tensors.iter().map(|(name, tensor)| (name.as_str(), tensor)))?;
        Ok([notes, vec![differences]]
            .concat()
            .join("\n")
            .trim()
            .to_string())
    })
}

/// The state dict of a model in a framework.
#[pyfunction]
pub(super) fn export_weights<'py>(
    py: Python<'py>,
    model: &PyModel,
    framework_name: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let framework = framework(framework_name)?;
    let weights = py.detach(|| -> PyResult<Weights> {
        let map = WeightMap::new(framework, &*model.module, &model.example()).map_err(raise)?;
        let tensors = model.tensors()?;
        map.export(|name| tensors.get(name)).map_err(raise)
    })?;
    dict_of(py, &weights)
}
