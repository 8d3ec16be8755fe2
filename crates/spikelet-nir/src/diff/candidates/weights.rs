//! Weights with other axes, and biases that one network lacks.

use super::super::cause::{Candidate, Cause};
use super::super::compare::differs;
use super::super::recording::Quantity;
use super::{Situation, node_mut};
use crate::graph::{Affine, Conv, NodeKind};
use spikelet_weights::Tensor;

/// How much a bias that is estimated from outputs may vary between steps and samples.
const CONSTANT: f64 = 1e-4;

/// A change of the node `path`.
fn of_node(cause: Cause, change: String, path: &str, kind: NodeKind) -> Candidate {
    let path = path.to_string();
    Candidate::new(cause, change, move |runnable| {
        if let Some(node) = node_mut(&mut runnable.graph, &path) {
            node.kind = kind.clone();
        }
        Ok(())
    })
}

pub(super) fn candidates(situation: &Situation<'_>) -> Vec<Candidate> {
    let mut found = vec![];
    for path in situation.suspects() {
        let Some(node) = situation.node(path) else {
            continue;
        };
        for (cause, change, weight) in other_axes(&node.kind) {
            if let Some(kind) = with_weight(&node.kind, weight) {
                found.push(of_node(cause, format!("{change} of `{path}`"), path, kind));
            }
        }
    }
    found
}

/// The weights of a node in other orders.
fn other_axes(kind: &NodeKind) -> Vec<(Cause, &'static str, Tensor)> {
    const TRANSPOSED: &str = "weight transposed";
    let permuted =
        |weight: &Tensor, cause: Cause, change: &'static str, shape: &[usize], axes: &[usize]| {
            Some((cause, change, permute(weight, shape, axes)?))
        };
    let found = match kind {
        NodeKind::Linear(_) | NodeKind::Affine(_) => {
            let weight = match kind {
                NodeKind::Linear(linear) => &linear.weight,
                NodeKind::Affine(affine) => &affine.weight,
                _ => return vec![],
            };
            let &[outputs, inputs] = weight.shape() else {
                return vec![];
            };
            let transposed = |shape: &[usize]| {
                permuted(weight, Cause::TransposedWeight, TRANSPOSED, shape, &[1, 0])
            };
            match outputs == inputs {
                true => vec![transposed(&[outputs, inputs])],
                // Written as [in, out] and read as [out, in], or the reverse: the same bytes, another shape.
                false => vec![
                    transposed(&[outputs, inputs]),
                    transposed(&[inputs, outputs]),
                ],
            }
        }
        NodeKind::Conv1d(conv) => {
            let &[outputs, inputs, size] = conv.weight.shape() else {
                return vec![];
            };
            vec![
                (outputs == inputs).then(|| {
                    let shape = [outputs, inputs, size];
                    permuted(
                        &conv.weight,
                        Cause::TransposedWeight,
                        TRANSPOSED,
                        &shape,
                        &[1, 0, 2],
                    )
                }),
                Some(flipped(conv)),
            ]
            .into_iter()
            .flatten()
            .collect()
        }
        NodeKind::Conv2d(conv) => {
            let &[outputs, inputs, height, width] = conv.weight.shape() else {
                return vec![];
            };
            let shape = [outputs, inputs, height, width];
            let transposed = |change: &'static str, axes: [usize; 4]| {
                permuted(&conv.weight, Cause::TransposedWeight, change, &shape, &axes)
            };
            vec![
                (outputs == inputs).then(|| transposed(TRANSPOSED, [1, 0, 2, 3])),
                (height == width).then(|| transposed("kernel transposed", [0, 1, 3, 2])),
                Some(flipped(conv)),
            ]
            .into_iter()
            .flatten()
            .collect()
        }
        _ => vec![],
    };
    found.into_iter().flatten().collect()
}

/// A convolution where the other is a cross-correlation.
fn flipped(conv: &Conv) -> Option<(Cause, &'static str, Tensor)> {
    let shape = conv.weight.shape();
    let kernel: usize = shape.get(2..)?.iter().product();
    let mut values = conv.weight.to_f64();
    for window in values.chunks_mut(kernel.max(1)) {
        window.reverse();
    }
    let weight = Tensor::from_f64(shape, &values).ok()?;
    Some((
        Cause::FlippedKernel,
        "kernel flipped (convolution, not cross-correlation)",
        weight,
    ))
}

/// The values of a tensor as `shape`, with its axes in another order, in the shape of the tensor.
fn permute(tensor: &Tensor, shape: &[usize], axes: &[usize]) -> Option<Tensor> {
    let values = tensor.to_f64();
    let strides: Vec<usize> = (0..shape.len())
        .map(|axis| shape[axis + 1..].iter().product())
        .collect();
    let sizes: Vec<usize> = axes.iter().map(|axis| shape[*axis]).collect();
    let source = |mut element: usize| {
        let mut at = 0;
        for (axis, size) in axes.iter().zip(&sizes).rev() {
            at += element % size * strides[*axis];
            element /= size;
        }
        at
    };
    let permuted: Vec<f64> = (0..values.len())
        .map(|k| values.get(source(k)).copied())
        .collect::<Option<_>>()?;
    (permuted != values).then(|| Tensor::from_f64(tensor.shape(), &permuted).ok())?
}

fn with_weight(kind: &NodeKind, weight: Tensor) -> Option<NodeKind> {
    let mut kind = kind.clone();
    match &mut kind {
        NodeKind::Linear(linear) => linear.weight = weight,
        NodeKind::Affine(affine) => affine.weight = weight,
        NodeKind::Conv1d(conv) | NodeKind::Conv2d(conv) => conv.weight = weight,
        _ => return None,
    }
    Some(kind)
}

/// The suspects with a bias, without it.
pub(super) fn without_bias(situation: &Situation<'_>) -> Vec<Candidate> {
    let mut found = vec![];
    for path in situation.suspects() {
        let Some(kind) = situation.node(path).map(|node| &node.kind) else {
            continue;
        };
        let bias = match kind {
            NodeKind::Affine(affine) => &affine.bias,
            NodeKind::Conv1d(conv) | NodeKind::Conv2d(conv) => &conv.bias,
            _ => continue,
        };
        let values = bias.to_f64();
        if values.iter().all(|value| *value == 0.0) {
            continue;
        }
        let zero = Tensor::from_f64(bias.shape(), &vec![0.0; values.len()]).ok();
        if let Some(kind) = zero.and_then(|zero| with_bias(kind, zero)) {
            let change = format!("bias of `{path}` removed");
            found.push(of_node(Cause::MissingBias, change, path, kind));
        }
    }
    found
}

/// The bias of the other network's layer, if its output is that of this layer plus a constant.
pub(super) fn bias_of_other(situation: &Situation<'_>) -> Vec<Candidate> {
    let estimated = |path: &str| {
        let kind = &situation.node(path)?.kind;
        let (a, b) = situation.layers(path)?;
        let x = a.values.get(&Quantity::Output)?;
        let y = b.values.get(&Quantity::Output)?;
        let weight = match kind {
            NodeKind::Linear(linear) => &linear.weight,
            NodeKind::Affine(affine) => &affine.weight,
            NodeKind::Conv1d(conv) | NodeKind::Conv2d(conv) => &conv.weight,
            _ => return None,
        };
        let outputs = match weight.shape() {
            [outputs, _] => *outputs,
            [outputs, _, ..] if !matches!(kind, NodeKind::Linear(_) | NodeKind::Affine(_)) => {
                *outputs
            }
            _ => return None,
        };
        // [T, N, out, …]: elements of a channel are next to each other.
        let each: usize = x.shape.get(3..)?.iter().product();
        let mut bias: Vec<Option<f64>> = vec![None; outputs];
        for (k, (x, y)) in x.values.iter().zip(&y.values).enumerate() {
            let channel = &mut bias[k / each.max(1) % outputs];
            let first = *channel.get_or_insert(y - x);
            if !(y - x).is_finite() || differs(first, y - x, CONSTANT) {
                return None;
            }
        }
        let own = match kind {
            NodeKind::Affine(affine) => affine.bias.to_f64(),
            NodeKind::Conv1d(conv) | NodeKind::Conv2d(conv) => conv.bias.to_f64(),
            _ => vec![0.0; outputs],
        };
        let bias = bias.into_iter().map(Option::unwrap_or_default);
        let values: Vec<f64> = bias.zip(own).map(|(more, own)| own + more).collect();
        let bias = Tensor::from_f64(&[outputs], &values).ok()?;
        let kind = with_bias(kind, bias)?;
        let change = format!("bias of `{path}` as in the outputs of the other network");
        Some(of_node(Cause::MissingBias, change, path, kind))
    };
    situation
        .suspects()
        .into_iter()
        .filter_map(estimated)
        .collect()
}

/// The node with this bias in place of its own.
fn with_bias(kind: &NodeKind, bias: Tensor) -> Option<NodeKind> {
    let mut kind = kind.clone();
    match &mut kind {
        NodeKind::Linear(linear) => {
            let weight = linear.weight.clone();
            return Some(NodeKind::Affine(Affine { weight, bias }));
        }
        NodeKind::Affine(affine) => affine.bias = bias,
        NodeKind::Conv1d(conv) | NodeKind::Conv2d(conv) => conv.bias = bias,
        _ => return None,
    }
    Some(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_that_was_read_in_the_other_shape_is_put_back() {
        let weight = Tensor::from_f64(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).expect("2 × 3");
        let wrong = permute(&weight, &[2, 3], &[1, 0]).expect("it changes");
        assert_eq!(
            (wrong.shape(), &wrong.to_f64()[..3]),
            (&[2, 3][..], &[1.0, 4.0, 2.0][..])
        );
        assert_eq!(permute(&wrong, &[3, 2], &[1, 0]), Some(weight));
    }
}
