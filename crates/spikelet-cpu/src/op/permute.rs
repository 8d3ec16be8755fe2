//! Axes in another order.

use super::Types;
use super::copy::CopyKernel;
use super::transpose::Transpose;
use crate::broadcast::Broadcast;
use spikelet_graph::dense_strides;
use spikelet_graph::op::Permute;

pub(super) fn prepare(op: &Permute, types: &Types) -> CopyKernel {
    let strides = dense_strides(&types.inputs[0].shape);
    let strides: Vec<usize> = op.order.iter().map(|&k| strides[k]).collect();
    let shape = &types.outputs[0].shape;
    match Transpose::new(shape, &strides) {
        Some(transpose) => CopyKernel::Transposed(transpose),
        None => CopyKernel::gathered(types, Broadcast::strided(shape, &strides), 0),
    }
}
