//! Nodes without a state, and the delay.

use super::sizes::{Padding, Sizes};
use spikelet_weights::Tensor;

/// y = W x + b. Leading axes of the parameters are independent products.
#[derive(Clone, Debug, PartialEq)]
pub struct Affine {
    /// `[…, out, in]`.
    pub weight: Tensor,
    /// `[…, out]`.
    pub bias: Tensor,
}

/// y = W x. Leading axes of the weight are independent products.
#[derive(Clone, Debug, PartialEq)]
pub struct Linear {
    /// `[…, out, in]`.
    pub weight: Tensor,
}

/// y = x · s, elementwise.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    /// A factor for each neuron.
    pub scale: Tensor,
}

/// A convolution over one or two axes, as PyTorch's: a cross-correlation with zero padding.
#[derive(Clone, Debug, PartialEq)]
pub struct Conv {
    /// The spatial sizes of the input. [`Graph::check`](super::Graph::check) computes them from the graph instead.
    pub input_shape: Sizes,
    /// `[out, in / groups, kernel…]`.
    pub weight: Tensor,
    /// Steps between outputs.
    pub stride: Sizes,
    /// Zeros around the input.
    pub padding: Padding,
    /// Steps between elements of the kernel.
    pub dilation: Sizes,
    /// Groups of channels that do not see each other.
    pub groups: i64,
    /// `[out]`.
    pub bias: Tensor,
}

/// A sum or an average over windows of two axes. Padding counts in the average; incomplete windows are dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// The size of a window.
    pub kernel_size: Sizes,
    /// Steps between windows.
    pub stride: Sizes,
    /// Zeros around the input.
    pub padding: Sizes,
}

/// Joins axes. Axes are counted without time and batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flatten {
    /// The first axis; a negative one counts from the end.
    pub start_dim: i64,
    /// The last axis; a negative one counts from the end.
    pub end_dim: i64,
    /// The shape of the input. [`Graph::check`](super::Graph::check) computes it from the graph instead.
    pub input_type: Option<Vec<usize>>,
}

/// y(t) = x(t − delay).
#[derive(Clone, Debug, PartialEq)]
pub struct Delay {
    /// A time for each neuron.
    pub delay: Tensor,
}

/// y = 1 where x > threshold, else 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// A threshold for each neuron.
    pub threshold: Tensor,
}
