//! SE-adLIF: adaptive leaky integrate-and-fire in the symplectic Euler discretization.

use super::decay_lif::{between, slayer};
use super::{Common, Granularity, Neuron, Scope, State, Trainable};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Adaptive leaky integrate-and-fire in the symplectic Euler discretization.
///
/// `H[t] = d_u·V[t−1] + (1 − d_u)·(X[t] − W[t−1])` with d_u = e^(−1/τ_u)
///
/// `S[t] = Θ(H[t] − v_threshold)`, which is 0 at the threshold; hard reset
///
/// `W[t] = d_w·W[t−1] + (1 − d_w)·(a·V[t] + b·S[t])·q` with d_w = e^(−1/τ_w): the new potential and the new spike
///
/// τ_u, τ_w, a and b are trained for each neuron: τ = p·τ_max + (1 − p)·τ_min, with p clamped to 0 and 1, and a and b
/// to their limits, after each update.
///
/// Trained values are uniform between their limits before training.
///
/// Source: Baronig et al., Advancing spatio-temporal processing through adaptation in spiking neural networks, Nature
/// Communications 16:5776, 2025.
///
/// ```
/// use spikelet_nn::neuron::SeAdLifCell;
/// use spikelet_nn::prelude::*;
/// let mut adlif = SeAdLifCell { tau_u: 0.1, ..SeAdLifCell::default() }; // H = X − W, nearly
/// adlif.common.trainable.clear();
/// // W = (1 − e^(−1/180))·120 = 0.66 after the first spike.
/// assert_eq!(adlif.run(&[[1.1], [1.5], [2.0]])?, [[1.0], [0.0], [1.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[schema(name = "se_adlif_cell")]
pub struct SeAdLifCell {
    /// Membrane time constant (trained: 5 … 25).
    #[schema(default = 15.0, above = 0.0, unit = "steps")]
    pub tau_u: f64,
    /// Time constant of the adaptation (trained: 60 … 300).
    #[schema(default = 180.0, above = 0.0, unit = "steps")]
    pub tau_w: f64,
    /// Coupling of the adaptation to the potential; trained: 0 … 1.
    #[schema(default = 0.5)]
    pub a: f64,
    /// Coupling of the adaptation to the spikes; trained: 0 … 2.
    #[schema(default = 1.0)]
    pub b: f64,
    /// Scale of both couplings.
    #[schema(default = 120.0)]
    pub q: f64,
    /// Threshold, reset, surrogate.
    #[schema(flatten, default = trained())]
    pub common: Common,
}

/// The common constants with trained time constants and couplings.
fn trained() -> Common {
    let each = Trainable::new(Granularity::Neuron);
    let projected = |high| each.project(0.0, high).uniform(0.0, high);
    slayer([
        ("tau_u", between(5.0, 25.0)),
        ("tau_w", between(60.0, 300.0)),
        ("a", projected(1.0)),
        ("b", projected(2.0)),
    ])
}

impl SeAdLifCell {
    /// W after a step with this potential and these spikes.
    pub(super) fn adaptation(&self, n: &Scope, v: &Expr, s: &Expr) -> Expr {
        let d = (-1.0 / n.constant("tau_w", self.tau_w)).exp();
        let drive = n.constant("a", self.a) * v + n.constant("b", self.b) * s;
        &d * n.state("w") + (1.0 - &d) * drive * n.constant("q", self.q)
    }
}

impl Neuron for SeAdLifCell {
    fn states(&self) -> Vec<State> {
        vec![State::v(&self.common), State::new("w", 0.0)]
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let d = (-1.0 / n.constant("tau_u", self.tau_u)).exp();
        &d * n.state("v") + (1.0 - &d) * (x - n.state("w"))
    }

    fn reset(&self, n: &Scope, h: &Expr, s: &Expr) -> Expr {
        let v = n.reset(h, s);
        n.set_state("w", self.adaptation(n, &v, s));
        v
    }
}
