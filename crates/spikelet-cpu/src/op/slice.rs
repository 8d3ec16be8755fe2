//! A range of one axis.

use super::Types;
use super::copy::CopyKernel;
use crate::broadcast::Broadcast;
use spikelet_graph::dense_strides;
use spikelet_graph::op::Slice;

pub(super) fn prepare(op: &Slice, types: &Types) -> CopyKernel {
    let strides = dense_strides(&types.inputs[0].shape);
    let gather = Broadcast::strided(&types.outputs[0].shape, &strides);
    CopyKernel::gathered(types, gather, op.start * strides[op.axis])
}
