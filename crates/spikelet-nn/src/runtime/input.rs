//! The inputs of a program, and their checks.

use crate::RuntimeError;
use spikelet_core::Result;
use spikelet_graph::op::{HostTensor, Op};
use spikelet_graph::{Buffer, Graph};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// An input of a program, on its device.
pub(super) struct Input {
    pub(super) buffer: Buffer,
    given: AtomicBool,
    /// The number of classes, if these are labels.
    classes: Option<usize>,
}

impl Input {
    /// An input without values.
    pub(super) fn new(buffer: Buffer, classes: Option<usize>) -> Self {
        Self {
            buffer,
            given: AtomicBool::new(false),
            classes,
        }
    }

    /// Records that values were written.
    pub(super) fn mark_given(&self) {
        self.given.store(true, Ordering::Relaxed);
    }

    /// Checks that values were written.
    pub(super) fn check_given(&self, name: &str) -> Result<()> {
        if self.given.load(Ordering::Relaxed) {
            return Ok(());
        }
        Err(RuntimeError::InputNotSet {
            name: name.to_string(),
            expected: self.buffer.ty.clone(),
        }
        .into())
    }

    /// Checks values before they are written.
    pub(super) fn check(&self, name: &str, values: &HostTensor<'_>) -> Result<()> {
        let (expected, given) = (&self.buffer.ty, count(values));
        if given != expected.len() || values.dtype() != expected.dtype {
            return Err(RuntimeError::InputType {
                name: name.to_string(),
                expected: expected.clone(),
                elements: given,
                dtype: values.dtype(),
            }
            .into());
        }
        let (Some(classes), HostTensor::I64(labels)) = (self.classes, values) else {
            return Ok(());
        };
        let inside = |label: i64| usize::try_from(label).is_ok_and(|label| label < classes);
        match labels.iter().find(|label| !inside(**label)) {
            None => Ok(()),
            Some(label) => Err(RuntimeError::Label {
                name: name.to_string(),
                label: *label,
                classes,
            }
            .into()),
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

/// The inputs of a graph that are labels, with the number of classes.
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
