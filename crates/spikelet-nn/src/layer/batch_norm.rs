//! Batch normalization and two variants for spiking networks.
//!
//! y = (x − mean) / √(variance + ε) · weight + bias, for each channel. In training, mean and
//! variance are computed over all steps, images and positions, and the running statistics are updated:
//! running ← (1 − momentum)·running + momentum·measured, with the unbiased variance (as in PyTorch). In evaluation the running statistics are used.
//!
//! With [`BatchNorm::each_step`] mean and variance are those of each time step, and the running statistics are
//! updated at every step, as by a module that is called step by step. All steps are normalized at once.
//!
//! With [`BatchNorm::lengths`] they leave out the padding behind sequences of different lengths.
//!
//! In data-parallel training ([`Trace::in_group`](crate::module::Trace::in_group)), mean and variance can be those of all ranks, whose shards of
//! the batch have equal sizes: the mean of the means, and the mean of variance + (mean − mean of all)², which is
//! accurate for data far from zero too.
//!
//! Sources: S. Ioffe, C. Szegedy, arXiv:1502.03167 (2015); threshold-dependent: H. Zheng et al.,
//! *Going deeper with directly-trained larger spiking neural networks*, AAAI 2021; TEBN: C. Duan
//! et al., *Temporal effective batch normalization in spiking neural networks*, NeurIPS 2022.

use super::images::{channels_last, channels_second, expect};
use crate::LayerProblem;
use crate::domain::{Constant, Domain};
use crate::module::{Context, Description, Init, Module, Tree};
use crate::network::kind::{Builder, Built, LayerFields, LayerKeys, by_axes};
use crate::sequence;
use spikelet_core::Result;
use spikelet_expr::Expr;
use spikelet_graph::op::Recurrence;
use spikelet_graph::{DType, TensorType, Var};
use spikelet_schema::Schema;
use std::sync::Arc;

/// Batch normalization of `[T, N, C, …]` with `D` axes after the channels; with `D` = 1, of `[T, N, C]` too.
///
/// | tensor | shape | start | |
/// |---|---|---|---|
/// | `weight`, `bias` | `[C]` | 1 (`scale`), 0 | trainable |
/// | `running_mean`, `running_var` | `[C]` | 0, 1 | kept with the model |
///
/// Before a neuron it is fused into the neuron's kernel; only the statistics need a separate pass over memory.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let net = Sequential::new()
///     .add(Conv2d::new(1, 8, 3).bias(false).padding(1))
///     .add(BatchNorm2d::new(8))
///     .add(If::new())
///     .add(MaxPool2d::new(2));
/// let cx = Context::new(Mode::TRAIN, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [4, 2, 1, 28, 28]);
/// assert_eq!(cx.trace(&net, x)?.shape(), [4, 2, 8, 14, 14]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchNorm<const D: usize> {
    /// Channels.
    pub channels: usize,
    /// Added to the variance.
    pub epsilon: f64,
    /// The weight of the last batch in the running statistics.
    pub momentum: f64,
    /// Whether it has trainable weight and bias.
    pub affine: bool,
    /// The initial value of the weight.
    pub scale: f64,
    /// The number of time steps, each with a trainable factor (TEBN), if any.
    pub time_steps: Option<usize>,
    /// Whether each time step has its own mean and variance in training.
    pub each_step: bool,
    /// The name of the input with the lengths of the sequences, whose padding does not count, if any.
    pub lengths: Option<&'static str>,
}

/// Batch normalization of `[T, N, C]` or `[T, N, C, L]`.
pub type BatchNorm1d = BatchNorm<1>;
/// Batch normalization of `[T, N, C, H, W]`.
pub type BatchNorm2d = BatchNorm<2>;
/// Batch normalization of `[T, N, C, D, H, W]`.
pub type BatchNorm3d = BatchNorm<3>;

impl<const D: usize> BatchNorm<D> {
    /// Batch normalization with ε = 1e-5 and momentum 0.1.
    pub fn new(channels: usize) -> Self {
        Self {
            channels,
            epsilon: 1e-5,
            momentum: 0.1,
            affine: true,
            scale: 1.0,
            time_steps: None,
            each_step: false,
            lengths: None,
        }
    }

    /// Threshold-dependent: the initial weight is `alpha · v_threshold`, so that the input of a neuron is scaled
    /// to its threshold. `alpha` is 1 on the main path and 1/√n where n paths are added.
    #[doc(alias = "ThresholdDependentBatchNorm2d")]
    #[doc(alias = "tdBN")]
    pub fn threshold_dependent(channels: usize, alpha: f64, v_threshold: f64) -> Self {
        Self {
            scale: alpha * v_threshold,
            ..Self::new(channels)
        }
    }

    /// Temporal effective: each time step has a trainable factor `p`, initially 1.
    #[doc(alias = "TemporalEffectiveBatchNorm2d")]
    #[doc(alias = "TEBN")]
    pub fn temporal_effective(channels: usize, time_steps: usize) -> Self {
        Self {
            time_steps: Some(time_steps),
            ..Self::new(channels)
        }
    }

    /// Sets the constant that is added to the variance.
    #[must_use]
    pub fn epsilon(mut self, epsilon: f64) -> Self {
        self.epsilon = epsilon;
        self
    }

    /// Sets the weight of the last batch in the running statistics.
    #[must_use]
    pub fn momentum(mut self, momentum: f64) -> Self {
        self.momentum = momentum;
        self
    }

    /// Sets whether it has trainable weight and bias.
    #[must_use]
    pub fn affine(mut self, yes: bool) -> Self {
        self.affine = yes;
        self
    }

    /// Sets whether each time step is normalized with its own mean and variance in training, instead of those over all
    /// steps. Weight, bias and running statistics are shared by all steps; the latter are updated step after step.
    ///
    /// The result is that of `StepLoop(BatchNorm1d::new(c))`, without a loop over time.
    ///
    /// ```
    /// use spikelet_nn::prelude::*;
    /// let net = Sequential::new().add(Linear::new(20, 16).bias(false)).add(BatchNorm1d::new(16).each_step(true));
    /// let cx = Context::new(Mode::TRAIN, DType::F32);
    /// let x = cx.tracer().input("x_seq", DType::F32, [8, 2, 20]);
    /// assert_eq!(cx.trace(&net, x)?.shape(), [8, 2, 16]);
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    #[must_use]
    pub fn each_step(mut self, yes: bool) -> Self {
        self.each_step = yes;
        self
    }

    /// Sets the name of an input i64 `[N]` with the time steps of each sequence, such as `x_length` of a loader's field
    /// `x`: in training the padding behind a sequence does not count in mean and variance. The sequences of a layer
    /// behind [`PadTime`](super::PadTime) are longer; it takes an input with lengths of its own.
    ///
    /// ```
    /// use spikelet_nn::prelude::*;
    /// let norm = BatchNorm1d::new(16).lengths("x_length");
    /// let net = Sequential::new().add(Linear::new(20, 16)).add(norm);
    /// let cx = Context::new(Mode::TRAIN, DType::F32);
    /// let x = cx.tracer().input("x", DType::F32, [8, 2, 20]);
    /// cx.tracer().input("x_length", DType::I64, [2]);
    /// assert_eq!(cx.trace(&net, x)?.shape(), [8, 2, 16]);
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    #[must_use]
    pub fn lengths(mut self, input: &'static str) -> Self {
        self.lengths = Some(input);
        self
    }

    fn domains(&self) -> [Constant; 3] {
        let share = Domain::at_least(0.0).at_most(1.0);
        [
            Constant::new("epsilon", self.epsilon, Domain::above(0.0)),
            Constant::new("momentum", self.momentum, share),
            Constant::new("scale", self.scale, Domain::FINITE),
        ]
    }

    /// The mean and variance for the normalization of `x`, `[T, .., C]`, which broadcast to it.
    fn statistics(&self, cx: &Context, x: &Var) -> Result<[Var; 2]> {
        let mean = cx.buffer("running_mean", [self.channels], Init::Constant(0.0));
        let variance = cx.buffer("running_var", [self.channels], Init::Constant(1.0));
        if !cx.mode().training {
            return Ok([mean, variance]);
        }
        if let Some(name) = self.lengths {
            let [measured, biased, unbiased] = self.without_padding(cx, x, name)?;
            cx.set_buffer(&mean, &self.follow(&mean, &measured, 1, 1.0));
            cx.set_buffer(&variance, &self.follow(&variance, &unbiased, 1, 1.0));
            return Ok([measured, biased]);
        }
        // One step is all steps.
        let steps = if self.each_step { x.dim(0) } else { 1 };
        let mut measured = match steps {
            1 => x.mean_var(),
            _ => of_each_step(x),
        };
        let mut count = (x.ty().len() / (steps * self.channels).max(1)) as f64;
        if cx.syncs_batch_norm() {
            measured = of_all(cx.ranks(), measured);
            count *= cx.ranks() as f64;
        }
        let unbiased = count / (count - 1.0).max(1.0);
        for (running, measured, factor) in [
            (&mean, &measured[0], 1.0),
            (&variance, &measured[1], unbiased),
        ] {
            cx.set_buffer(running, &self.follow(running, measured, steps, factor));
        }
        if steps == 1 {
            return Ok(measured);
        }
        let mut shape = vec![1; x.rank()];
        (shape[0], shape[x.rank() - 1]) = (steps, self.channels);
        Ok(measured.map(|measured| measured.reshape(shape.clone())))
    }

    /// Mean, variance and unbiased variance of `x`, `[T, N, .., C]`, over the time steps of each sequence and, where they
    /// are synchronized, over all ranks.
    fn without_padding(&self, cx: &Context, x: &Var, name: &'static str) -> Result<[Var; 3]> {
        if self.each_step {
            let problem = LayerProblem::Exclusive("each_step", "lengths");
            return Err(cx.error("batch norm", problem));
        }
        cx.expect_all_steps("batch norm with lengths")?;
        let expected = TensorType::new(DType::I64, [x.dim(1)]);
        let lengths = cx.tracer().find_input(name);
        let Some(lengths) = lengths.filter(|lengths| *lengths.ty() == expected) else {
            return Err(cx.error("batch norm", LayerProblem::NoLengths { name, expected }));
        };
        let mask = sequence::mask_of(&lengths, x);
        let others: Vec<usize> = (0..x.rank() - 1).collect();
        let total = |own: Var| match cx.syncs_batch_norm() {
            true => Var::all_reduce(&[&own], cx.ranks()).remove(0),
            false => own,
        };
        let positions: usize = x.shape()[2..x.rank() - 1].iter().product();
        let count = total(mask.sum_all() * positions as f64).maximum(1.0);
        let mean = total((x * &mask).sum(&others)) / &count;
        let apart = x - &mean;
        let variance = total((&apart * &apart * mask).sum(&others)) / &count;
        let unbiased = &variance * &count / (&count - 1.0).maximum(1.0);
        Ok([mean, variance, unbiased])
    }

    /// The running statistics after what was measured at `steps` time steps, multiplied by `factor`.
    fn follow(&self, running: &Var, measured: &Var, steps: usize, factor: f64) -> Var {
        let next = |running: &Expr, measured: &Expr| {
            running * (1.0 - self.momentum) + measured * (self.momentum * factor)
        };
        if steps == 1 {
            return Var::map(&[running, measured], |v| next(&v[0], &v[1]));
        }
        let value = next(&Expr::symbol("running"), &Expr::symbol("measured"));
        let step = Recurrence::new("running_statistics", ["measured"], ["running"])
            .output("y", value.clone(), false)
            .next(vec![value]);
        let step = Arc::new(step);
        let made = Var::scan(&step, steps, &[measured], &[running], &[]);
        let [_, lasts, _] = step.split_results(&made);
        lasts[0].clone()
    }
}

/// Mean and variance of each time step of `[T, .., C]`, as `[T, C]`: those of the channels of `[.., T·C]`.
fn of_each_step(x: &Var) -> [Var; 2] {
    let (steps, channels) = (x.dim(0), x.dim(x.rank() - 1));
    let others = x.ty().len() / (steps * channels).max(1);
    let rows = x.reshape([steps, others, channels]).permute(&[1, 0, 2]);
    let measured = rows.reshape([others, steps * channels]).mean_var();
    measured.map(|of_all| of_all.reshape([steps, channels]))
}

/// Mean and variance over all ranks, of those of each.
fn of_all(ranks: usize, [own, variance]: [Var; 2]) -> [Var; 2] {
    let mean = |own: &Var| {
        let sums = Var::all_reduce(&[own], ranks);
        &sums[0] * (1.0 / ranks as f64)
    };
    let all = mean(&own);
    let spread = Var::map(&[&variance, &own, &all], |v| {
        let apart = &v[1] - &v[2];
        &v[0] + &apart * &apart
    });
    let variance = mean(&spread);
    [all, variance]
}

impl<const D: usize> Module for BatchNorm<D> {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        // BatchNorm1d takes sequences without a spatial axis too.
        let axes = if D == 1 && x.rank() == 3 { 0 } else { D };
        expect(cx, "batch norm", x, axes, Some(self.channels))?;
        cx.expect_domains("batch norm", &self.domains())?;
        let x = channels_last(x);
        let [mean, variance] = self.statistics(cx, &x)?;
        cx.tracer().check()?;
        let deviation = |v: &Expr| (v + self.epsilon).sqrt();
        let [scale, shift] = if self.affine {
            let weight = cx.parameter("weight", [self.channels], Init::Constant(self.scale));
            let bias = cx.parameter("bias", [self.channels], Init::Constant(0.0));
            let scale = Var::map(&[&weight, &variance], |v| &v[0] / deviation(&v[1]));
            let shift = Var::map(&[&bias, &mean, &scale], |v| &v[0] - &v[1] * &v[2]);
            [scale, shift]
        } else {
            let scale = variance.map1(|v| Expr::constant(self.scale) / deviation(v));
            let shift = Var::map(&[&mean, &scale], |v| -(&v[0] * &v[1]));
            [scale, shift]
        };
        let y = Var::map(&[&x, &scale, &shift], |v| &v[0] * &v[1] + &v[2]);
        let y = channels_second(&y);
        let Some(time_steps) = self.time_steps else {
            return Ok(y);
        };
        cx.expect_all_steps("temporal effective batch norm")?;
        if y.dim(0) != time_steps {
            return Err(cx.error(
                "temporal effective batch norm",
                LayerProblem::TimeSteps {
                    expected: time_steps,
                    given: y.ty().clone(),
                },
            ));
        }
        let mut shape = vec![1; y.rank()];
        shape[0] = time_steps;
        Ok(y * cx.parameter("p", shape, Init::Constant(1.0)))
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }

    fn describe(&self) -> Description<'_> {
        Description::BatchNorm {
            channels: self.channels,
            epsilon: self.epsilon,
            scale: (!self.affine).then_some(self.scale),
            each_step: self.time_steps.is_some(),
        }
    }
}

/// The largest number of time steps with factors of their own in files.
const MAX_TIME_STEPS: usize = 1 << 20;

/// Batch normalization of each channel.
#[derive(Debug, Schema)]
#[schema(name = "batch-norm")]
pub(crate) struct BatchNormKeys {
    /// The number that is added to the variance.
    #[schema(default = 1e-5, above = 0)]
    epsilon: f64,
    /// The share of a batch in the running statistics.
    #[schema(default = 0.1, from = 0, to = 1)]
    momentum: f64,
    /// Whether there are trained scales and offsets.
    #[schema(default = true)]
    affine: bool,
    /// The initial value of the scales.
    #[schema(default = 1.0)]
    scale: f64,
    /// Whether each time step has statistics of its own.
    each_step: bool,
    /// The number of time steps, each with a factor that is learned (TEBN).
    #[schema(from = 1, to = MAX_TIME_STEPS)]
    time_steps: Option<usize>,
    /// Whether training leaves out the padding behind sequences of different lengths, which are the input `x_length`.
    lengths: bool,
}

impl LayerKeys for BatchNormKeys {
    const OTHER_NAMES: &[&str] = &["bn", "batchnorm2d"];
    const HAS_AXES: bool = true;
    const EXAMPLE: (&[usize], &str) = (&[4, 6, 6], r#""batch-norm""#);

    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
        by_axes!(b.shape.len().max(2) - 1, build(self, layer, b))
    }
}

fn build<const D: usize>(keys: &BatchNormKeys, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
    let channels = b.shape[0];
    let norm = BatchNorm::<D> {
        epsilon: keys.epsilon,
        momentum: keys.momentum,
        affine: keys.affine,
        scale: keys.scale,
        each_step: keys.each_step,
        lengths: keys.lengths.then_some("x_length"),
        ..BatchNorm::new(channels)
    };
    let leaf = b.leaf(layer.name(), norm, channels.checked_mul(2), |_| Some(0))?;
    match keys.time_steps {
        // The builder's sequences have another number of steps.
        Some(_) => Ok(Arc::new(BatchNorm {
            time_steps: keys.time_steps,
            ..norm
        })),
        None => Ok(leaf),
    }
}
