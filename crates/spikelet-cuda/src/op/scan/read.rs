//! What a scan reads at each step.

use spikelet_graph::{DType, TensorType};

/// A sequence that a scan reads: element `[k]` of the array `name` is the pack of step `k` of a segment.
pub(super) struct Read {
    pub(super) name: String,
    /// The argument.
    pub(super) from: String,
    pub(super) dtype: DType,
    /// Whether it is of pooled neurons.
    pub(super) pooled: bool,
    /// Where a step reads what the step before wrote: the value at the first step, and how far that is behind.
    pub(super) first: Option<(String, &'static str)>,
}

impl Read {
    pub(super) fn new(name: String, from: String, ty: &TensorType, pooled: bool) -> Self {
        Self {
            name,
            from,
            dtype: ty.dtype,
            pooled,
            first: None,
        }
    }

    /// The value of a cluster's neuron, converted at its use: a conversion waits for what was read.
    pub(super) fn value(&self) -> String {
        let name = &self.name;
        let value = match self.dtype {
            DType::Bits => format!("(float)({name}[e] >> column % 32 & 1u)"),
            _ => format!("spk_get({name}[e])"),
        };
        match &self.first {
            Some((first, _)) => format!("t > 0 ? {value} : {first}"),
            None => value,
        }
    }
}
