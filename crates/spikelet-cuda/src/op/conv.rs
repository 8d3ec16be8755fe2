//! Convolutions: by cuDNN, and by kernels of our own where the input has few channels.

mod thin;

use super::{LibraryWorkspaces, LoweredOp, LoweringContext};
use crate::backend::Shared;
use crate::dnn::{Convolution, Part};
use crate::kernel_source::Binding;
use spikelet_graph::Result;
use spikelet_graph::op::{Conv, ConvPart, MatmulPrecision};
use thin::Thin;

fn convolution(op: &Conv, site: &LoweringContext<'_>) -> Convolution {
    let sizes = op.sizes(&site.inputs);
    let image = |spatial: &[usize], channels: usize| -> Vec<usize> {
        let mut shape = vec![sizes.batch];
        shape.extend(spatial);
        shape.push(channels);
        shape
    };
    let mut w = vec![sizes.outputs];
    w.extend(&sizes.kernel);
    w.push(sizes.inputs / op.groups);
    Convolution {
        part: match op.part {
            ConvPart::Forward => Part::Forward,
            ConvPart::Input => Part::Input,
            ConvPart::Weight => Part::Weight,
        },
        x: image(&sizes.x, sizes.inputs),
        w,
        y: image(&sizes.y, sizes.outputs),
        stride: op.stride.clone(),
        padding: op.padding.clone(),
        dilation: op.dilation.clone(),
        groups: op.groups,
        operands: site.inputs[0].dtype,
        result: site.outputs[0].dtype,
        tf32: op.precision == MatmulPrecision::Tf32,
    }
}

pub(crate) fn work(
    op: &Conv,
    shared: &Shared,
    site: &LoweringContext<'_>,
) -> Result<Vec<LoweredOp>> {
    if let Some(thin) = Thin::of(op, site) {
        return Ok(thin
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

/// The device code of a convolution of few channels; none for others.
#[cfg(test)]
pub(crate) fn thin_pieces(
    op: &Conv,
    site: &LoweringContext<'_>,
) -> Vec<crate::kernel_source::KernelSource> {
    Thin::of(op, site).map_or(vec![], |thin| thin.pieces(op, site))
}

/// The scratch memory of a convolution of few channels; none for others.
#[cfg(test)]
pub(crate) fn thin_workspace(op: &Conv, site: &LoweringContext<'_>) -> usize {
    Thin::of(op, site).map_or(0, |thin| thin.workspace(op))
}

/// Scratch memory of a convolution, in bytes.
pub(crate) fn workspace(
    op: &Conv,
    libraries: &dyn LibraryWorkspaces,
    site: &LoweringContext<'_>,
) -> usize {
    match Thin::of(op, site) {
        Some(thin) => thin.workspace(op),
        None => libraries.of_convolution(&convolution(op, site)),
    }
}
