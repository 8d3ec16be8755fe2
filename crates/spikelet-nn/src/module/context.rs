//! The context of a module while it is traced.

mod checks;
mod chunk;
mod given;
mod group;
mod mode;
mod operations;
mod state;
mod steps;
mod trace;
mod traced;

pub use chunk::{BEFORE, Chunk, ChunkState};
pub(crate) use given::LABEL;
pub use mode::Mode;
pub use operations::{CountedKind, CountedLayer, Operations};
pub use trace::Trace;
pub use traced::{LearnedStart, Traced, TracedState, TracedTensor, TracedTensors};

use super::stepping::Stepping;
use super::{Init, Observer, Propagation};
use crate::synapses::Synapses;
use group::Group;
use spikelet_core::Result;
use spikelet_expr::Expr;
use spikelet_graph::op::GENERATOR_STATE;
use spikelet_graph::{DType, Tracer, Var};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

/// A trace as its modules see it: the parameters, buffers, states and children of the current module, random numbers, recorded
/// values, the mode. The program that traces the network has the [`Trace`].
#[derive(Clone)]
pub struct Context {
    tracer: Tracer,
    mode: Mode,
    propagation: Propagation,
    /// Whether states with a random start begin at rest.
    at_rest: bool,
    /// Whether learning rules change weights outside training: the steps of a sequence.
    learns: Option<usize>,
    group: Group,
    observers: Vec<Rc<dyn Observer>>,
    traced: Rc<RefCell<Traced>>,
    /// Set where a network is traced for a part of the time steps.
    chunk: Option<Chunk>,
    chunk_states: Rc<RefCell<Vec<ChunkState>>>,
    /// The given values of states before the first step.
    starts: Rc<RefCell<state::Starts>>,
    /// Set while a step of a loop over time is traced.
    stepping: Rc<RefCell<Option<Stepping>>>,
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
    #[expect(clippy::new_ret_no_self, reason = "modules see a trace as its context")]
    pub fn new(mode: Mode, float: DType) -> Trace {
        Trace::of(Self {
            tracer: Tracer::new(float),
            mode,
            propagation: Propagation::default(),
            at_rest: false,
            learns: None,
            group: Group::default(),
            observers: vec![],
            traced: Rc::default(),
            chunk: None,
            chunk_states: Rc::default(),
            starts: Rc::default(),
            stepping: Rc::default(),
            signals: Rc::default(),
            step_signals: Rc::default(),
            given_parameters: Rc::default(),
        })
    }

    /// The observers of the trace, which a module tells what it computes.
    ///
    /// ```
    /// use spikelet_nn::energy::Synapses;
    /// use spikelet_nn::prelude::*;
    ///
    /// /// A product whose operations are counted.
    /// struct Product;
    ///
    /// impl Module for Product {
    ///     fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
    ///         for observer in cx.observers() {
    ///             observer.synapses(cx, "weight", x, Synapses::Linear { inputs: 4, outputs: 3 });
    ///         }
    ///         Ok(x.linear(&cx.parameter("weight", [3, 4], Init::fan_in(4))))
    ///     }
    /// }
    /// ```
    pub fn observers(&self) -> impl Iterator<Item = &dyn Observer> {
        self.observers.iter().map(|observer| &**observer)
    }

    /// Tells the observers of a product of `x` with the weight of this name.
    pub(crate) fn tell_synapses(&self, weight: &str, x: &Var, synapses: Synapses) {
        for observer in self.observers() {
            observer.synapses(self, weight, x, synapses.clone());
        }
    }

    /// Whether plastic layers without an optimizer learn: in training, and by [`Trace::learning`].
    pub fn learns(&self) -> bool {
        self.learns.is_some() || self.mode.training
    }

    /// Whether this call begins a sequence, 1 or 0, in a stream that [learns](Trace::learning); elsewhere every call does.
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

    /// Whether an observer asks for more values than spikes: inputs and states of neurons, kernels, currents.
    pub fn watches(&self) -> bool {
        self.observers().any(|observer| observer.watches())
    }

    /// Whether a neuron counts its spikes in a state.
    pub(crate) fn counts_spikes(&self) -> bool {
        let counts = self.observers().any(|observer| observer.counts_spikes());
        counts && !self.disables_fusion() && !self.is_stepping()
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
