//! A fixed delay for each neuron.
//!
//! y[t, i] = x[t − d[i], i], which is 0 before the first step

use super::line::{MAX_LAGS, with_history};
use crate::LayerProblem;
use crate::domain::{Constant, Domain};
use crate::module::{Context, Description, Init, Module, Tree};
use spikelet_core::Result;
use spikelet_expr::Expr;
use spikelet_graph::Var;

/// A delay of a whole number of steps for each neuron: `[T, N, …] → [T, N, …]`. Delays are not trained.
///
/// | buffer | shape | start |
/// |---|---|---|
/// | `delay` | the shape of the neurons; only with several different delays | the first delay |
///
/// The values of `delay` are among the given delays; a neuron with another value has no output.
///
/// ```
/// use spikelet_nn::layer::FixedDelay;
/// use spikelet_nn::prelude::*;
/// let cx = Context::new(Mode::EVAL, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [50, 2, 16]);
/// assert_eq!(cx.trace(&FixedDelay::new([0, 3, 12]), x)?.shape(), [50, 2, 16]);
/// assert_eq!(cx.traced().buffers[0].name, "delay");
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixedDelay {
    /// The different delays, in steps.
    pub delays: Vec<usize>,
}

impl FixedDelay {
    /// The different delays, in steps. With one, it is that of all neurons.
    pub fn new(delays: impl Into<Vec<usize>>) -> Self {
        let mut delays = delays.into();
        delays.sort_unstable();
        delays.dedup();
        Self { delays }
    }

    fn check(&self, cx: &Context, x: &Var) -> Result<usize> {
        const KIND: &str = "fixed delay";
        cx.expect_rank(KIND, x, 2)?;
        let Some(&longest) = self.delays.last() else {
            return Err(cx.error(KIND, LayerProblem::NoDelay));
        };
        let delay = Constant::new("delay", longest as f64, Domain::whole(0, MAX_LAGS));
        cx.expect_domains(KIND, &[delay])?;
        Ok(longest)
    }
}

impl Module for FixedDelay {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        let longest = self.check(cx, x)?;
        let (steps, own) = (x.dim(0), x.shape()[2..].to_vec());
        let features = own.iter().product();
        let window = with_history(cx, &x.reshape([steps, x.dim(1), features]), longest);
        // The sequence as it was `delay` steps before.
        let earlier = |delay: usize| {
            let start = longest - delay;
            window.slice(0, start..start + steps).reshape(x.shape())
        };
        if let [delay] = self.delays[..] {
            return Ok(earlier(delay));
        }
        let delay = cx.once(|| {
            let first = Init::Constant(self.delays[0] as f64);
            cx.buffer("delay", own, first).cast(x.ty().dtype)
        });
        let mut operands = vec![delay];
        operands.extend(self.delays.iter().map(|&delay| earlier(delay)));
        let operands: Vec<&Var> = operands.iter().collect();
        Ok(Var::map(&operands, |operands| {
            let chosen = operands[1..].iter().zip(&self.delays);
            chosen.fold(Expr::constant(0.0), |other, (value, &steps)| {
                Expr::select(operands[0].equals(steps as f64), value, other)
            })
        }))
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }

    fn describe(&self) -> Description<'_> {
        Description::Delay(&self.delays)
    }
}
