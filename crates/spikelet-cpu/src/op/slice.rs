//! A range of one axis.

use super::copy::CopyKernel;
use super::{CpuKernel, Float, PrepareContext, Prepared};
use crate::broadcast::Broadcast;
use spikelet_graph::dense_strides;
use spikelet_graph::op::Slice;

impl CpuKernel for Slice {
    fn prepare<R: Float>(&self, cx: &PrepareContext<'_>) -> Prepared {
        let strides = dense_strides(&cx.types.inputs[0].shape);
        let gather = Broadcast::strided(&cx.types.outputs[0].shape, &strides);
        let skip = self.start * strides[self.axis];
        Ok(Box::new(CopyKernel::gathered(&cx.types, gather, skip)))
    }
}
