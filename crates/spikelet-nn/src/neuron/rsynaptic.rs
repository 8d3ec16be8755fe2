//! snnTorch's second-order leaky integrate-and-fire, with the resets and the feedback of its `RLeaky`.

use super::{Granularity, Neuron, RLeakyCell, Scope, State};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Leaky integrate-and-fire with a synaptic current of snnTorch, with a late reset and feedback.
///
/// `I[t] = α·I[t−1] + X[t] + feedback·S[t−1]` (the last term with `one_to_one`)
///
/// `G[t] = β·V[t−1] + I[t]`; `H[t]`, `S[t]` and `V[t]` follow from `G[t]` as in `rleaky_cell`. The current is not reset.
///
/// In Rust all but `alpha` are fields of `neuron`, a [`RLeakyCell`]. In files they are on the same level.
///
/// Without a `v_reset` the reset is the soft one; a `v_reset` of 0 is snnTorch's reset to zero.
///
/// Source: Eshraghian et al., Training spiking neural networks using lessons from deep learning, Proceedings of the
/// IEEE 111:1016, 2023 (snnTorch's `Synaptic` and `RSynaptic`).
///
/// ```
/// use spikelet_nn::neuron::RSynapticCell;
/// use spikelet_nn::prelude::*;
/// let mut synaptic = RSynapticCell { alpha: 0.9, ..RSynapticCell::default() };
/// synaptic.neuron.beta = 0.8;
/// let spikes = synaptic.run(&[[0.6], [0.0], [0.0]])?; // H = 0.6, 1.02, 0.302
/// assert_eq!(spikes, [[0.0], [1.0], [0.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[schema(name = "rsynaptic_cell")]
pub struct RSynapticCell {
    /// Decay factor of the current.
    #[schema(default = 0.9, from = 0.0, to = 1.0)]
    pub alpha: f64,
    /// The membrane.
    #[schema(flatten)]
    pub neuron: RLeakyCell,
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
