//! Layers and containers.

use super::super::choices::FeedbackFrom;
use super::super::error::NirError;
use super::writer::Writer;
use super::{batch_norm, graph_module, neurons, refused};
use crate::graph::{
    Affine, Conv as ConvNode, Delay, Flatten as FlattenNode, Linear as LinearNode, NodeKind,
    Padding, Pool as PoolNode, Scale, Sizes,
};
use spikelet_core::Result;
use spikelet_graph::op::{Pooling, Window};
use spikelet_nn::layer::{Join, NeuronLayerParts, Recurrent};
use spikelet_nn::module::{ConvDescription, Description, Module};
use spikelet_nn::neuron::Neuron;
use spikelet_weights::Tensor;

/// Adds the nodes of a module, which has this path in the network.
pub(super) fn add(writer: &mut Writer<'_>, path: &str, module: &dyn Module) -> Result<()> {
    let description = module.describe();
    if let Description::Sequence(modules) = description {
        let mut modules = modules.into_iter();
        return modules.try_for_each(|(name, module)| add(writer, &joined(path, name), module));
    }
    if let Some(readout) = writer.readout() {
        return Err(refused::behind_readout(path, readout).into());
    }
    match description {
        Description::Linear {
            inputs,
            outputs,
            bias,
            zero_diagonal,
        } => {
            if writer.shape != [inputs] {
                let expected = format!("[{inputs}]");
                return Err(refused::wrong_input(path, &writer.shape, &expected).into());
            }
            let kind = linear(writer, path, bias, zero_diagonal)?;
            writer.push(path, kind, vec![outputs]);
            Ok(())
        }
        Description::Conv(conv) if conv.kernel.len() < 3 => add_conv(writer, path, &conv),
        Description::Pool(pooling, &[height, width]) => {
            add_pool(writer, path, pooling, [height, width])
        }
        Description::BatchNorm {
            each_step: true, ..
        } => Err(refused::temporal_batch_norm(path).into()),
        Description::BatchNorm {
            channels,
            epsilon,
            scale,
            ..
        } => batch_norm::fold(writer, path, channels, epsilon, scale),
        Description::Flatten => {
            add_flatten(writer, path);
            Ok(())
        }
        Description::Reshape(shape) => add_reshape(writer, path, shape),
        Description::Identity => Ok(()),
        Description::Delay(delays) => add_delay(writer, path, delays),
        Description::Recurrent(recurrent) => add_recurrent(writer, path, recurrent),
        Description::NeuronLayer(parts) => add_neuron_layer(writer, path, &parts),
        Description::Branches(branches, Join::Add) => add_sum(writer, path, branches),
        Description::Branches(_, join) => Err(refused::join(path, join).into()),
        Description::Scale(factor) => add_scale(writer, path, factor),
        Description::Voting(votes) => add_voting(writer, path, votes),
        Description::Readout => {
            writer.read_out(path, module.tree().kind().to_string());
            Ok(())
        }
        Description::Neuron(neuron) => neurons::add(writer, path, neuron).map(drop),
        Description::Other(any) => match any.downcast_ref() {
            Some(graph) => graph_module::add(writer, path, graph),
            None => Err(refused::module(path, module.tree().kind()).into()),
        },
        _ => Err(refused::module(path, module.tree().kind()).into()),
    }
}

/// The path of a child.
fn joined(path: &str, child: &str) -> String {
    match (path, child) {
        ("", child) => child.to_string(),
        (path, "") => path.to_string(),
        (path, child) => format!("{path}.{child}"),
    }
}

/// The means of a class as a product with weights 1/votes.
fn add_voting(writer: &mut Writer<'_>, path: &str, votes: usize) -> Result<()> {
    let (shape, votes) = (writer.shape.clone(), votes.max(1));
    let &[features] = &shape[..] else {
        return Err(refused::wrong_input(path, &shape, "[features]").into());
    };
    let classes = features / votes;
    let share = 1.0 / votes as f32;
    let of = |k: usize| match k % features / votes == k / features {
        true => share,
        false => 0.0,
    };
    let values: Vec<f32> = (0..classes * features).map(of).collect();
    let weight = Tensor::from_f32(&[classes, features], &values).map_err(NirError::from)?;
    let kind = NodeKind::Linear(LinearNode { weight });
    writer.push(path, kind, vec![classes]);
    Ok(())
}

/// Adds both branches; their outputs are added where their edges end at the same node.
fn add_sum(
    writer: &mut Writer<'_>,
    path: &str,
    branches: [(&str, Option<&dyn Module>); 2],
) -> Result<()> {
    let before = writer.sources();
    let mut ends = vec![];
    for (name, branch) in branches {
        writer.continue_from(before.clone());
        if let Some(branch) = branch {
            add(writer, &joined(path, name), branch)?;
        }
        ends.push(writer.sources());
    }
    let (mut sources, shape) = ends.swap_remove(0);
    for (others, _) in ends {
        for other in others {
            if sources.contains(&other) {
                return Err(refused::twice(path).into());
            }
            sources.push(other);
        }
    }
    writer.continue_from((sources, shape));
    Ok(())
}

fn add_scale(writer: &mut Writer<'_>, path: &str, factor: Option<f64>) -> Result<()> {
    let shape = writer.shape.clone();
    let factors = match factor {
        Some(factor) => vec![factor],
        None => writer.tensor(path, "scale")?.to_f64(),
    };
    let count: usize = shape.iter().product();
    let of = |k: usize| factors[k * factors.len() / count.max(1)] as f32;
    let values: Vec<f32> = (0..count).map(of).collect();
    let scale = Tensor::from_f32(&shape, &values).map_err(NirError::from)?;
    writer.push(path, NodeKind::Scale(Scale { scale }), shape);
    Ok(())
}

fn integers(sizes: &[usize]) -> Sizes {
    Sizes::Each(sizes.iter().map(|&size| size as i64).collect())
}

/// The sizes of a convolution: numbers for one axis, as the package `nir` writes them.
fn conv_sizes(sizes: &[usize]) -> Sizes {
    match sizes {
        [size] => Sizes::All(*size as i64),
        sizes => integers(sizes),
    }
}

/// The size of an axis after windows.
fn windows(size: usize, padding: usize, span: usize, stride: usize) -> Option<usize> {
    Some((size + 2 * padding).checked_sub(span)? / stride.max(1) + 1)
}

fn add_conv(writer: &mut Writer<'_>, path: &str, conv: &ConvDescription<'_>) -> Result<()> {
    let (shape, axes) = (writer.shape.clone(), conv.kernel.len());
    let expected = || {
        let expected = format!("[{}] and {axes} sizes", conv.inputs);
        refused::wrong_input(path, &shape, &expected)
    };
    if shape.len() != axes + 1 || shape[0] != conv.inputs {
        return Err(expected().into());
    }
    let mut output = vec![conv.outputs];
    for axis in 0..axes {
        let span = conv.dilation[axis] * (conv.kernel[axis] - 1) + 1;
        let size = windows(shape[1 + axis], conv.padding[axis], span, conv.stride[axis]);
        output.push(size.ok_or_else(expected)?);
    }
    let weight = writer.parameter(path, "weight")?;
    let bias = match conv.bias {
        true => writer.parameter(path, "bias")?,
        false => {
            Tensor::from_f32(&[conv.outputs], &vec![0.0; conv.outputs]).map_err(NirError::from)?
        }
    };
    let node = ConvNode {
        input_shape: conv_sizes(&shape[1..]),
        weight,
        stride: conv_sizes(conv.stride),
        padding: Padding::Sizes(conv_sizes(conv.padding)),
        dilation: conv_sizes(conv.dilation),
        groups: conv.groups as i64,
        bias,
    };
    let kind = match axes {
        1 => NodeKind::Conv1d(node),
        _ => NodeKind::Conv2d(node),
    };
    writer.push(path, kind, output);
    Ok(())
}

fn add_pool(
    writer: &mut Writer<'_>,
    path: &str,
    pooling: Pooling,
    sizes: [Window; 2],
) -> Result<()> {
    if pooling == Pooling::Max {
        return Err(refused::max_pooling(path).into());
    }
    let shape = writer.shape.clone();
    let &[channels, height, width] = &shape[..] else {
        return Err(refused::wrong_input(path, &shape, "[C, H, W]").into());
    };
    let (mut kernels, mut strides, mut paddings) = (vec![], vec![], vec![]);
    let mut output = vec![channels];
    for (size, window) in [height, width].into_iter().zip(sizes) {
        let Window::Sliding {
            kernel,
            stride,
            padding,
            ceil,
            ..
        } = window
        else {
            return Err(refused::adaptive_pooling(path).into());
        };
        let counts = pooling
            == Pooling::Average {
                count_padding: true,
            };
        if ceil || (padding > 0 && !counts) {
            return Err(refused::pooling(path).into());
        }
        let size = windows(size, padding, kernel, stride);
        output.push(size.ok_or_else(|| refused::wrong_input(path, &shape, "at least a window"))?);
        kernels.push(kernel);
        strides.push(stride);
        paddings.push(padding);
    }
    let node = PoolNode {
        kernel_size: integers(&kernels),
        stride: integers(&strides),
        padding: integers(&paddings),
    };
    writer.push(path, NodeKind::AvgPool2d(node), output);
    Ok(())
}

fn add_flatten(writer: &mut Writer<'_>, path: &str) {
    let node = FlattenNode {
        start_dim: 0,
        end_dim: -1,
        input_type: Some(writer.shape.clone()),
    };
    let features = writer.shape.iter().product();
    writer.push(path, NodeKind::Flatten(node), vec![features]);
}

fn add_reshape(writer: &mut Writer<'_>, path: &str, shape: &[usize]) -> Result<()> {
    match *shape {
        _ if shape == writer.shape => Ok(()),
        [features] if features == writer.shape.iter().product::<usize>() => {
            add_flatten(writer, path);
            Ok(())
        }
        _ => Err(refused::reshape(path, &writer.shape, shape).into()),
    }
}

fn add_delay(writer: &mut Writer<'_>, path: &str, delays: &[usize]) -> Result<()> {
    let shape = writer.shape.clone();
    let count = shape.iter().product();
    let steps = match *delays {
        [all] => vec![all as f64; count],
        _ => writer.tensor(path, "delay")?.to_f64(),
    };
    let times: Vec<f64> = steps
        .iter()
        .map(|steps| steps * writer.options.dt)
        .collect();
    let delay = Tensor::from_f64(&shape, &times).map_err(NirError::from)?;
    writer.push(path, NodeKind::Delay(Delay { delay }), shape);
    Ok(())
}

/// A neuron whose spikes are fed back through weights.
fn add_recurrent(writer: &mut Writer<'_>, path: &str, recurrent: &Recurrent) -> Result<()> {
    if !recurrent.feeds_outputs() {
        return Err(refused::recurrent(path).into());
    }
    let neuron_path = joined(path, "neuron");
    let Description::Neuron(neuron) = recurrent.neuron().describe() else {
        return Err(refused::module(&neuron_path, recurrent.neuron().tree().kind()).into());
    };
    let name = neurons::add(writer, &neuron_path, neuron)?;
    add_feedback(writer, path, &name, recurrent.feedback())?;
    if recurrent.returns_last() {
        writer.read_out(path, "TimeLast".to_string());
    }
    Ok(())
}

/// Weights, normalization, neuron and feedback of a layer. Dropout does nothing in evaluation.
fn add_neuron_layer(
    writer: &mut Writer<'_>,
    path: &str,
    parts: &NeuronLayerParts<&dyn Neuron>,
) -> Result<()> {
    if parts.bidirectional {
        return Err(refused::bidirectional(path).into());
    }
    add(writer, &joined(path, "linear"), &parts.linear)?;
    if let Some(norm) = &parts.norm {
        add(writer, &joined(path, "norm"), norm)?;
    }
    let name = neurons::add(writer, &joined(path, "neuron"), parts.neuron)?;
    match &parts.feedback {
        Some(feedback) => add_feedback(writer, path, &name, feedback),
        None => Ok(()),
    }
}

/// The weights of the layer `path` on the way back to its neuron, the node `name`.
fn add_feedback(
    writer: &mut Writer<'_>,
    path: &str,
    name: &str,
    feedback: &dyn Module,
) -> Result<()> {
    let feedback_path = joined(path, "feedback");
    let Description::Linear {
        bias,
        zero_diagonal,
        ..
    } = feedback.describe()
    else {
        return Err(refused::module(&feedback_path, feedback.tree().kind()).into());
    };
    let kind = linear(writer, &feedback_path, bias, zero_diagonal)?;
    let back = writer.insert(&feedback_path, kind);
    writer.cycle(&feedback_path, FeedbackFrom::Source)?;
    writer.connect(name, &back);
    writer.connect(&back, name);
    Ok(())
}

/// The node of a linear layer.
fn linear(writer: &Writer<'_>, path: &str, bias: bool, zero_diagonal: bool) -> Result<NodeKind> {
    let mut weight = writer.tensor(path, "weight")?;
    if zero_diagonal {
        let (mut values, size) = (weight.to_f64(), weight.shape[0]);
        for k in 0..size {
            values[k * size + k] = 0.0;
        }
        let dtype = weight.ty().dtype;
        weight = spikelet_graph::Tensor::f64(weight.shape.clone(), values).cast(dtype);
    }
    let weight = super::writer::parameter(&weight)?;
    Ok(match bias {
        true => NodeKind::Affine(Affine {
            weight,
            bias: writer.parameter(path, "bias")?,
        }),
        false => NodeKind::Linear(LinearNode { weight }),
    })
}
