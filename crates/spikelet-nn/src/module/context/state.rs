//! States and buffers of the current module.

use super::{BEFORE, ChunkState, Context, LearnedStart, TracedState, TracedTensor};
use crate::RuntimeError;
use crate::module::Init;
use crate::trainable::{Bound, Granularity, Spread};
use spikelet_core::Result;
use spikelet_graph::{RandomAxes, Var};
use std::collections::BTreeMap;

/// The values of states before the first step.
#[derive(Default)]
pub(super) struct Starts {
    given: Vec<Start>,
    /// The paths of all states.
    states: Vec<String>,
    /// States that were made for a module before it was called.
    made: BTreeMap<String, Var>,
}

/// A given value of a state before the first step.
struct Start {
    path: String,
    value: Var,
    /// Whether a module has the state.
    used: bool,
}

impl Context {
    /// Lets the state of this path, such as `0.neuron.v` or `0.spikes`, start from a value that broadcasts to the shape
    /// of the state, `[N, …]`, instead of its reset value. Must be called before the module is traced. In a mode that
    /// carries states, set the states of the program instead.
    ///
    /// ```
    /// use spikelet_nn::prelude::*;
    /// let net = Sequential::new().add(Rnn::new(Lif::new(2.0), 4, 3));
    /// let cx = Context::new(Mode::EVAL, DType::F32);
    /// let x = cx.tracer().input("x_seq", DType::F32, [8, 2, 4]);
    /// let v = cx.tracer().input("v", DType::F32, [2, 3]);
    /// cx.start_from("0.neuron.v", &v);
    /// cx.trace(&net, x)?;
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    pub fn start_from(&self, path: &str, value: &Var) {
        self.starts.borrow_mut().given.push(Start {
            path: path.to_string(),
            value: value.cast(self.tracer.float()),
            used: false,
        });
    }

    /// The given value of a state before the first step.
    fn given_start(&self, path: &str) -> Option<Var> {
        let mut starts = self.starts.borrow_mut();
        starts.states.push(path.to_string());
        let given = starts.given.iter_mut().find(|start| start.path == path)?;
        given.used = true;
        Some(given.value.clone())
    }

    /// Checks that modules have all states whose values were given.
    pub(super) fn check_starts(&self) -> Result<()> {
        let starts = self.starts.borrow();
        let known = starts.states.iter().map(String::as_str);
        match starts.given.iter().find(|start| !start.used) {
            Some(start) => Err(RuntimeError::unknown(&start.path, known)),
            None => Ok(()),
        }
    }

    /// The state `name` of the current module: carried from call to call if the mode carries states, otherwise
    /// its reset value (a scalar, which broadcasts). In a network that runs step by step, it is the value after
    /// the previous step.
    pub fn state(&self, name: &str, shape: impl Into<Vec<usize>>, reset: f64) -> Var {
        let start = || self.tracer.fill(self.tracer.float(), [], reset);
        self.state_from(name, shape, reset, start)
    }

    /// Lets the current module read a state of the child module `child`, whose path is `child.name`, before the child
    /// is called. The child finds it there.
    pub(crate) fn state_of_child(
        &self,
        child: &str,
        name: &str,
        start: impl FnOnce(&Context) -> Var,
    ) -> Result<Var> {
        self.child(child, |cx| {
            let var = start(cx);
            let path = cx.tracer.path_of(name);
            cx.starts.borrow_mut().made.insert(path, var.clone());
            Ok(var)
        })
    }

    /// The state `name` of the current module, if [`Context::state_of_child`] made it.
    pub(crate) fn made_state(&self, name: &str) -> Option<Var> {
        let path = self.tracer.path_of(name);
        self.starts.borrow_mut().made.remove(&path)
    }

    /// As [`Context::state`], with a random value before the first step, drawn anew in each run. A carried state
    /// starts from `reset`.
    pub fn random_state(
        &self,
        name: &str,
        shape: impl Into<Vec<usize>>,
        reset: f64,
        spread: Spread,
    ) -> Var {
        let shape = shape.into();
        if self.at_rest || self.mode.carry_state && self.chunk.is_none() {
            return self.state(name, shape, reset);
        }
        // Drawn in chunks after the first too, where it is not read: later draws keep their streams.
        let drawn = self.once(|| match spread {
            Spread::Uniform { low, high } => {
                let unit = self.generator().uniform(&shape[..], RandomAxes::Batch);
                // The draws are on (0, 1].
                unit.cast(self.tracer.float())
                    .map1(|u| low + (high - low) * (1.0 - u))
            }
            Spread::Normal { mean, deviation } => {
                let normal = self.generator().normal(&shape[..], RandomAxes::Batch);
                normal
                    .cast(self.tracer.float())
                    .map1(|z| mean + deviation * z)
            }
        });
        self.state_from(name, shape, reset, || drawn)
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
        let start = |path: &str| self.given_start(path).unwrap_or_else(start);
        let (path, shape) = (self.tracer.path_of(name), shape.into());
        let known = self.stepping.borrow().as_ref().and_then(|s| s.state(&path));
        if let Some(state) = known {
            return state;
        }
        let var = self.tracer.outside_loop(|| {
            if let Some(chunk) = self.chunk {
                let before = match chunk.begins {
                    true => start(&path),
                    false => self.tracer.input(
                        &format!("{BEFORE}{path}"),
                        self.tracer.float(),
                        shape.clone(),
                    ),
                };
                self.chunk_states.borrow_mut().push(ChunkState {
                    path: path.clone(),
                    before: before.clone(),
                    after: None,
                });
                before
            } else if self.mode.carry_state {
                let var = self.tracer.state(&path, shape.clone());
                let mut traced = self.traced.borrow_mut();
                traced.states.push(TracedState {
                    name: path.clone(),
                    shape: shape.clone(),
                    reset,
                });
                var
            } else {
                start(&path)
            }
        });
        match &mut *self.stepping.borrow_mut() {
            Some(stepping) => stepping.add_state(path, &var, &shape),
            None => var,
        }
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

    /// A tensor of the current module that is stored with the model and is not trained, such as running
    /// statistics. In a network that runs step by step, it is the value after the previous step.
    pub fn buffer(&self, name: &str, shape: impl Into<Vec<usize>>, init: Init) -> Var {
        self.buffer_from(name, shape, init, Var::clone)
    }

    /// As [`Context::buffer`], with a function of its value before the call as the value before the first step.
    pub(crate) fn buffer_from(
        &self,
        name: &str,
        shape: impl Into<Vec<usize>>,
        init: Init,
        start: impl FnOnce(&Var) -> Var,
    ) -> Var {
        let (path, shape) = (self.tracer.path_of(name), shape.into());
        let known = self.stepping.borrow().as_ref().and_then(|s| s.state(&path));
        if let Some(now) = known {
            return now;
        }
        let var = self.tracer.find_input(&path).unwrap_or_else(|| {
            let var = self.tracer.state(&path, shape.clone());
            self.traced.borrow_mut().buffers.push(TracedTensor {
                name: path.clone(),
                shape: shape.clone(),
                init,
                limits: None,
            });
            var
        });
        let start = self.tracer.outside_loop(|| start(&var));
        match &mut *self.stepping.borrow_mut() {
            Some(stepping) => stepping.add_started(path, &var, &start),
            None => start,
        }
    }

    /// Sets the value of the buffer after this call.
    pub fn set_buffer(&self, buffer: &Var, value: &Var) {
        let step = match &mut *self.stepping.borrow_mut() {
            Some(stepping) => stepping.set_state(buffer, value),
            None => false,
        };
        if !step {
            self.tracer.update(buffer, value);
        }
    }

    pub(super) fn is_buffer(&self, var: &Var) -> bool {
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
        if let Some(stepping) = &mut *self.stepping.borrow_mut() {
            if !stepping.set_state(state, value) {
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
}
