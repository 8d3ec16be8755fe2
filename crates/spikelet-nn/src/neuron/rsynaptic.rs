//! snnTorch's second-order leaky integrate-and-fire, with the resets and the feedback of its `RLeaky`.
//!
//! I[t] = α·I[t−1] + X[t] + feedback·S[t−1] (the last term with `one_to_one`)
//!
//! G[t] = β·V[t−1] + I[t]; H[t], S[t] and V[t] follow from G[t] as in `rleaky`. The current is not reset.
//!
//! Source: Eshraghian et al., Training spiking neural networks using lessons from deep learning, Proceedings of the
//! IEEE 111:1016, 2023 (snnTorch's `Synaptic` and `RSynaptic`).

use super::common::base;
use super::{Granularity, Neuron, RLeakyCell, Scope, State};
use crate::domain::{Constant, Domain};
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// snnTorch's second-order leaky integrate-and-fire neuron.
///
/// | field | default | |
/// |---|---|---|
/// | `alpha` | 0.9 | decay factor of the current, 0 to 1 |
/// | `beta` | 0.9 | decay factor of the potential, 0 to 1 |
/// | `one_to_one` | false | whether each neuron's last spike is added to its input |
/// | `feedback` | 1 | weight of the own spike (snnTorch's `V`) |
/// | `strict` | true | whether H = v_threshold causes no spike |
/// | `reset_delay` | true | whether the reset comes one step after the spike |
/// | `keeps_input` | false | whether a hard reset keeps the input of its step, as that of snnTorch's `Leaky` |
/// | `v_reset` | none | soft reset; 0 is snnTorch's reset to zero |
/// | `surrogate` | atan, α = 2 | |
///
/// In Rust all but `alpha` are fields of `neuron`, a [`RLeakyCell`]. In files they are on the same level.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let mut synaptic = RSynapticCell { alpha: 0.9, ..RSynapticCell::default() };
/// synaptic.neuron.beta = 0.8;
/// let spikes = synaptic.run(&[[0.6], [0.0], [0.0]])?; // H = 0.6, 1.02, 0.302
/// assert_eq!(spikes, [[0.0], [1.0], [0.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RSynapticCell {
    /// Decay factor of the current.
    pub alpha: f64,
    /// The membrane.
    #[serde(flatten)]
    pub neuron: RLeakyCell,
}

impl Default for RSynapticCell {
    fn default() -> Self {
        Self {
            alpha: 0.9,
            neuron: RLeakyCell::default(),
        }
    }
}

impl RSynapticCell {
    /// A neuron whose own spikes are fed back with a trained weight.
    pub fn one_to_one(granularity: Granularity) -> Self {
        Self {
            neuron: RLeakyCell::one_to_one(granularity),
            ..Self::default()
        }
    }
}

impl Neuron for RSynapticCell {
    base!("rsynaptic", neuron.common);

    fn domains(&self) -> Vec<Constant> {
        let factor = Domain::at_least(0.0).at_most(1.0);
        let mut domains = self.neuron.domains();
        domains.push(Constant::new("alpha", self.alpha, factor));
        domains
    }

    fn states(&self) -> Vec<State> {
        let mut states = self.neuron.own_states();
        states.push(State::new("syn", 0.0));
        states
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let current = n.constant("alpha", self.alpha) * n.state("syn") + self.neuron.input(n, x);
        n.set_state("syn", current.clone());
        let charged = n.constant("beta", self.neuron.beta) * self.neuron.before_charge(n) + current;
        self.neuron.after_late_reset(n, charged)
    }

    fn reset(&self, n: &Scope, h: &Expr, s: &Expr) -> Expr {
        self.neuron.after_spike(n, h, s)
    }
}
