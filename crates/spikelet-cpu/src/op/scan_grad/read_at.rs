//! Which step of its operands a step of a backward scan reads.

use spikelet_graph::TensorType;
use spikelet_graph::op::Port;

/// Which step of an operand a step reads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadAt {
    /// It is not read step by step.
    Never,
    /// All steps are one.
    Any,
    Same,
    /// The same, but for the first.
    SameAfterFirst,
    Before,
}

impl ReadAt {
    pub(super) fn of(port: Port, ty: &TensorType, pooled: bool) -> Self {
        match port {
            Port::OutputGrad(_) if pooled => Self::Never,
            Port::Sequence(_) if ty.shape[0] == 1 => Self::Any,
            Port::Driven | Port::Sequence(_) | Port::OutputGrad(_) => Self::Same,
            // The sequence is one step behind already.
            Port::Before => Self::SameAfterFirst,
            Port::StateSeq(_) => Self::Before,
            _ => Self::Never,
        }
    }

    /// The first element that step `t` of a tile reads.
    pub(super) fn first(self, t: usize, elements: usize, start: usize) -> Option<usize> {
        match self {
            Self::Never => None,
            Self::Any => Some(start),
            Self::Same => Some(t * elements + start),
            Self::SameAfterFirst => (t > 0).then_some(t * elements + start),
            Self::Before => (t > 0).then(|| (t - 1) * elements + start),
        }
    }
}
