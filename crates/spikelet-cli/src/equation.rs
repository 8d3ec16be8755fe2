//! A neuron's step in the words of its authors: charge, fire, reset, and back.
//!
//! The engine derives one step with everything substituted, which no one wants to read. Here the
//! same equations are written for a neuron whose H and S are symbols, so that each line is short;
//! put together again they are the engine's step.

mod pretty;
mod probe;

pub use pretty::pretty;

use probe::Probe;
use spikelet::expr::{Expr, pull_back};
use spikelet::graph::op::Recurrence;
use spikelet::neuron::{Neuron, derive};

/// One step of a neuron, forward and backward. ∂Y stands for ∂L/∂Y.
#[derive(Debug)]
pub struct Step {
    /// H, from x and the states.
    pub charge: Expr,
    /// S, from H.
    pub fire: Expr,
    /// What each state becomes, from H and S.
    pub next: Vec<(String, Expr)>,
    /// What the reset adds to ∂S; 0 where nothing passes through the spike in it.
    pub spike_feedback: Expr,
    /// ∂H, from ∂S (feedback included) and the adjoints of the states after the step.
    pub d_h: Expr,
    /// ∂x, then those of the states before the step and of the parameters, from ∂H.
    pub gradients: Vec<(String, Expr)>,
}

/// The name of a state after the step.
fn after(state: &str) -> String {
    if state == "v" {
        "V".to_string()
    } else {
        format!("{state}′")
    }
}

/// ∂`name`.
pub fn adjoint(name: &str) -> String {
    format!("∂{name}")
}

impl Step {
    /// The step of a neuron.
    ///
    /// # Errors
    /// When the neuron's definition is wrong.
    pub fn of(neuron: &dyn Neuron) -> Result<Self, String> {
        derive(neuron)?;
        let probe = Probe::new(neuron);
        let step = derive(&probe)?;
        let seen = probe.seen();
        let wrt = [&step.inputs[..], &step.states[..], &step.params[..]].concat();
        let partial = step.step_gradients();
        let renamed = |e: &Expr| seen.resolve(&rename_adjoints(e, &step));
        let of = |name: &str| {
            let found = wrt.iter().position(|n| n == name);
            found.map_or(Expr::constant(0.0), |k| renamed(&partial[k]))
        };
        let wanted: Vec<String> = wrt
            .iter()
            .filter(|n| *n != probe::NOISE && !probe::is_symbol(n))
            .cloned()
            .collect();
        let through_h = pull_back(
            &[(seen.charge.clone(), Expr::symbol(adjoint(probe::H)))],
            &wanted.iter().map(String::as_str).collect::<Vec<_>>(),
        );
        let gradients = wanted
            .iter()
            .zip(through_h)
            .map(|(name, part)| (name.clone(), of(name) + part));
        let next = step.states.iter().zip(&step.next);
        Ok(Self {
            charge: seen.charge.clone(),
            fire: seen.resolve(&step.outputs[0].value),
            next: next
                .map(|(name, value)| (after(name), seen.resolve(value)))
                .collect(),
            spike_feedback: of(probe::S),
            d_h: of(probe::H),
            gradients: gradients.collect(),
        })
    }

    /// The lines of the forward step: left side, right side.
    pub fn forward(&self) -> Vec<(String, &Expr)> {
        let mut lines = vec![
            ("H".to_string(), &self.charge),
            ("S".to_string(), &self.fire),
        ];
        lines.extend(self.next.iter().map(|(name, value)| (name.clone(), value)));
        lines
    }

    /// The lines of the backward step: left side with its sign, right side.
    pub fn backward(&self) -> Vec<(String, &Expr)> {
        let mut lines = vec![];
        if self.spike_feedback.as_constant() != Some(0.0) {
            lines.push(("∂S +=".to_string(), &self.spike_feedback));
        }
        lines.push(("∂H =".to_string(), &self.d_h));
        lines.extend(
            self.gradients
                .iter()
                .map(|(name, value)| (format!("{} =", adjoint(name)), value)),
        );
        lines
    }
}

/// The engine's `d_s` and `d_v` as ∂S and ∂V.
fn rename_adjoints(expr: &Expr, step: &Recurrence) -> Expr {
    let output = &step.outputs[0].name;
    expr.substitute(&|name| {
        if *name == Recurrence::grad_name(output) {
            return Some(Expr::symbol(adjoint(probe::S)));
        }
        let state = step
            .states
            .iter()
            .find(|s| *name == Recurrence::grad_name(s))?;
        Some(Expr::symbol(adjoint(&after(state))))
    })
}

#[cfg(test)]
mod tests;
