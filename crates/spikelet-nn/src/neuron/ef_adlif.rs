//! EF-adLIF: adaptive leaky integrate-and-fire in the Euler forward discretization.

use super::{Neuron, Scope, SeAdLifCell, State};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Adaptive leaky integrate-and-fire in the Euler forward discretization.
///
/// As SE-adLIF, but the adaptation follows the potential and the spike of the step before:
///
/// `W[t] = d_w·W[t−1] + (1 − d_w)·(a·V[t−1] + b·S[t−1])·q`
///
/// In Rust these are fields of `neuron`, a [`SeAdLifCell`]. In files they are on the same level as the others.
///
/// Source: Baronig et al., Advancing spatio-temporal processing through adaptation in spiking neural networks, Nature
/// Communications 16:5776, 2025.
///
/// ```
/// use spikelet_nn::neuron::EfAdLifCell;
/// use spikelet_nn::prelude::*;
/// let mut adlif = EfAdLifCell::default();
/// adlif.neuron.tau_u = 0.1; // H = X − W, nearly
/// adlif.neuron.common.trainable.clear();
/// // The spike of the first step acts in the third.
/// assert_eq!(adlif.run(&[[1.1], [1.1], [1.1]])?, [[1.0], [1.0], [0.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[schema(name = "ef_adlif_cell")]
pub struct EfAdLifCell {
    /// The constants.
    #[schema(flatten, default = SeAdLifCell { q: 60.0, ..SeAdLifCell::default() })]
    pub neuron: SeAdLifCell,
}

impl Neuron for EfAdLifCell {
    fn states(&self) -> Vec<State> {
        let mut states = self.neuron.states();
        states.push(State::new("fired", 0.0));
        states
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let w = self.neuron.adaptation(n, &n.state("v"), &n.state("fired"));
        n.set_state("w", w);
        self.neuron.charge(n, x)
    }

    fn reset(&self, n: &Scope, h: &Expr, s: &Expr) -> Expr {
        n.set_state("fired", s.clone());
        n.reset(h, s)
    }
}
