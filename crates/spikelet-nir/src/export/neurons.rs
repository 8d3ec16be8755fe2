//! Neurons.

use super::writer::Writer;
use super::{equations, refused, steps};
use spikelet_core::Result;
use spikelet_nn::neuron::Neuron;

/// Adds the node of a neuron, and returns its name.
pub(super) fn add(writer: &mut Writer<'_>, path: &str, neuron: &dyn Neuron) -> Result<String> {
    let kind = neuron.declaration().type_name;
    let Some(dynamics) = equations::find(writer, path, neuron)? else {
        return Err(refused::module(path, kind).into());
    };
    if let Some(text) = dynamics.approximation
        && !writer.options.approximate
    {
        return Err(refused::approximation(path, kind, text).into());
    }
    let name = steps::add(writer, path, &dynamics)?;
    if let Some(readout) = dynamics.readout {
        writer.read_out(path, format!("{readout:?}"));
    }
    Ok(name)
}
