//! Files of events, and frames of events.

use super::array::{numpy_of, values_of};
use super::error::{invalid, raise};
use numpy::{PyArrayDyn, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};
use spikelet::document::DocumentError;
use spikelet::events::frames::{FrameRule, Interpolation, Resize};
use spikelet::events::transforms::{EventTransform, apply_all};
use spikelet::events::{
    EventBuffer, EventDataset, EventRandom, EventSet, EventWriter, Format, Options, Orientation,
    Sensor, Trigger, WriteOptions, open, recording_folder, recording_list,
};
use spikelet::schema::Member;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The columns t, x, y, p as arrays.
type Columns<'py> = (
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
);

/// The columns that Python gives.
#[derive(FromPyObject)]
pub(super) struct GivenColumns<'py>(
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
);

fn columns<'py>(py: Python<'py>, events: EventBuffer) -> PyResult<Columns<'py>> {
    let len = [events.len()];
    Ok((
        numpy_of(py, &len, events.t)?,
        numpy_of(py, &len, events.x)?,
        numpy_of(py, &len, events.y)?,
        numpy_of(py, &len, events.p)?,
    ))
}

/// A column of one axis, copied.
fn column<T: numpy::Element + Copy>(name: &str, array: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    let array = array.cast::<PyArrayDyn<T>>().map_err(|_| {
        PyTypeError::new_err(format!(
            "events: the column `{name}` has another element type"
        ))
    })?;
    if array.ndim() != 1 {
        return Err(invalid(
            "events",
            format!("the column `{name}` has {} axes", array.ndim()),
            "give one axis",
        ));
    }
    values_of(array)
}

impl GivenColumns<'_> {
    /// The events, with columns of one length.
    fn buffer(&self) -> PyResult<EventBuffer> {
        let events = EventBuffer {
            t: column("t", &self.0)?,
            x: column("x", &self.1)?,
            y: column("y", &self.2)?,
            p: column("p", &self.3)?,
        };
        let lens = [
            events.t.len(),
            events.x.len(),
            events.y.len(),
            events.p.len(),
        ];
        match lens.iter().all(|len| *len == lens[0]) {
            true => Ok(events),
            false => Err(invalid(
                "events",
                format!("the columns have {lens:?} elements"),
                "give one of each for an event",
            )),
        }
    }
}

fn options(
    format: Option<&str>,
    sensor: Option<(u32, u32)>,
    orientation: Option<&str>,
) -> PyResult<Options> {
    let orientation = orientation.map(|name| Orientation::find(name).map_err(raise));
    Ok(Options {
        format: format.map(Format::find).transpose().map_err(raise)?,
        sensor: sensor.map(|(width, height)| Sensor::new(width, height)),
        orientation: orientation.transpose()?,
    })
}

fn triggers(py: Python<'_>, triggers: Vec<Trigger>) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    let len = [triggers.len()];
    dict.set_item(
        "t",
        numpy_of(
            py,
            &len,
            triggers.iter().map(|one| one.t).collect::<Vec<_>>(),
        )?,
    )?;
    dict.set_item(
        "id",
        numpy_of(
            py,
            &len,
            triggers.iter().map(|one| one.id).collect::<Vec<_>>(),
        )?,
    )?;
    dict.set_item(
        "value",
        numpy_of(
            py,
            &len,
            triggers.iter().map(|one| one.value).collect::<Vec<_>>(),
        )?,
    )?;
    Ok(dict)
}

/// A recording that is read in blocks.
#[pyclass(frozen, name = "EventReader", module = "spikelet._native")]
pub(super) struct PyEventReader {
    reader: Mutex<spikelet::events::EventReader>,
}

#[pymethods]
impl PyEventReader {
    #[new]
    #[pyo3(signature = (path, format=None, sensor=None, orientation=None))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        format: Option<&str>,
        sensor: Option<(u32, u32)>,
        orientation: Option<&str>,
    ) -> PyResult<Self> {
        let options = options(format, sensor, orientation)?;
        let reader = py.detach(|| open(&path, &options).map_err(raise))?;
        Ok(Self {
            reader: Mutex::new(reader),
        })
    }

    /// The next events, at least `least` if there are so many; None at the end.
    fn block<'py>(&self, py: Python<'py>, least: usize) -> PyResult<Option<Columns<'py>>> {
        let mut events = EventBuffer::default();
        py.detach(|| -> PyResult<()> {
            let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
            while events.len() < least.max(1) && reader.read_block(&mut events).map_err(raise)? {}
            Ok(())
        })?;
        match events.is_empty() {
            true => Ok(None),
            false => columns(py, events).map(Some),
        }
    }

    /// All events that are left.
    fn rest<'py>(&self, py: Python<'py>) -> PyResult<Columns<'py>> {
        let mut events = EventBuffer::default();
        py.detach(|| {
            let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
            reader.read_to_end(&mut events).map_err(raise)
        })?;
        columns(py, events)
    }

    /// Format, sensor and faults so far, as JSON text.
    fn info(&self, py: Python<'_>) -> String {
        py.detach(|| {
            let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
            let faults = reader.faults().iter();
            let faults = faults.map(|(fault, count)| json!([format!("{fault:?}"), count]));
            json!({
                "format": reader.format().name(),
                "sensor": reader.sensor().map(|sensor| [sensor.width, sensor.height]),
                "faults": faults.collect::<Vec<Value>>(),
            })
            .to_string()
        })
    }

    /// The triggers so far that were not taken yet, as columns.
    fn triggers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let taken = py.detach(|| {
            let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
            reader.take_triggers()
        });
        triggers(py, taken)
    }
}

/// A file of events that is written block by block.
#[pyclass(frozen, name = "EventWriter", module = "spikelet._native")]
pub(super) struct PyEventWriter {
    writer: Mutex<Option<EventWriter>>,
}

#[pymethods]
impl PyEventWriter {
    #[new]
    #[pyo3(signature = (path, format, sensor, compress))]
    fn new(path: PathBuf, format: &str, sensor: (u32, u32), compress: bool) -> PyResult<Self> {
        let options = WriteOptions {
            compress,
            ..WriteOptions::new(
                Format::find(format).map_err(raise)?,
                Sensor::new(sensor.0, sensor.1),
            )
        };
        let writer = EventWriter::create(&path, &options).map_err(raise)?;
        Ok(Self {
            writer: Mutex::new(Some(writer)),
        })
    }

    fn write(&self, py: Python<'_>, events: GivenColumns<'_>) -> PyResult<()> {
        let events = events.buffer()?;
        py.detach(|| {
            let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
            let open = writer.as_mut().ok_or_else(closed)?;
            open.write(&events).map_err(raise)
        })
    }

    /// Ends the file, which appears under its path.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let taken = py.detach(|| self.taken());
        let writer = taken.ok_or_else(closed)?;
        py.detach(|| writer.finish().map_err(raise))
    }

    /// Removes what was written, unless the file was ended.
    fn discard(&self, py: Python<'_>) {
        py.detach(|| drop(self.taken()));
    }
}

impl PyEventWriter {
    /// The writer, which is gone afterwards.
    fn taken(&self) -> Option<EventWriter> {
        self.writer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

fn closed() -> PyErr {
    invalid("writer", "the file was ended", "make another writer")
}

/// The recordings of a data set, read one by one.
#[pyclass(frozen, name = "EventRecordings", module = "spikelet._native")]
pub(super) struct PyEventRecordings {
    data: EventDataset,
}

#[pymethods]
impl PyEventRecordings {
    /// The data set of a name in a folder; `folder` for a folder of one's own with a folder for each class, `list` for a list
    /// of files.
    #[new]
    #[pyo3(signature = (name, path, sensor=None))]
    fn new(
        py: Python<'_>,
        name: &str,
        path: PathBuf,
        sensor: Option<(u32, u32)>,
    ) -> PyResult<Self> {
        let options = options(None, sensor, None)?;
        let data = py.detach(|| match name {
            "folder" => recording_folder(&path, &options).map_err(raise),
            "list" => recording_list(&path, &options).map_err(raise),
            name => match EventSet::find(name) {
                Ok(set) => set.open(&path).map_err(raise),
                Err(mut error) => {
                    error.known.extend(["folder", "list"]);
                    Err(raise(error))
                }
            },
        })?;
        Ok(Self { data })
    }

    fn __len__(&self) -> usize {
        self.data.samples().len()
    }

    /// Name, classes, width and height of the sensor.
    fn info(&self) -> (String, Vec<String>, Option<(u32, u32)>) {
        let sensor = self.data.sensor();
        (
            self.data.name().to_string(),
            self.data.classes().to_vec(),
            sensor.map(|sensor| (sensor.width, sensor.height)),
        )
    }

    /// The split and the class of each sample; −1 where a recording has no class.
    fn samples(&self) -> (Vec<&'static str>, Vec<i64>) {
        let samples = self.data.samples();
        let label = |label: Option<u32>| label.map_or(-1, i64::from);
        (
            samples.iter().map(|sample| sample.split.name()).collect(),
            samples.iter().map(|sample| label(sample.label)).collect(),
        )
    }

    /// The events of a sample.
    fn read<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Columns<'py>> {
        let events = py.detach(|| self.data.read(index).map_err(raise))?;
        columns(py, events)
    }
}

/// The formats: name, and whether files can be written, as JSON text.
#[pyfunction]
pub(super) fn event_formats() -> String {
    let formats = Format::ALL
        .iter()
        .map(|format| json!([format.name(), format.is_writable()]));
    Value::from(formats.collect::<Vec<_>>()).to_string()
}

/// Frames of events, `[T, P, H, W]`, by the text of a rule, resized if a size is given.
#[pyfunction]
#[pyo3(signature = (events, rule, sensor, size=None, bilinear=false))]
pub(super) fn event_frames<'py>(
    py: Python<'py>,
    events: GivenColumns<'py>,
    rule: &str,
    sensor: (u32, u32),
    size: Option<(usize, usize)>,
    bilinear: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let rule: Member<dyn FrameRule> = rule.parse().map_err(|error: DocumentError| raise(error))?;
    let events = events.buffer()?;
    let frames = py.detach(|| -> PyResult<_> {
        let made = rule
            .tensor(&events, Sensor::new(sensor.0, sensor.1))
            .map_err(raise)?;
        let Some((height, width)) = size else {
            return Ok(made);
        };
        let interpolation = match bilinear {
            true => Interpolation::Bilinear,
            false => Interpolation::Nearest,
        };
        Resize {
            width,
            height,
            interpolation,
        }
        .apply(&made)
        .map_err(raise)
    })?;
    numpy_of(py, &frames.shape, frames.values)
}

/// Events after transforms, by their texts, and the size of the sensor.
#[pyfunction]
#[pyo3(signature = (events, transforms, sensor, seed, index))]
pub(super) fn transform_events<'py>(
    py: Python<'py>,
    events: GivenColumns<'py>,
    transforms: Vec<String>,
    sensor: (u32, u32),
    seed: u64,
    index: u32,
) -> PyResult<(Columns<'py>, (u32, u32))> {
    let parsed = transforms.iter().map(|text| text.parse());
    let chain: Result<Vec<Member<dyn EventTransform>>, DocumentError> = parsed.collect();
    let chain = chain.map_err(raise)?;
    let mut events = events.buffer()?;
    let mut sensor = Sensor::new(sensor.0, sensor.1);
    py.detach(|| {
        let random = EventRandom::new(seed, 0, index);
        apply_all(&chain, &mut events, &mut sensor, &random).map_err(raise)
    })?;
    Ok((columns(py, events)?, (sensor.width, sensor.height)))
}
