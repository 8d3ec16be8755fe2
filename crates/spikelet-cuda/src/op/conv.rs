//! Convolutions: by cuDNN, and by generated kernels where the input has few channels.

mod small_channel_conv;

use super::{LibraryWorkspaces, LoweredOp, LoweringContext};
use crate::dnn::Convolution;
use crate::kernel_source::Binding;
use crate::shared::Shared;
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
    Ok(vec![LoweredOp::Conv {
        call: shared.dnn.call(&convolution(op, cx))?,
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
pub(crate) fn workspace(
    op: &Conv,
    libraries: &dyn LibraryWorkspaces,
    cx: &LoweringContext<'_>,
) -> usize {
    match SmallChannelConv::of(op, cx) {
        Some(kernels) => kernels.workspace(op),
        None => libraries.convolution_workspace(&convolution(op, cx)),
    }
}
