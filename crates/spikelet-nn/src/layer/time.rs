//! Reductions over time, and modules that run step by step or on all steps at once.

use crate::module::{Context, Description, Module, Tree, print_as_tree};
use crate::network::kind::{Builder, Built, LayerFields, LayerKeys};
use crate::neuron::Readout;
use spikelet_core::Result;
use spikelet_graph::Var;
use spikelet_schema::Schema;

/// Defines a reduction of a sequence to one value for all time steps, and its kind in files.
macro_rules! reductions {
    ($($(#[$doc:meta])* $type:ident = $name:literal, $reduce:expr, $(#[$summary:meta])* $keys:ident = $key:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $type;

        impl Module for $type {
            fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
                cx.expect_rank($name, x, 2)?;
                cx.expect_all_steps($name)?;
                let reduce: fn(&Var) -> Var = $reduce;
                Ok(reduce(x))
            }

            fn tree(&self) -> Tree {
                Tree::fields(self)
            }

            fn describe(&self) -> Description<'_> {
                Description::Readout
            }
        }

        $(#[$summary])*
        #[derive(Debug, Schema)]
        #[schema(name = $key)]
        pub(crate) struct $keys {}

        impl LayerKeys for $keys {
            const EXAMPLE: (&[usize], &str) = (&[8], concat!("\"", $key, "\""));

            fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
                b.without_weights(layer, $type)
            }
        }
    )*};
}

/// A readout in full precision even if the sequence is stored in 16 bits.
fn exactly(readout: Readout, x: &Var) -> Var {
    let x = x.cast(x.ty().dtype.arithmetic());
    readout.over_time(&x).repeat_over_time(1)
}

reductions! {
    /// The mean over time, `[T, N, …] → [1, N, …]`: of spikes, the firing rate.
    TimeMean = "time mean", |x| x.mean(&[0]).repeat_over_time(1),
        /// The mean over time: of spikes, the firing rate.
        TimeMeanKeys = "time-mean";
    /// The last step, `[T, N, …] → [1, N, …]`.
    TimeLast = "time last", |x| x.slice(0, x.dim(0).saturating_sub(1)..x.dim(0)),
        /// The last time step.
        TimeLastKeys = "time-last";
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
    TimeSum = "time sum", |x| exactly(Readout::Sum, x),
        /// The sum over time: of spikes, the spike count.
        TimeSumKeys = "time-sum";
    /// The maximum over time, `[T, N, …] → [1, N, …]`.
    TimeMax = "time max", |x| exactly(Readout::Max, x),
        /// The maximum over time.
        TimeMaxKeys = "time-max";
    /// The sum over time of the softmax over the last axis, `[T, N, classes] → [1, N, classes]`: of a leaky
    /// integrator, the readout of sparch, SiLIF and SE-adLIF. Cross entropy applies a second softmax to it.
    ///
    /// ```
    /// use spikelet_nn::layer::SoftmaxSum;
    /// use spikelet_nn::neuron::LeakyIntegrator;
    /// use spikelet_nn::prelude::*;
    /// let net = Sequential::new().add(LeakyIntegrator::new(15.0)).add(SoftmaxSum);
    /// let cx = Context::new(Mode::EVAL, DType::F32);
    /// let x = cx.tracer().input("x_seq", DType::F32, [8, 2, 10]);
    /// assert_eq!(cx.trace(&net, x)?.shape(), [1, 2, 10]);
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    SoftmaxSum = "softmax sum", |x| exactly(Readout::SoftmaxSum, x),
        /// The sum over time of the softmax over the classes.
        SoftmaxSumKeys = "softmax-sum";
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
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        cx.expect_rank("function", x, 2)?;
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
/// use spikelet_nn::layer::StepLoop;
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
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        cx.expect_rank("each step", x, 2)?;
        let made = cx.step_loop(x, |step| self.0.forward(cx, &step))?;
        Ok(made.join())
    }

    fn tree(&self) -> Tree {
        Tree::for_type::<Self>().child("", &self.0)
    }
}

print_as_tree!({M: Module} StepLoop<M>);

impl<F> std::fmt::Debug for TimeDistributed<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TimeDistributed")
    }
}
