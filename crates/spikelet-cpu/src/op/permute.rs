//! Axes in another order.

use super::Types;
use super::copy::CopyKernel;
use crate::broadcast::Broadcast;
use spikelet_graph::dense_strides;
use spikelet_graph::op::Permute;

pub(super) fn prepare(op: &Permute, types: &Types) -> CopyKernel {
    let strides = dense_strides(&types.inputs[0].shape);
    let strides: Vec<usize> = op.order.iter().map(|&k| strides[k]).collect();
    let gather = Broadcast::strided(&types.outputs[0].shape, &strides);
    CopyKernel::gathered(types, gather, 0)
}
