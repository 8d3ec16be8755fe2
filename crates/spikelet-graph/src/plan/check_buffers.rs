//! Checks of the buffers that a plan is loaded with.

use super::check::plan_error;
use super::{Location, Plan};
use crate::buffer::{Buffer, DeviceId};
use crate::error::{Error, Result};
use crate::graph::Graph;
use std::collections::HashMap;
use std::sync::Arc;

/// The buffers that a plan is bound to.
#[derive(Clone, Copy, Debug)]
pub struct Bound<'a> {
    /// The buffers of the graph's inputs, in order.
    pub inputs: &'a [Buffer],
    /// The buffers of its outputs; `None` for an output that updates an input in place.
    pub outputs: &'a [Option<Buffer>],
    /// The memory of all other values.
    pub arena: &'a Buffer,
}

fn missing_output(graph: &Graph, k: usize) -> Error {
    let name = &graph.outputs[k].name;
    plan_error(format!("output `{name}` has no buffer; pass one"))
}

impl Plan {
    /// Checks that there is a buffer of the plan's type for each input and each output that updates
    /// none; that the arena is large enough; that all of them were allocated by `device`, whose name is
    /// `name`; and that memory that is written, the arena included, is not shared.
    ///
    /// # Errors
    /// [`Error::Type`], [`Error::ForeignBuffer`] or [`Error::Plan`] when one of these is
    /// violated.
    pub fn check_buffers(&self, bound: &Bound<'_>, device: DeviceId, name: &str) -> Result<()> {
        let Bound {
            inputs,
            outputs,
            arena,
        } = *bound;
        let graph = &self.graph;
        if inputs.len() != graph.inputs.len() || outputs.len() != graph.outputs.len() {
            return Err(plan_error(format!(
                "it has {} inputs and {} outputs; {} and {} buffers were given",
                graph.inputs.len(),
                graph.outputs.len(),
                inputs.len(),
                outputs.len()
            )));
        }
        let given_inputs = graph.inputs.iter().map(|i| (&i.name, i.value)).zip(inputs);
        let given_outputs = graph
            .outputs
            .iter()
            .map(|o| (&o.name, o.value))
            .zip(outputs);
        let given_outputs = given_outputs.filter_map(|(o, b)| Some((o, b.as_ref()?)));
        let own = |buffer: &Buffer, what: &dyn Fn() -> String| {
            if buffer.handle.device() == device {
                return Ok(());
            }
            Err(Error::ForeignBuffer {
                backend: name.to_string(),
                buffer: what(),
            })
        };
        for ((input, value), buffer) in given_inputs.chain(given_outputs) {
            let expected = graph.ty(value);
            if buffer.ty != *expected {
                return Err(Error::Type {
                    name: input.clone(),
                    given: buffer.ty.clone(),
                    expected: expected.clone(),
                });
            }
            own(buffer, &|| format!("the buffer of `{input}`"))?;
        }
        own(arena, &|| "the arena".to_string())?;
        if arena.handle.bytes() < self.arena_bytes {
            return Err(plan_error(format!(
                "an arena of {} bytes was given; it needs {}",
                arena.handle.bytes(),
                self.arena_bytes
            )));
        }
        for (k, output) in graph.outputs.iter().enumerate() {
            if output.updates.is_none() && outputs[k].is_none() {
                return Err(missing_output(graph, k));
            }
            if let Some(input) = output.updates
                && graph.ty(input) != graph.ty(output.value)
            {
                return Err(Error::Type {
                    name: output.name.clone(),
                    given: graph.ty(output.value).clone(),
                    expected: graph.ty(input).clone(),
                });
            }
        }
        self.check_used_outputs(outputs)?;
        self.check_writers(bound)
    }

    /// An output in whose memory a value is computed needs a buffer, whatever it updates.
    fn check_used_outputs(&self, outputs: &[Option<Buffer>]) -> Result<()> {
        let of_kernels = self
            .kernels
            .iter()
            .flat_map(|k| k.reads.iter().chain(&k.writes));
        let of_copies = self.copies.iter().flat_map(|(from, to, _)| [from, to]);
        for place in of_kernels.chain(of_copies) {
            if let Location::Output(k) | Location::OutputAt(k, _) = place
                && outputs[*k].is_none()
            {
                return Err(missing_output(&self.graph, *k));
            }
        }
        Ok(())
    }

    /// Memory that is written must not be shared.
    fn check_writers(&self, bound: &Bound<'_>) -> Result<()> {
        let Bound {
            inputs,
            outputs,
            arena,
        } = *bound;
        let graph = &self.graph;
        let updated = |value| graph.outputs.iter().any(|o| o.updates == Some(value));
        let held = graph
            .inputs
            .iter()
            .zip(inputs)
            .map(|(i, b)| (&i.name, b, updated(i.value)));
        let fresh = graph
            .outputs
            .iter()
            .zip(outputs)
            .filter(|(o, _)| o.updates.is_none());
        let fresh = fresh.filter_map(|(o, b)| Some((&o.name, b.as_ref()?, true)));
        let memory = |buffer: &Buffer| Arc::as_ptr(&buffer.handle).cast::<()>();
        let mut owners: HashMap<*const (), (&String, bool)> = HashMap::new();
        for (name, buffer, written) in held.chain(fresh) {
            if memory(buffer) == memory(arena) {
                return Err(plan_error(format!(
                    "its arena is the buffer of `{name}`, and the arena is written; allocate a separate arena"
                )));
            }
            if let Some((other, also)) = owners.insert(memory(buffer), (name, written))
                && (written || also)
            {
                return Err(plan_error(format!(
                    "`{other}` and `{name}` share a buffer and one of them is written; allocate a separate buffer for each"
                )));
            }
        }
        Ok(())
    }
}
