//! Neurons that are allowed and rarely meant.

use super::Neuron;
use super::scope::NOISE;
use super::step::StepDefinition;
use spikelet_expr::Expr;
use std::collections::BTreeMap;

/// The number of time steps after which a neuron without input is taken to fire for ever.
const STEPS: usize = 32;

/// A warning about a neuron whose hard reset leaves it at or above its threshold, so that it fires at every time step
/// without any input. Such a neuron is allowed: input below 0 may stop it.
///
/// ```
/// use spikelet_nn::neuron::warning;
/// use spikelet_nn::prelude::*;
/// let text = warning(&Lif::new(100.0).v_threshold(1.0).v_reset(5.0)).unwrap_or_default();
/// assert!(text.starts_with("neuron `lif` fires at every time step without input"));
/// assert_eq!(warning(&Lif::new(100.0)), None);
/// ```
pub fn warning(neuron: &dyn Neuron) -> Option<String> {
    let common = neuron.common();
    let v_reset = common
        .v_reset
        .filter(|_| common.fires && !neuron.states().is_empty())?;
    if v_reset < common.v_threshold || !fires_for_ever(neuron)? {
        return None;
    }
    Some(format!(
        "neuron `{}` fires at every time step without input: v_reset {v_reset} is not below v_threshold {}; choose a \
         lower v_reset if it should rest",
        neuron.name(),
        common.v_threshold
    ))
}

/// Whether a neuron fires at every step from its initial states without input; `None` if that cannot be computed.
fn fires_for_ever(neuron: &dyn Neuron) -> Option<bool> {
    let layout = StepDefinition::new(neuron).ok()?;
    let step = layout.step;
    let params = layout.params.iter().chain(&layout.sequences);
    let mut values: BTreeMap<String, f64> = params.map(|p| (p.name.clone(), p.init)).collect();
    values.extend([("x".to_string(), 0.0), (NOISE.to_string(), 1.0)]);
    let resets = neuron.states().into_iter().map(|state| state.reset);
    values.extend(step.states.iter().cloned().zip(resets));
    for _ in 0..STEPS {
        let known = |name: &str| values.get(name).copied().map(Expr::constant);
        let number = |value: &Expr| value.substitute(&known).as_constant();
        if number(&step.outputs[0].value)? == 0.0 {
            return Some(false);
        }
        let next: Option<Vec<f64>> = step.next.iter().map(number).collect();
        values.extend(step.states.iter().cloned().zip(next?));
    }
    Some(true)
}
