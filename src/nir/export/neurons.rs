//! Neurons.

use super::writer::Writer;
use super::{equations, refused, steps};
use spikelet_core::Result;
use spikelet_nn::module::Module;
use std::any::Any;

/// Adds the node of a neuron, and returns its name.
pub(super) fn add(
    writer: &mut Writer<'_>,
    path: &str,
    module: &dyn Module,
    any: &dyn Any,
) -> Result<String> {
    let found = equations::find(writer, path, any)?;
    let Some(dynamics) = found else {
        return Err(refused::module(path, &module.tree()).into());
    };
    if let Some(text) = dynamics.approximation
        && !writer.options.approximate
    {
        return Err(refused::approximation(path, &module.tree(), text).into());
    }
    let name = steps::add(writer, path, &dynamics)?;
    if let Some(readout) = dynamics.readout {
        writer.read_out(path, format!("{readout:?}"));
    }
    Ok(name)
}
