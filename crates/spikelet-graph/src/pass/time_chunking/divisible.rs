//! The operations that can be divided along time, and how.
//!
//! Time is the axis that all operands and results which have it have first ([`Semantics::leading_axis`]).

use crate::graph::{Graph, Node};
use crate::op::{Op, Operation, time_chunk_type};
use crate::semantics::{Access, Join, Semantics};
use crate::types::TensorType;
use std::ops::Range;

/// Alignment of the start of a chunk in bytes, sufficient for every kernel.
const ALIGNMENT: usize = 256;

/// Whether its result depends on the number of chunks.
pub(super) fn is_sum(op: &Op) -> bool {
    op.is_chunked()
}

/// How a node is divided along time.
pub(super) struct TimeAxis {
    semantics: Semantics,
    axis: usize,
    /// The operands and results that are divided.
    pub(super) operands: Vec<usize>,
    pub(super) results: Vec<usize>,
}

impl TimeAxis {
    /// `None` if the operation cannot be divided.
    pub(super) fn of(graph: &Graph, node: &Node) -> Option<Self> {
        let semantics = graph.semantics(node);
        let axis = semantics.leading_axis()?;
        let along = |all: &[Access]| -> Vec<usize> {
            let all = all.iter().enumerate();
            let all = all.filter(|(_, access)| access.place(axis).is_some());
            all.map(|(k, _)| k).collect()
        };
        let made = Self {
            operands: along(&semantics.operands),
            results: along(&semantics.results),
            axis,
            semantics,
        };
        made.joined(Join::Max).is_empty().then_some(made)
    }

    /// The results that are joined this way.
    pub(super) fn joined(&self, join: Join) -> Vec<usize> {
        let joins = self.semantics.joins.iter().enumerate();
        let joins = joins.filter(|(k, own)| **own == join && !self.results.contains(k));
        joins.map(|(k, _)| k).collect()
    }

    /// Whether it is divided only where recurrent layers are: a recurrent layer, or a sum, which may have other bits.
    pub(super) fn only_in_divisions(&self, op: &Op) -> bool {
        op.recurrent_steps().is_some() || (!is_sum(op) && self.semantics.reduces())
    }

    /// The types of the operands and results that are divided.
    pub(super) fn types<'a>(&self, graph: &'a Graph, node: &Node) -> Vec<&'a TensorType> {
        let operands = self.operands.iter().map(|k| node.inputs[*k]);
        let values = operands.chain(self.results.iter().map(|k| node.outputs[*k]));
        values.map(|v| graph.ty(v)).collect()
    }

    /// The operation on chunk `chunk` of `count`.
    pub(super) fn chunk(&self, graph: &Graph, node: &Node, chunk: usize, count: usize) -> Op {
        let each = self.semantics.axes[self.axis].length / count;
        let range: Range<usize> = chunk * each..(chunk + 1) * each;
        let outputs = node.outputs.iter().map(|v| graph.ty(*v).clone());
        let outputs: Vec<TensorType> = outputs.collect();
        let part = node.op.part(&self.semantics, &outputs, self.axis, &range);
        // Sums of chunks are added in full precision.
        let half = (self.joined(Join::Sum).first())
            .map(|k| outputs[*k].dtype)
            .filter(|dtype| dtype.is_half());
        half.and_then(|dtype| part.stored_as(dtype.arithmetic()))
            .unwrap_or(part)
    }
}

/// Whether the chunks of a tensor are views that every kernel can read and write.
pub(super) fn views_are_aligned(ty: &TensorType, count: usize) -> bool {
    time_chunk_type(ty, count).is_some_and(|chunk| chunk.bytes().is_multiple_of(ALIGNMENT))
}

/// The types of the operands and results that are divided.
pub(super) fn cut_types<'a>(graph: &'a Graph, node: &Node) -> Option<Vec<&'a TensorType>> {
    Some(TimeAxis::of(graph, node)?.types(graph, node))
}

/// The operands and results of a node that are divided: the first axis of all is time. `None` if the
/// operation cannot be divided.
pub(super) fn cut_values(graph: &Graph, node: &Node) -> Option<(Vec<usize>, Vec<usize>)> {
    let time = TimeAxis::of(graph, node)?;
    Some((time.operands, time.results))
}
