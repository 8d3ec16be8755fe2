//! What a program is given with each call, and what can be wrong with it.

use spikelet_core::{Error, Result};
use spikelet_graph::op::{HostTensor, Op};
use spikelet_graph::{Buffer, Graph};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// An input of a program, on its device.
pub(super) struct Input {
    pub(super) buffer: Buffer,
    given: AtomicBool,
    /// The number of classes, if these are class numbers.
    classes: Option<usize>,
}

impl Input {
    /// An input that nothing was written to yet.
    pub(super) fn new(buffer: Buffer, classes: Option<usize>) -> Self {
        Self {
            buffer,
            given: AtomicBool::new(false),
            classes,
        }
    }

    /// Says that something was written to it.
    pub(super) fn mark_given(&self) {
        self.given.store(true, Ordering::Relaxed);
    }

    /// Refuses to run on an input that nothing was written to.
    pub(super) fn check_given(&self, name: &str) -> Result<()> {
        if self.given.load(Ordering::Relaxed) {
            return Ok(());
        }
        Err(Error::invalid(
            format!("input `{name}`"),
            format!("it is {} and was never set", self.buffer.ty),
            "call `set` for each input before the first run",
        ))
    }

    /// Checks values that are to be written to it.
    pub(super) fn check(&self, name: &str, values: &HostTensor<'_>) -> Result<()> {
        let (expected, given) = (&self.buffer.ty, count(values));
        if given != expected.len() || values.dtype() != expected.dtype {
            return Err(Error::invalid(
                format!("input `{name}`"),
                format!(
                    "it is {expected}, {} elements; {given} elements of {} were given",
                    expected.len(),
                    values.dtype()
                ),
                "give as many elements as it has, or compile the network for another shape",
            ));
        }
        let (Some(classes), HostTensor::I64(labels)) = (self.classes, values) else {
            return Ok(());
        };
        let inside = |label: i64| usize::try_from(label).is_ok_and(|label| label < classes);
        match labels.iter().find(|label| !inside(**label)) {
            None => Ok(()),
            Some(label) => Err(Error::invalid(
                format!("input `{name}`"),
                format!("the label {label} is outside the {classes} scores of the network"),
                "give the last layer as many outputs as there are classes; labels count from 0",
            )),
        }
    }
}

fn count(values: &HostTensor<'_>) -> usize {
    match values {
        HostTensor::F32(values) => values.len(),
        HostTensor::F64(values) => values.len(),
        HostTensor::F16(values) => values.len(),
        HostTensor::BF16(values) => values.len(),
        HostTensor::I64(values) => values.len(),
    }
}

/// The inputs of a graph that are class numbers, with the number of classes.
pub(super) fn classes(graph: &Graph) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for node in &graph.nodes {
        if let Op::OneHot(one_hot) = &node.op {
            let label = graph.inputs.iter().find(|i| i.value == node.inputs[0]);
            found.extend(label.map(|input| (input.name.clone(), one_hot.classes)));
        }
    }
    found
}
