//! The values that the equations of a learning rule can use.

use super::LearningError;
use spikelet_expr::Expr;
use std::cell::RefCell;

/// The symbols of a presynaptic value, a postsynaptic value and the weight.
pub(super) const PRE: &str = "pre";
pub(super) const POST: &str = "post";
pub(super) const WEIGHT: &str = "weight";

/// The neuron, or the synapse, that has a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Pre,
    Post,
    Synapse,
}

/// A trace: a value that is kept from step to step.
#[derive(Clone, Debug)]
pub(super) struct Trace {
    pub(super) name: &'static str,
    pub(super) side: Side,
    /// The value after a step.
    pub(super) next: Expr,
}

/// The values of one synapse in one time step.
///
/// A trace is 0 before the first step. `…_trace` is its value before this step; `set_…_trace` defines the value after it
/// and returns that expression.
#[derive(Debug)]
pub struct RuleScope {
    rule: &'static str,
    read: RefCell<Vec<(&'static str, Side)>>,
    traces: RefCell<Vec<Trace>>,
    signals: RefCell<Vec<&'static str>>,
    problem: RefCell<Option<LearningError>>,
}

impl RuleScope {
    pub(super) fn new(rule: &'static str) -> Self {
        Self {
            rule,
            read: RefCell::default(),
            traces: RefCell::default(),
            signals: RefCell::default(),
            problem: RefCell::default(),
        }
    }

    /// The value that the synapse transmits at this step: the spike of the presynaptic neuron.
    pub fn pre(&self) -> Expr {
        Expr::symbol(PRE)
    }

    /// The spike of the postsynaptic neuron at this step.
    pub fn post(&self) -> Expr {
        Expr::symbol(POST)
    }

    /// The weight before this step.
    pub fn weight(&self) -> Expr {
        Expr::symbol(WEIGHT)
    }

    /// A signal from outside, such as a reward: one value a step, or one a step and sample. It is given by
    /// [`Context::give_signal`](crate::module::Context::give_signal).
    pub fn signal(&self, name: &'static str) -> Expr {
        let mut signals = self.signals.borrow_mut();
        if !signals.contains(&name) {
            signals.push(name);
        }
        Expr::symbol(name)
    }

    /// A trace of the presynaptic neuron.
    pub fn pre_trace(&self, name: &'static str) -> Expr {
        self.read(name, Side::Pre)
    }

    /// A trace of the postsynaptic neuron.
    pub fn post_trace(&self, name: &'static str) -> Expr {
        self.read(name, Side::Post)
    }

    /// A trace of the synapse, such as an eligibility. Where all equations are linear in it and no signal has a value for
    /// each sample, it is summed over the samples; otherwise there is one for each sample.
    pub fn synapse_trace(&self, name: &'static str) -> Expr {
        self.read(name, Side::Synapse)
    }

    /// Defines a trace of the presynaptic neuron, of `pre`, traces of the same neuron and signals.
    pub fn set_pre_trace(&self, name: &'static str, next: Expr) -> Expr {
        self.set(name, Side::Pre, next)
    }

    /// Defines a trace of the postsynaptic neuron, of `post`, traces of the same neuron and signals.
    pub fn set_post_trace(&self, name: &'static str, next: Expr) -> Expr {
        self.set(name, Side::Post, next)
    }

    /// Defines a trace of the synapse, of all values.
    pub fn set_synapse_trace(&self, name: &'static str, next: Expr) -> Expr {
        self.set(name, Side::Synapse, next)
    }

    fn read(&self, name: &'static str, side: Side) -> Expr {
        let mut read = self.read.borrow_mut();
        if !read.contains(&(name, side)) {
            read.push((name, side));
        }
        Expr::symbol(name)
    }

    fn set(&self, name: &'static str, side: Side, next: Expr) -> Expr {
        let mut traces = self.traces.borrow_mut();
        let taken = [PRE, POST, WEIGHT].contains(&name) || traces.iter().any(|t| t.name == name);
        if taken {
            self.fail(LearningError::DuplicateName {
                rule: self.rule,
                name,
            });
        }
        traces.push(Trace {
            name,
            side,
            next: next.clone(),
        });
        next
    }

    fn fail(&self, problem: LearningError) {
        self.problem.borrow_mut().get_or_insert(problem);
    }

    /// The traces and the signals, after the rule was called.
    pub(super) fn finish(self) -> Result<(Vec<Trace>, Vec<&'static str>), LearningError> {
        let (traces, rule) = (self.traces.into_inner(), self.rule);
        if let Some(problem) = self.problem.into_inner() {
            return Err(problem);
        }
        for (name, side) in self.read.into_inner() {
            if !traces.iter().any(|t| t.name == name && t.side == side) {
                return Err(LearningError::NotSet { rule, trace: name });
            }
        }
        let signals = self.signals.into_inner();
        let reserved = [PRE, POST, WEIGHT];
        let twice = signals
            .iter()
            .find(|name| reserved.contains(name) || traces.iter().any(|t| t.name == **name));
        match twice {
            Some(name) => Err(LearningError::DuplicateName { rule, name }),
            None => Ok((traces, signals)),
        }
    }
}
