//! Layers and containers.

use super::super::choices::FeedbackFrom;
use super::super::error::NirError;
use super::super::import::GraphModule;
use super::writer::Writer;
use super::{batch_norm, graph_module, neurons, refused};
use spikelet_core::Result;
use spikelet_graph::op::{Pooling, Window};
use spikelet_nir::{
    Affine, Conv as ConvNode, Delay, Flatten as FlattenNode, Linear as LinearNode, NodeKind,
    Padding, Pool as PoolNode, Scale, Sizes, Tensor,
};
use spikelet_nn::layer::{
    BatchNorm1d, BatchNorm2d, Conv, Dropout, Dropout2d, Feedback, FixedDelay, Flatten, Join,
    Linear, NeuronLayerParts, Pool2d, Recurrent, Reshape, Residual, Rnn, Scale as ScaleLayer,
    SoftmaxSum, TimeLast, TimeMax, TimeMean, TimeSum, Voting, neuron_layer_parts,
};
use spikelet_nn::module::Module;
use std::any::Any;

/// Adds the nodes of a module, which has this path in the network.
pub(super) fn add(writer: &mut Writer<'_>, path: &str, module: &dyn Module) -> Result<()> {
    let Some(any) = module.as_any() else {
        let chain = module.chain();
        if chain.is_empty() && module.tree().kind() != "Sequential" {
            return Err(refused::module(path, &module.tree()).into());
        }
        for (name, child) in chain {
            add(writer, &joined(path, &name), &*child)?;
        }
        return Ok(());
    };
    if let Some(readout) = writer.readout() {
        return Err(refused::behind_readout(path, readout).into());
    }
    if let Some(linear) = any.downcast_ref::<Linear>() {
        add_linear(writer, path, linear)
    } else if let Some(conv) = any.downcast_ref::<Conv<1>>() {
        add_conv(writer, path, conv)
    } else if let Some(conv) = any.downcast_ref::<Conv<2>>() {
        add_conv(writer, path, conv)
    } else if let Some(pool) = any.downcast_ref::<Pool2d>() {
        add_pool(writer, path, pool)
    } else if let Some(norm) = any.downcast_ref::<BatchNorm1d>() {
        batch_norm::fold(writer, path, norm)
    } else if let Some(norm) = any.downcast_ref::<BatchNorm2d>() {
        batch_norm::fold(writer, path, norm)
    } else if any.is::<Flatten>() {
        add_flatten(writer, path);
        Ok(())
    } else if let Some(reshape) = any.downcast_ref::<Reshape>() {
        add_reshape(writer, path, reshape)
    } else if any.is::<Dropout>() || any.is::<Dropout2d>() {
        // Does nothing in evaluation.
        Ok(())
    } else if let Some(delay) = any.downcast_ref::<FixedDelay>() {
        add_delay(writer, path, delay)
    } else if let Some(rnn) = any.downcast_ref::<Rnn>() {
        add_linear(writer, &joined(path, "input"), rnn.input())?;
        add_recurrent(writer, path, rnn.recurrent())
    } else if let Some(recurrent) = any.downcast_ref::<Recurrent>() {
        add_recurrent(writer, path, recurrent)
    } else if let Some(parts) = neuron_layer_parts(any) {
        add_neuron_layer(writer, path, &parts)
    } else if let Some(residual) = any.downcast_ref::<Residual>() {
        add_residual(writer, path, residual)
    } else if let Some(scale) = any.downcast_ref::<ScaleLayer>() {
        add_scale(writer, path, scale)
    } else if let Some(voting) = any.downcast_ref::<Voting>() {
        add_voting(writer, path, voting)
    } else if let Some(graph) = any.downcast_ref::<GraphModule>() {
        graph_module::add(writer, path, graph)
    } else if is_readout(any) {
        writer.read_out(path, module.tree().kind().to_string());
        Ok(())
    } else {
        neurons::add(writer, path, module, any).map(drop)
    }
}

/// Whether a module reduces time to one step.
fn is_readout(any: &dyn Any) -> bool {
    any.is::<TimeSum>()
        || any.is::<TimeMean>()
        || any.is::<TimeMax>()
        || any.is::<TimeLast>()
        || any.is::<SoftmaxSum>()
}

/// The path of a child.
fn joined(path: &str, child: &str) -> String {
    match (path, child) {
        ("", child) => child.to_string(),
        (path, "") => path.to_string(),
        (path, child) => format!("{path}.{child}"),
    }
}

fn add_linear(writer: &mut Writer<'_>, path: &str, linear: &Linear) -> Result<()> {
    if writer.shape != [linear.inputs] {
        let expected = format!("[{}]", linear.inputs);
        return Err(refused::wrong_input(path, &writer.shape, &expected).into());
    }
    let weight = writer.parameter(path, "weight")?;
    let kind = match linear.bias {
        true => NodeKind::Affine(Affine {
            weight,
            bias: writer.parameter(path, "bias")?,
        }),
        false => NodeKind::Linear(LinearNode { weight }),
    };
    writer.push(path, kind, vec![linear.outputs]);
    Ok(())
}

/// The means of a class as a product with weights 1/votes.
fn add_voting(writer: &mut Writer<'_>, path: &str, voting: &Voting) -> Result<()> {
    let (shape, votes) = (writer.shape.clone(), voting.votes.max(1));
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
fn add_residual(writer: &mut Writer<'_>, path: &str, layer: &Residual) -> Result<()> {
    if layer.joined_by() != Join::Add {
        return Err(refused::join(path, layer.joined_by()).into());
    }
    let before = writer.sources();
    let mut ends = vec![];
    for (name, branch) in layer.branches() {
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

fn add_scale(writer: &mut Writer<'_>, path: &str, layer: &ScaleLayer) -> Result<()> {
    let shape = writer.shape.clone();
    let factors = match layer.channels {
        Some(_) => writer.tensor(path, "scale")?.to_f64(),
        None => vec![layer.factor],
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

fn add_conv<const D: usize>(writer: &mut Writer<'_>, path: &str, conv: &Conv<D>) -> Result<()> {
    let shape = writer.shape.clone();
    let expected =
        || refused::wrong_input(path, &shape, &format!("[{}] and {D} sizes", conv.inputs));
    if shape.len() != D + 1 || shape[0] != conv.inputs {
        return Err(expected().into());
    }
    let mut output = vec![conv.outputs];
    for axis in 0..D {
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
        stride: conv_sizes(&conv.stride),
        padding: Padding::Sizes(conv_sizes(&conv.padding)),
        dilation: conv_sizes(&conv.dilation),
        groups: conv.groups as i64,
        bias,
    };
    let kind = match D {
        1 => NodeKind::Conv1d(node),
        _ => NodeKind::Conv2d(node),
    };
    writer.push(path, kind, output);
    Ok(())
}

fn add_pool(writer: &mut Writer<'_>, path: &str, pool: &Pool2d) -> Result<()> {
    if pool.pooling() == Pooling::Max {
        return Err(refused::max_pooling(path).into());
    }
    let shape = writer.shape.clone();
    let &[channels, height, width] = &shape[..] else {
        return Err(refused::wrong_input(path, &shape, "[C, H, W]").into());
    };
    let (mut kernels, mut strides, mut paddings) = (vec![], vec![], vec![]);
    let mut output = vec![channels];
    for (size, window) in [height, width].into_iter().zip(pool.windows()) {
        let &Window::Sliding {
            kernel,
            stride,
            padding,
            ceil,
            ..
        } = window
        else {
            return Err(refused::adaptive_pooling(path).into());
        };
        let counts = pool.pooling()
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

fn add_reshape(writer: &mut Writer<'_>, path: &str, reshape: &Reshape) -> Result<()> {
    match reshape.shape[..] {
        _ if reshape.shape == writer.shape => Ok(()),
        [features] if features == writer.shape.iter().product::<usize>() => {
            add_flatten(writer, path);
            Ok(())
        }
        _ => Err(refused::reshape(path, &writer.shape, &reshape.shape).into()),
    }
}

fn add_delay(writer: &mut Writer<'_>, path: &str, delay: &FixedDelay) -> Result<()> {
    let shape = writer.shape.clone();
    let count = shape.iter().product();
    let steps = match delay.delays[..] {
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
    let name = add_neuron(writer, path, recurrent.neuron())?;
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
    parts: &NeuronLayerParts<&dyn Module>,
) -> Result<()> {
    if parts.bidirectional {
        return Err(refused::bidirectional(path).into());
    }
    add_linear(writer, &joined(path, "linear"), &parts.linear)?;
    if let Some(norm) = &parts.norm {
        batch_norm::fold(writer, &joined(path, "norm"), norm)?;
    }
    let name = add_neuron(writer, path, parts.neuron)?;
    match &parts.feedback {
        Some(feedback) => add_feedback(writer, path, &name, feedback),
        None => Ok(()),
    }
}

/// The neuron of the layer `path`; returns the name of its node.
fn add_neuron(writer: &mut Writer<'_>, path: &str, neuron: &dyn Module) -> Result<String> {
    let path = joined(path, "neuron");
    match neuron.as_any() {
        Some(any) => neurons::add(writer, &path, neuron, any),
        None => Err(refused::module(&path, &neuron.tree()).into()),
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
    let kind = match feedback.as_any() {
        Some(any) => feedback_node(writer, &feedback_path, any)?,
        None => None,
    };
    let Some(kind) = kind else {
        return Err(refused::module(&feedback_path, &feedback.tree()).into());
    };
    let back = writer.insert(&feedback_path, kind);
    writer.cycle(&feedback_path, FeedbackFrom::Source)?;
    writer.connect(name, &back);
    writer.connect(&back, name);
    Ok(())
}

/// The weights on the way back, if they are those of a linear layer.
fn feedback_node(writer: &Writer<'_>, path: &str, any: &dyn Any) -> Result<Option<NodeKind>> {
    let (bias, zero_diagonal) = if let Some(linear) = any.downcast_ref::<Linear>() {
        (linear.bias, false)
    } else if let Some(feedback) = any.downcast_ref::<Feedback>() {
        (feedback.bias, feedback.zero_diagonal)
    } else {
        return Ok(None);
    };
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
    Ok(Some(match bias {
        true => NodeKind::Affine(Affine {
            weight,
            bias: writer.parameter(path, "bias")?,
        }),
        false => NodeKind::Linear(LinearNode { weight }),
    }))
}
