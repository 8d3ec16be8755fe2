//! Axes in another order.

use super::copy::CopyKernel;
use super::transpose::Transpose;
use super::{CpuKernel, Float, PrepareContext, Prepared};
use crate::broadcast::Broadcast;
use spikelet_graph::dense_strides;
use spikelet_graph::op::Permute;

impl CpuKernel for Permute {
    fn prepare<R: Float>(&self, cx: &PrepareContext<'_>) -> Prepared {
        let strides = dense_strides(&cx.types.inputs[0].shape);
        let strides: Vec<usize> = self.order.iter().map(|&k| strides[k]).collect();
        let shape = &cx.types.outputs[0].shape;
        Ok(Box::new(match Transpose::new(shape, &strides) {
            Some(transpose) => CopyKernel::Transposed(transpose),
            None => CopyKernel::gathered(&cx.types, Broadcast::strided(shape, &strides), 0),
        }))
    }
}
