//! From a neuron's equations to the step that the engine runs.

use super::{Neuron, Scope, scope::NOISE};
use spikelet_expr::Expr;
use spikelet_graph::op::Recurrence;

/// Writes one step of a neuron: output `s`, next states.
///
/// # Errors
/// When the neuron uses a state or parameter that it does not declare, or needs a primitive that
/// its surrogate does not have.
///
/// ```
/// use spikelet::prelude::*;
/// let step = spikelet::neuron::derive(&If::new())?;
/// assert_eq!(step.outputs[0].value.to_string(), "v + x - 1 ≥ 0");
/// assert_eq!(step.next[0].to_string(), "v + x - 1 ≥ 0 ? 0 : v + x");
/// # Ok::<(), String>(())
/// ```
pub fn derive(neuron: &dyn Neuron) -> Result<Recurrence, String> {
    let n = Scope::new(neuron);
    let h = neuron.charge(&n, Expr::symbol("x"));
    let s = neuron.fire(&n, &h);
    let v = neuron.reset(&n, &h, &s);
    if let Some(problem) = n.problem() {
        return Err(format!("neuron `{}`: {problem}", neuron.name()));
    }
    let states: Vec<&str> = neuron.states().iter().map(|s| s.name).collect();
    let next = states
        .iter()
        .map(|name| match *name {
            "v" => v.clone(),
            other => n.next_of(other).unwrap_or_else(|| Expr::symbol(other)),
        })
        .collect();
    let common = neuron.common();
    let mut inputs = vec!["x"];
    if common.surrogate.needs_noise() && common.spiking {
        inputs.push(NOISE);
    }
    let params: Vec<&str> = neuron.params().iter().map(|p| p.name).collect();
    let binary = common.spiking && common.surrogate.is_binary();
    let step = Recurrence::new(neuron.name(), inputs, states)
        .params(params)
        .output("s", s, binary)
        .next(next);
    check_symbols(&step)?;
    Ok(step)
}

fn check_symbols(step: &Recurrence) -> Result<(), String> {
    step.forward_program(&vec![true; step.outputs.len()])
        .map(|_| ())
        .map_err(|e| format!("neuron `{}`: {e}", step.name))
}
