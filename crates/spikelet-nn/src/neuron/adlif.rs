//! Adaptive leaky integrate-and-fire with constants of its own for each neuron.

use super::sparch_lif::{alpha_limits, boxcar, clamped};
use super::{Common, Neuron, Scope, State};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Adaptive leaky integrate-and-fire of sparch, with trained constants for each neuron.
///
/// `W[t] = β·W[t−1] + a·V[t−1] + b·S[t−1]`
///
/// `H[t] = α·(V[t−1] − S[t−1]) + (1 − α)·(X[t] − W[t])`, `V[t] = H[t]`
///
/// `S[t] = Θ(H[t] − v_threshold)`, which is 0 at the threshold
///
/// α, β, a and b are trained for each neuron and clamped to their limits in the forward pass. V, W and S start from
/// random values, uniform on [0, 1), also in evaluation.
///
/// Trained values are uniform between their limits before training. [`AdLifCell::cad`] has other limits.
///
/// Source: Bittar & Garner, A surrogate gradient spiking baseline for speech command recognition, Frontiers in
/// Neuroscience 16:865897, 2022 (sparch); the limits of CadLIF: Fabre et al., Structured state space model dynamics
/// and parametrization for spiking neural networks, arXiv:2506.06374, 2025.
///
/// ```
/// use spikelet_nn::neuron::AdLifCell;
/// use spikelet_nn::prelude::*;
/// let mut adlif = AdLifCell { alpha: 0.5, beta: 0.9, ..AdLifCell::default() };
/// adlif.common.trainable.clear();
/// // H = 1.05, then W = 1 and H = ½·0.05 + ½·(2.1 − 1)
/// assert_eq!(adlif.run(&[[2.1], [2.1]])?, [[1.0], [0.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[schema(name = "adlif_cell")]
#[doc(alias = "RadLIF")]
pub struct AdLifCell {
    /// Decay factor of the potential; trained: e^(−1/5) … e^(−1/25).
    #[schema(default = 0.9, from = 0.0, to = 1.0)]
    pub alpha: f64,
    /// Decay factor of the adaptation; trained: e^(−1/30) … e^(−1/120).
    #[schema(default = 0.98, from = 0.0, to = 1.0)]
    pub beta: f64,
    /// Coupling of the adaptation to the potential; trained: −1 … 1.
    pub a: f64,
    /// Coupling of the adaptation to the spikes; trained: 0 … 2.
    #[schema(default = 1.0)]
    pub b: f64,
    /// Whether states start from random values on [0, 1).
    #[schema(default = true)]
    pub random_start: bool,
    /// Threshold, surrogate.
    #[schema(flatten, default = trained([alpha_limits(), beta_limits(), [-1.0, 1.0], [0.0, 2.0]]))]
    pub common: Common,
}

/// The limits of the decay factor of the adaptation: time constants of 30 to 120 steps.
fn beta_limits() -> [f64; 2] {
    [30.0, 120.0].map(|tau: f64| (-1.0 / tau).exp())
}

/// The common constants with trained α, β, a and b between these limits.
fn trained([alpha, beta, a, b]: [[f64; 2]; 4]) -> Common {
    let limits = [("alpha", alpha), ("beta", beta), ("a", a), ("b", b)];
    boxcar(limits.map(|(name, limits)| (name, clamped(limits))))
}

impl AdLifCell {
    /// CadLIF: α from 0.36 to 0.96, β from 0.96 to 0.99, a from 0 to 1, b from 0 to 2.
    pub fn cad() -> Self {
        Self {
            alpha: 0.66,
            beta: 0.975,
            a: 0.5,
            common: trained([[0.36, 0.96], [0.96, 0.99], [0.0, 1.0], [0.0, 2.0]]),
            ..Self::default()
        }
    }
}

/// W and H of a step; `alpha` and `beta` are the decay factors of the potential and of the adaptation.
pub(super) fn adapt(n: &Scope, x: Expr, [alpha, beta, a, b]: [Expr; 4]) -> Expr {
    let (v, fired) = (n.state("v"), n.state("fired"));
    let w = beta * n.state("w") + a * &v + b * &fired;
    n.set_state("w", w.clone());
    &alpha * (v - fired) + (1.0 - &alpha) * (x - w)
}

/// The states of an adaptive neuron.
pub(super) fn states(random: bool) -> Vec<State> {
    let names = ["v", "w", "fired"];
    names
        .map(|name| State::new(name, 0.0).random(random))
        .to_vec()
}

impl Neuron for AdLifCell {
    fn states(&self) -> Vec<State> {
        states(self.random_start)
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let constants = [
            ("alpha", self.alpha),
            ("beta", self.beta),
            ("a", self.a),
            ("b", self.b),
        ];
        adapt(n, x, constants.map(|(name, value)| n.constant(name, value)))
    }

    fn reset(&self, n: &Scope, h: &Expr, s: &Expr) -> Expr {
        n.set_state("fired", s.clone());
        h.clone()
    }
}
