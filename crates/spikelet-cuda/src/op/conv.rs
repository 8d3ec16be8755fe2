//! Convolutions: by cuDNN, and by generated kernels where the input has few channels.

mod small_channel_conv;

use super::{LibraryWorkspaces, LoweredOp, LoweringContext};
use crate::backend::Shared;
use crate::dnn::Convolution;
use crate::kernel_source::Binding;
use small_channel_conv::SmallChannelConv;
use spikelet_graph::Result;
use spikelet_graph::op::Conv;

fn convolution(op: &Conv, site: &LoweringContext<'_>) -> Convolution {
    Convolution {
        op: op.clone(),
        sizes: op.sizes(&site.inputs),
        operands: site.inputs[0].dtype,
        result: site.outputs[0].dtype,
    }
}

pub(crate) fn work(
    op: &Conv,
    shared: &Shared,
    site: &LoweringContext<'_>,
) -> Result<Vec<LoweredOp>> {
    if let Some(kernels) = SmallChannelConv::of(op, site) {
        return Ok(kernels
            .pieces(op, site)
            .into_iter()
            .map(LoweredOp::Kernel)
            .collect());
    }
    Ok(vec![LoweredOp::Conv {
        call: shared.dnn.call(&convolution(op, site))?,
        a: Binding::Read(0),
        b: Binding::Read(1),
        workspace: 0,
    }])
}

/// The kernels of a convolution of few channels; empty for others.
#[cfg(test)]
pub(crate) fn small_channel_pieces(
    op: &Conv,
    site: &LoweringContext<'_>,
) -> Vec<crate::kernel_source::KernelSource> {
    SmallChannelConv::of(op, site).map_or(vec![], |kernels| kernels.pieces(op, site))
}

/// The workspace of a convolution of few channels; 0 for others.
#[cfg(test)]
pub(crate) fn small_channel_workspace(op: &Conv, site: &LoweringContext<'_>) -> usize {
    SmallChannelConv::of(op, site).map_or(0, |kernels| kernels.workspace(op))
}

/// The workspace of a convolution, in bytes.
pub(crate) fn workspace(
    op: &Conv,
    libraries: &dyn LibraryWorkspaces,
    site: &LoweringContext<'_>,
) -> usize {
    match SmallChannelConv::of(op, site) {
        Some(kernels) => kernels.workspace(op),
        None => libraries.of_convolution(&convolution(op, site)),
    }
}
