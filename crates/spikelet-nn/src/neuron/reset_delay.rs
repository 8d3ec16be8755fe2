//! The reset one step after the spike, as with snnTorch's `reset_delay=True`.
//!
//! H[t] is the charged potential, reset where S[t−1] = 1; V[t] = H[t]. The state `fired` is S[t−1].

use super::{Scope, State};
use spikelet_expr::Expr;

const FIRED: &str = "fired";

/// The states of a neuron, with `fired` if its reset is delayed.
pub(super) fn states(delayed: bool, names: &[&'static str]) -> Vec<State> {
    let fired = delayed.then_some(FIRED);
    let names = names.iter().copied().chain(fired);
    names.map(|name| State::new(name, 0.0)).collect()
}

/// H from the charged potential.
pub(super) fn charge(n: &Scope, delayed: bool, charged: Expr) -> Expr {
    match delayed {
        true => n.reset(&charged, &n.state(FIRED)),
        false => charged,
    }
}

/// V after the step.
pub(super) fn reset(n: &Scope, delayed: bool, h: &Expr, s: &Expr) -> Expr {
    if !delayed {
        return n.reset(h, s);
    }
    n.set_state(FIRED, s.clone());
    h.clone()
}

#[cfg(test)]
mod tests {
    use crate::neuron::{NirIf, NirLif};
    use crate::prelude::*;

    #[test]
    fn the_threshold_is_subtracted_a_step_after_the_spike() {
        let mut lif = NirLif {
            tau: 2.0,
            reset_delay: true,
            ..NirLif::default()
        };
        lif.common.v_reset = None;
        // H = 1.5, 0.75 − 1 + 1.5 = 1.25, 0.625 − 1 = −0.375
        let late = lif.run(&[[3.0], [3.0], [0.0]]).expect("it runs");
        assert_eq!(late, [[1.0], [1.0], [0.0]]);
        // At once: V = 0.5, H = 0.25 + 0.7 = 0.95 instead of 0.75 − 1 + 0.7 = 0.45
        let inputs = [[3.0], [1.4], [1.2]];
        assert_eq!(lif.run(&inputs).expect("it runs"), [[1.0], [0.0], [0.0]]);
        lif.reset_delay = false;
        assert_eq!(lif.run(&inputs).expect("it runs"), [[1.0], [0.0], [1.0]]);
    }

    #[test]
    fn with_a_reset_potential_the_input_of_the_step_after_the_spike_is_lost() {
        let late = NirIf {
            reset_delay: true,
            ..NirIf::default()
        };
        let spikes = late.run(&[[2.0], [2.0], [2.0]]).expect("it runs");
        assert_eq!(spikes, [[1.0], [0.0], [1.0]]);
    }
}
