//! Spikes stored as bits.

use crate::graph::{Graph, Node, ValueId};

/// Which kernels of a device read and write spikes as bits; by default none.
pub trait SpikeStorage {
    /// Whether `node` can read its operand number `operand` as bits.
    fn reads_bits(&self, _graph: &Graph, _node: &Node, _operand: usize) -> bool {
        false
    }

    /// Whether `node` can write its result `value` as bits.
    fn writes_bits(&self, _graph: &Graph, _node: &Node, _value: ValueId) -> bool {
        false
    }
}
