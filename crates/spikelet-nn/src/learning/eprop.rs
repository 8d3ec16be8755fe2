//! e-prop: the gradient through a neuron's own states, computed forward in time.
//!
//! With the states s_k of a neuron that gets the input I = Σ W·pre, and its spike z:
//!
//! ε_k[t] = Σ_j ∂s_k[t]/∂s_j[t−1] · ε_j[t−1] + ∂s_k[t]/∂I[t] · pre[t]
//! e[t] = Σ_j ∂z[t]/∂s_j[t−1] · ε_j[t−1] + ∂z[t]/∂I[t] · pre[t]
//! ē[t] = κ ē[t−1] + (1 − κ) e[t],  ΔW[t] = −Σ_n L[t] ē[t]
//!
//! The derivatives are those of the neuron's equation. A vector ε_k whose factors are constants is the same for all
//! neurons behind a synapse, and is a trace of the presynaptic neuron.
//!
//! With the learning signal of the output weights this is the gradient of back-propagation through time in a network whose
//! spikes have no gradient on their way to other neurons.
//!
//! Source: Bellec et al., A solution to the learning dilemma for recurrent networks of spiking neurons, Nature
//! Communications 2020.

use super::{LearningRule, RuleScope};
use crate::DefinitionError;
use crate::neuron::{Neuron, derive};
use spikelet_expr::Expr;
use spikelet_graph::op::Recurrence;
use spikelet_schema::Schema;

/// The symbol of the learning signal, a value of the neurons.
pub const LEARNING_SIGNAL: &str = "learning_signal";

/// The symbol of the difference of a neuron's rate from the one to be kept, times its strength; a value of the neurons.
pub(super) const RATE_ERROR: &str = "rate_error";

/// e-prop for one neuron.
///
/// It reads values of the neurons: those of the neuron's equation (its input `x`, its states before the step, its trainable
/// constants), and `learning_signal`, dL/dz of the step, without the ways through other neurons and later steps.
///
/// ```
/// use spikelet_nn::learning::{Eprop, LearningRule};
/// use spikelet_nn::prelude::*;
/// let rule = Eprop::of(&Lif::new(20.0))?.readout_decay(0.95);
/// assert_eq!(rule.name(), "e-prop");
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[schema(name = "e-prop")]
pub struct Eprop {
    /// The step of the neuron.
    #[schema(skip, default = Recurrence::new("", [], []))]
    step: Recurrence,
    /// The decay of the eligibility in a step.
    #[schema(from = 0.0, below = 1.0)]
    kappa: f64,
    /// Whether a change has the term −[`RATE_ERROR`]·e.
    #[schema(skip)]
    keeps_rate: bool,
}

impl Eprop {
    /// The rule of a neuron's equation.
    ///
    /// # Errors
    /// When the neuron's definition is wrong.
    pub fn of(neuron: &dyn Neuron) -> Result<Self, DefinitionError> {
        Ok(Self {
            step: derive(neuron)?,
            kappa: 0.0,
            keeps_rate: false,
        })
    }

    /// Sets κ, the decay of the eligibility in a step: that of the readout, which sums the spikes. 0 by default.
    #[must_use]
    pub fn readout_decay(mut self, kappa: f64) -> Self {
        self.kappa = kappa;
        self
    }

    /// Sets whether a change has the term −[`RATE_ERROR`]·e.
    pub(super) fn keeps_rate(mut self, yes: bool) -> Self {
        self.keeps_rate = yes;
        self
    }

    /// The states whose ε is a trace of the presynaptic neuron.
    fn presynaptic(&self) -> Vec<bool> {
        let step = &self.step;
        let is_constant = |e: Expr| e.as_constant().is_some();
        let mut alone: Vec<bool> = vec![true; step.states.len()];
        loop {
            let before = alone.clone();
            for (k, next) in step.next.iter().enumerate() {
                alone[k] &= is_constant(next.derivative(&step.inputs[0]));
                for (j, state) in step.states.iter().enumerate() {
                    let derivative = next.derivative(state);
                    let none = derivative.as_constant() == Some(0.0);
                    alone[k] &= none || (before[j] && is_constant(derivative));
                }
            }
            if alone == before {
                return alone;
            }
        }
    }
}

impl LearningRule for Eprop {
    fn change(&self, r: &RuleScope) -> Expr {
        let step = &self.step;
        let alone = self.presynaptic();
        let names: Vec<String> = step.states.iter().map(|s| format!("eps_{s}")).collect();
        let before: Vec<Expr> = (names.iter().zip(&alone))
            .map(|(name, alone)| match alone {
                true => r.pre_trace(name),
                false => r.synapse_trace(name),
            })
            .collect();
        let forward = |value: &Expr| {
            let through = step.states.iter().zip(&before);
            let through = through.map(|(state, eps)| (value.derivative(state), eps.clone()));
            let input = (value.derivative(&step.inputs[0]), r.pre());
            let terms = through.chain([input]);
            let terms = terms.filter(|(factor, _)| factor.as_constant() != Some(0.0));
            let terms = terms.map(|(factor, eps)| factor * eps);
            terms
                .reduce(|a, b| a + b)
                .unwrap_or_else(|| Expr::constant(0.0))
        };
        for name in step.inputs.iter().chain(&step.states).chain(&step.params) {
            r.neuron(name);
        }
        for ((name, alone), next) in names.iter().zip(&alone).zip(&step.next) {
            match alone {
                true => r.set_pre_trace(name, forward(next)),
                false => r.set_synapse_trace(name, forward(next)),
            };
        }
        let e = r.set_synapse_trace("e", forward(&step.outputs[0].value));
        let e_bar = match self.kappa {
            0.0 => e.clone(),
            kappa => {
                let e_bar = kappa * r.synapse_trace("e_bar") + (1.0 - kappa) * e.clone();
                r.set_synapse_trace("e_bar", e_bar)
            }
        };
        let change = -(r.neuron(LEARNING_SIGNAL) * e_bar);
        match self.keeps_rate {
            true => change - r.neuron(RATE_ERROR) * e,
            false => change,
        }
    }
}
