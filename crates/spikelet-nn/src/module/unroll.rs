//! A network traced once for each time step.
//!
//! Layers are called as usual, with sequences of one step. Between two calls their states are
//! ordinary values: the state after one step is the state before the next.

use spikelet_graph::op::Reshape;
use spikelet_graph::{ValueId, Var};
use std::collections::{BTreeMap, HashSet};

/// A value over time: a sequence `[T, N, …]`, or separate time steps `[1, N, …]`.
#[derive(Clone, Debug)]
pub struct StepOutputs {
    parts: Vec<Var>,
}

impl StepOutputs {
    /// The value from its parts along axis 0, at least one.
    pub fn new(parts: Vec<Var>) -> Self {
        Self { parts }
    }

    /// The parts as they were computed: one sequence, or one part per time step.
    pub fn parts(&self) -> &[Var] {
        &self.parts
    }

    /// The full sequence, `[T, N, …]`.
    pub fn join(&self) -> Var {
        match &self.parts[..] {
            [whole] => whole.clone(),
            parts => Var::concat(&parts.iter().collect::<Vec<_>>(), 0),
        }
    }

    /// The mean over time, `[N, …]`. Steps are added one by one, without concatenation.
    pub fn mean(&self) -> Var {
        let steps: usize = self.parts.iter().map(|part| part.dim(0)).sum();
        let sums = self.parts.iter().map(|part| match part.dim(0) {
            1 if part.rank() > 0 => part.reshape(&part.shape()[1..]),
            _ => part.sum(&[0]),
        });
        let total = sums.reduce(|sum, step| sum + step);
        total.expect("there is at least one part") / steps as f64
    }
}

/// A state while the steps are traced.
struct Carried {
    /// The state before the first step.
    first: Var,
    /// The state before the current step.
    now: Var,
    /// The state after the current step.
    next: Option<Var>,
}

/// The values that a trace carries from step to step.
#[derive(Default)]
pub(super) struct Unrolling {
    /// The number of steps of the full sequence.
    time_steps: usize,
    states: BTreeMap<String, Carried>,
    /// Values that are the same at all steps, each with the number of random streams in use when it was traced.
    once: BTreeMap<String, (Var, u32)>,
    /// The recorded values, step by step, in the order of their first appearance.
    recorded: Vec<(String, Vec<Var>)>,
}

impl Unrolling {
    pub(super) fn new(time_steps: usize) -> Self {
        Self {
            time_steps,
            ..Self::default()
        }
    }

    pub(super) fn time_steps(&self) -> usize {
        self.time_steps
    }

    pub(super) fn state(&self, path: &str) -> Option<Var> {
        self.states.get(path).map(|state| state.now.clone())
    }

    pub(super) fn add_state(&mut self, path: String, value: &Var) {
        let carried = Carried {
            first: value.clone(),
            now: value.clone(),
            next: None,
        };
        self.states.insert(path, carried);
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

    pub(super) fn once(&self, path: &str) -> Option<(Var, u32)> {
        self.once.get(path).cloned()
    }

    pub(super) fn add_once(&mut self, path: String, value: &Var, streams: u32) {
        self.once.insert(path, (value.clone(), streams));
    }

    pub(super) fn record(&mut self, path: String, value: &Var) {
        match self.recorded.iter_mut().find(|(name, _)| *name == path) {
            Some((_, steps)) => steps.push(value.clone()),
            None => self.recorded.push((path, vec![value.clone()])),
        }
    }

    /// Continues with the next step.
    pub(super) fn advance(&mut self) {
        let mut taken: HashSet<Option<ValueId>> = HashSet::new();
        for state in self.states.values_mut() {
            if let Some(next) = state.next.take() {
                state.now = next;
            }
            // States are identified by their values: a duplicate value becomes a new one.
            if !taken.insert(state.now.id()) {
                let shape = state.now.shape().to_vec();
                state.now = (state.now.tracer()).apply1(Reshape { shape }, &[&state.now]);
                taken.insert(state.now.id());
            }
        }
    }

    /// Each state before the first step, with its value after the last one.
    pub(super) fn last_states(&self) -> Vec<(Var, Var)> {
        let states = self.states.values();
        let last = |state: &Carried| state.next.clone().unwrap_or_else(|| state.now.clone());
        let changed = states.filter(|s| s.next.is_some() || s.now.id() != s.first.id());
        changed.map(|s| (s.first.clone(), last(s))).collect()
    }

    /// The recorded values, concatenated over time.
    pub(super) fn recorded(self) -> impl Iterator<Item = (String, Var)> {
        let recorded = self.recorded.into_iter();
        recorded.map(|(name, steps)| (name, StepOutputs::new(steps).join()))
    }
}
