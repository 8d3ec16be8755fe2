//! The inputs of a program, and their checks.

use crate::RuntimeError;
use spikelet_core::Result;
use spikelet_graph::op::{Gather, HostTensor, OneHot, OpKind, Operation};
use spikelet_graph::semantics::Class;
use spikelet_graph::{Buffer, Graph, Node};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the elements of an i64 input count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IndexLimit {
    /// Labels of this many classes, and one that is ignored.
    Classes(usize, Option<i64>),
    /// Indices into an axis of this length.
    Axis(usize),
}

impl IndexLimit {
    /// One more than the largest element.
    fn end(self) -> usize {
        match self {
            Self::Classes(end, _) | Self::Axis(end) => end,
        }
    }

    fn allows(self, index: i64) -> bool {
        let inside = usize::try_from(index).is_ok_and(|index| index < self.end());
        inside || matches!(self, Self::Classes(_, ignored) if ignored == Some(index))
    }

    /// The limit of what both allow.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Classes(a, ignored), Self::Classes(b, also)) => {
                Self::Classes(a.min(b), ignored.filter(|_| ignored == also))
            }
            _ if other.end() < self.end() => other,
            _ => self,
        }
    }
}

/// An input of a program, on its device.
pub(super) struct Input {
    pub(super) buffer: Buffer,
    given: AtomicBool,
    /// The limit of the elements, if these are labels or indices.
    limit: Option<IndexLimit>,
}

impl Input {
    /// An input without values.
    pub(super) fn new(buffer: Buffer, limit: Option<IndexLimit>) -> Self {
        Self {
            buffer,
            given: AtomicBool::new(false),
            limit,
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
        let (Some(limit), HostTensor::I64(given)) = (self.limit, values) else {
            return Ok(());
        };
        let Some(&outside) = given.iter().find(|index| !limit.allows(**index)) else {
            return Ok(());
        };
        let name = name.to_string();
        Err(match limit {
            IndexLimit::Classes(classes, _) => RuntimeError::Label {
                name,
                label: outside,
                classes,
            },
            IndexLimit::Axis(length) => RuntimeError::Index {
                name,
                index: outside,
                length,
            },
        }
        .into())
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

/// The inputs of a graph that are labels or indices, with their limits: those that an operation reads
/// directly or through operations that only move elements. Of several limits all hold.
pub(super) fn index_limits(graph: &Graph) -> BTreeMap<String, IndexLimit> {
    let producers = graph.producers();
    let mut found: BTreeMap<String, IndexLimit> = BTreeMap::new();
    for node in &graph.nodes {
        let (index, limit) = if let Some(op) = OneHot::of(&node.op) {
            let limit = IndexLimit::Classes(op.classes, op.ignored);
            (node.inputs[0], limit)
        } else if let Some(op) = Gather::of(&node.op) {
            let length = graph.shape(node.inputs[0])[op.axis];
            (node.inputs[1], IndexLimit::Axis(length))
        } else {
            continue;
        };
        let mut open = vec![index];
        while let Some(value) = open.pop() {
            match producers[value.index()].map(|k| &graph.nodes[k]) {
                Some(mover) if moves(graph, mover) => open.extend(&mover.inputs),
                Some(_) => {}
                None => {
                    let input = graph.inputs.iter().find(|i| i.value == value);
                    let Some(input) = input else { continue };
                    let all = found.entry(input.name.clone()).or_insert(limit);
                    *all = all.and(limit);
                }
            }
        }
    }
    found
}

/// Whether the elements of the result are elements of the operands that have the same meaning: a slice of
/// time steps or samples has, one of another axis may leave out elements that are no indices.
fn moves(graph: &Graph, node: &Node) -> bool {
    let (from, to) = (graph.ty(node.inputs[0]), graph.ty(node.outputs[0]));
    let all = to.len() >= from.len();
    let samples = from.shape.len() > 1 && from.shape[1..] == to.shape[1..];
    let selects = Gather::of(&node.op).is_some();
    node.op.class() == Class::Movement && !selects && (all || samples)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::{Program, VarStore};
    use spikelet_cpu::Cpu;
    use spikelet_graph::{DType, Tracer};
    use std::sync::Arc;

    #[test]
    fn indices_are_checked_through_operations_that_move_them() {
        let tracer = Tracer::new(DType::F32);
        let input = |name: &str, shape: &[usize]| tracer.input(name, DType::I64, shape);
        let (tokens, labels) = (input("tokens", &[3, 4]), input("labels", &[4]));
        let free = input("free", &[4]);
        let table = tracer.input("table", DType::F32, [7, 5]);
        let scores = tokens
            .slice(0, 1..3)
            .transpose(0, 1)
            .flip(0)
            .embedding(&table)
            .mean(&[1]);
        let picked = scores.gather(1, &labels.unsqueeze(1)).sum_all();
        tracer.output("picked", &(picked + labels.one_hot(3).sum_all()));
        tracer.output("free", &free.equals(&labels));
        let graph = tracer.finish().expect("a graph");
        let limits = index_limits(&graph);
        assert_eq!(limits["tokens"], IndexLimit::Axis(7));
        assert_eq!(limits["labels"], IndexLimit::Classes(3, None));
        assert_eq!(limits.get("free"), None);

        let mut store = VarStore::new(Arc::new(Cpu::new(1).expect("a device")));
        let program = Program::new(graph, &mut store).expect("a program");
        for (wrong, kind) in [(7, "the axis, which has 7 elements"), (-1, "the axis")] {
            let mut values = [0; 12];
            values[5] = wrong;
            let error = program.set("tokens", HostTensor::I64(&values)).unwrap_err();
            let text = error.to_string();
            assert!(text.contains("`tokens`") && text.contains(kind), "{text}");
            let runtime = error.downcast_ref::<RuntimeError>();
            assert!(matches!(runtime, Some(RuntimeError::Index { index, .. }) if *index == wrong));
        }
        program
            .set("tokens", HostTensor::I64(&[6; 12]))
            .expect("indices of the table");
    }

    #[test]
    fn a_label_may_be_ignored_where_all_that_read_it_do() {
        let tracer = Tracer::new(DType::F32);
        let [labels, other] = ["labels", "other"].map(|name| tracer.input(name, DType::I64, [4]));
        let hot = labels.one_hot_ignoring(3, Some(255)) + other.one_hot_ignoring(3, Some(-1));
        tracer.output("hot", &(hot + other.one_hot(3)));
        let limits = index_limits(&tracer.finish().expect("a graph"));
        assert_eq!(limits["labels"], IndexLimit::Classes(3, Some(255)));
        assert!(limits["labels"].allows(255) && !limits["labels"].allows(-1));
        assert_eq!(limits["other"], IndexLimit::Classes(3, None));
    }
}
