//! Leaky integrate-and-fire with positive and negative spikes.

use super::{Lif, Neuron, OutputKind, Scope, ternary_if};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Leaky integrate-and-fire with positive and negative spikes.
///
/// H is that of the leaky integrate-and-fire neuron, `S[t] = Θ(H[t] − v_threshold) − Θ(−H[t] − v_threshold)`; the hard
/// reset is applied to spikes of both signs.
///
/// In Rust `tau` and `decay_input` are fields of `neuron`, a [`Lif`]; in files they are on the same level as the
/// others.
///
/// Source: Guo et al., Ternary spike: learning ternary spikes for spiking neural networks, AAAI 2024.
///
/// ```
/// use spikelet_nn::neuron::TernaryLif;
/// use spikelet_nn::prelude::*;
/// let spikes = TernaryLif::default().run(&[[-1.5], [-1.5], [3.0]])?; // H = −0.75, −1.125, 1.5
/// assert_eq!(spikes, [[0.0], [-1.0], [1.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[schema(name = "ternary_lif")]
pub struct TernaryLif {
    /// The neuron that charges.
    #[schema(flatten)]
    pub neuron: Lif,
}

impl Neuron for TernaryLif {
    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        self.neuron.charge(n, x)
    }

    fn fire(&self, n: &Scope, h: &Expr) -> Expr {
        ternary_if::fire(n, h)
    }

    fn reset(&self, n: &Scope, h: &Expr, s: &Expr) -> Expr {
        ternary_if::reset(n, h, s)
    }

    fn output_kind(&self) -> OutputKind {
        ternary_if::output_kind(self.common())
    }
}
