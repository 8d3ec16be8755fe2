//! The shape of a node's output from the shape of its input, without time and batch.

use super::layers::{Conv, Flatten, Pool};
use super::sizes::{Padding, Sizes};
use super::{Node, NodeKind};
use spikelet_weights::Dtype;
use spikelet_weights::element_count;

/// The shape of the input that a node takes, whatever it is connected to; `None` if several are possible.
pub(super) fn own_input(kind: &NodeKind) -> Option<Vec<usize>> {
    match kind {
        NodeKind::Affine(super::Affine { weight, .. })
        | NodeKind::Linear(super::Linear { weight }) => {
            let [leading @ .., _, inputs] = weight.shape() else {
                return None;
            };
            Some([leading, &[*inputs]].concat())
        }
        kind => {
            let parameters = kind.elementwise_parameters().into_iter();
            let shape = parameters
                .map(|(_, tensor)| tensor.shape())
                .find(|shape| !shape.is_empty());
            shape.map(<[usize]>::to_vec)
        }
    }
}

/// The rank of the input that a node takes.
pub(super) fn own_rank(kind: &NodeKind) -> Option<usize> {
    match kind {
        NodeKind::Conv1d(_) => Some(2),
        NodeKind::Conv2d(_) | NodeKind::SumPool2d(_) | NodeKind::AvgPool2d(_) => Some(3),
        kind => own_input(kind).map(|shape| shape.len()),
    }
}

/// The shape of the output for an input. The error is what is wrong, and what to do.
pub(super) fn output(node: &Node, input: &[usize]) -> Result<Vec<usize>, (String, &'static str)> {
    match &node.kind {
        NodeKind::Affine(super::Affine { weight, .. })
        | NodeKind::Linear(super::Linear { weight }) => match weight.shape() {
            [leading @ .., outputs, _] => Ok([leading, &[*outputs]].concat()),
            shape => Err((
                format!("`weight` has the shape {shape:?}; expected [out, in]"),
                "give the weight two axes",
            )),
        },
        NodeKind::Conv1d(conv) => convolution::<1>(conv, input),
        NodeKind::Conv2d(conv) => convolution::<2>(conv, input),
        NodeKind::SumPool2d(pool) | NodeKind::AvgPool2d(pool) => pooling(pool, input),
        NodeKind::Flatten(flatten) => flattened(flatten, input),
        _ => Ok(input.to_vec()),
    }
}

const SIZES_HELP: &str = "give a number, or one for each axis";

/// The sizes of N axes, each at least `least`.
pub(super) fn axes<const N: usize>(
    name: &str,
    sizes: &Sizes,
    least: i64,
) -> Result<[i64; N], (String, &'static str)> {
    let axes = sizes
        .axes::<N>()
        .filter(|sizes| sizes.iter().all(|&size| size >= least));
    axes.ok_or_else(|| {
        let given = match sizes {
            Sizes::All(size) => size.to_string(),
            Sizes::Each(sizes) => format!("{sizes:?}"),
        };
        let problem = format!("`{name}` is {given}; expected {N} integers of at least {least}");
        (problem, SIZES_HELP)
    })
}

/// The size of an axis after windows of `span` elements with a stride, `padding` zeros in all.
fn windows(size: usize, padding: i128, span: i128, stride: i64) -> Option<usize> {
    let left = size as i128 + padding - span;
    usize::try_from(left).ok()?;
    usize::try_from(left / i128::from(stride) + 1).ok()
}

fn convolution<const N: usize>(
    conv: &Conv,
    input: &[usize],
) -> Result<Vec<usize>, (String, &'static str)> {
    let &[outputs, per_group, ref kernel @ ..] = conv.weight.shape() else {
        let problem = format!(
            "`weight` has the shape {:?}; expected [out, in / groups, kernel…]",
            conv.weight.shape()
        );
        return Err((
            problem,
            "give the weight an axis for each axis of the kernel",
        ));
    };
    let groups = usize::try_from(conv.groups).unwrap_or(0);
    let channels = per_group.checked_mul(groups);
    let (Some((&first, spatial)), true) = (input.split_first(), input.len() == N + 1) else {
        let problem =
            format!("the input has the shape {input:?}; expected channels and {N} spatial axes");
        return Err((problem, "correct the shape of the Input"));
    };
    if Some(first) != channels {
        let problem = format!(
            "the input has {first} channels; `weight` {:?} and {groups} groups take {}",
            conv.weight.shape(),
            channels.unwrap_or(usize::MAX)
        );
        return Err((
            problem,
            "correct the weight, the groups, or the node before",
        ));
    }
    let stride = axes::<N>("stride", &conv.stride, 1)?;
    let dilation = axes::<N>("dilation", &conv.dilation, 1)?;
    let padding = match &conv.padding {
        Padding::Sizes(sizes) => Some(axes::<N>("padding", sizes, 0)?),
        Padding::Valid => Some([0; N]),
        Padding::Same => None,
    };
    let mut output = vec![outputs];
    for axis in 0..N {
        let span = i128::from(dilation[axis]) * (kernel[axis] as i128 - 1) + 1;
        let zeros = padding.map_or(span - 1, |padding| 2 * i128::from(padding[axis]));
        let size = windows(spatial[axis], zeros, span, stride[axis]).ok_or_else(|| {
            let problem = format!(
                "the kernel spans {span} elements; axis {axis} of the input has {} with padding",
                spatial[axis] as i128 + zeros
            );
            (problem, "give more padding, or a smaller kernel")
        })?;
        output.push(size);
    }
    Ok(output)
}

fn pooling(pool: &Pool, input: &[usize]) -> Result<Vec<usize>, (String, &'static str)> {
    let &[channels, height, width] = input else {
        let problem =
            format!("the input has the shape {input:?}; expected channels, height and width");
        return Err((problem, "correct the shape of the Input"));
    };
    let kernel = axes::<2>("kernel_size", &pool.kernel_size, 1)?;
    let stride = axes::<2>("stride", &pool.stride, 1)?;
    let padding = axes::<2>("padding", &pool.padding, 0)?;
    let mut output = vec![channels];
    for (axis, size) in [height, width].into_iter().enumerate() {
        let zeros = 2 * i128::from(padding[axis]);
        let size =
            windows(size, zeros, i128::from(kernel[axis]), stride[axis]).ok_or_else(|| {
                let problem = format!(
                    "the window has {} elements; axis {axis} of the input has {} with padding",
                    kernel[axis],
                    size as i128 + zeros
                );
                (problem, "give more padding, or a smaller window")
            })?;
        output.push(size);
    }
    Ok(output)
}

fn flattened(flatten: &Flatten, input: &[usize]) -> Result<Vec<usize>, (String, &'static str)> {
    let axis = |given: i64| {
        let axis = match given < 0 {
            true => (input.len() as i64).checked_add(given),
            false => Some(given),
        };
        let axis = axis.and_then(|axis| usize::try_from(axis).ok());
        axis.filter(|&axis| axis < input.len())
    };
    let (Some(start), Some(end)) = (axis(flatten.start_dim), axis(flatten.end_dim)) else {
        let problem = format!(
            "axes {} to {} are joined, but the input has the shape {input:?}",
            flatten.start_dim, flatten.end_dim
        );
        return Err((problem, "count axes without time and batch"));
    };
    if start > end {
        let problem = format!(
            "the first axis {} is behind the last one {}",
            flatten.start_dim, flatten.end_dim
        );
        return Err((problem, "exchange start_dim and end_dim"));
    }
    let joined = element_count(&input[start..=end], Dtype::U8);
    let joined = joined.ok_or_else(|| {
        let problem = format!("the input {input:?} has too many elements");
        (problem, "correct the shape of the Input")
    })?;
    Ok([&input[..start], &[joined], &input[end + 1..]].concat())
}
