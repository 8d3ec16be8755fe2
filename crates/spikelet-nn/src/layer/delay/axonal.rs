//! A delay for each channel.
//!
//! y[t, c] = Σ_l w[c, l]·x[t − l, c], l = 0 … max_delay, w = g / max(Σ_l g, 1e-12), with d = clamp(delay, 0, max_delay) and
//! g = max(0, 1 − |l − d|) (linear) or exp(−(l − d)² / (2σ²)) (Gaussian).
//!
//! Source: snnTorch's `SynapticDelay`.

use super::MAX_DELAY;
use super::interpolation::{gaussian, triangle};
use super::line::{MAX_LAGS, convolve, indices, with_history};
use crate::LayerProblem;
use crate::domain::{Constant, Domain};
use crate::module::{Context, Init, Module, Tree};
use crate::network::kind::{Builder, Built, LayerFields, LayerKeys};
use crate::trainable::{Bound, Spread};
use spikelet_core::Result;
use spikelet_graph::Var;
use spikelet_schema::Schema;

/// The weights of the steps around a delay of [`AxonalDelay`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum DelayInterpolation {
    /// The two steps beside the delay.
    #[default]
    Linear,
    /// All steps, by a Gaussian.
    Gaussian {
        /// Its standard deviation in steps.
        sigma: f64,
    },
}

/// A delay for each channel, the same for all its synapses: `[T, N, C, …] → [T, N, C, …]`.
///
/// | tensor | shape | start |
/// |---|---|---|
/// | `delay` | `[C]` | uniform on 0 … `max_delay`, or [`delay_init`](Self::delay_init); trained, unless `trainable(false)` |
///
/// Delays are clamped to 0 and `max_delay` in the forward pass; outside, they have no gradient.
///
/// ```
/// use spikelet_nn::layer::AxonalDelay;
/// use spikelet_nn::prelude::*;
/// let net = Sequential::new()
///     .add(Linear::new(20, 16))
///     .add(Lif::new(2.0))
///     .add(AxonalDelay::new(16, 30))
///     .add(Linear::new(16, 10));
/// let cx = Context::new(Mode::TRAIN, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [50, 2, 20]);
/// assert_eq!(cx.trace(&net, x)?.shape(), [50, 2, 10]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[doc(alias = "SynapticDelay")]
#[doc(alias = "ChannelDelay")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AxonalDelay {
    /// The number of channels.
    pub channels: usize,
    /// The longest delay, in steps.
    pub max_delay: usize,
    /// The weights of the steps around a delay.
    pub interpolation: DelayInterpolation,
    /// Whether delays are trained; otherwise `delay` is a buffer.
    pub trainable: bool,
    /// The distribution of the delays before training, if it is not uniform on 0 … `max_delay`.
    pub delay_init: Option<Spread>,
}

impl AxonalDelay {
    /// Trained delays of at most `max_delay` steps, linear between steps.
    pub fn new(channels: usize, max_delay: usize) -> Self {
        Self {
            channels,
            max_delay,
            interpolation: DelayInterpolation::Linear,
            trainable: true,
            delay_init: None,
        }
    }

    /// Sets the weights of the steps around a delay.
    #[must_use]
    pub fn interpolation(mut self, interpolation: DelayInterpolation) -> Self {
        self.interpolation = interpolation;
        self
    }

    /// Sets whether delays are trained.
    #[must_use]
    pub fn trainable(mut self, yes: bool) -> Self {
        self.trainable = yes;
        self
    }

    /// Sets the distribution of the delays before training.
    #[must_use]
    pub fn delay_init(mut self, spread: Spread) -> Self {
        self.delay_init = Some(spread);
        self
    }

    fn check(&self, cx: &Context, x: &Var) -> Result<()> {
        const KIND: &str = "axonal delay";
        cx.expect_rank(KIND, x, 3)?;
        if x.dim(2) != self.channels {
            let (expected, given) = (self.channels, x.ty().clone());
            return Err(cx.error(KIND, LayerProblem::Channels { expected, given }));
        }
        let whole = Domain::whole(0, MAX_LAGS);
        let mut constants = vec![Constant::new("max_delay", self.max_delay as f64, whole)];
        if let DelayInterpolation::Gaussian { sigma } = self.interpolation {
            constants.push(Constant::new("sigma", sigma, Domain::above(0.0)));
        }
        cx.expect_domains(KIND, &constants)
    }

    /// The weights of the steps t − max_delay … t, `[C, max_delay + 1]`.
    fn kernel(&self, cx: &Context) -> Var {
        let most = self.max_delay as f64;
        let spread = self.delay_init.unwrap_or(Spread::Uniform {
            low: 0.0,
            high: most,
        });
        let bound = Bound::None;
        let init = Init::Drawn { spread, bound };
        let delay = match self.trainable {
            true => cx.parameter("delay", [self.channels], init),
            false => cx.buffer("delay", [self.channels], init),
        };
        let delay = delay.clamp(0.0, most).unsqueeze(1);
        let lag = (most - indices(cx, self.max_delay + 1)).unsqueeze(0);
        let g = match self.interpolation {
            DelayInterpolation::Linear => triangle(&lag, &delay),
            DelayInterpolation::Gaussian { sigma } => {
                let sigma = cx.tracer().fill(cx.tracer().float(), [], sigma);
                gaussian(&lag, &delay, &sigma)
            }
        };
        let sum = g.sum(&[1]).unsqueeze(1);
        g / sum.maximum(1e-12)
    }
}

impl Module for AxonalDelay {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        self.check(cx, x)?;
        let kernel = cx.once(|| self.kernel(cx));
        if cx.watches() {
            cx.record("kernel", &kernel.flip(1));
        }
        // Channels last, all other axes of a step in one.
        let rank = x.rank();
        let order: Vec<usize> = [0, 1].into_iter().chain(3..rank).chain([2]).collect();
        let last = x.permute(&order);
        let rows = [
            x.dim(0),
            last.shape()[1..rank - 1].iter().product(),
            self.channels,
        ];
        let xp = with_history(cx, &last.reshape(rows), self.max_delay);
        let y = convolve(&xp, &kernel.unsqueeze(2).cast(x.ty().dtype), self.channels);
        let back: Vec<usize> = [0, 1, rank - 1].into_iter().chain(2..rank - 1).collect();
        Ok(y.reshape(last.shape()).permute(&back))
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }
}

/// A learned delay for each channel.
///
/// `{ axonal-delay = 10, sigma = 0.5 }`
#[derive(Debug, Schema)]
#[schema(name = "axonal-delay")]
pub(crate) struct AxonalDelayKeys {
    /// The longest delay.
    #[schema(main, required, from = 0, to = MAX_DELAY)]
    max_delay: usize,
    /// The width of the kernels; by default linear interpolation.
    #[schema(above = 0)]
    sigma: Option<f64>,
    /// Whether the delays are trained.
    #[schema(default = true)]
    trainable: bool,
}

impl LayerKeys for AxonalDelayKeys {
    const OTHER_NAMES: &[&str] = &["delay", "synaptic-delay"];
    const EXAMPLE: (&[usize], &str) = (&[8], "{ axonal-delay = 3 }");

    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
        let (most, channels) = (self.max_delay, b.shape[0]);
        let mut module = AxonalDelay::new(channels, most).trainable(self.trainable);
        if let Some(sigma) = self.sigma {
            module = module.interpolation(DelayInterpolation::Gaussian { sigma });
        }
        b.leaf(layer.name(), module, Some(channels), |elements| {
            elements.checked_mul(most + 1)
        })
    }
}
