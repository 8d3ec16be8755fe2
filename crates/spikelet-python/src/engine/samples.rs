//! Samples of a data set, from arrays and from files.

use super::array::{Array, Values, numpy_of};
use super::error::{invalid, raise};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};
use spikelet::data::{
    DType, DataLoader, Dataset, Field, InMemory, LoaderConfig, Subset, Values as SampleValues,
    unpack_bits,
};
use spikelet::train::SampleShape;
use std::sync::Arc;

/// The names of the fields of a classifier's samples.
const IMAGES: &str = "images";
const SEQUENCES: &str = "x";
pub(super) const LABELS: &str = "labels";

/// A data set: samples by index.
#[pyclass(frozen, name = "Samples", module = "spikelet._native")]
pub(super) struct PySamples {
    pub dataset: Arc<dyn Dataset>,
}

/// The sizes of an image of a sample with these axes, as lists of layers take it.
fn image_sizes(axes: &[usize]) -> PyResult<[usize; 3]> {
    match *axes {
        [a] => Ok([1, 1, a]),
        [a, b] => Ok([1, a, b]),
        [a, b, c] => Ok([a, b, c]),
        [a, b, c, d] => Ok([a.saturating_mul(b), c, d]),
        _ => Err(invalid(
            "samples",
            format!("a sample at a time step has {} axes", axes.len()),
            "give arrays [N, features], [N, H, W], [N, C, H, W] or [N, C, D, H, W]; [T, N, …] for sequences",
        )),
    }
}

impl PySamples {
    pub fn new(dataset: Arc<dyn Dataset>) -> Self {
        Self { dataset }
    }

    /// The shape of the samples of a classifier.
    pub fn shape(&self) -> PyResult<SampleShape> {
        SampleShape::of_dataset(&*self.dataset).map_err(raise)
    }

    /// The batches of an evaluation, in order.
    pub fn loader(&self, config: LoaderConfig) -> PyResult<DataLoader> {
        DataLoader::new(self.dataset.clone(), config).map_err(raise)
    }
}

#[pymethods]
impl PySamples {
    /// The samples of arrays: `x` is `[N, …]`; sequences have the samples in front here, `[N, T, …]`; `labels` is `[N]`, zeros without it.
    #[staticmethod]
    #[pyo3(signature = (x, labels, sequence, name))]
    fn of_arrays(
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        labels: Option<&Bound<'_, PyAny>>,
        sequence: bool,
        name: &str,
    ) -> PyResult<Self> {
        let x = Array::of(x)?;
        let labels = labels.map(Array::of).transpose()?;
        py.detach(|| of_arrays(x, labels, sequence, name))
            .map(Self::new)
    }

    fn __len__(&self) -> usize {
        self.dataset.len()
    }

    /// The name of the data set.
    #[getter]
    fn name(&self) -> &str {
        self.dataset.name()
    }

    /// The names of the classes; empty if the data set has none.
    #[getter]
    fn classes(&self) -> Vec<String> {
        self.dataset.class_names(LABELS).to_vec()
    }

    /// The fields as JSON text: name, element type, shape, and whether the first axis is time.
    #[getter]
    fn fields(&self) -> String {
        let fields = self.dataset.fields();
        let fields = fields.iter().map(|field| {
            json!({
                "name": field.name, "element": field.type_name(), "shape": field.shape,
                "sequence": field.sequence, "image": field.image,
            })
        });
        Value::from(fields.collect::<Vec<_>>()).to_string()
    }

    /// Whether the samples are sequences.
    #[getter]
    fn is_sequence(&self) -> bool {
        self.dataset
            .fields()
            .iter()
            .any(|field| field.name == SEQUENCES)
    }

    /// The number of time steps of sequences; None for images.
    #[getter]
    fn time_steps(&self) -> PyResult<Option<usize>> {
        Ok(match self.shape()? {
            SampleShape::Sequence { steps, .. } => Some(steps),
            _ => None,
        })
    }

    /// The sizes of the axes of a sample at a time step.
    #[getter]
    fn input(&self) -> PyResult<Vec<usize>> {
        Ok(match self.shape()? {
            SampleShape::Image(image) => image.to_vec(),
            SampleShape::Sequence { shape, .. } => shape.sizes().to_vec(),
            _ => vec![],
        })
    }

    /// The tensors of sample `index` by name. Events are a dictionary of columns.
    fn sample<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyDict>> {
        let len = self.dataset.len();
        if index >= len {
            return Err(PyIndexError::new_err(format!(
                "{}: the index is {index}, there are {len} samples",
                self.dataset.name()
            )));
        }
        let sample = py.detach(|| self.dataset.sample(index).map_err(raise))?;
        let dict = PyDict::new(py);
        for (name, tensor) in sample.iter() {
            let shape = &tensor.shape;
            let array = match &tensor.values {
                SampleValues::U8(values) => numpy_of(py, shape, values.to_vec())?,
                SampleValues::I64(values) => numpy_of(py, shape, values.to_vec())?,
                SampleValues::F32(values) => numpy_of(py, shape, values.to_vec())?,
                SampleValues::Bits(words) => numpy_of(py, shape, unpack_bits(words, shape))?,
                SampleValues::Events(events) => {
                    let columns = PyDict::new(py);
                    let len = [events.t.len()];
                    columns.set_item("t", numpy_of(py, &len, events.t.to_vec())?)?;
                    columns.set_item("x", numpy_of(py, &len, events.x.to_vec())?)?;
                    columns.set_item("y", numpy_of(py, &len, events.y.to_vec())?)?;
                    columns.set_item("p", numpy_of(py, &len, events.p.to_vec())?)?;
                    columns.into_any()
                }
                _ => {
                    return Err(invalid(
                        "sample",
                        format!("`{name}` has an unknown type"),
                        "",
                    ));
                }
            };
            dict.set_item(name, array)?;
        }
        Ok(dict)
    }

    /// Two random parts; the second has the fraction `fraction` of the samples. The parts depend only on `seed`.
    fn split(&self, fraction: f64, seed: u64) -> PyResult<(Self, Self)> {
        if !(fraction > 0.0 && fraction < 1.0) {
            return Err(invalid(
                "validation",
                format!("the fraction {fraction} was given"),
                "use a fraction between 0 and 1, such as 0.1",
            ));
        }
        let shares = [1.0 - fraction, fraction];
        let parts = spikelet::data::split(self.dataset.clone(), &shares, seed).map_err(raise)?;
        let mut parts = parts.into_iter().map(|part| Self { dataset: part });
        match (parts.next(), parts.next()) {
            (Some(first), Some(second)) => Ok((first, second)),
            _ => Err(invalid(
                "validation",
                "a part is empty",
                "use another fraction",
            )),
        }
    }

    /// The samples of these indices.
    fn subset(&self, indices: Vec<usize>) -> PyResult<Self> {
        let subset = Subset::new(self.dataset.clone(), indices).map_err(raise)?;
        Ok(Self {
            dataset: Arc::new(subset),
        })
    }
}

fn of_arrays(
    x: Array,
    labels: Option<Array>,
    sequence: bool,
    name: &str,
) -> PyResult<Arc<dyn Dataset>> {
    let axes = 1 + usize::from(sequence);
    if x.shape.len() < axes {
        return Err(invalid(
            "samples",
            format!("the array has the shape {:?}", x.shape),
            "give [N, …], or [T, N, …] for sequences",
        ));
    }
    let n = x.shape[0];
    if n == 0 {
        return Err(invalid(
            "samples",
            "there are none",
            "give at least one sample",
        ));
    }
    let labels = match labels {
        None => vec![0; n],
        Some(labels) if labels.shape != [n] => {
            return Err(invalid(
                "labels",
                format!(
                    "they have the shape {:?}, there are {n} samples",
                    labels.shape
                ),
                "give a class for each sample: an array [N] of integers from 0",
            ));
        }
        Some(labels) => labels.into_i64(LABELS)?,
    };
    let (field, column) = match sequence {
        false => {
            let image = image_sizes(&x.shape[1..])?;
            match x.values {
                Values::U8(values) => (
                    Field::image(IMAGES, image),
                    spikelet::data::Column::U8(values),
                ),
                Values::F32(values) => (
                    Field::new(IMAGES, DType::F32, image),
                    spikelet::data::Column::F32(values),
                ),
                Values::I64(_) => return Err(not_numbers()),
            }
        }
        true => {
            let step: Vec<usize> = match &x.shape[2..] {
                [] => vec![1],
                [features] => vec![*features],
                more => image_sizes(more)?.to_vec(),
            };
            let shape = [&x.shape[1..2], &step[..]].concat();
            let values = match x.values {
                Values::F32(values) => values,
                Values::U8(values) => values.into_iter().map(f32::from).collect(),
                Values::I64(_) => return Err(not_numbers()),
            };
            (
                Field::new(SEQUENCES, DType::F32, shape).sequence(),
                spikelet::data::Column::F32(values),
            )
        }
    };
    let made = InMemory::new(name).with(field, column);
    let made = made.and_then(|made| {
        made.with(
            Field::new(LABELS, DType::I64, []),
            spikelet::data::Column::I64(labels),
        )
    });
    Ok(Arc::new(made.map_err(raise)?))
}

fn not_numbers() -> PyErr {
    invalid("samples", "they are integers", "give float32 or uint8")
}
