//! Fixed delays for each synapse.
//!
//! y[t, o] = b[o] + Σ_c weight[o, c]·x[t − delay[o, c], c]

use super::MAX_DELAY;
use super::line::{MAX_LAGS, convolve, expect_features, indices, with_history};
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

/// Fully connected layer whose synapses have fixed delays in whole steps: `[T, N, in] → [T, N, out]`. For learned
/// delays, see [`Dcls1d`](super::Dcls1d).
///
/// | tensor | shape | start |
/// |---|---|---|
/// | `weight` | `[out, in]` | uniform, bound 1/√in, or [`weight_init`](Self::weight_init) |
/// | `bias` | `[out]` | the same; not with `bias(false)` |
/// | `delay` | `[out, in]`, not trained | uniform on 0 … `max_delay`; set by [`VarStore::set`](crate::runtime::VarStore::set) |
///
/// Delays are rounded, and clamped to 0 and `max_delay`.
///
/// ```
/// use spikelet_nn::layer::DelayedLinear;
/// use spikelet_nn::prelude::*;
/// let net = Sequential::new().add(DelayedLinear::new(20, 10, 8)).add(Lif::new(2.0));
/// let cx = Context::new(Mode::TRAIN, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [50, 2, 20]);
/// assert_eq!(cx.trace(&net, x)?.shape(), [50, 2, 10]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DelayedLinear {
    /// Input features.
    pub inputs: usize,
    /// Output features.
    pub outputs: usize,
    /// The longest delay, in steps.
    pub max_delay: usize,
    /// Whether a bias is added.
    pub bias: bool,
    /// The initialization of the weight, if it is not PyTorch's default of a linear layer.
    pub weight_init: Option<Init>,
}

impl DelayedLinear {
    /// A layer with bias and delays of 0 to `max_delay` steps.
    pub fn new(inputs: usize, outputs: usize, max_delay: usize) -> Self {
        Self {
            inputs,
            outputs,
            max_delay,
            bias: true,
            weight_init: None,
        }
    }

    setters!(bias, weight_init);
}

/// The sum Σ_c weight[o, c]·xp[t + lags − lag[o, c], c] for a sequence with its history, `[lags + T, N, in]`. `lag` is
/// `[out, in]`, whole numbers from 0 to `lags`.
pub(super) fn delayed_product(cx: &Context, xp: &Var, weight: &Var, lag: &Var, lags: usize) -> Var {
    if cx.mode().training {
        // Dense products are faster forward and backward together.
        let kernel = one_tap_kernel(cx, weight, lag, lags);
        return convolve(xp, &kernel.cast(xp.ty().dtype), 1);
    }
    let rows = |all: &Var| cx.once(|| all.permute(&[1, 0]));
    let y = xp.cast(cx.tracer().float());
    y.delayed_matmul(&rows(weight), &rows(lag), lags)
}

/// The kernel `[out, lags + 1, in]` with one element for each synapse that is not 0.
pub(super) fn one_tap_kernel(cx: &Context, weight: &Var, lag: &Var, lags: usize) -> Var {
    cx.once(|| {
        let taps = lags + 1;
        let tap = indices(cx, taps).reshape([1, taps, 1]);
        let all = [&tap, &lag.unsqueeze(1), &weight.unsqueeze(1)];
        // Tap k acts on the step k − lags.
        Var::map(&all, |v| {
            let distance = (&v[0] + &v[1] - lags as f64).abs();
            distance.lt(0.5) * &v[2]
        })
    })
}

impl Module for DelayedLinear {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        expect_features(cx, "delayed linear", x, self.inputs)?;
        let whole = Domain::whole(0, MAX_LAGS);
        let constants = [
            Constant::new("outputs", self.outputs as f64, Domain::at_least(1.0)),
            Constant::new("max_delay", self.max_delay as f64, whole),
        ];
        cx.expect_domains("delayed linear", &constants)?;
        cx.tell_synapses(
            "weight",
            x,
            Synapses::Linear {
                inputs: self.inputs,
                outputs: self.outputs,
            },
        );
        let shape = [self.outputs, self.inputs];
        let init = Init::fan_in(self.inputs);
        let weight = cx.parameter("weight", shape, self.weight_init.unwrap_or(init));
        let most = self.max_delay as f64;
        let lag = cx.once(|| {
            let spread = Spread::Uniform {
                low: -0.5,
                high: most + 0.5,
            };
            let bound = Bound::None;
            let delay = cx.buffer("delay", shape, Init::Drawn { spread, bound });
            delay.map1(|d| d.round().clamp(0.0, most))
        });
        let xp = with_history(cx, x, self.max_delay);
        let y = delayed_product(cx, &xp, &weight, &lag, self.max_delay);
        if !self.bias {
            return Ok(y);
        }
        Ok(y + cx.parameter("bias", [self.outputs], init))
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }
}

/// Fully connected layer with a fixed delay for each synapse.
///
/// `{ delayed-linear = 10, max_delay = 5 }`
#[derive(Debug, Schema)]
#[schema(name = "delayed-linear")]
pub(crate) struct DelayedLinearKeys {
    /// The number of output features.
    #[schema(main, required, from = 1, to = Layers::MAX_SIZE)]
    out_features: usize,
    /// The number of inputs, by which the input is checked.
    #[schema(from = 1, to = Layers::MAX_SIZE)]
    inputs: Option<usize>,
    /// The longest delay in time steps.
    #[schema(required, from = 0, to = MAX_DELAY)]
    max_delay: usize,
    /// Whether there is a bias.
    #[schema(default = true)]
    bias: bool,
}

impl LayerKeys for DelayedLinearKeys {
    const OTHER_NAMES: &[&str] = &["delay-linear"];
    const EXAMPLE: (&[usize], &str) = (&[8], "{ delayed-linear = 6, max_delay = 3 }");

    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
        let (outputs, inputs) = (self.out_features, b.features(layer)?);
        layer.expect_inputs(self.inputs, inputs)?;
        let module = DelayedLinear::new(inputs, outputs, self.max_delay).bias(self.bias);
        b.fully_connected(layer, module, inputs.checked_mul(outputs))
    }
}
