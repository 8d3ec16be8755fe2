//! A network that runs one time step after the other.
//!
//! Layers are called once, with sequences of one step. Their operations are the body of a loop over time,
//! their states its carried values; recorded values are stacked. A sequence of one step needs no loop.

use spikelet_core::Result;
use spikelet_graph::{LoopTrace, Var};
use std::collections::BTreeMap;

/// A state while a step is traced.
struct Carried {
    /// The state before the first step.
    first: Var,
    /// The state before the current step.
    now: Var,
    /// The state after the current step.
    next: Option<Var>,
}

/// The values of a step that is being traced.
pub(super) struct Stepping {
    /// The number of steps of the full sequence.
    time_steps: usize,
    /// The loop; `None` for a sequence of one step.
    body: Option<LoopTrace>,
    states: BTreeMap<String, Carried>,
    /// The recorded values, in the order of their appearance.
    recorded: Vec<(String, Var)>,
}

/// The values of all steps.
pub(super) struct Stepped {
    /// The output sequences.
    pub(super) outputs: Vec<Var>,
    /// Each state before the first step, with its value after the last one.
    pub(super) states: Vec<(Var, Var)>,
    /// The recorded values over time.
    pub(super) recorded: Vec<(String, Var)>,
    /// The sums over the steps.
    pub(super) sums: Vec<Var>,
}

impl Stepping {
    pub(super) fn new(time_steps: usize, body: Option<LoopTrace>) -> Self {
        Self {
            time_steps,
            body,
            states: BTreeMap::new(),
            recorded: vec![],
        }
    }

    pub(super) fn time_steps(&self) -> usize {
        self.time_steps
    }

    /// The step of a sequence over all time steps.
    pub(super) fn sequence(&self, whole: &Var) -> Var {
        match &self.body {
            Some(body) => body.sequence(whole),
            None => whole.clone(),
        }
    }

    pub(super) fn state(&self, path: &str) -> Option<Var> {
        self.states.get(path).map(|state| state.now.clone())
    }

    /// Adds a state with its value before the first step, which broadcasts to `shape`, and returns its value before
    /// the current step.
    pub(super) fn add_state(&mut self, path: String, first: &Var, shape: &[usize]) -> Var {
        let start = match &self.body {
            Some(_) if first.shape() != shape => {
                first.tracer().outside_loop(|| first.expand(shape))
            }
            _ => first.clone(),
        };
        self.add_started(path, first, &start)
    }

    /// As [`Stepping::add_state`], with another value before the first step, of the shape of the state.
    pub(super) fn add_started(&mut self, path: String, first: &Var, start: &Var) -> Var {
        let now = match &self.body {
            Some(body) => body.carried(start),
            None => start.clone(),
        };
        let carried = Carried {
            first: first.clone(),
            now: now.clone(),
            next: None,
        };
        self.states.insert(path, carried);
        now
    }

    /// Sets the next value of a state; false if `state` is not a state.
    pub(super) fn set_state(&mut self, state: &Var, value: &Var) -> bool {
        let found = self.states.values_mut().find(|s| s.now.id() == state.id());
        let known = found.is_some();
        if let Some(carried) = found {
            carried.next = Some(value.clone());
        }
        known
    }

    pub(super) fn record(&mut self, path: String, value: &Var) {
        self.recorded.push((path, value.clone()));
    }

    /// Completes the step, whose outputs are `outputs`; `addends` are summed over the steps.
    pub(super) fn finish(self, outputs: Vec<Var>, addends: Vec<Var>) -> Result<Stepped> {
        let changed = self.states.into_values();
        let changed: Vec<(Var, Var, Var)> = changed
            .filter_map(|state| Some((state.first, state.now, state.next?)))
            .collect();
        let Some(body) = self.body else {
            return Ok(Stepped {
                outputs,
                states: changed
                    .into_iter()
                    .map(|(first, _, next)| (first, next))
                    .collect(),
                recorded: self.recorded,
                sums: addends,
            });
        };
        let sums: Vec<(Var, Var)> = addends
            .iter()
            .map(|addend| {
                let (tracer, ty) = (addend.tracer(), addend.ty());
                let zero = tracer.outside_loop(|| tracer.fill(ty.dtype, &ty.shape[..], 0.0));
                let sum = body.carried(&zero);
                let next = &sum + addend;
                (sum, next)
            })
            .collect();
        let states = changed.iter().map(|(_, now, next)| (now, next));
        let next: Vec<(&Var, &Var)> = states
            .chain(sums.iter().map(|(sum, next)| (sum, next)))
            .collect();
        let recorded = self.recorded.iter().map(|(_, value)| value);
        let stacked: Vec<&Var> = outputs.iter().chain(recorded).collect();
        let made = body.finish(&next, &stacked)?;
        let firsts = changed.iter().map(|(first, _, _)| first.clone());
        let mut carried = made.carried;
        let sums = carried.split_off(carried.len().min(changed.len()));
        let mut stacked = made.stacked.into_iter();
        Ok(Stepped {
            // After an error of the trace, which the next check returns, nothing is stacked.
            outputs: outputs
                .iter()
                .map(|y| stacked.next().unwrap_or_else(|| y.clone()))
                .collect(),
            states: firsts.zip(carried).collect(),
            recorded: self
                .recorded
                .into_iter()
                .map(|(path, _)| path)
                .zip(stacked)
                .collect(),
            sums,
        })
    }
}
