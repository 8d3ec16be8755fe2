//! The context of a module while it is traced.

mod checks;
mod chunk;
mod given;
mod group;
mod mode;
mod operations;
mod state;
mod steps;
mod traced;
mod visitor;

pub use chunk::{BEFORE, Chunk, ChunkState};
pub(crate) use given::LABEL;
pub use mode::Mode;
pub use operations::{CountedKind, CountedLayer};
pub use traced::{LearnedStart, Traced, TracedState, TracedTensor, TracedTensors};

use super::stepping::Stepping;
use super::{Init, Propagation};
use group::Group;
use spikelet_core::Result;
use spikelet_expr::Expr;
use spikelet_graph::op::GENERATOR_STATE;
use spikelet_graph::{DType, Precision, Tracer, Var};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

/// The trace of a network: its tracer, its mode, and the path of the current module.
#[derive(Clone)]
pub struct Context {
    tracer: Tracer,
    mode: Mode,
    propagation: Propagation,
    /// Whether neurons record their inputs and states.
    watches: bool,
    /// Whether neurons count their spikes while they run.
    counts_spikes: bool,
    /// Whether layers record what is needed to count their operations.
    counts: bool,
    /// Whether the input of the network and the outputs of layers are recorded.
    records_sequences: bool,
    /// Whether states with a random start begin at rest.
    at_rest: bool,
    /// Whether learning rules change weights outside training: the steps of a sequence.
    learns: Option<usize>,
    group: Group,
    traced: Rc<RefCell<Traced>>,
    /// Set where a network is traced for a part of the time steps.
    chunk: Option<Chunk>,
    chunk_states: Rc<RefCell<Vec<ChunkState>>>,
    /// The given values of states before the first step.
    starts: Rc<RefCell<state::Starts>>,
    /// Set while a step of a loop over time is traced.
    stepping: Rc<RefCell<Option<Stepping>>>,
    /// Called with each neuron.
    visitor: Option<visitor::Visitor>,
    /// Values from outside, such as rewards.
    signals: Rc<RefCell<BTreeMap<String, Var>>>,
    /// Those of the current module, which have the steps of its sequences.
    step_signals: Rc<RefCell<BTreeMap<String, Var>>>,
    /// The values that modules get in place of their parameters, by path, and whether they were read.
    given_parameters: Rc<RefCell<BTreeMap<String, (Var, bool)>>>,
}

/// The name of the generator's state among the inputs: i64 `[4]`, seed, step, time, images before.
pub const GENERATOR: &str = "generator";

impl Context {
    /// A new trace. `float` is f32, or f64 for gradient checks.
    pub fn new(mode: Mode, float: DType) -> Self {
        Self {
            tracer: Tracer::new(float),
            mode,
            propagation: Propagation::default(),
            watches: false,
            counts_spikes: false,
            counts: false,
            records_sequences: false,
            at_rest: false,
            learns: None,
            group: Group::default(),
            traced: Rc::default(),
            chunk: None,
            chunk_states: Rc::default(),
            starts: Rc::default(),
            stepping: Rc::default(),
            visitor: None,
            signals: Rc::default(),
            step_signals: Rc::default(),
            given_parameters: Rc::default(),
        }
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
        self.propagation = propagation;
        self.tracer
            .disable_fusion(propagation == Propagation::StepByStepUnfused);
        self
    }

    /// Sets the element types of matrix products and of stored sequences. Must be set before anything
    /// is traced.
    #[must_use]
    pub fn precision(self, precision: Precision) -> Self {
        self.tracer.set_precision(precision);
        self
    }

    /// Makes neurons record their inputs and states as well as their spikes. Must be set before anything
    /// is traced.
    #[must_use]
    pub fn watching(mut self) -> Self {
        self.watches = true;
        self
    }

    /// Makes [plastic layers](crate::learning::Plastic) without an optimizer learn outside training as well: in a trained
    /// network that runs on a stream, where weights change in each step only, or whose values are recorded. Must be set
    /// before anything is traced. [`Traced::plastic`] lists the layers. A sequence has `time_steps` steps: where each call is
    /// one step ([`Mode::STREAM`]), what these layers do before a sequence they do before every `time_steps`-th call.
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
        self.learns = Some(time_steps);
        self
    }

    /// Whether plastic layers without an optimizer learn: in training, and by [`Context::learning`].
    pub fn learns(&self) -> bool {
        self.learns.is_some() || self.mode.training
    }

    /// Whether this call begins a sequence, 1 or 0, in a stream that [learns](Context::learning); elsewhere every call does.
    /// A state of the current module counts the calls.
    pub(crate) fn begins_sequence(&self) -> Option<Var> {
        let time_steps = self.learns.filter(|_| self.mode.carry_state)?;
        let step = self.state("step", [1], 0.0);
        let next = step.map1(|step| {
            let next = step + 1.0;
            Expr::select(next.ge(time_steps as f64), 0.0, next)
        });
        self.set_state(&step, &next);
        Some(step.map1(|step| Expr::select(step.differs(0.0), 0.0, 1.0)))
    }

    /// Notes that the current module learns by a rule, without an optimizer.
    pub(crate) fn note_plastic(&self) {
        let path = self.tracer.path();
        let plastic = &mut self.traced.borrow_mut().plastic;
        if !plastic.contains(&path) {
            plastic.push(path);
        }
    }

    /// Notes a warning about the current module.
    pub(crate) fn warn(&self, text: &str) {
        let path = self.tracer.path();
        let text = match path.is_empty() {
            true => text.to_string(),
            false => format!("layer `{path}`: {text}"),
        };
        let warnings = &mut self.traced.borrow_mut().warnings;
        // A layer may be called twice.
        if !warnings.contains(&text) {
            warnings.push(text);
        }
    }

    /// Whether neurons record their inputs and states.
    pub fn watches(&self) -> bool {
        self.watches
    }

    /// Makes neurons whose outputs are 0 or 1 record the number of their spikes over all time steps,
    /// `PATH.spike_count` `[1, N, …]`, as well as the spikes. The number is a state of the neuron, so that it needs no
    /// sequence in memory. Neurons without states, and those that are traced step by step, record their spikes only.
    /// For evaluations; must be set before anything is traced.
    ///
    /// ```
    /// use spikelet_nn::prelude::*;
    /// let net = Sequential::new().add(Linear::new(4, 3)).add(Lif::new(2.0));
    /// let cx = Context::new(Mode::EVAL, DType::F32).counting_spikes();
    /// let x = cx.tracer().input("x_seq", DType::F32, [8, 2, 4]);
    /// cx.trace(&net, x)?;
    /// assert_eq!(cx.recorded("1.spike_count")?.shape(), [1, 2, 3]);
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    #[must_use]
    pub fn counting_spikes(mut self) -> Self {
        self.counts_spikes = true;
        self
    }

    /// Records the input of the network, `input_seq`, and the output of each layer of a list
    /// ([`Sequential`](crate::module::Sequential)), `PATH.output_seq`. Must be set before anything is traced.
    ///
    /// ```
    /// use spikelet_nn::prelude::*;
    /// let net = Sequential::new().add(Linear::new(4, 3)).add(Lif::new(2.0));
    /// let cx = Context::new(Mode::EVAL, DType::F32).recording_sequences();
    /// let x = cx.tracer().input("x_seq", DType::F32, [8, 2, 4]);
    /// cx.trace(&net, x)?;
    /// assert_eq!(cx.recorded("0.output_seq")?.shape(), [8, 2, 3]);
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    #[must_use]
    pub fn recording_sequences(mut self) -> Self {
        self.records_sequences = true;
        self
    }

    /// Whether the input of the network and the outputs of layers are recorded.
    pub(super) fn records_sequences(&self) -> bool {
        self.records_sequences
    }

    /// Lets states with a random start begin at rest, as those of a stream do. Must be set before anything is traced.
    #[must_use]
    pub fn at_rest(mut self) -> Self {
        self.at_rest = true;
        self
    }

    /// Whether a neuron counts its spikes in a state.
    pub(crate) fn counts_spikes(&self) -> bool {
        self.counts_spikes && !self.disables_fusion() && !self.is_stepping()
    }

    /// Whether neurons are separate kernels for charge, fire and reset.
    pub(crate) fn disables_fusion(&self) -> bool {
        self.propagation == Propagation::StepByStepUnfused
    }

    pub(super) fn is_stepping(&self) -> bool {
        self.stepping.borrow().is_some()
    }

    /// The tracer, for inputs, outputs and gradients.
    pub fn tracer(&self) -> &Tracer {
        &self.tracer
    }

    /// The purpose of the trace.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The parameters and states traced so far.
    pub fn traced(&self) -> Traced {
        self.traced.borrow().clone()
    }

    /// Runs `inside` with `name` added to the path, and returns errors of the trace so far.
    ///
    /// # Errors
    /// The error of `inside`, or the first error of the trace.
    pub fn child<T>(&self, name: &str, inside: impl FnOnce(&Context) -> Result<T>) -> Result<T> {
        let result = self.tracer.scope(name, || inside(self))?;
        self.tracer.check()?;
        Ok(result)
    }

    /// The trainable parameter `name` of the current module.
    pub fn parameter(&self, name: &str, shape: impl Into<Vec<usize>>, init: Init) -> Var {
        let (path, shape) = (self.tracer.path_of(name), shape.into());
        if let Some((given, read)) = self.given_parameters.borrow_mut().get_mut(&path) {
            *read = true;
            return given.clone();
        }
        if let Some(known) = self.tracer.find_input(&path) {
            return known;
        }
        let var = self.tracer.parameter(&path, shape.clone());
        let name = path;
        let parameter = TracedTensor {
            name,
            shape,
            init,
            limits: None,
        };
        self.traced.borrow_mut().parameters.push(parameter);
        var
    }

    /// Sets the limits to which an update clamps the parameter `name` of the current module.
    pub fn limit_parameter(&self, name: &str, limits: [f64; 2]) {
        let path = self.tracer.path_of(name);
        let parameters = &mut self.traced.borrow_mut().parameters;
        if let Some(found) = parameters.iter_mut().find(|p| p.name == path) {
            found.limits = Some(limits);
        }
    }

    /// The state of the random number generator.
    pub fn generator(&self) -> Var {
        self.tracer
            .find_input(GENERATOR)
            .unwrap_or_else(|| self.tracer.input(GENERATOR, DType::I64, [GENERATOR_STATE]))
    }

    /// A value of the current module that is the same at all time steps, such as a dropout mask: in a network that
    /// runs step by step, it is computed once, before the first step. If it depends on the input of the module, it
    /// is the value at the first step.
    pub fn once(&self, build: impl FnOnce() -> Var) -> Var {
        // Not a part of the step: states and buffers inside are those of the program.
        let stepping = self.stepping.borrow_mut().take();
        let value = self.tracer.outside_loop(build);
        *self.stepping.borrow_mut() = stepping;
        value
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("path", &self.tracer.path())
            .field("mode", &self.mode)
            .field("propagation", &self.propagation)
            .finish_non_exhaustive()
    }
}
