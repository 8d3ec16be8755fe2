//! Shapes of the parameters of a node, and their values.

use crate::graph::error::{ErrorKind, Result};
use crate::graph::forward::axes;
use crate::graph::warning::Warning;
use crate::graph::{Affine, Conv, Linear, Node, NodeKind, Padding, Parameter, Pool};
use spikelet_weights::Tensor;

type Problem = (String, &'static str);

pub(super) fn check(path: &str, node: &Node, warnings: &mut Vec<Warning>) -> Result<()> {
    let checked = match &node.kind {
        NodeKind::Affine(affine) => affine_shapes(affine),
        NodeKind::Linear(Linear { weight }) => weight_rank(weight),
        NodeKind::Conv1d(conv) => conv_shapes::<1>(conv),
        NodeKind::Conv2d(conv) => conv_shapes::<2>(conv),
        NodeKind::SumPool2d(pool) | NodeKind::AvgPool2d(pool) => pool_sizes(pool),
        kind => elementwise_shapes(kind),
    };
    let checked = checked.and_then(|()| numbers(path, &node.kind, warnings));
    checked.map_err(|(problem, help)| {
        let node = path.to_owned();
        ErrorKind::Node {
            node,
            problem,
            help,
        }
        .into()
    })
}

fn weight_rank(weight: &Tensor) -> Result<(), Problem> {
    match weight.shape().len() {
        0 | 1 => Err((
            format!(
                "`weight` has the shape {:?}; expected [out, in]",
                weight.shape()
            ),
            "give the weight two axes",
        )),
        _ => Ok(()),
    }
}

fn bias_shape(bias: &Tensor, expected: &[usize], weight: &Tensor) -> Result<(), Problem> {
    if bias.shape() == expected {
        return Ok(());
    }
    let problem = format!(
        "`bias` has the shape {:?}, `weight` {:?}; expected a bias of {expected:?}",
        bias.shape(),
        weight.shape()
    );
    Err((problem, "give an element for each output"))
}

fn affine_shapes(affine: &Affine) -> Result<(), Problem> {
    weight_rank(&affine.weight)?;
    let shape = affine.weight.shape();
    bias_shape(&affine.bias, &shape[..shape.len() - 1], &affine.weight)
}

fn conv_shapes<const N: usize>(conv: &Conv) -> Result<(), Problem> {
    let shape = conv.weight.shape();
    if shape.len() != N + 2 || shape[2..].contains(&0) {
        let problem = format!(
            "`weight` has the shape {shape:?}; expected [out, in / groups] and {N} sizes of the kernel"
        );
        return Err((
            problem,
            "give the weight an axis for each axis of the kernel",
        ));
    }
    let groups = usize::try_from(conv.groups)
        .ok()
        .filter(|&groups| groups > 0);
    if groups.is_none_or(|groups| !shape[0].is_multiple_of(groups)) {
        let problem = format!(
            "`groups` is {}; expected a divisor of the {} outputs",
            conv.groups, shape[0]
        );
        return Err((problem, "correct the number of groups"));
    }
    bias_shape(&conv.bias, &shape[..1], &conv.weight)?;
    let stride = axes::<N>("stride", &conv.stride, 1)?;
    axes::<N>("dilation", &conv.dilation, 1)?;
    match &conv.padding {
        Padding::Sizes(sizes) => axes::<N>("padding", sizes, 0).map(drop),
        Padding::Same if stride != [1; N] => {
            let problem =
                format!("`padding` is `same` with a stride of {stride:?}; expected a stride of 1");
            Err((problem, "give the padding as numbers"))
        }
        Padding::Same | Padding::Valid => Ok(()),
    }
}

fn pool_sizes(pool: &Pool) -> Result<(), Problem> {
    axes::<2>("kernel_size", &pool.kernel_size, 1)?;
    axes::<2>("stride", &pool.stride, 1)?;
    axes::<2>("padding", &pool.padding, 0)?;
    Ok(())
}

/// Parameters with a value for each neuron have the same shape, or rank 0.
fn elementwise_shapes(kind: &NodeKind) -> Result<(), Problem> {
    let parameters = kind.elementwise_parameters();
    let mut shaped = parameters
        .iter()
        .filter(|(_, tensor)| !tensor.shape().is_empty());
    let Some((first, own)) = shaped.next() else {
        return Ok(());
    };
    match shaped.find(|(_, tensor)| tensor.shape() != own.shape()) {
        None => Ok(()),
        Some((name, tensor)) => {
            let problem = format!(
                "`{name}` has the shape {:?}, `{first}` {:?}; expected the same",
                tensor.shape(),
                own.shape()
            );
            Err((problem, "give a value for each neuron"))
        }
    }
}

/// Time constants are positive, delays not negative, parameters of neurons numbers.
fn numbers(path: &str, kind: &NodeKind, warnings: &mut Vec<Warning>) -> Result<(), Problem> {
    for (name, parameter) in kind.parameters() {
        let Parameter::Tensor(tensor) = parameter else {
            continue;
        };
        let wrong = |value: f64| match name {
            "tau" | "tau_syn" | "tau_mem" => value.is_nan() || value <= 0.0,
            "delay" => !value.is_finite() || value < 0.0,
            "weight" | "bias" | "scale" => false,
            _ => value.is_nan(),
        };
        let mut doubtful = None;
        for (at, value) in tensor.iter_f64().enumerate() {
            if wrong(value) {
                let expected = match name {
                    "tau" | "tau_syn" | "tau_mem" => "a time above 0",
                    "delay" => "a time of at least 0",
                    _ => "a number",
                };
                let problem = format!("`{name}` of neuron {at} is {value}; expected {expected}");
                return Err((problem, "correct the parameter"));
            }
            if !value.is_finite() && doubtful.is_none() {
                doubtful = Some((at, value));
            }
        }
        if let Some((at, value)) = doubtful {
            let problem = format!("element {at} of `{name}` is {value}");
            warnings.push(Warning::new(path, problem));
        }
    }
    Ok(())
}
