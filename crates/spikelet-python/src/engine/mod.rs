//! The engine from Python: networks, training, data sets, readers, exchange.
//!
//! Classes here are the plain form: settings are JSON texts, arrays are those of numpy with one of three element types. The
//! annotated classes that programs use are Python, in `python/spikelet`.

mod array;
mod callbacks;
mod command;
mod concat;
mod data;
mod definition;
mod error;
mod events;
mod experiment;
mod fit;
mod fit_step;
mod graph;
mod json;
mod model;
mod network;
mod nir;
mod registry;
mod samples;
mod settings;
mod step;
mod var;
mod weights;

use pyo3::prelude::*;

/// Adds the classes and functions of the engine to the module.
pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<network::PyNetwork>()?;
    m.add_class::<model::PyModel>()?;
    m.add_class::<samples::PySamples>()?;
    m.add_class::<data::PySplit>()?;
    m.add_class::<experiment::PyExperiment>()?;
    m.add_class::<var::PyVar>()?;
    m.add_class::<graph::PyMetric>()?;
    m.add_class::<step::PyTrainStep>()?;
    m.add_class::<events::PyEventReader>()?;
    m.add_class::<events::PyEventWriter>()?;
    m.add_class::<events::PyEventRecordings>()?;
    m.add_class::<nir::PyGraph>()?;
    for function in [
        wrap_pyfunction!(registry::registry, m)?,
        wrap_pyfunction!(registry::model_info, m)?,
        wrap_pyfunction!(registry::words_item, m)?,
        wrap_pyfunction!(settings::settings, m)?,
        wrap_pyfunction!(settings::read_checkpoint, m)?,
        wrap_pyfunction!(settings::devices, m)?,
        wrap_pyfunction!(command::command_line, m)?,
        wrap_pyfunction!(data::load_data, m)?,
        wrap_pyfunction!(fit::fit, m)?,
        wrap_pyfunction!(fit_step::fit_step, m)?,
        wrap_pyfunction!(experiment::experiment_schema, m)?,
        wrap_pyfunction!(graph::loss_of, m)?,
        wrap_pyfunction!(graph::sequence_of, m)?,
        wrap_pyfunction!(graph::metric_of, m)?,
        wrap_pyfunction!(graph::parameter, m)?,
        wrap_pyfunction!(graph::call_network, m)?,
        wrap_pyfunction!(graph::encode, m)?,
        wrap_pyfunction!(graph::recorded, m)?,
        wrap_pyfunction!(graph::give, m)?,
        wrap_pyfunction!(graph::join, m)?,
        wrap_pyfunction!(events::event_formats, m)?,
        wrap_pyfunction!(events::event_frames, m)?,
        wrap_pyfunction!(events::transform_events, m)?,
        wrap_pyfunction!(nir::nir_diff, m)?,
        wrap_pyfunction!(weights::read_weights, m)?,
        wrap_pyfunction!(weights::write_weights, m)?,
        wrap_pyfunction!(weights::load_weights, m)?,
        wrap_pyfunction!(weights::export_weights, m)?,
    ] {
        m.add_function(function)?;
    }
    Ok(())
}
