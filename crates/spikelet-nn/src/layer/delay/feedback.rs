//! Recurrent connections with learned delays.
//!
//! rec[t] = Σ_{k ≥ 1} W·(m[k] ⊙ s[t − k]), m[o, k] = max(0, s_w − |k − (1 + d[o])|) / s_w², with s_w = 1 + σ, or
//! 1 + 2σ·sigmoid(spread[o]) for each neuron o that fires. With a delay for each synapse, m[i, o, k] is that of d[i, o].
//!
//! Source: DelRec (Queant et al., 2025), and its code.

use super::MAX_DELAY;
use super::line::{LINE, MAX_LAGS, expect_features, indices};
use super::width;
use crate::domain::{Constant, Domain};
use crate::layer::{Dropout, setters};
use crate::module::{Context, Init, Module, Tree};
use crate::network::kind::LayerFields;
use crate::synapses::Synapses;
use crate::trainable::{Bound, Spread};
use spikelet_core::Result;
use spikelet_core::document::Located;
use spikelet_graph::Var;
use spikelet_schema::Schema;

/// The feedback of a [`Recurrent`](crate::layer::Recurrent) layer with learned delays: `[T, N, features] → [T, N, features]`.
/// A delay of 0 is the ordinary feedback, one step.
///
/// | tensor | shape | |
/// |---|---|---|
/// | `weight` | `[features, features]`, a row for each neuron that receives | trained, starts orthogonal |
/// | `delay` | `[features]`, or `[features, features]` with [`synaptic`](Self::synaptic) | trained, clamped to 0 … `max_delay` after each update; uniform, or [`delay_init`](Self::delay_init) |
/// | `spread` | `[features]` | trained; only with [`spread`](Self::spread) |
/// | `delay_width` | scalar σ | set by [`DelayWidth`](super::DelayWidth) |
///
/// In evaluation delays are rounded. The spikes of the last steps are the state `delay_line`, whose length follows from
/// `max_delay` and the largest width.
///
/// ```
/// use spikelet_nn::layer::DelayedFeedback;
/// use spikelet_nn::prelude::*;
/// let net = Recurrent::through(Lif::new(2.0), DelayedFeedback::new(16, 30).width(10.0));
/// let cx = Context::new(Mode::TRAIN, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [50, 2, 16]);
/// assert_eq!(cx.trace(&net, x)?.shape(), [50, 2, 16]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[doc(alias = "DelRec")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DelayedFeedback {
    /// The number of neurons.
    pub features: usize,
    /// The longest delay beside the step of ordinary feedback.
    pub max_delay: usize,
    /// Whether each synapse has a delay; otherwise each neuron that fires.
    pub synaptic: bool,
    /// Whether each neuron that fires has a trained spread.
    pub spread: bool,
    /// The width σ before training, and the largest one.
    pub width: f64,
    /// The probability with which the fed back current of a neuron is dropped for a sequence, during training.
    pub dropout: f64,
    /// The length of the delay line, if it does not follow from `max_delay` and `width`.
    pub lags: Option<usize>,
    /// The initialization of the weight.
    pub weight_init: Init,
    /// The distribution of the delays before training, if it is not uniform on 0 … `max_delay`.
    pub delay_init: Option<Spread>,
}

impl DelayedFeedback {
    /// A delay for each neuron that fires, of at most `max_delay` steps, with width 0.
    pub fn new(features: usize, max_delay: usize) -> Self {
        Self {
            features,
            max_delay,
            synaptic: false,
            spread: false,
            width: 0.0,
            dropout: 0.0,
            lags: None,
            weight_init: Init::Orthogonal,
            delay_init: None,
        }
    }

    /// Sets whether each synapse has a delay.
    #[must_use]
    pub fn synaptic(mut self, yes: bool) -> Self {
        self.synaptic = yes;
        self
    }

    /// Sets whether each neuron that fires has a trained spread.
    #[must_use]
    pub fn spread(mut self, yes: bool) -> Self {
        self.spread = yes;
        self
    }

    /// Sets the width σ before training, which is the largest one.
    #[must_use]
    pub fn width(mut self, sigma: f64) -> Self {
        self.width = sigma;
        self
    }

    /// Drops the fed back current of a neuron with probability `p` during training, with one mask for a sequence.
    #[must_use]
    pub fn dropout(mut self, p: f64) -> Self {
        self.dropout = p;
        self
    }

    /// Sets the length of the delay line in steps. Lags beyond it are not fed back.
    #[must_use]
    pub fn lags(mut self, steps: usize) -> Self {
        self.lags = Some(steps);
        self
    }

    setters!(weight_init);

    /// Sets the distribution of the delays before training.
    #[must_use]
    pub fn delay_init(mut self, spread: Spread) -> Self {
        self.delay_init = Some(spread);
        self
    }

    /// The longest lag with a weight, in steps.
    fn longest(&self) -> usize {
        if let Some(lags) = self.lags {
            return lags;
        }
        let widest = match self.spread {
            true => 1.0 + 2.0 * self.width,
            false => 1.0 + self.width,
        };
        self.max_delay + 1 + widest.ceil() as usize
    }

    fn check(&self, cx: &Context) -> Result<()> {
        let constants = [
            Constant::new(
                "max_delay",
                self.max_delay as f64,
                Domain::whole(0, MAX_LAGS),
            ),
            Constant::new(
                "width",
                self.width,
                Domain::at_least(0.0).at_most(f64::from(MAX_LAGS)),
            ),
        ];
        cx.expect_domains("delayed feedback", &constants)?;
        // At least the step before.
        let lags = Constant::new(
            "lags",
            self.longest() as f64,
            Domain::whole(1, 2 * MAX_LAGS),
        );
        cx.expect_domains("delayed feedback", &[lags])
    }

    /// The delays, 0 … `max_delay`.
    fn delay(&self, cx: &Context) -> Var {
        let most = self.max_delay as f64;
        let (low, high) = (0.0, most);
        let spread = self.delay_init.unwrap_or(Spread::Uniform { low, high });
        let bound = Bound::Project { low, high };
        let shape = match self.synaptic {
            true => vec![self.features, self.features],
            false => vec![self.features],
        };
        let delay = cx.parameter("delay", shape, Init::Drawn { spread, bound });
        cx.limit_parameter("delay", [low, high]);
        match cx.mode().training {
            true => delay,
            false => delay.map1(|d| d.round().clamp(low, high)),
        }
    }

    /// The weights of the lags 0 … L: `[L + 1, features]`, or `[features, L + 1, features]` for each synapse.
    fn mask(&self, cx: &Context) -> Var {
        let (taps, sigma) = (self.longest() + 1, width::buffer(cx, self.width));
        let width = match self.spread {
            true => {
                let spread = cx.parameter("spread", [self.features], Init::Constant(0.0));
                1.0 + spread.sigmoid() * sigma * 2.0
            }
            false => 1.0 + sigma,
        };
        let delay = self.delay(cx);
        let delay = delay.unsqueeze(delay.rank() - 1);
        let lag = indices(cx, taps).reshape([taps, 1]);
        let distance = (lag - (1.0 + delay)).abs();
        (&width - distance).maximum(0.0) / width.square()
    }

    /// One step.
    fn step(&self, cx: &Context, x: &Var) -> Result<Var> {
        let (batch, features, lags) = (x.dim(1), self.features, self.longest());
        let weight = cx.parameter("weight", [features, features], self.weight_init);
        let mut mask = None;
        let weight = cx.once(|| {
            let all = self.mask(cx);
            if cx.watches() {
                cx.record("mask", &all);
            }
            // The triangle of a small delay reaches the present step, which cannot be fed back.
            let past = all.slice(all.rank() - 2, 1..lags + 1);
            if !self.synaptic {
                mask = Some(past);
                return weight.clone();
            }
            let each = weight.unsqueeze(1) * past;
            each.reshape([features, lags * features])
        });
        let (line, now) = ([batch, lags - 1, features], x.reshape([batch, 1, features]));
        let state = cx.state(LINE, line, 0.0);
        let before = state.cast(x.ty().dtype).expand(line);
        let window = Var::concat(&[&now, &before], 1);
        let after = window.slice(1, 0..lags - 1);
        cx.set_state(&state, &after.cast(state.ty().dtype));
        let rec = match mask {
            Some(mask) => {
                let delayed = (window * mask).sum(&[1]);
                delayed.reshape([1, batch, features]).linear(&weight)
            }
            None => window.reshape([1, batch, lags * features]).linear(&weight),
        };
        if cx.watches() {
            cx.record("rec_seq", &rec);
        }
        cx.child("dropout", |cx| Dropout::new(self.dropout).forward(cx, &rec))
    }
}

impl Module for DelayedFeedback {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        expect_features(cx, "delayed feedback", x, self.features)?;
        self.check(cx)?;
        cx.tell_synapses(
            "weight",
            x,
            Synapses::Linear {
                inputs: self.features,
                outputs: self.features,
            },
        );
        Ok(cx.step_loop(x, |x| self.step(cx, &x))?.join())
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }
}

/// Delays of recurrent connections.
#[derive(Debug, Schema)]
pub(in crate::layer) struct FeedbackDelayKeys {
    /// The longest delay in time steps, where delays are learned; `none`: one step, as without these keys.
    #[schema(from = 0, to = MAX_DELAY)]
    pub(in crate::layer) max_delay: Option<usize>,
    /// Whether each synapse has a delay; else each neuron that fires.
    synaptic: bool,
    /// Whether each neuron that fires has a learned spread.
    spread: bool,
    /// The width of the kernels in time steps.
    #[schema(from = 0, to = MAX_DELAY)]
    width: f64,
    /// The probability with which a delayed current is dropped, below 1.
    #[schema(from = 0, below = 1)]
    dropout_p: f64,
}

impl FeedbackDelayKeys {
    /// The feedback and the number of its trained values, `None` where there are too many; no feedback where no key is given.
    pub(in crate::layer) fn feedback(
        &self,
        layer: &LayerFields<'_>,
        features: usize,
    ) -> Result<Option<(DelayedFeedback, Option<usize>)>, Located> {
        let Some(max_delay) = self.max_delay else {
            let others = ["synaptic", "spread", "width", "dropout_p"];
            return match others.into_iter().find(|key| layer.get(key).is_some()) {
                Some(_) => Err(layer.wrong("max_delay", "the longest delay in time steps")),
                None => Ok(None),
            };
        };
        let mut feedback = DelayedFeedback::new(features, max_delay)
            .synaptic(self.synaptic)
            .spread(self.spread);
        (feedback.width, feedback.dropout) = (self.width, self.dropout_p);
        let weights = features.checked_mul(features);
        let delays = match feedback.synaptic {
            true => weights,
            false => Some(features),
        };
        let all = weights.and_then(|weights| weights.checked_add(delays?));
        Ok(Some((feedback, all)))
    }
}
