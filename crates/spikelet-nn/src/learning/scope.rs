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
    pub(super) name: String,
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
    read: RefCell<Vec<(String, Side)>>,
    traces: RefCell<Vec<Trace>>,
    signals: RefCell<Vec<&'static str>>,
    values: RefCell<Vec<String>>,
    problem: RefCell<Option<LearningError>>,
}

impl RuleScope {
    pub(super) fn new(rule: &'static str) -> Self {
        Self {
            rule,
            read: RefCell::default(),
            traces: RefCell::default(),
            signals: RefCell::default(),
            values: RefCell::default(),
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

    /// A value of the postsynaptic neuron at this step, which the layer gives: [`RuleInputs::values`](super::RuleInputs).
    pub fn neuron(&self, name: &str) -> Expr {
        let mut values = self.values.borrow_mut();
        if !values.iter().any(|known| known == name) {
            values.push(name.to_string());
        }
        Expr::symbol(name)
    }

    /// A trace of the presynaptic neuron.
    pub fn pre_trace(&self, name: &str) -> Expr {
        self.read(name, Side::Pre)
    }

    /// A trace of the postsynaptic neuron.
    pub fn post_trace(&self, name: &str) -> Expr {
        self.read(name, Side::Post)
    }

    /// A trace of the synapse, such as an eligibility. Where all equations are linear in it and no signal has a value for
    /// each sample, it is summed over the samples; otherwise there is one for each sample.
    pub fn synapse_trace(&self, name: &str) -> Expr {
        self.read(name, Side::Synapse)
    }

    /// Defines a trace of the presynaptic neuron, of `pre`, traces of the same neuron and signals.
    pub fn set_pre_trace(&self, name: &str, next: Expr) -> Expr {
        self.set(name, Side::Pre, next)
    }

    /// Defines a trace of the postsynaptic neuron, of `post`, traces of the same neuron and signals.
    pub fn set_post_trace(&self, name: &str, next: Expr) -> Expr {
        self.set(name, Side::Post, next)
    }

    /// Defines a trace of the synapse, of all values.
    pub fn set_synapse_trace(&self, name: &str, next: Expr) -> Expr {
        self.set(name, Side::Synapse, next)
    }

    fn read(&self, name: &str, side: Side) -> Expr {
        let mut read = self.read.borrow_mut();
        if !read.iter().any(|(known, of)| known == name && *of == side) {
            read.push((name.to_string(), side));
        }
        Expr::symbol(name)
    }

    fn set(&self, name: &str, side: Side, next: Expr) -> Expr {
        let mut traces = self.traces.borrow_mut();
        let taken = [PRE, POST, WEIGHT].contains(&name) || traces.iter().any(|t| t.name == name);
        if taken {
            self.fail(LearningError::DuplicateName {
                rule: self.rule,
                name: name.to_string(),
            });
        }
        traces.push(Trace {
            name: name.to_string(),
            side,
            next: next.clone(),
        });
        next
    }

    fn fail(&self, problem: LearningError) {
        self.problem.borrow_mut().get_or_insert(problem);
    }

    /// The traces and the values from outside, after the rule was called.
    pub(super) fn finish(self) -> Result<Declared, LearningError> {
        let (traces, rule) = (self.traces.into_inner(), self.rule);
        if let Some(problem) = self.problem.into_inner() {
            return Err(problem);
        }
        for (name, side) in self.read.into_inner() {
            if !traces.iter().any(|t| t.name == name && t.side == side) {
                return Err(LearningError::NotSet { rule, trace: name });
            }
        }
        let (signals, values) = (self.signals.into_inner(), self.values.into_inner());
        let reserved = [PRE, POST, WEIGHT];
        let given = signals
            .iter()
            .copied()
            .chain(values.iter().map(String::as_str));
        for (k, name) in given.clone().enumerate() {
            let twice = reserved.contains(&name)
                || traces.iter().any(|t| t.name == name)
                || given.clone().skip(k + 1).any(|other| other == name);
            if twice {
                let name = name.to_string();
                return Err(LearningError::DuplicateName { rule, name });
            }
        }
        Ok(Declared {
            traces,
            signals,
            values,
        })
    }
}

/// The declarations of a rule.
pub(super) struct Declared {
    pub(super) traces: Vec<Trace>,
    pub(super) signals: Vec<&'static str>,
    /// The values of the postsynaptic neuron.
    pub(super) values: Vec<String>,
}
