//! Repetition along axes.

use super::copy::CopyKernel;
use super::{CpuKernel, Float, PrepareContext, Prepared};
use crate::broadcast::Broadcast;
use spikelet_graph::op::Expand;

impl CpuKernel for Expand {
    fn prepare<R: Float>(&self, cx: &PrepareContext<'_>) -> Prepared {
        let gather = Broadcast::new(&cx.types.inputs[0].shape, &cx.types.outputs[0].shape);
        Ok(Box::new(CopyKernel::gathered(&cx.types, gather, 0)))
    }
}
