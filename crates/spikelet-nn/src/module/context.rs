//! The context of a module while it is traced.

mod checks;
mod group;

use super::unroll::Unrolling;
use super::{Init, Module, Propagation, StepOutputs};
use crate::RuntimeError;
use crate::trainable::{Bound, Granularity};
use group::Group;
use spikelet_core::Result;
use spikelet_graph::op::GENERATOR_STATE;
use spikelet_graph::{DType, Precision, Tracer, Var};
use std::cell::RefCell;
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

/// The purpose of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mode {
    /// Dropout is active, batch norm uses the statistics of the batch.
    pub training: bool,
    /// States are inputs and outputs, so that the next call continues the sequence. Otherwise each call starts
    /// from the reset values.
    pub carry_state: bool,
}

impl Mode {
    /// Training; each call starts from the reset values.
    pub const TRAIN: Self = Self {
        training: true,
        carry_state: false,
    };
    /// Evaluation; each call starts from the reset values.
    pub const EVAL: Self = Self {
        training: false,
        carry_state: false,
    };
    /// Evaluation call by call: states are carried.
    pub const STREAM: Self = Self {
        training: false,
        carry_state: true,
    };
}

/// A carried state whose reset value is learned.
#[derive(Clone, Debug, PartialEq)]
pub struct LearnedStart {
    /// The state's name.
    pub state: String,
    /// The parameter's name.
    pub parameter: String,
    /// The granularity of the parameter.
    pub granularity: Granularity,
    /// The bound of the constant.
    pub bound: Bound,
}

/// A range of time steps that is a separate program. Other programs run the steps before and after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Whether the chunk has the first time step: states start from their reset values.
    pub begins: bool,
    /// Whether the chunk has the last time step: the states after it are unused.
    pub ends: bool,
}

impl Chunk {
    /// All time steps.
    pub const WHOLE: Self = Self {
        begins: true,
        ends: true,
    };
}

/// The prefix of the input for the state before a chunk; the state's path follows.
pub const BEFORE: &str = "state before ";

/// A state of a chunk.
#[derive(Clone, Debug)]
pub struct ChunkState {
    /// The state's name.
    pub path: String,
    /// The state before the chunk: an input, or the reset value where the chunk begins the sequence.
    pub before: Var,
    /// The state after it.
    pub after: Option<Var>,
}

/// A parameter or a buffer of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct TracedTensor {
    /// Its path.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its initial values.
    pub init: Init,
}

/// A carried state of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct TracedState {
    /// Its path.
    pub name: String,
    /// Its shape, `[N, …]`.
    pub shape: Vec<usize>,
    /// Its reset value.
    pub reset: f64,
}

/// Parameters, states and buffers of a trace.
#[derive(Clone, Debug, Default)]
pub struct Traced {
    /// The parameters, in order of use.
    pub parameters: Vec<TracedTensor>,
    /// The carried states.
    pub states: Vec<TracedState>,
    /// Carried states that start from a trainable value.
    pub starts: Vec<LearnedStart>,
    /// The tensors of the model that are not trained.
    pub buffers: Vec<TracedTensor>,
    /// The recorded values of modules: name and value.
    pub recorded: Vec<(String, Var)>,
}

/// The trace of a network: its tracer, its mode, and the path of the current module.
#[derive(Clone)]
pub struct Context {
    tracer: Tracer,
    mode: Mode,
    propagation: Propagation,
    /// Whether neurons record their inputs and states.
    watches: bool,
    group: Group,
    traced: Rc<RefCell<Traced>>,
    /// Set where a network is traced for a part of the time steps.
    chunk: Option<Chunk>,
    chunk_states: Rc<RefCell<Vec<ChunkState>>>,
    /// Set while a network is traced step by step.
    unrolling: Rc<RefCell<Option<Unrolling>>>,
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
            group: Group::default(),
            traced: Rc::default(),
            chunk: None,
            chunk_states: Rc::default(),
            unrolling: Rc::default(),
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

    /// Traces for a part of the time steps: states are inputs and outputs of the program, in
    /// training too. Must be set before anything is traced.
    #[must_use]
    pub fn chunk(mut self, chunk: Chunk) -> Self {
        self.chunk = Some(chunk);
        self
    }

    /// Whether only a part of the time steps is traced.
    pub(super) fn is_chunk(&self) -> bool {
        self.chunk.is_some_and(|chunk| chunk != Chunk::WHOLE)
    }

    /// The states of a chunk.
    pub fn chunk_states(&self) -> Vec<ChunkState> {
        self.chunk_states.borrow().clone()
    }

    /// Makes neurons record their inputs and states as well as their spikes. Must be set before anything
    /// is traced.
    #[must_use]
    pub fn watching(mut self) -> Self {
        self.watches = true;
        self
    }

    /// Whether neurons record their inputs and states.
    pub(crate) fn watches(&self) -> bool {
        self.watches
    }

    /// Whether neurons are separate kernels for charge, fire and reset.
    pub(crate) fn disables_fusion(&self) -> bool {
        self.propagation == Propagation::StepByStepUnfused
    }

    pub(super) fn is_unrolling(&self) -> bool {
        self.unrolling.borrow().is_some()
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
        if let Some(known) = self.tracer.find_input(&path) {
            return known;
        }
        let var = self.tracer.parameter(&path, shape.clone());
        let name = path;
        let parameter = TracedTensor { name, shape, init };
        self.traced.borrow_mut().parameters.push(parameter);
        var
    }

    /// The state `name` of the current module: carried from call to call if the mode carries states, otherwise
    /// its reset value (a scalar, which broadcasts). In a network that runs step by step, it is the value after
    /// the previous step.
    pub fn state(&self, name: &str, shape: impl Into<Vec<usize>>, reset: f64) -> Var {
        let start = || self.tracer.fill(self.tracer.float(), [], reset);
        self.state_from(name, shape, reset, start)
    }

    /// As [`Context::state`], with the value `start` before the first step, which broadcasts to the shape of the
    /// state, and `reset` as the initial value of a carried state before training.
    pub(crate) fn state_from(
        &self,
        name: &str,
        shape: impl Into<Vec<usize>>,
        reset: f64,
        start: impl FnOnce() -> Var,
    ) -> Var {
        let path = self.tracer.path_of(name);
        if let Some(unrolling) = &*self.unrolling.borrow()
            && let Some(state) = unrolling.state(&path)
        {
            return state;
        }
        let var = if let Some(chunk) = self.chunk {
            let before = match chunk.begins {
                true => start(),
                false => self.tracer.input(
                    &format!("{BEFORE}{path}"),
                    self.tracer.float(),
                    shape.into(),
                ),
            };
            self.chunk_states.borrow_mut().push(ChunkState {
                path: path.clone(),
                before: before.clone(),
                after: None,
            });
            before
        } else if self.mode.carry_state {
            let shape = shape.into();
            let var = self.tracer.state(&path, shape.clone());
            let mut traced = self.traced.borrow_mut();
            traced.states.push(TracedState {
                name: path.clone(),
                shape,
                reset,
            });
            var
        } else {
            start()
        };
        if let Some(unrolling) = &mut *self.unrolling.borrow_mut() {
            unrolling.add_state(path, &var);
        }
        var
    }

    /// Records that the state `name` of the current module is reset to a trainable value.
    pub(crate) fn trainable_start(
        &self,
        name: &str,
        parameter: &str,
        granularity: Granularity,
        bound: Bound,
    ) {
        let start = LearnedStart {
            state: self.tracer.path_of(name),
            parameter: self.tracer.path_of(parameter),
            granularity,
            bound,
        };
        let starts = &mut self.traced.borrow_mut().starts;
        if self.mode.carry_state && !starts.contains(&start) {
            starts.push(start);
        }
    }

    /// The number of time steps of the full sequence; `here` is that of the input of the current module. In a
    /// chunk of time it is not known: a call records an error, which the next check returns.
    pub fn time_steps(&self, here: usize) -> usize {
        if self.is_chunk() {
            self.tracer.fail(spikelet_graph::Error::Shape {
                layer: self.tracer.path(),
                operation: "chunk of time".to_string(),
                problem: "what is computed depends on the number of time steps".to_string(),
                given: format!("a chunk of {here} steps"),
                help: "do not cut time: leave the chunk as long as the sequence".to_string(),
            });
        }
        (self.unrolling.borrow().as_ref()).map_or(here, Unrolling::time_steps)
    }

    /// A tensor of the current module that is stored with the model and is not trained, such as running
    /// statistics. In a network that runs step by step, it is the value after the previous step.
    pub fn buffer(&self, name: &str, shape: impl Into<Vec<usize>>, init: Init) -> Var {
        let path = self.tracer.path_of(name);
        if let Some(unrolling) = &*self.unrolling.borrow()
            && let Some(now) = unrolling.state(&path)
        {
            return now;
        }
        let var = self.tracer.find_input(&path).unwrap_or_else(|| {
            let shape = shape.into();
            let var = self.tracer.state(&path, shape.clone());
            self.traced.borrow_mut().buffers.push(TracedTensor {
                name: path.clone(),
                shape,
                init,
            });
            var
        });
        if let Some(unrolling) = &mut *self.unrolling.borrow_mut() {
            unrolling.add_state(path, &var);
        }
        var
    }

    /// Sets the value of the buffer after this call.
    pub fn set_buffer(&self, buffer: &Var, value: &Var) {
        let step = match &mut *self.unrolling.borrow_mut() {
            Some(unrolling) => unrolling.set_state(buffer, value),
            None => false,
        };
        if !step {
            self.tracer.update(buffer, value);
        }
    }

    fn is_buffer(&self, var: &Var) -> bool {
        let traced = self.traced.borrow();
        let mut paths = traced.buffers.iter().map(|buffer| &buffer.name);
        paths.any(|path| {
            self.tracer
                .find_input(path)
                .is_some_and(|b| b.id() == var.id())
        })
    }

    /// Sets the value of the state after this call.
    pub fn set_state(&self, state: &Var, value: &Var) {
        if let Some(unrolling) = &mut *self.unrolling.borrow_mut() {
            if !unrolling.set_state(state, value) {
                // Records the error that this is not a state.
                self.tracer.update(state, value);
            }
        } else if self.chunk.is_some() {
            let mut states = self.chunk_states.borrow_mut();
            let known = states.iter_mut().find(|s| s.before.id() == state.id());
            if let Some(known) = known {
                known.after = Some(value.clone());
            }
        } else if self.mode.carry_state {
            self.tracer.update(state, value);
        }
    }

    /// The state of the random number generator.
    pub fn generator(&self) -> Var {
        self.tracer
            .find_input(GENERATOR)
            .unwrap_or_else(|| self.tracer.input(GENERATOR, DType::I64, [GENERATOR_STATE]))
    }

    /// A value of the current module that is the same at all time steps, such as a dropout mask. It is traced
    /// once, also in a network that runs step by step.
    pub fn once(&self, name: &str, build: impl FnOnce() -> Var) -> Var {
        let path = self.tracer.path_of(name);
        let known = self.unrolling.borrow().as_ref().and_then(|u| u.once(&path));
        if let Some((value, streams)) = known {
            // The following random numbers have the same streams as in the first step.
            self.tracer.draw_from(self.tracer.first_step(), streams);
            return value;
        }
        let value = build();
        if let Some(unrolling) = &mut *self.unrolling.borrow_mut() {
            unrolling.add_once(path, &value, self.tracer.streams());
        }
        value
    }

    /// Records a value of the current module under `name`, for figures and tests.
    pub fn record(&self, name: &str, value: &Var) {
        let path = self.tracer.path_of(name);
        if let Some(unrolling) = &mut *self.unrolling.borrow_mut() {
            return unrolling.record(path, value);
        }
        self.traced
            .borrow_mut()
            .recorded
            .push((path, value.clone()));
    }

    /// A recorded value of a layer, such as the spikes `trunk.lif.spike_seq` of the neuron `trunk.lif`.
    ///
    /// ```
    /// use spikelet_nn::prelude::*;
    /// let net = Sequential::new().add(Linear::new(4, 3)).add(Lif::new(2.0));
    /// let cx = Context::new(Mode::TRAIN, DType::F32);
    /// let x = cx.tracer().input("x_seq", DType::F32, [8, 2, 4]);
    /// cx.trace(&net, x)?;
    /// let firing_rate = cx.recorded("1.spike_seq")?.mean_all();
    /// assert!(firing_rate.shape().is_empty());
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`RuntimeError::UnknownTensor`].
    pub fn recorded(&self, path: &str) -> Result<Var> {
        let traced = self.traced.borrow();
        let found = traced.recorded.iter().find(|(known, _)| known == path);
        let known = traced.recorded.iter().map(|(known, _)| known.as_str());
        found
            .map(|(_, value)| value.clone())
            .ok_or_else(|| RuntimeError::unknown(path, known))
    }

    /// Traces a network on a sequence.
    ///
    /// # Errors
    /// When shapes do not match.
    pub fn trace(&self, module: &dyn Module, x: Var) -> Result<Var> {
        let time_steps = x.dim(0);
        let part = |steps: Range<usize>| match steps.len() {
            n if n == time_steps => x.clone(),
            _ => x.slice(0, steps),
        };
        Ok(self.trace_steps(module, time_steps, part)?.join())
    }

    /// Traces a network on a sequence. `part` returns a range of its time steps: all of them, or one after the
    /// other.
    ///
    /// # Errors
    /// When shapes do not match.
    pub fn trace_steps(
        &self,
        module: &dyn Module,
        time_steps: usize,
        part: impl Fn(Range<usize>) -> Var,
    ) -> Result<StepOutputs> {
        if !self.propagation.is_step_by_step() || time_steps == 0 || self.is_unrolling() {
            let whole = module.forward(self, part(0..time_steps))?;
            self.tracer.check()?;
            return Ok(StepOutputs::new(vec![whole]));
        }
        self.in_steps(time_steps, |t| module.forward(self, part(t..t + 1)))
    }

    /// Runs a part of the current module on `[1, N, …]`, one time step of `x` after the other, with its
    /// states at that step. In a network that is traced step by step, `x` is one step and runs as it is.
    ///
    /// # Errors
    /// The error of `step`.
    pub fn step_loop(&self, x: &Var, step: impl Fn(Var) -> Result<Var>) -> Result<StepOutputs> {
        let time_steps = x.dim(0);
        if self.is_unrolling() || time_steps == 0 {
            return Ok(StepOutputs::new(vec![step(x.clone())?]));
        }
        self.in_steps(time_steps, |t| step(x.slice(0, t..t + 1)))
    }

    /// Traces one step after the other and carries the states between them.
    fn in_steps(
        &self,
        time_steps: usize,
        step: impl Fn(usize) -> Result<Var>,
    ) -> Result<StepOutputs> {
        *self.unrolling.borrow_mut() = Some(Unrolling::new(time_steps));
        let made = self.unroll(time_steps, step);
        self.tracer.draw_from(0, self.tracer.streams());
        let done = self.unrolling.borrow_mut().take().unwrap_or_default();
        let made = made?;
        for (state, last) in done.last_states() {
            match self.is_buffer(&state) {
                true => self.set_buffer(&state, &last),
                false => self.set_state(&state, &last),
            }
        }
        self.traced.borrow_mut().recorded.extend(done.recorded());
        self.tracer.check()?;
        Ok(made)
    }

    fn unroll(
        &self,
        time_steps: usize,
        step: impl Fn(usize) -> Result<Var>,
    ) -> Result<StepOutputs> {
        let streams = self.tracer.streams();
        let mut parts = vec![];
        for t in 0..time_steps {
            if t > 0
                && let Some(unrolling) = &mut *self.unrolling.borrow_mut()
            {
                unrolling.advance();
            }
            self.tracer.draw_from(t as u32, streams);
            parts.push(step(t)?);
            self.tracer.check()?;
        }
        Ok(StepOutputs::new(parts))
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
