//! `{ conv = 128, kernel = 3, padding = 1 }`, `{ conv-transposed = 64, kernel = 2, stride = 2 }`. `inputs` is the
//! expected number of input channels.

use super::keys::{BIAS, BIAS_INIT, DILATION, GROUPS, INIT, INPUTS, KERNEL, PADDING, STRIDE, key};
use super::{Kind, MainValue};
use crate::layer::{Conv, ConvTransposed};
use crate::module::Module;
use crate::network::Layers;
use crate::network::build::Builder;
use crate::network::layer_fields::LayerFields;
use crate::network::problem::NetworkProblem;
use spikelet_core::document::Located;
use std::sync::Arc;

pub(super) const CONV: Kind = Kind {
    name: "conv",
    types: &["Conv1d", "Conv2d", "Conv3d"],
    summary: "convolution over one, two or three axes",
    main: MainValue::Required(key!(out_channels: "integer", "the number of output channels")),
    keys: &[
        INPUTS, KERNEL, STRIDE, PADDING, DILATION, GROUPS, BIAS, INIT, BIAS_INIT,
    ],
    example: (&[4, 6, 6], "{ conv = 3, kernel = 3 }"),
    build: |layer, b| match b.spatial_axes("conv")? {
        1 => conv::<1>(layer, b),
        2 => conv::<2>(layer, b),
        _ => conv::<3>(layer, b),
    },
};

pub(super) const CONV_TRANSPOSED: Kind = Kind {
    name: "conv-transposed",
    types: &["ConvTransposed1d", "ConvTransposed2d", "ConvTransposed3d"],
    summary: "transposed convolution over one, two or three axes",
    main: MainValue::Required(key!(out_channels: "integer", "the number of output channels")),
    keys: &[
        INPUTS,
        KERNEL,
        STRIDE,
        PADDING,
        key!(output_padding: "sizes" = "0", "the elements that are added at the end of each axis of the output"),
        DILATION,
        GROUPS,
        BIAS,
        INIT,
        BIAS_INIT,
    ],
    example: (&[4, 6, 6], "{ conv-transposed = 3, kernel = 3 }"),
    build: |layer, b| match b.spatial_axes("conv-transposed")? {
        1 => conv_transposed::<1>(layer, b),
        2 => conv_transposed::<2>(layer, b),
        _ => conv_transposed::<3>(layer, b),
    },
};

/// The settings of a convolution of the current input.
fn settings<const D: usize>(layer: &LayerFields<'_>, b: &Builder) -> Result<Conv<D>, Located> {
    let inputs = b.shape[0];
    layer.expect_inputs(inputs)?;
    let outputs = layer
        .main()?
        .integer(layer.kind.name, 1..=Layers::MAX_SIZE)?;
    let array = |key, least| -> Result<Option<[usize; D]>, Located> {
        let sizes = layer.sizes(key, D, least)?;
        Ok(sizes.and_then(|sizes| sizes.try_into().ok()))
    };
    let fields = &layer.fields;
    let groups = fields.integer("groups", 1..=Layers::MAX_SIZE)?.unwrap_or(1);
    for (what, channels) in [("input", inputs), ("output", outputs)] {
        if !channels.is_multiple_of(groups) {
            let at = fields.get("groups").and_then(|node| node.span.clone());
            let whole = format!("the {channels} {what} channels");
            let problem = NetworkProblem::Divisor {
                what: "groups",
                parts: groups,
                whole,
            };
            return Err(problem.at(at));
        }
    }
    fields.require("kernel", "the size of the window")?;
    let mut conv = Conv::new(inputs, outputs, array("kernel", 1)?.unwrap_or([1; D]));
    conv.stride = array("stride", 1)?.unwrap_or(conv.stride);
    conv.padding = array("padding", 0)?.unwrap_or(conv.padding);
    conv.dilation = array("dilation", 1)?.unwrap_or(conv.dilation);
    conv.groups = groups;
    conv.bias = fields.flag("bias")?.unwrap_or(false);
    let sizes = conv.kernel.iter();
    let fan_out = sizes.fold(outputs, |all, &n| all.saturating_mul(n));
    [conv.weight_init, conv.bias_init] = layer.inits(fan_out)?;
    Ok(conv)
}

/// The weights between one channel of one side and the channels of its group on the other.
pub(super) fn window<const D: usize>(conv: &Conv<D>, channels: usize) -> Option<usize> {
    let mut kernel = conv.kernel.iter();
    kernel.try_fold(channels / conv.groups, |all, &n| all.checked_mul(n))
}

/// As [`settings`], with a window that is not larger than the padded input.
pub(super) fn fitting<const D: usize>(
    layer: &LayerFields<'_>,
    b: &Builder,
) -> Result<Conv<D>, Located> {
    let conv = settings::<D>(layer, b)?;
    b.expect_window(&conv.kernel, &conv.dilation, &conv.padding)?;
    Ok(conv)
}

fn conv<const D: usize>(
    layer: &LayerFields<'_>,
    b: &mut Builder,
) -> Result<Arc<dyn Module>, Located> {
    let conv = fitting::<D>(layer, b)?;
    let window = window(&conv, conv.inputs);
    let weights = window.and_then(|window| window.checked_mul(conv.outputs));
    b.leaf("conv", conv, weights, |elements| {
        window?.checked_mul(elements)
    })
}

fn conv_transposed<const D: usize>(
    layer: &LayerFields<'_>,
    b: &mut Builder,
) -> Result<Arc<dyn Module>, Located> {
    let conv = settings::<D>(layer, b)?;
    let window = window(&conv, conv.outputs);
    let weights = window.and_then(|window| window.checked_mul(conv.inputs));
    let mut transposed = ConvTransposed::new(conv);
    let padding = layer.sizes("output_padding", D, 0)?;
    if let Some(padding) = padding.and_then(|sizes| sizes.try_into().ok()) {
        transposed.output_padding = padding;
    }
    let inputs: usize = b.shape.iter().product();
    b.leaf("conv-transposed", transposed, weights, |_| {
        window?.checked_mul(inputs)
    })
}
