//! Time utilities: from a sequence to one value, and layers that see one step at a time.

use crate::error::Result;
use crate::module::{Context, Module};
use spikelet_graph::Var;

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
}

/// Runs a module whose input is constant over time on the first step alone and repeats what it
/// makes: `[T, N, …] → [T, N, …]`, computed once and never repeated in memory. (The seeds'
/// `static_conv`.) Batch norm inside sees each image once.
pub struct ConstantInput<M>(pub M);

impl<M: Module> Module for ConstantInput<M> {
    fn forward(&self, cx: &Context, x: Var) -> Result<Var> {
        cx.expect_rank("constant input", &x, 2)?;
        let time_steps = x.dim(0);
        let mut failure = None;
        let y = cx.once("result", || {
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
}

/// Runs a module that knows nothing of time on each step, all steps at once: time is folded into
/// the batch, `[T, N, …] → [T·N, …]`, and unfolded again. (The seeds' `SeqToANNContainer`.)
/// Layers of this crate treat steps alike without it.
pub struct Function<F>(pub F);

impl<F> Module for Function<F>
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

/// Runs a stateless module on one step after the other, each as a sequence of one step, and joins
/// the results. (The seeds' `MultiStepContainer`.) The values are those of running it on the
/// whole sequence; use it for a module whose memory for all steps at once is too large.
pub struct EachStep<M>(pub M);

impl<M: Module> Module for EachStep<M> {
    fn forward(&self, cx: &Context, x: Var) -> Result<Var> {
        cx.expect_rank("each step", &x, 2)?;
        let steps: Vec<Var> = (0..x.dim(0))
            .map(|t| self.0.forward(cx, x.slice(0, t..t + 1)))
            .collect::<Result<_>>()?;
        Ok(Var::concat(&steps.iter().collect::<Vec<_>>(), 0))
    }
}
