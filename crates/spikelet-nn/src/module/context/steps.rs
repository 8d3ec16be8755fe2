//! Traces of a network on a sequence, for all time steps at once or step by step.

use super::Context;
use crate::module::unroll::Unrolling;
use crate::module::{Module, StepOutputs};
use spikelet_core::Result;
use spikelet_graph::Var;
use std::ops::Range;

impl Context {
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
