//! What a module sees while it is traced.

use super::{Init, Module};
use crate::error::{Error, Result};
use spikelet_graph::{DType, Tracer, Var};
use std::cell::RefCell;
use std::rc::Rc;

/// What a network is traced for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mode {
    /// Dropout drops, batch norm measures.
    pub training: bool,
    /// States are inputs and outputs, so that a later call goes on where this one ends.
    /// Otherwise each call starts from the reset values.
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
    /// Evaluation, call after call: states are carried.
    pub const STREAM: Self = Self {
        training: false,
        carry_state: true,
    };
}

/// Parameters and states that a trace has met.
#[derive(Clone, Debug, Default)]
pub struct Traced {
    /// Name, shape and start of each parameter, in order of use.
    pub parameters: Vec<(String, Vec<usize>, Init)>,
    /// Name, shape and reset value of each carried state.
    pub states: Vec<(String, Vec<usize>, f64)>,
    /// What modules show of their insides: name and value.
    pub recorded: Vec<(String, Var)>,
}

/// The trace of a network: its tracer, its mode, and the path of the present module.
#[derive(Clone)]
pub struct Context {
    tracer: Tracer,
    mode: Mode,
    traced: Rc<RefCell<Traced>>,
}

/// The name of the generator's state among the inputs: i64 `[3]`, seed, step, time.
pub(crate) const GENERATOR: &str = "generator";

impl Context {
    /// A new trace. `float` is f32, or f64 for gradient checks.
    pub fn new(mode: Mode, float: DType) -> Self {
        Self {
            tracer: Tracer::new(float),
            mode,
            traced: Rc::default(),
        }
    }

    /// The tracer, for inputs, outputs and gradients.
    pub fn tracer(&self) -> &Tracer {
        &self.tracer
    }

    /// What the network is traced for.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Parameters and states so far.
    pub fn traced(&self) -> Traced {
        self.traced.borrow().clone()
    }

    /// Runs `inside` with `name` added to the path; errors of the trace so far come out here.
    ///
    /// # Errors
    /// Those of `inside`, and the first error of the trace.
    pub fn child<T>(&self, name: &str, inside: impl FnOnce(&Context) -> Result<T>) -> Result<T> {
        let result = self.tracer.scope(name, || inside(self))?;
        self.tracer.check()?;
        Ok(result)
    }

    /// The learnable parameter `name` of the present module.
    pub fn parameter(&self, name: &str, shape: impl Into<Vec<usize>>, init: Init) -> Var {
        let (path, shape) = (self.tracer.path_of(name), shape.into());
        if let Some(known) = self.tracer.find_input(&path) {
            return known;
        }
        let var = self.tracer.parameter(&path, shape.clone());
        self.traced
            .borrow_mut()
            .parameters
            .push((path, shape, init));
        var
    }

    /// The state `name` of the present module: carried from call to call if the mode says so,
    /// else its reset value (a scalar, which broadcasts).
    pub fn state(&self, name: &str, shape: impl Into<Vec<usize>>, reset: f64) -> Var {
        if !self.mode.carry_state {
            return self.tracer.fill(self.tracer.float(), [], reset);
        }
        let (path, shape) = (self.tracer.path_of(name), shape.into());
        let var = self.tracer.state(&path, shape.clone());
        self.traced.borrow_mut().states.push((path, shape, reset));
        var
    }

    /// What the state becomes after this call.
    pub fn set_state(&self, state: &Var, value: &Var) {
        if self.mode.carry_state {
            self.tracer.update(state, value);
        }
    }

    /// The generator's state for random draws.
    pub fn generator(&self) -> Var {
        self.tracer
            .find_input(GENERATOR)
            .unwrap_or_else(|| self.tracer.input(GENERATOR, DType::I64, [3]))
    }

    /// Shows a value of the present module under `name`, for pictures and tests.
    pub fn record(&self, name: &str, value: &Var) {
        let path = self.tracer.path_of(name);
        self.traced
            .borrow_mut()
            .recorded
            .push((path, value.clone()));
    }

    /// Traces a whole network on a sequence.
    ///
    /// # Errors
    /// When shapes do not fit.
    pub fn trace(&self, module: &dyn Module, x: Var) -> Result<Var> {
        let y = module.forward(self, x)?;
        self.tracer.check()?;
        Ok(y)
    }

    /// Checks that a sequence has at least `rank` axes.
    ///
    /// # Errors
    /// When it has fewer.
    pub fn expect_rank(&self, what: &str, x: &Var, rank: usize) -> Result<()> {
        if x.rank() >= rank {
            return Ok(());
        }
        Err(Error::invalid(
            format!("{what} `{}`", self.tracer.path()),
            format!(
                "expects a sequence with at least {rank} axes [T, N, …], the input is {}",
                x.ty()
            ),
            "add the time axis, for example with `repeat_over_time`",
        ))
    }
}
