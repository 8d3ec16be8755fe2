//! The trace of a network: its settings, and what is read of it.

use super::group::Group;
use super::{Chunk, ChunkState, Context, Traced};
use crate::module::{Observer, Propagation};
use spikelet_graph::Precision;
use std::ops::Deref;
use std::rc::Rc;

/// The trace of a network, made by [`Context::new`]. The program that traces a network has it: it makes the settings, and
/// compiles the trace. Modules see its [`Context`].
///
/// ```
/// use spikelet_nn::prelude::*;
/// let net = Sequential::new().add(Linear::new(4, 3)).add(Lif::new(2.0));
/// let cx = Context::new(Mode::TRAIN, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [8, 2, 4]);
/// cx.trace(&net, x)?;
/// assert_eq!(cx.traced().parameters[0].name, "0.weight");
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Trace(Context);

impl Deref for Trace {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.0
    }
}

impl Trace {
    pub(super) fn of(cx: Context) -> Self {
        Self(cx)
    }

    /// Sets the order in which layers and time steps run. Must be set before anything is traced.
    ///
    /// ```
    /// use spikelet_nn::module::Propagation;
    /// use spikelet_nn::prelude::*;
    /// let net = Sequential::new().add(Linear::new(4, 3)).add(Lif::new(2.0));
    /// let cx = Context::new(Mode::EVAL, DType::F32).propagation(Propagation::StepByStep);
    /// let x = cx.tracer().input("x_seq", DType::F32, [8, 2, 4]);
    /// assert_eq!(cx.trace(&net, x)?.shape(), [8, 2, 3]);
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    #[must_use]
    pub fn propagation(mut self, propagation: Propagation) -> Self {
        self.0.propagation = propagation;
        self.tracer()
            .disable_fusion(propagation == Propagation::StepByStepUnfused);
        self
    }

    /// Sets the element types of matrix products and of stored sequences. Must be set before anything
    /// is traced.
    #[must_use]
    pub fn precision(self, precision: Precision) -> Self {
        self.tracer().set_precision(precision);
        self
    }

    /// Makes [plastic layers](crate::learning::Plastic) without an optimizer learn outside training as well: in a trained
    /// network that runs on a stream, where weights change in each step only, or whose values are recorded. Must be set
    /// before anything is traced. [`Traced::plastic`] lists the layers. A sequence has `time_steps` steps: where each call is
    /// one step ([`Mode::STREAM`](super::Mode::STREAM)), what these layers do before a sequence they do before every `time_steps`-th call.
    ///
    /// ```
    /// use spikelet_nn::learning::{PairStdp, Plastic};
    /// use spikelet_nn::prelude::*;
    /// let net = Plastic::new(Linear::new(4, 3).bias(false), Lif::new(2.0), PairStdp::default());
    /// let cx = Context::new(Mode::STREAM, DType::F32).learning(100);
    /// let x = cx.tracer().input("x_seq", DType::F32, [1, 1, 4]);
    /// cx.child("features", |cx| cx.trace(&net, x))?;
    /// assert_eq!(cx.traced().plastic, ["features"]);
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    #[must_use]
    pub fn learning(mut self, time_steps: usize) -> Self {
        self.0.learns = Some(time_steps);
        self
    }

    /// Lets states with a random start begin at rest, as those of a stream do. Must be set before anything is traced.
    #[must_use]
    pub fn at_rest(mut self) -> Self {
        self.0.at_rest = true;
        self
    }

    /// Sets the number of processes that run the program together, each with an equal part of the
    /// batch; before anything is traced. With `sync_batch_norm`, batch norm uses mean and variance of
    /// the full batch, and its gradients are those of the full batch too; otherwise each rank uses
    /// those of its own part.
    ///
    /// The device must then be in a group of as many ranks, and all of them must run the program
    /// together.
    ///
    /// ```
    /// use spikelet_nn::prelude::*;
    /// let cx = Context::new(Mode::TRAIN, DType::F32).in_group(4, true);
    /// let x = cx.tracer().input("x_seq", DType::F32, [4, 2, 8, 5, 5]);
    /// cx.trace(&BatchNorm2d::new(8), x)?;
    /// assert!(cx.tracer().traced().to_string().contains("all_reduce_start[4 ranks]"));
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    #[must_use]
    pub fn in_group(mut self, ranks: usize, sync_batch_norm: bool) -> Self {
        self.0.group = Group {
            ranks: ranks.max(1),
            sync_batch_norm,
        };
        self
    }

    /// Traces for a part of the time steps: states are inputs and outputs of the program, in
    /// training too. Must be set before anything is traced.
    #[must_use]
    pub fn chunk(mut self, chunk: Chunk) -> Self {
        self.0.chunk = Some(chunk);
        self
    }

    /// Adds an observer. Must be called before anything is traced.
    ///
    /// ```
    /// use spikelet_nn::module::observer;
    /// use spikelet_nn::prelude::*;
    /// let net = Sequential::new().add(Linear::new(4, 3)).add(Lif::new(2.0));
    /// let cx = Context::new(Mode::EVAL, DType::F32).observer(observer::States);
    /// let x = cx.tracer().input("x_seq", DType::F32, [8, 2, 4]);
    /// cx.trace(&net, x)?;
    /// assert_eq!(cx.recorded("1.v_seq")?.shape(), [8, 2, 3]);
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    #[must_use]
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.0.observers.push(Rc::new(observer));
        self
    }

    /// The parameters and states traced so far.
    pub fn traced(&self) -> Traced {
        self.0.traced.borrow().clone()
    }

    /// The states of a chunk.
    pub fn chunk_states(&self) -> Vec<ChunkState> {
        self.0.chunk_states.borrow().clone()
    }
}
