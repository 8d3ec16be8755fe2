//! Learned delays for each synapse: dilated convolution with learnable spacings over time.
//!
//! y[t, o] = b[o] + Σ_c Σ_i kernel[o, c, i]·x[t − (K − 1) + i, c]
//! kernel[o, c, i] = Σ_n weight[o, c, n]·g[o, c, n, i] / (Σ_i g[o, c, n, i] + 1e-7), with p = position + ⌊K/2⌋ and
//!
//! | version | g |
//! |---|---|
//! | Gaussian | exp(−½((i − p) / (|σ| + 0.27))²) |
//! | max | max(0, |σ| + 1 − |i − p|) |
//! | v1 | max(0, 1 − |i − p|) |
//!
//! Source: Hammouamri, Khalfaoui-Hassani, Masquelier, Learning delays in spiking neural networks using dilated
//! convolutions with learnable spacings, ICLR 2024; the package dcls 0.1.1.

use super::MAX_DELAY;
use super::delayed_linear::{delayed_product, one_tap_kernel};
use super::interpolation::gaussian;
use super::line::{MAX_LAGS, convolve, expect_features, indices, with_history};
use super::width;
use crate::domain::{Constant, Domain};
use crate::layer::setters;
use crate::module::{Context, Init, Module, Tree};
use crate::network::Layers;
use crate::network::kind::{Builder, Built, LayerFields, LayerKeys};
use crate::synapses::Synapses;
use crate::trainable::{Bound, Spread};
use spikelet_core::Result;
use spikelet_graph::Var;
use spikelet_schema::Schema;

/// What is added to a sum of taps before it divides them.
const EPSILON: f64 = 1e-7;

/// What is added to the width of a Gaussian, which is therefore never 0.
const LEAST_WIDTH: f64 = 0.27;

/// The kernel of [`Dcls1d`] during training.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Schema)]
#[non_exhaustive]
pub enum DclsVersion {
    /// A Gaussian around the position.
    #[default]
    #[doc(alias = "gauss")]
    Gaussian,
    /// A triangle of half-width |σ| + 1.
    Max,
    /// A triangle of half-width 1: linear interpolation of two steps.
    V1,
}

/// Fully connected layer with a learned delay for each synapse: `[T, N, in] → [T, N, out]`, for delays of 0 to
/// `kernel_size` − 1 steps.
///
/// | tensor | shape | | in the package dcls |
/// |---|---|---|---|
/// | `weight` | `[out, in, count]` | trained | `weight` |
/// | `position` | `[out, in, count]` | trained, clamped to ±⌊K/2⌋ after each update | `P[0]` |
/// | `bias` | `[out]` | trained; not with `bias(false)` | `bias` |
/// | `delay_width` | scalar σ | set by [`DelayWidth`](super::DelayWidth) | `SIG` |
///
/// The delay of a synapse is K − 1 − (position + ⌊K/2⌋) steps: the largest position is no delay. In evaluation
/// positions are rounded, so that each synapse reads one step, at the cost of a linear layer and a gather.
///
/// The package pads with K − 1 zeros on the left; zeros on the right are a [`PadTime`](super::PadTime) before the layer.
///
/// ```
/// use spikelet_nn::layer::Dcls1d;
/// use spikelet_nn::prelude::*;
/// let net = Sequential::new()
///     .add(Dcls1d::new(140, 256, 25).bias(false))
///     .add(BatchNorm1d::new(256))
///     .add(Lif::new(1.005))
///     .add(Dcls1d::new(256, 20, 25));
/// let cx = Context::new(Mode::TRAIN, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [50, 2, 140]);
/// assert_eq!(cx.trace(&net, x)?.shape(), [50, 2, 20]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[doc(alias = "Dcls3_1_1d")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dcls1d {
    /// Input features.
    pub inputs: usize,
    /// Output features.
    pub outputs: usize,
    /// The number of steps that the kernel covers, K.
    pub kernel_size: usize,
    /// The number of weights and delays of each pair of neurons.
    pub kernel_count: usize,
    /// The kernel during training.
    pub version: DclsVersion,
    /// Whether a bias is added.
    pub bias: bool,
    /// The width σ before training.
    pub width: f64,
    /// The initialization of the weight, if it is not uniform with bound 1/√(in · count).
    pub weight_init: Option<Init>,
    /// The distribution of the positions before training, if it is not uniform over the kernel.
    pub position_init: Option<Spread>,
}

impl Dcls1d {
    /// A layer with bias, one delay for each synapse and Gaussian kernels of width 0.23.
    pub fn new(inputs: usize, outputs: usize, kernel_size: usize) -> Self {
        Self {
            inputs,
            outputs,
            kernel_size,
            kernel_count: 1,
            version: DclsVersion::Gaussian,
            bias: true,
            width: 0.23,
            weight_init: None,
            position_init: None,
        }
    }

    /// Sets the number of weights and delays of each pair of neurons.
    #[must_use]
    pub fn kernel_count(mut self, count: usize) -> Self {
        self.kernel_count = count;
        self
    }

    /// Sets the kernel during training.
    #[must_use]
    pub fn version(mut self, version: DclsVersion) -> Self {
        self.version = version;
        self
    }

    setters!(bias, weight_init);

    /// Sets the width σ before training.
    #[must_use]
    pub fn width(mut self, sigma: f64) -> Self {
        self.width = sigma;
        self
    }

    /// Sets the distribution of the positions before training.
    #[must_use]
    pub fn position_init(mut self, spread: Spread) -> Self {
        self.position_init = Some(spread);
        self
    }

    /// The largest absolute position.
    fn half(&self) -> f64 {
        (self.kernel_size / 2) as f64
    }

    /// The limits of positions. With an even K, K/2 would be a step after the present one.
    fn limits(&self) -> [f64; 2] {
        let high = self.kernel_size.saturating_sub(1) as f64 - self.half();
        [-self.half(), high]
    }

    fn check(&self, cx: &Context) -> Result<()> {
        let size =
            |name, value: usize, most| Constant::new(name, value as f64, Domain::whole(1, most));
        let constants = [
            size("outputs", self.outputs, u32::MAX),
            size("kernel_size", self.kernel_size, MAX_LAGS),
            size("kernel_count", self.kernel_count, MAX_LAGS),
            Constant::new("width", self.width, Domain::at_least(0.0)),
        ];
        cx.expect_domains("dcls", &constants)
    }

    fn weight(&self, cx: &Context) -> Var {
        let (count, fan_in) = (self.kernel_count, self.inputs * self.kernel_count);
        let init = self.weight_init.unwrap_or(Init::fan_in(fan_in));
        cx.parameter("weight", [self.outputs, self.inputs, count], init)
    }

    /// Positions in the kernel, from 0 to K − 1, `[out, in, count]`.
    fn position(&self, cx: &Context) -> Var {
        let [low, high] = self.limits();
        let spread = self.position_init.unwrap_or(Spread::Uniform { low, high });
        let bound = Bound::Project { low, high };
        let shape = [self.outputs, self.inputs, self.kernel_count];
        let position = cx.parameter("position", shape, Init::Drawn { spread, bound });
        cx.limit_parameter("position", [low, high]);
        position + self.half()
    }

    /// The values of delay `n` of each synapse, `[out, in]`.
    fn one(&self, all: &Var, n: usize) -> Var {
        let part = match self.kernel_count {
            1 => all.clone(),
            _ => all.slice(2, n..n + 1),
        };
        part.reshape([self.outputs, self.inputs])
    }

    /// The kernel of training as `[out, K, in]`.
    fn dense_kernel(&self, cx: &Context) -> Var {
        let (weight, position) = (self.weight(cx), self.position(cx));
        let tap = indices(cx, self.kernel_size).reshape([1, self.kernel_size, 1]);
        let width = || width::buffer(cx, self.width).abs();
        let one = |all: &Var, n: usize| self.one(all, n).unsqueeze(1);
        let kernel = |n: usize| {
            let (weight, at) = (one(&weight, n), one(&position, n));
            let g = match self.version {
                DclsVersion::Gaussian => gaussian(&tap, &at, &(width() + LEAST_WIDTH)),
                DclsVersion::Max => {
                    let distance = (&tap - &at).abs();
                    (width() + 1.0 - distance).relu()
                }
                // The derivative at a distance of 1 is 0.
                DclsVersion::V1 => (1.0 - (&tap - &at).abs()).relu(),
            };
            let sum = g.sum(&[1]).unsqueeze(1);
            Var::map(&[&g, &sum, &weight], |v| &v[0] / (&v[1] + EPSILON) * &v[2])
        };
        let all = (0..self.kernel_count).map(kernel);
        all.reduce(|a, b| a + b)
            .expect("the number of delays was checked")
    }

    /// The weight of each synapse and its delay in whole steps, `[out, in]`; one pair for each delay of a synapse.
    fn synapses(&self, cx: &Context) -> Vec<(Var, Var)> {
        let last = self.kernel_size.saturating_sub(1) as f64;
        let weight = || self.weight(cx) / (1.0 + EPSILON);
        let lag = || {
            let position = self.position(cx);
            position.map1(|p| (last - p.round()).clamp(0.0, last))
        };
        let pair = |n| {
            let weight = cx.once(|| self.one(&weight(), n));
            (weight, cx.once(|| self.one(&lag(), n)))
        };
        (0..self.kernel_count).map(pair).collect()
    }
}

impl Module for Dcls1d {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        expect_features(cx, "dcls", x, self.inputs)?;
        self.check(cx)?;
        if self.kernel_count == 1 {
            // A weight is one synapse, whatever its delay.
            cx.tell_synapses(
                "weight",
                x,
                Synapses::Linear {
                    inputs: self.inputs,
                    outputs: self.outputs,
                },
            );
        }
        let lags = self.kernel_size - 1;
        let xp = with_history(cx, x, lags);
        let y = if cx.mode().training {
            let kernel = cx.once(|| self.dense_kernel(cx));
            if cx.watches() {
                cx.record("kernel", &kernel.permute(&[0, 2, 1]));
            }
            convolve(&xp, &kernel.cast(x.ty().dtype), 1)
        } else {
            let synapses = self.synapses(cx);
            if cx.watches() {
                let kernels = synapses
                    .iter()
                    .map(|(weight, lag)| one_tap_kernel(cx, weight, lag, lags));
                let kernel = kernels.reduce(|a, b| a + b);
                cx.record("kernel", &kernel.expect("at least one").permute(&[0, 2, 1]));
            }
            let products = synapses
                .iter()
                .map(|(weight, lag)| delayed_product(cx, &xp, weight, lag, lags));
            let sum = products.reduce(|a, b| a + b);
            sum.expect("the number of delays was checked")
        };
        if !self.bias {
            return Ok(y);
        }
        let init = Init::fan_in(self.inputs * self.kernel_count);
        Ok(y + cx.parameter("bias", [self.outputs], init))
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }
}

/// Fully connected layer with a learned delay for each synapse.
///
/// `{ dcls = 10, kernel_size = 5, version = "max" }`
#[derive(Debug, Schema)]
#[schema(name = "dcls")]
pub(crate) struct Dcls1dKeys {
    /// The number of output features.
    #[schema(main, required, from = 1, to = Layers::MAX_SIZE)]
    out_features: usize,
    /// The number of inputs, by which the input is checked.
    #[schema(from = 1, to = Layers::MAX_SIZE)]
    inputs: Option<usize>,
    /// The number of steps that delays cover.
    #[schema(required, from = 1, to = MAX_DELAY)]
    kernel_size: usize,
    /// The number of kernels of a synapse.
    #[schema(default = 1, from = 1, to = 64)]
    kernel_count: usize,
    /// The shape of kernels: `gaussian`, `max` or `v1`.
    version: DclsVersion,
    /// The width of the kernels in time steps.
    #[schema(default = 0.23, from = 0, to = MAX_DELAY)]
    width: f64,
    /// Whether there is a bias.
    #[schema(default = true)]
    bias: bool,
}

impl LayerKeys for Dcls1dKeys {
    const OTHER_NAMES: &[&str] = &["dcls1d"];
    const EXAMPLE: (&[usize], &str) = (&[8], "{ dcls = 6, kernel_size = 5 }");

    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
        let (outputs, inputs) = (self.out_features, b.features(layer)?);
        layer.expect_inputs(self.inputs, inputs)?;
        let mut module = Dcls1d::new(inputs, outputs, self.kernel_size)
            .kernel_count(self.kernel_count)
            .bias(self.bias);
        (module.version, module.width) = (self.version, self.width);
        let weights = inputs.checked_mul(outputs);
        let weights = weights.and_then(|all| all.checked_mul(self.kernel_count));
        // A position for each weight.
        let all = weights.and_then(|weights| weights.checked_mul(2));
        b.leaf(layer.name(), module, all, |_| weights)
    }
}
