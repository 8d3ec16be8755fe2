//! Operands one after another along an axis.

use super::Types;
use super::copy::CopyKernel;
use spikelet_graph::op::Concat;

pub(super) fn prepare(op: &Concat, types: &Types) -> CopyKernel {
    CopyKernel::concatenated(types, op.axis)
}
