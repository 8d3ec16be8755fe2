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
    let Parts { fire, next, .. } = write(neuron, |_, whole| whole.clone())?;
    let states: Vec<&str> = neuron.states().iter().map(|s| s.name).collect();
    let common = neuron.common();
    let mut inputs = vec!["x"];
    if common.surrogate.needs_noise() && common.spiking {
        inputs.push(NOISE);
    }
    let params: Vec<&str> = neuron.params().iter().map(|p| p.name).collect();
    let binary = common.spiking && common.surrogate.is_binary();
    let step = Recurrence::new(neuron.name(), inputs, states)
        .params(params)
        .output("s", fire, binary)
        .next(next);
    check_symbols(&step)?;
    Ok(step)
}

/// One step of a neuron in its three parts.
pub(crate) struct Parts {
    /// H, of the input `x`, states and parameters.
    pub(crate) charge: Expr,
    /// S, of those and [`CHARGED`].
    pub(crate) fire: Expr,
    /// What the states become, of those and [`FIRED`].
    pub(crate) next: Vec<Expr>,
}

/// The symbol of H in what follows the charge; no neuron's state can have this name by accident.
pub(crate) const CHARGED: &str = "h[t]";

/// The symbol of S in what follows the spike.
pub(crate) const FIRED: &str = "s[t]";

/// Writes the parts of a step, each of the results of the one before.
///
/// # Errors
/// As [`derive`].
pub(crate) fn parts(neuron: &dyn Neuron) -> Result<Parts, String> {
    write(neuron, |symbol, _| Expr::symbol(symbol))
}

/// Writes the parts of a step. `hand_on` says what later parts see of a result: its expression,
/// or a symbol.
fn write(neuron: &dyn Neuron, hand_on: impl Fn(&str, &Expr) -> Expr) -> Result<Parts, String> {
    let n = Scope::new(neuron);
    let charge = neuron.charge(&n, Expr::symbol("x"));
    let h = hand_on(CHARGED, &charge);
    let fire = neuron.fire(&n, &h);
    let s = hand_on(FIRED, &fire);
    let v = neuron.reset(&n, &h, &s);
    if let Some(problem) = n.problem() {
        return Err(format!("neuron `{}`: {problem}", neuron.name()));
    }
    let next_of = |name| match name {
        "v" => v.clone(),
        other => n.next_of(other).unwrap_or_else(|| Expr::symbol(other)),
    };
    let next = neuron.states().iter().map(|s| next_of(s.name)).collect();
    Ok(Parts { charge, fire, next })
}

fn check_symbols(step: &Recurrence) -> Result<(), String> {
    step.forward_program(&vec![true; step.outputs.len()])
        .map(|_| ())
        .map_err(|e| format!("neuron `{}`: {e}", step.name))
}
