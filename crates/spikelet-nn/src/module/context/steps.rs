//! Traces of a network on a sequence, for all time steps at once or step by step.

use super::Context;
use crate::module::stepping::{Stepped, Stepping};
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
        Ok(self.trace_steps(module, x.dim(0), |_| x.clone())?.join())
    }

    /// Traces a network on a sequence. `part` returns the range of its time steps that is asked for: all of them.
    ///
    /// # Errors
    /// When shapes do not match.
    pub fn trace_steps(
        &self,
        module: &dyn Module,
        time_steps: usize,
        part: impl Fn(Range<usize>) -> Var,
    ) -> Result<StepOutputs> {
        let x = part(0..time_steps);
        for observer in self.observers() {
            observer.sequence(self, "input_seq", &x);
        }
        let made = if !self.propagation.is_step_by_step() || time_steps == 0 || self.is_stepping() {
            let whole = module.forward(self, &x)?;
            self.tracer.check()?;
            StepOutputs::new(vec![whole])
        } else {
            self.in_steps(&x, |x| module.forward(self, &x))?
        };
        self.check_starts()?;
        Ok(made)
    }

    /// Runs a part of the current module on `[1, N, …]`, one time step of `x` after the other, with its
    /// states at that step. `step` is called once: what it traces is the body of a loop over time, in which states
    /// are carried. Values from outside may be used in it, and it may return none of its values but its output.
    /// In a network that runs step by step, `x` is one step and runs as it is.
    ///
    /// # Errors
    /// The error of `step`; when a state changes its shape.
    pub fn step_loop(&self, x: &Var, step: impl FnOnce(Var) -> Result<Var>) -> Result<StepOutputs> {
        if self.is_stepping() || x.dim(0) == 0 {
            return Ok(StepOutputs::new(vec![step(x.clone())?]));
        }
        self.in_steps(x, step)
    }

    /// As [`Context::step_loop`], with several sequences of the same number of steps, at least one, and several
    /// outputs.
    ///
    /// ```
    /// use spikelet_nn::prelude::*;
    /// let cx = Context::new(Mode::EVAL, DType::F32);
    /// let [a, b] = ["a", "b"].map(|name| cx.tracer().input(name, DType::F32, [8, 2, 4]));
    /// let outputs = cx.step_loop_many(&[a, b], |steps| Ok(vec![&steps[0] + &steps[1], steps[1].clone()]))?;
    /// assert_eq!((outputs.len(), outputs[1].shape()), (2, &[8, 2, 4][..]));
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    ///
    /// # Errors
    /// The error of `step`; when a state changes its shape.
    pub fn step_loop_many(
        &self,
        sequences: &[Var],
        step: impl FnOnce(Vec<Var>) -> Result<Vec<Var>>,
    ) -> Result<Vec<Var>> {
        let (outputs, _) = self.step_loop_sums(sequences, |steps| Ok((step(steps)?, vec![])))?;
        Ok(outputs)
    }

    /// As [`Context::step_loop_many`], with a second list of values of a step, which are summed over the steps.
    pub(crate) fn step_loop_sums(
        &self,
        sequences: &[Var],
        step: impl FnOnce(Vec<Var>) -> Result<(Vec<Var>, Vec<Var>)>,
    ) -> Result<(Vec<Var>, Vec<Var>)> {
        match sequences.first() {
            Some(first) if !self.is_stepping() && first.dim(0) > 0 => {
                self.all_in_steps(sequences, step)
            }
            _ => step(sequences.to_vec()),
        }
    }

    /// The time step of a sequence of the current module, in a network that runs step by step; otherwise the
    /// sequence. `whole` traces the sequence over all time steps; `here` is the number of steps of the module's
    /// input.
    pub(crate) fn steps_of(&self, here: usize, whole: impl FnOnce() -> Var) -> Var {
        let whole = self.tracer.outside_loop(whole);
        match &*self.stepping.borrow() {
            Some(stepping) if whole.dim(0) != here => stepping.sequence(&whole),
            _ => whole,
        }
    }

    /// Traces a step as the body of a loop over the time steps of `x`.
    fn in_steps(&self, x: &Var, step: impl FnOnce(Var) -> Result<Var>) -> Result<StepOutputs> {
        let one = |mut pieces: Vec<Var>| Ok((vec![step(pieces.swap_remove(0))?], vec![]));
        let (outputs, _) = self.all_in_steps(std::slice::from_ref(x), one)?;
        Ok(StepOutputs::new(outputs))
    }

    /// Traces a step as the body of a loop over the time steps of sequences, which have the same number of them. Returns
    /// its outputs over time, and the sums of its other values.
    fn all_in_steps(
        &self,
        sequences: &[Var],
        step: impl FnOnce(Vec<Var>) -> Result<(Vec<Var>, Vec<Var>)>,
    ) -> Result<(Vec<Var>, Vec<Var>)> {
        let time_steps = sequences[0].dim(0);
        // A sequence that is constant over time is the same value at every step.
        let same: Vec<Option<Var>> = sequences
            .iter()
            .map(|x| x.source_over_time().filter(|_| time_steps > 1))
            .collect();
        let body = (time_steps > 1).then(|| self.tracer.begin_loop(time_steps));
        let pieces = sequences
            .iter()
            .zip(same)
            .map(|(x, same)| match (&body, same) {
                (Some(_), Some(same)) => same,
                (Some(body), None) => body.sequence(x),
                (None, _) => x.clone(),
            });
        let pieces = pieces.collect();
        *self.stepping.borrow_mut() = Some(Stepping::new(time_steps, body));
        let made = step(pieces);
        let stepping = self.stepping.borrow_mut().take();
        let (outputs, addends) = made?;
        let Some(stepping) = stepping else {
            return Ok((outputs, addends));
        };
        self.tracer.check()?;
        let Stepped {
            outputs,
            states,
            recorded,
            sums,
        } = stepping.finish(outputs, addends)?;
        for (state, last) in states {
            match self.is_buffer(&state) {
                true => self.set_buffer(&state, &last),
                false => self.set_state(&state, &last),
            }
        }
        self.traced.borrow_mut().recorded.extend(recorded);
        self.tracer.check()?;
        Ok((outputs, sums))
    }
}
