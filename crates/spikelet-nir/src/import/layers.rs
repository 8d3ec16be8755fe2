//! Nodes without a potential: weights, pooling, delays.

use super::super::error::NirError;
use super::part::{Built, Padded, Part, SumPool};
use crate::graph::{Conv, NodeKind, NodeShape, Padding, Pool, Sizes};
use spikelet_graph::Tensor;
use spikelet_nn::layer::{AvgPool2d, Conv as ConvLayer, FixedDelay, Linear, Reshape};
use spikelet_weights::Tensor as NirTensor;

/// The part of a node that is no neuron.
pub(super) fn build(
    path: &str,
    kind: &NodeKind,
    shape: &NodeShape,
    dt: f64,
) -> Result<Built, NirError> {
    match kind {
        NodeKind::Affine(affine) => Ok(product(&affine.weight, Some(&affine.bias))),
        NodeKind::Linear(linear) => Ok(product(&linear.weight, None)),
        NodeKind::Scale(scale) => Ok(Built {
            part: Part::Scale {
                shape: scale.scale.shape().to_vec(),
            },
            tensors: vec![("scale", tensor(&scale.scale))],
        }),
        NodeKind::Conv1d(conv) => {
            let layer = convolution::<1>(path, conv)?;
            Ok(with_weights(Part::Conv1d(layer), conv))
        }
        NodeKind::Conv2d(conv) => {
            let layer = convolution::<2>(path, conv)?;
            Ok(with_weights(Part::Conv2d(layer), conv))
        }
        NodeKind::AvgPool2d(pool) => Ok(Built::new(Part::AvgPool(average(path, pool)?))),
        NodeKind::SumPool2d(pool) => Ok(Built::new(Part::SumPool(SumPool {
            kernel: sizes(path, "kernel_size", &pool.kernel_size)?,
            stride: sizes(path, "stride", &pool.stride)?,
            padding: sizes(path, "padding", &pool.padding)?,
        }))),
        NodeKind::Flatten(_) => {
            let reshape = Reshape::new(shape.output.clone());
            Ok(Built::new(Part::Reshape(reshape)))
        }
        NodeKind::Delay(delay) => delayed(path, &delay.delay, &shape.input, dt),
        other => Err(NirError::node(
            path,
            format!("nodes of type {} are not layers", other.name()),
            "import the graph that the node is in",
        )),
    }
}

/// The values of a parameter.
fn tensor(given: &NirTensor) -> Tensor {
    Tensor::f64(given.shape(), given.to_f64())
}

fn product(weight: &NirTensor, bias: Option<&NirTensor>) -> Built {
    let part = match *weight.shape() {
        [outputs, inputs] => Part::Linear(Linear::new(inputs, outputs).bias(bias.is_some())),
        ref shape => Part::Products {
            weight: shape.to_vec(),
            bias: bias.is_some(),
        },
    };
    let weight = [("weight", tensor(weight))].into_iter();
    let bias = bias.map(|bias| ("bias", tensor(bias)));
    Built {
        part,
        tensors: weight.chain(bias).collect(),
    }
}

fn with_weights(part: Part, conv: &Conv) -> Built {
    Built {
        part,
        tensors: vec![
            ("weight", tensor(&conv.weight)),
            ("bias", tensor(&conv.bias)),
        ],
    }
}

/// Sizes of N axes.
fn sizes<const N: usize>(path: &str, name: &str, sizes: &Sizes) -> Result<[usize; N], NirError> {
    let axes = sizes.axes::<N>().map(|axes| axes.map(usize::try_from));
    match axes {
        Some(axes) if axes.iter().all(Result::is_ok) => Ok(axes.map(|axis| axis.unwrap_or(0))),
        _ => Err(NirError::node(
            path,
            format!("`{name}` is {sizes:?}; expected {N} sizes"),
            "give a number, or one for each axis",
        )),
    }
}

fn convolution<const N: usize>(
    path: &str,
    conv: &Conv,
) -> Result<Padded<ConvLayer<N>, N>, NirError> {
    let wrong = || {
        NirError::node(
            path,
            format!("`weight` has the shape {:?}", conv.weight.shape()),
            "give the weight the shape [out, in / groups, kernel…]",
        )
    };
    let &[outputs, per_group, ref kernel @ ..] = conv.weight.shape() else {
        return Err(wrong());
    };
    let kernel: [usize; N] = kernel.try_into().map_err(|_| wrong())?;
    let dilation = sizes::<N>(path, "dilation", &conv.dilation)?;
    let groups = usize::try_from(conv.groups).map_err(|_| wrong())?;
    let mut zeros = [[0; 2]; N];
    let padding = match &conv.padding {
        Padding::Sizes(given) => sizes::<N>(path, "padding", given)?,
        Padding::Valid => [0; N],
        Padding::Same => std::array::from_fn(|axis| {
            let all = dilation[axis] * (kernel[axis] - 1);
            // The odd one is behind.
            zeros[axis] = [0, all % 2];
            all / 2
        }),
    };
    let layer = ConvLayer {
        kernel,
        stride: sizes::<N>(path, "stride", &conv.stride)?,
        padding,
        dilation,
        ..ConvLayer::new(per_group * groups, outputs, kernel)
    };
    let layer = layer.groups(groups).bias(true);
    Ok(Padded { layer, zeros })
}

fn average(path: &str, pool: &Pool) -> Result<Padded<AvgPool2d, 2>, NirError> {
    let kernel = sizes::<2>(path, "kernel_size", &pool.kernel_size)?;
    let stride = sizes::<2>(path, "stride", &pool.stride)?;
    let padding = sizes::<2>(path, "padding", &pool.padding)?;
    Ok(Padded {
        layer: AvgPool2d::new(kernel).stride(stride),
        zeros: padding.map(|zeros| [zeros; 2]),
    })
}

/// The longest delay in steps.
const MOST: f64 = 65536.0;

fn delayed(path: &str, delay: &NirTensor, shape: &[usize], dt: f64) -> Result<Built, NirError> {
    let times = delay.to_f64();
    let count: usize = shape.iter().product();
    let steps: Vec<f64> = (0..count)
        .map(|k| (times[k % times.len()] / dt).round_ties_even())
        .collect();
    if let Some(wrong) = steps.iter().find(|steps| !(0.0..=MOST).contains(*steps)) {
        return Err(NirError::node(
            path,
            format!("a delay is {wrong} steps of {dt}; expected 0 to {MOST} steps"),
            "give the length of a step in the units of the delays, or a larger one",
        ));
    }
    let layer = FixedDelay::new(steps.iter().map(|n| *n as usize).collect::<Vec<_>>());
    let differ = layer.delays.len() > 1;
    let buffer = differ.then(|| ("delay", Tensor::f64(shape, steps)));
    Ok(Built {
        part: Part::Delay(layer),
        tensors: buffer.into_iter().collect(),
    })
}
