//! Convolutions: by cuDNN, and by generated kernels where the input has few channels.

mod reversed;
mod small_channel_conv;

use super::{Libraries, LoweredOp, LoweringContext};
use crate::dnn::Convolution;
use crate::kernel_source::Binding;
use crate::shared::Shared;
use reversed::Reversed;
use small_channel_conv::SmallChannelConv;
use spikelet_graph::Result;
use spikelet_graph::op::Conv;

fn convolution(op: &Conv, cx: &LoweringContext<'_>) -> Convolution {
    Convolution {
        op: op.clone(),
        sizes: op.sizes(&cx.inputs),
        operands: cx.inputs[0].dtype,
        result: cx.outputs[0].dtype,
    }
}

pub(crate) fn lower(
    op: &Conv,
    shared: &Shared,
    cx: &LoweringContext<'_>,
) -> Result<Vec<LoweredOp>> {
    if let Some(kernels) = SmallChannelConv::of(op, cx) {
        return Ok(kernels
            .kernels(op, cx)
            .into_iter()
            .map(LoweredOp::Kernel)
            .collect());
    }
    let convolution = convolution(op, cx);
    if let Some(reversed) = Reversed::of(&convolution, shared) {
        return reversed.lower(shared, cx);
    }
    Ok(vec![LoweredOp::Conv {
        call: shared.dnn.call(&convolution)?,
        a: Binding::Read(0),
        b: Binding::Read(1),
        workspace: 0,
    }])
}

/// The kernels of a convolution of few channels; empty for others.
#[cfg(test)]
pub(crate) fn small_channel_kernels(
    op: &Conv,
    cx: &LoweringContext<'_>,
) -> Vec<crate::kernel_source::KernelSource> {
    SmallChannelConv::of(op, cx).map_or(vec![], |kernels| kernels.kernels(op, cx))
}

/// The workspace of a convolution of few channels; 0 for others.
#[cfg(test)]
pub(crate) fn small_channel_workspace(op: &Conv, cx: &LoweringContext<'_>) -> usize {
    SmallChannelConv::of(op, cx).map_or(0, |kernels| kernels.workspace(op))
}

/// The workspace of a convolution, in bytes.
pub(crate) fn workspace(op: &Conv, libraries: &dyn Libraries, cx: &LoweringContext<'_>) -> usize {
    if let Some(kernels) = SmallChannelConv::of(op, cx) {
        return kernels.workspace(op);
    }
    let convolution = convolution(op, cx);
    match Reversed::of(&convolution, libraries) {
        Some(reversed) => reversed.workspace(libraries),
        None => libraries.convolution_workspace(&convolution),
    }
}
