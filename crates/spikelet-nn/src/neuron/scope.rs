//! The symbols that the equations of a neuron can use.

use super::{Common, FireOn, Neuron, Param, ResetGrad};
use crate::DefinitionError;
use spikelet_expr::Expr;
use std::cell::RefCell;
use std::fmt;

/// States, parameters and constants of the neuron whose step is being written.
pub struct Scope<'a> {
    neuron: &'a str,
    common: &'a Common,
    states: Vec<&'static str>,
    params: Vec<Param>,
    /// The used constants with their values.
    constants: RefCell<Vec<(&'static str, f64)>>,
    next: RefCell<Vec<(&'static str, Expr)>>,
    problem: RefCell<Option<DefinitionError>>,
}

/// The symbol of the uniform draws that a surrogate may use.
pub(super) const NOISE: &str = "noise";

impl<'a> Scope<'a> {
    pub(super) fn new(neuron: &'a dyn Neuron) -> Self {
        Self {
            neuron: neuron.name(),
            common: neuron.common(),
            states: neuron.states().iter().map(|s| s.name).collect(),
            params: neuron.params(),
            constants: RefCell::default(),
            next: RefCell::default(),
            problem: RefCell::default(),
        }
    }

    /// A state before this step, such as `v`.
    pub fn state(&self, name: &str) -> Expr {
        let state = self.declared(name, &self.states, "state");
        match self.common.time_grad {
            true => state,
            false => state.detach(),
        }
    }

    /// A trainable parameter, within its bound.
    pub fn param(&self, name: &str) -> Expr {
        let names: Vec<&'static str> = self.params.iter().map(|p| p.name).collect();
        let symbol = self.declared(name, &names, "parameter");
        let own = self.params.iter().find(|p| p.name == name);
        own.map_or(symbol.clone(), |own| own.bound.apply(&symbol))
    }

    fn declared(&self, name: &str, names: &[&'static str], kind: &'static str) -> Expr {
        if !names.contains(&name) {
            self.fail(DefinitionError::Undeclared {
                neuron: self.neuron.to_string(),
                kind,
                name: name.to_string(),
                declared: names.to_vec(),
            });
        }
        Expr::symbol(name)
    }

    /// A constant of the neuron: the number `value`, unless [`Common::trainable`] has `name`. Then it
    /// is a parameter that starts at `value`.
    pub fn constant(&self, name: &'static str, value: f64) -> Expr {
        let mut known = self.constants.borrow_mut();
        if !known.iter().any(|(n, _)| *n == name) {
            known.push((name, value));
        }
        match self.common.trainable.get(name) {
            Some(learn) => learn.bound.apply(&Expr::symbol(name)),
            None => Expr::constant(value),
        }
    }

    /// The used constants in order.
    pub(super) fn constants(&self) -> Vec<(&'static str, f64)> {
        self.constants.borrow().clone()
    }

    /// Sets the next value of a state other than `v`; by default it is unchanged.
    pub fn set_state(&self, name: &'static str, value: Expr) {
        self.declared(name, &self.states, "state");
        self.next.borrow_mut().push((name, value));
    }

    pub(super) fn next_of(&self, name: &str) -> Option<Expr> {
        let next = self.next.borrow();
        let found = next.iter().rev().find(|(n, _)| *n == name);
        found.map(|(_, value)| value.clone())
    }

    /// The threshold.
    pub fn v_threshold(&self) -> Expr {
        self.constant("v_threshold", self.common.v_threshold)
    }

    /// The potential of the hard reset; none for the soft reset.
    pub fn v_reset(&self) -> Option<Expr> {
        self.common.v_reset.map(|v| self.constant("v_reset", v))
    }

    /// v_reset, or 0 for a soft reset: the potential that the membrane leaks to.
    pub fn v_rest(&self) -> Expr {
        self.v_reset().unwrap_or(Expr::constant(0.0))
    }

    /// Whether spikes are 0 or 1 only.
    pub fn is_binary(&self) -> bool {
        self.common.spiking && self.common.surrogate.is_binary()
    }

    /// A spike where `x` ≥ 0, or `x` > 0 if the threshold is [strict](Common::strict), with the surrogate's derivative; the
    /// primitive if not `spiking`.
    pub fn spike(&self, x: impl Into<Expr>) -> Expr {
        let (x, surrogate) = (x.into(), &self.common.surrogate);
        if !self.common.spiking {
            return self.primitive(&x);
        }
        let value = surrogate.forward(&x, &Expr::symbol(NOISE));
        let value = match self.common.strict {
            false => value,
            true if value.same_value(&x.ge(0.0)) => x.gt(0.0),
            true => Expr::select(x.differs(0.0), value, 0.0),
        };
        Expr::with_gradient_of(value, &x, surrogate.derivative(&x))
    }

    /// 1 where the step of the spike is 1, without a gradient: `x` ≥ 0, or `x` > 0 if the threshold is strict.
    pub(super) fn step(&self, x: &Expr) -> Expr {
        match self.common.strict {
            true => x.gt(0.0),
            false => x.ge(0.0),
        }
    }

    /// The potential that is compared with the threshold; `h` is the charged one.
    pub(super) fn fires_on(&self, h: &Expr) -> Expr {
        match self.common.fire_on {
            FireOn::Charged => h.clone(),
            FireOn::Previous => self.state("v"),
        }
    }

    fn primitive(&self, x: &Expr) -> Expr {
        let surrogate = &self.common.surrogate;
        match surrogate.primitive(x) {
            // The formula of the derivative is exact; automatic differentiation of the primitive may not be.
            Some(g) => Expr::with_gradient_of(g, x, surrogate.derivative(x)),
            None => {
                self.fail(DefinitionError::NoPrimitive {
                    neuron: self.neuron.to_string(),
                    surrogate: format!("{surrogate:?}"),
                });
                x.clone()
            }
        }
    }

    /// V after the default reset: [`Scope::hard_reset`] to v_reset, or [`Scope::soft_reset`] by v_threshold without
    /// a v_reset. All resets return H for a neuron that is [not reset](Common::resets).
    pub fn reset(&self, h: &Expr, s: &Expr) -> Expr {
        match self.common.fires {
            true => self.reset_by(h, s, &self.v_threshold()),
            // Its threshold is no constant of its equations.
            false => h.clone(),
        }
    }

    /// As [`Scope::reset`], with another threshold.
    pub fn reset_by(&self, h: &Expr, s: &Expr, v_threshold: &Expr) -> Expr {
        match self.v_reset() {
            Some(v_reset) => self.hard_reset(h, s, &v_reset, v_threshold),
            None => self.soft_reset(h, s, v_threshold),
        }
    }

    /// V = H − S·drop
    pub fn soft_reset(&self, h: &Expr, s: &Expr, drop: &Expr) -> Expr {
        if !(self.common.resets && self.common.fires) {
            return h.clone();
        }
        let back = match self.common.reset_grad {
            ResetGrad::Detach => &s.detach(),
            ResetGrad::Surrogate | ResetGrad::Soft => s,
        };
        h - back * drop
    }

    /// V = S·v_reset + (1 − S)·H. For a spike it selects instead of multiplying, so that an infinite or
    /// NaN H is discarded when the neuron fires.
    pub fn hard_reset(&self, h: &Expr, s: &Expr, v_reset: &Expr, v_threshold: &Expr) -> Expr {
        if !(self.common.resets && self.common.fires) {
            return h.clone();
        }
        let reset_grad = self.common.reset_grad;
        if !self.is_binary() {
            let back = match reset_grad {
                ResetGrad::Detach => &s.detach(),
                ResetGrad::Surrogate | ResetGrad::Soft => s,
            };
            return (1.0 - back) * h + back * v_reset;
        }
        let value = Expr::select(s, v_reset, h);
        match reset_grad {
            ResetGrad::Detach => value,
            ResetGrad::Surrogate => {
                let through_spike = s * (v_reset - h).detach();
                Expr::custom_gradient(&value, &value + through_spike)
            }
            ResetGrad::Soft => {
                let g = self.primitive(&(self.fires_on(h) - v_threshold));
                Expr::custom_gradient(value, v_reset * &g + h * (1.0 - g))
            }
        }
    }

    /// Records an error, unless one is recorded already.
    fn fail(&self, problem: DefinitionError) {
        self.problem.borrow_mut().get_or_insert(problem);
    }

    /// Takes the first error.
    pub(super) fn problem(&self) -> Option<DefinitionError> {
        self.problem.take()
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope")
            .field("neuron", &self.neuron)
            .field("states", &self.states)
            .field("params", &self.params)
            .finish_non_exhaustive()
    }
}
