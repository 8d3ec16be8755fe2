//! A neuron's step as charge, fire, reset, and their derivatives.
//!
//! The engine derives one step with everything substituted, which is hard to read. Here the same
//! equations are written for a neuron whose H and S are symbols, so that each line is short;
//! substituted into each other they are the engine's step.

mod pretty;
mod probe;

pub use pretty::pretty;

use probe::Probe;
use spikelet::DefinitionError;
use spikelet::expr::{Expr, Node, vjp};
use spikelet::graph::op::Recurrence;
use spikelet::neuron::{Neuron, derive};

/// One step of a neuron, forward and backward. ∂Y stands for ∂L/∂Y.
#[derive(Debug)]
pub struct Step {
    /// H, from x and the states.
    pub charge: Expr,
    /// S, from H.
    pub fire: Expr,
    /// Y, the output, from H and S, where it is not S.
    pub output: Option<Expr>,
    /// The next value of each state, from H and S.
    pub next: Vec<(String, Expr)>,
    /// The term that the reset adds to ∂S, 0 if no gradient passes through the spike in it; all of ∂S
    /// if S is not the output.
    pub spike_feedback: Expr,
    /// ∂H, from ∂S (feedback included) and the adjoints of the states after the step.
    pub d_h: Expr,
    /// ∂x, then those of the states before the step and of the parameters, from ∂H.
    pub gradients: Vec<(String, Expr)>,
    /// The arguments of the surrogate, from H: `g′(…)` and `g(…)` in the other fields are symbols.
    pub arguments: Vec<Expr>,
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
    pub fn of(neuron: &dyn Neuron) -> Result<Self, DefinitionError> {
        derive(neuron)?;
        let probe = Probe::new(neuron);
        let step = derive(&probe)?;
        let seen = probe.seen();
        let wrt = [&step.inputs[..], &step.states[..], &step.params[..]].concat();
        let out = &step.outputs[0];
        let fires = matches!(out.value.node(), Node::Symbol(name) if **name == *probe::S);
        let output = (!fires).then(|| seen.resolve(&out.value));
        let partial = step.step_gradients();
        // If S is the output, ∂S is given, and the term of the reset is separate.
        let given =
            |name: &str| (fires && *name == Recurrence::grad_name(&out.name)).then(|| 0.0.into());
        let renamed = |e: &Expr| seen.resolve(&rename_adjoints(&e.substitute(&given), &step));
        let of = |name: &str| {
            let found = wrt.iter().position(|n| n == name);
            found.map_or(Expr::constant(0.0), |k| renamed(&partial[k]))
        };
        let wanted: Vec<&str> = wrt
            .iter()
            .map(String::as_str)
            .filter(|n| *n != probe::NOISE && !probe::is_symbol(n))
            .collect();
        let through = |value: &Expr, adjoint: &Expr, wrt: &[&str]| {
            let parts = vjp(&[(value.clone(), adjoint.clone())], wrt);
            let resolved = parts.into_iter().map(|part| seen.resolve(&part));
            resolved.collect::<Vec<_>>()
        };
        let spike_feedback = of(probe::S);
        // A spike that is not the output and passes no gradient through the reset.
        let silent = output.is_some() && spike_feedback.as_constant() == Some(0.0);
        let d_s = if silent {
            0.0.into()
        } else {
            Expr::symbol(adjoint(probe::S))
        };
        let through_h = through(&seen.charge, &Expr::symbol(adjoint(probe::H)), &wanted);
        let through_s = through(&seen.fire, &d_s, &wanted);
        let gradients = wanted
            .iter()
            .zip(through_s.into_iter().zip(through_h))
            .map(|(name, (s, h))| (name.to_string(), of(name) + s + h));
        let next = step.states.iter().zip(&step.next);
        Ok(Self {
            charge: seen.resolve(&seen.charge),
            fire: seen.resolve(&seen.fire),
            output,
            next: next
                .map(|(name, value)| (after(name), seen.resolve(value)))
                .collect(),
            spike_feedback,
            d_h: of(probe::H) + through(&seen.fire, &d_s, &[probe::H]).swap_remove(0),
            gradients: gradients.collect(),
            arguments: seen.arguments.clone(),
        })
    }

    /// The lines of the forward step: left side, right side.
    pub fn forward(&self) -> Vec<(String, &Expr)> {
        let mut lines = vec![
            ("H".to_string(), &self.charge),
            ("S".to_string(), &self.fire),
        ];
        lines.extend(self.output.iter().map(|output| ("Y".to_string(), output)));
        lines.extend(self.next.iter().map(|(name, value)| (name.clone(), value)));
        lines
    }

    /// The lines of the backward step: left side with its sign, right side.
    pub fn backward(&self) -> Vec<(String, &Expr)> {
        let mut lines = vec![];
        if self.spike_feedback.as_constant() != Some(0.0) {
            let sign = if self.output.is_some() {
                "∂S ="
            } else {
                "∂S +="
            };
            lines.push((sign.to_string(), &self.spike_feedback));
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

/// The engine's adjoints of the output and of the states as ∂Y and ∂V.
fn rename_adjoints(expr: &Expr, step: &Recurrence) -> Expr {
    let output = &step.outputs[0].name;
    expr.substitute(&|name| {
        if *name == Recurrence::grad_name(output) {
            return Some(Expr::symbol(adjoint("Y")));
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
