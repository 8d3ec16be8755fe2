//! Observers of a network while it is traced.
//!
//! | observer | what it does |
//! |---|---|
//! | [`States`] | neurons record their inputs and states, layers their kernels and currents |
//! | [`SpikeCounts`] | neurons record the number of their spikes |
//! | [`Sequences`] | records the input of the network and the outputs of layers |
//! | [`Operations`] | records what is needed to count operations |
//! | [`Neurons`] | calls a function with each neuron |

use super::Context;
use crate::neuron::Neuron;
use crate::synapses::Synapses;
use spikelet_core::Result;
use spikelet_graph::Var;
use std::fmt;

pub use super::context::Operations;

/// Looks at a network while it is traced ([`Trace::observer`](super::Trace::observer)): modules tell it what they compute
/// ([`Context::observers`]), with the context of the module, whose path is that of the layer. It may record values and trace
/// others.
///
/// ```
/// use spikelet_nn::module::Observer;
/// use spikelet_nn::neuron::Neuron;
/// use spikelet_nn::prelude::*;
///
/// /// Records the firing rate of each neuron.
/// struct Rates;
///
/// impl Observer for Rates {
///     fn neuron(&self, cx: &Context, of: &dyn Neuron, _: &Var, out: &Var, _: Option<&Var>) -> Result<()> {
///         Ok(cx.record(&format!("{}_rate", of.name()), &out.mean(&[0]).reshape([&[1], &out.shape()[1..]].concat())))
///     }
/// }
///
/// let net = Sequential::new().add(Linear::new(4, 3)).add(Lif::new(2.0));
/// let cx = Context::new(Mode::EVAL, DType::F32).observer(Rates);
/// let x = cx.tracer().input("x_seq", DType::F32, [8, 2, 4]);
/// cx.trace(&net, x)?;
/// assert_eq!(cx.recorded("1.lif_rate")?.shape(), [1, 2, 3]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
pub trait Observer {
    /// Whether modules record more values than spikes, see [`States`].
    fn watches(&self) -> bool {
        false
    }

    /// Whether neurons count their spikes, see [`SpikeCounts`].
    fn counts_spikes(&self) -> bool {
        false
    }

    /// The input of the network, `input_seq`, or the output of a layer of a list, `output_seq`.
    fn sequence(&self, _cx: &Context, _name: &str, _value: &Var) {}

    /// A product of the sequence `x`, `[T, N, …]` or without time `[N, …]` of two axes, with the weight of this name, which is
    /// not traced yet.
    fn synapses(&self, _cx: &Context, _weight: &str, _x: &Var, _synapses: Synapses) {}

    /// A neuron with its input, its output, and its membrane potential after each step, if it is a state: `[T, N, …]`. In a loop
    /// over time a neuron may be told of more than once.
    ///
    /// # Errors
    /// When the observer does not accept the neuron.
    fn neuron(
        &self,
        _cx: &Context,
        _neuron: &dyn Neuron,
        _input: &Var,
        _output: &Var,
        _potentials: Option<&Var>,
    ) -> Result<()> {
        Ok(())
    }
}

/// Neurons record their inputs and states as well as their spikes, and layers their kernels and currents.
#[derive(Clone, Copy, Debug)]
pub struct States;

impl Observer for States {
    fn watches(&self) -> bool {
        true
    }
}

/// Neurons whose outputs are 0 or 1 record the number of their spikes over all time steps, `PATH.spike_count` `[1, N, …]`, as
/// well as the spikes. The number is a state of the neuron, so that it needs no sequence in memory. Neurons without states, and
/// those that are traced step by step, record their spikes only. For evaluations.
///
/// ```
/// use spikelet_nn::module::observer;
/// use spikelet_nn::prelude::*;
/// let net = Sequential::new().add(Linear::new(4, 3)).add(Lif::new(2.0));
/// let cx = Context::new(Mode::EVAL, DType::F32).observer(observer::SpikeCounts);
/// let x = cx.tracer().input("x_seq", DType::F32, [8, 2, 4]);
/// cx.trace(&net, x)?;
/// assert_eq!(cx.recorded("1.spike_count")?.shape(), [1, 2, 3]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SpikeCounts;

impl Observer for SpikeCounts {
    fn counts_spikes(&self) -> bool {
        true
    }
}

/// Records the input of the network, `input_seq`, and the output of each layer of a list
/// ([`Sequential`](crate::module::Sequential)), `PATH.output_seq`.
///
/// ```
/// use spikelet_nn::module::observer;
/// use spikelet_nn::prelude::*;
/// let net = Sequential::new().add(Linear::new(4, 3)).add(Lif::new(2.0));
/// let cx = Context::new(Mode::EVAL, DType::F32).observer(observer::Sequences);
/// let x = cx.tracer().input("x_seq", DType::F32, [8, 2, 4]);
/// cx.trace(&net, x)?;
/// assert_eq!(cx.recorded("0.output_seq")?.shape(), [8, 2, 3]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Sequences;

impl Observer for Sequences {
    fn sequence(&self, cx: &Context, name: &str, value: &Var) {
        cx.record(name, value);
    }
}

/// Calls a function with each neuron: with its path, the neuron, and the shape of its input `[T, N, …]`.
///
/// ```
/// use spikelet_nn::module::observer;
/// use spikelet_nn::prelude::*;
/// use std::cell::RefCell;
/// use std::rc::Rc;
///
/// let thresholds = Rc::new(RefCell::new(vec![]));
/// let found = thresholds.clone();
/// let cx = Context::new(Mode::EVAL, DType::F32).observer(observer::Neurons::new(move |path, neuron, _| {
///     found.borrow_mut().push((path.to_string(), neuron.common().v_threshold));
/// }));
/// let net = Sequential::new().add(Linear::new(4, 3)).add(Lif::new(2.0).v_threshold(0.5));
/// let x = cx.tracer().input("x_seq", DType::F32, [8, 2, 4]);
/// cx.trace(&net, x)?;
/// assert_eq!(*thresholds.borrow(), [("1".to_string(), 0.5)]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
pub struct Neurons<F>(F);

impl<F: Fn(&str, &dyn Neuron, &[usize])> Neurons<F> {
    /// An observer that calls this function.
    pub fn new(function: F) -> Self {
        Self(function)
    }
}

impl<F: Fn(&str, &dyn Neuron, &[usize])> Observer for Neurons<F> {
    fn neuron(
        &self,
        cx: &Context,
        neuron: &dyn Neuron,
        input: &Var,
        _: &Var,
        _: Option<&Var>,
    ) -> Result<()> {
        (self.0)(&cx.tracer().path(), neuron, input.shape());
        Ok(())
    }
}

impl<F> fmt::Debug for Neurons<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Neurons")
    }
}
