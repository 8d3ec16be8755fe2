//! Layer and group normalization: separately for each image and step.
//!
//! y = (x − mean) / √(variance + ε) · weight + bias, with mean and (biased) variance over the last
//! axes, or over groups of channels with their positions; as in PyTorch's `LayerNorm`, `GroupNorm`.
//!
//! Sources: J. L. Ba et al., arXiv:1607.06450 (2016); Y. Wu, K. He, arXiv:1803.08494 (2018).

use crate::LayerProblem;
use crate::domain::{Constant, Domain};
use crate::module::{Context, Init, Module, Tree};
use crate::network::Layers;
use crate::network::kind::{Builder, Built, LayerFields, LayerKeys};
use spikelet_core::Result;
use spikelet_graph::Var;
use spikelet_schema::Schema;

/// `(x − mean) / √(variance + ε)` over the last axis.
fn normalize(x: &Var, epsilon: f64) -> Var {
    let last = x.rank() - 1;
    let mut kept = x.shape().to_vec();
    kept[last] = 1;
    let centerd = x - x.mean(&[last]).reshape(kept.clone());
    let variance = centerd.square().mean(&[last]).reshape(kept);
    Var::map(&[&centerd, &variance], |v| &v[0] / (&v[1] + epsilon).sqrt())
}

/// The constant that is added to the variance.
fn epsilon(value: f64) -> Constant {
    Constant::new("epsilon", value, Domain::above(0.0))
}

/// Normalizes over the last axes, whose sizes are `shape`; weight and bias are `shape`.
///
/// ```
/// use spikelet_nn::layer::LayerNorm;
/// use spikelet_nn::prelude::*;
/// let cx = Context::new(Mode::TRAIN, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [4, 8, 64]);
/// assert_eq!(cx.trace(&LayerNorm::new([64]), x)?.shape(), [4, 8, 64]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LayerNorm {
    /// The sizes of the last axes.
    pub shape: Vec<usize>,
    /// Added to the variance.
    pub epsilon: f64,
}

impl LayerNorm {
    /// Normalizes over the last axes, with ε = 1e-5.
    pub fn new(shape: impl Into<Vec<usize>>) -> Self {
        Self {
            shape: shape.into(),
            epsilon: 1e-5,
        }
    }
}

impl Module for LayerNorm {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        cx.expect_rank("layer norm", x, 2 + self.shape.len())?;
        cx.expect_domains("layer norm", &[epsilon(self.epsilon)])?;
        let first = x.rank() - self.shape.len();
        if self.shape.is_empty() || x.shape()[first..] != self.shape {
            return Err(cx.error(
                "layer norm",
                LayerProblem::NormalizedShape {
                    expected: self.shape.clone(),
                    given: x.ty().clone(),
                },
            ));
        }
        let y = normalize(&x.flatten(first), self.epsilon).reshape(x.shape());
        let weight = cx.parameter("weight", self.shape.clone(), Init::Constant(1.0));
        Ok(y * weight + cx.parameter("bias", self.shape.clone(), Init::Constant(0.0)))
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }
}

/// Normalizes groups of channels of `[T, N, C, …]`; weight and bias are `[C]`.
///
/// ```
/// use spikelet_nn::layer::GroupNorm;
/// use spikelet_nn::prelude::*;
/// let cx = Context::new(Mode::TRAIN, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [4, 8, 16, 7, 7]);
/// assert_eq!(cx.trace(&GroupNorm::new(4, 16), x)?.shape(), [4, 8, 16, 7, 7]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupNorm {
    /// Groups of neighboring channels.
    pub groups: usize,
    /// Channels.
    pub channels: usize,
    /// Added to the variance.
    pub epsilon: f64,
}

impl GroupNorm {
    /// Normalizes groups of channels, with ε = 1e-5.
    pub fn new(groups: usize, channels: usize) -> Self {
        Self {
            groups,
            channels,
            epsilon: 1e-5,
        }
    }
}

impl Module for GroupNorm {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        cx.expect_rank("group norm", x, 3)?;
        cx.expect_domains("group norm", &[epsilon(self.epsilon)])?;
        if x.dim(2) != self.channels
            || self.groups == 0
            || !self.channels.is_multiple_of(self.groups)
        {
            return Err(cx.error(
                "group norm",
                LayerProblem::Groups {
                    groups: self.groups,
                    channels: self.channels,
                    given: x.ty().clone(),
                },
            ));
        }
        let grouped = [
            x.dim(0),
            x.dim(1),
            self.groups,
            x.ty().len() / (x.dim(0) * x.dim(1) * self.groups).max(1),
        ];
        let y = normalize(&x.reshape(grouped), self.epsilon).reshape(x.shape());
        let mut own = vec![1; x.rank() - 2];
        own[0] = self.channels;
        let weight = cx.parameter("weight", [self.channels], Init::Constant(1.0));
        let bias = cx.parameter("bias", [self.channels], Init::Constant(0.0));
        Ok(y * weight.reshape(own.clone()) + bias.reshape(own))
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }
}

/// Layer normalization over the last axes, by default over all.
///
/// `"layer-norm"`, `{ layer = "layer-norm", axes = 1 }`
#[derive(Debug, Schema)]
#[schema(name = "layer-norm")]
pub(crate) struct LayerNormKeys {
    /// The number of last axes over which is normalized; by default all.
    #[schema(at_least = 1)]
    axes: Option<usize>,
    /// The number that is added to the variance.
    #[schema(default = 1e-5, above = 0)]
    epsilon: f64,
}

impl LayerKeys for LayerNormKeys {
    const EXAMPLE: (&[usize], &str) = (&[8], r#""layer-norm""#);

    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
        let all = b.shape.len();
        let Some(first) = all.checked_sub(self.axes.unwrap_or(all)) else {
            return Err(layer.wrong("axes", format!("a whole number from 1 to {all}")));
        };
        let norm = LayerNorm {
            epsilon: self.epsilon,
            ..LayerNorm::new(&b.shape[first..])
        };
        let mut sizes = norm.shape.iter();
        let weights = sizes.try_fold(2_usize, |all, &n| all.checked_mul(n));
        b.leaf(layer.name(), norm, weights, |_| Some(0))
    }
}

/// Group normalization of channels.
///
/// `{ group-norm = 8 }`
#[derive(Debug, Schema)]
#[schema(name = "group-norm")]
pub(crate) struct GroupNormKeys {
    /// The number of groups.
    #[schema(main, required, from = 1, to = Layers::MAX_SIZE)]
    groups: usize,
    /// The number that is added to the variance.
    #[schema(default = 1e-5, above = 0)]
    epsilon: f64,
}

impl LayerKeys for GroupNormKeys {
    const EXAMPLE: (&[usize], &str) = (&[4, 6, 6], "{ group-norm = 2 }");

    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
        let (groups, channels) = (self.groups, b.shape[0]);
        let of_input = (channels, "channels of its input");
        layer.expect_divisor(layer.name(), (groups, "groups"), of_input)?;
        let norm = GroupNorm {
            epsilon: self.epsilon,
            ..GroupNorm::new(groups, channels)
        };
        b.leaf(layer.name(), norm, channels.checked_mul(2), |_| Some(0))
    }
}
