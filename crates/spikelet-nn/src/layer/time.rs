//! Reductions over time, and modules that run step by step or on all steps at once.

use crate::module::{Context, Module, Tree, print_as_tree};
use crate::neuron::Readout;
use spikelet_core::Result;
use spikelet_graph::Var;
use std::any::Any;

/// The mean over time, `[T, N, …] → [1, N, …]`: of spikes, the firing rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeMean;

impl Module for TimeMean {
    fn forward(&self, cx: &Context, x: Var) -> Result<Var> {
        cx.expect_rank("time mean", &x, 2)?;
        cx.expect_all_steps("time mean")?;
        let mean = x.mean(&[0]);
        Ok(mean.repeat_over_time(1))
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

/// The last step, `[T, N, …] → [1, N, …]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeLast;

impl Module for TimeLast {
    fn forward(&self, cx: &Context, x: Var) -> Result<Var> {
        cx.expect_rank("time last", &x, 2)?;
        cx.expect_all_steps("time last")?;
        let time = x.dim(0);
        Ok(x.slice(0, time.saturating_sub(1)..time))
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

/// Defines the reduction of a sequence to one value for all time steps.
macro_rules! readouts {
    ($($(#[$doc:meta])* $type:ident = $name:literal, $readout:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $type;

        impl Module for $type {
            fn forward(&self, cx: &Context, x: Var) -> Result<Var> {
                cx.expect_rank($name, &x, 2)?;
                cx.expect_all_steps($name)?;
                // Sums have full precision even if the sequence is stored in 16 bits.
                let x = x.cast(x.ty().dtype.arithmetic());
                Ok(Readout::$readout.over_time(&x).repeat_over_time(1))
            }

            fn tree(&self) -> Tree {
                Tree::fields(self)
            }

            fn as_any(&self) -> Option<&dyn Any> {
                Some(self)
            }
        }
    )*};
}

readouts! {
    /// The sum over time, `[T, N, …] → [1, N, …]`: of spikes, the spike count.
    ///
    /// ```
    /// use spikelet_nn::prelude::*;
    /// let net = Sequential::new().add(Lif::new(2.0)).add(TimeSum);
    /// let cx = Context::new(Mode::EVAL, DType::F32);
    /// let x = cx.tracer().input("x_seq", DType::F32, [8, 2, 4]);
    /// assert_eq!(cx.trace(&net, x)?.shape(), [1, 2, 4]);
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    #[doc(alias = "spike count")]
    TimeSum = "time sum", Sum;
    /// The maximum over time, `[T, N, …] → [1, N, …]`.
    TimeMax = "time max", Max;
    /// The sum over time of the softmax over the last axis, `[T, N, classes] → [1, N, classes]`: of a leaky
    /// integrator, the readout of sparch, SiLIF and SE-adLIF. Cross entropy applies a second softmax to it.
    ///
    /// ```
    /// use spikelet_nn::prelude::*;
    /// let net = Sequential::new().add(LeakyIntegrator::new(15.0)).add(SoftmaxSum);
    /// let cx = Context::new(Mode::EVAL, DType::F32);
    /// let x = cx.tracer().input("x_seq", DType::F32, [8, 2, 10]);
    /// assert_eq!(cx.trace(&net, x)?.shape(), [1, 2, 10]);
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    SoftmaxSum = "softmax sum", SoftmaxSum;
}

/// Runs a module whose input is constant over time on the first step only and repeats its output:
/// `[T, N, …] → [T, N, …]`. The output is computed and stored once, like `static_conv` in SpikingJelly's
/// Fashion-MNIST tutorial. Batch norm in the module counts each image once.
pub struct StaticInput<M>(pub M);

impl<M: Module> Module for StaticInput<M> {
    fn forward(&self, cx: &Context, x: Var) -> Result<Var> {
        cx.expect_rank("constant input", &x, 2)?;
        let time_steps = x.dim(0);
        let mut failure = None;
        let y = cx.once(|| {
            let made = self.0.forward(cx, x.slice(0, 0..time_steps.min(1)));
            made.unwrap_or_else(|error| {
                failure = Some(error);
                x.clone()
            })
        });
        if let Some(error) = failure {
            return Err(error);
        }
        let mut shape = y.shape().to_vec();
        shape[0] = time_steps;
        Ok(y.expand(shape))
    }

    fn tree(&self) -> Tree {
        Tree::for_type::<Self>().child("", &self.0)
    }
}

/// Runs a function of a batch without a time axis on all steps at once: time is folded into the
/// batch, `[T, N, …] → [T·N, …]`, and unfolded again (SpikingJelly's `SeqToANNContainer`).
/// The layers of this crate do not need it.
#[doc(alias = "SeqToANNContainer")]
pub struct TimeDistributed<F>(pub F);

impl<F> Module for TimeDistributed<F>
where
    F: Fn(&Context, Var) -> Result<Var> + Send + Sync,
{
    fn forward(&self, cx: &Context, x: Var) -> Result<Var> {
        cx.expect_rank("function", &x, 2)?;
        let (time, batch) = (x.dim(0), x.dim(1));
        let mut folded = vec![time * batch];
        folded.extend(&x.shape()[2..]);
        let y = (self.0)(cx, x.reshape(folded))?;
        let mut unfolded = vec![time, batch];
        unfolded.extend(&y.shape()[1..]);
        Ok(y.reshape(unfolded))
    }
}

/// Runs a module on one step `[1, N, …]` after the other and concatenates the results (SpikingJelly's
/// `MultiStepContainer`). States are carried from step to step: a neuron has the same output as for
/// the full sequence, with the same gradients through time. Batch norm uses the statistics of each
/// step separately, and its running statistics are updated at each step.
///
/// The module is traced once, as the body of a loop over time. A module that needs all steps at once, such as
/// [`TimeMean`] or a parallel neuron, is an error.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let cx = Context::new(Mode::EVAL, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [8, 2, 20]);
/// let net = StepLoop(Sequential::new().add(Linear::new(20, 10)).add(If::new()));
/// assert_eq!(cx.trace(&net, x)?.shape(), [8, 2, 10]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[doc(alias = "MultiStepContainer")]
pub struct StepLoop<M>(pub M);

impl<M: Module> Module for StepLoop<M> {
    fn forward(&self, cx: &Context, x: Var) -> Result<Var> {
        cx.expect_rank("each step", &x, 2)?;
        let made = cx.step_loop(&x, |step| self.0.forward(cx, step))?;
        Ok(made.join())
    }

    fn tree(&self) -> Tree {
        Tree::for_type::<Self>().child("", &self.0)
    }
}

print_as_tree!({M: Module} StaticInput<M>, {M: Module} StepLoop<M>);

impl<F> std::fmt::Debug for TimeDistributed<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TimeDistributed")
    }
}
