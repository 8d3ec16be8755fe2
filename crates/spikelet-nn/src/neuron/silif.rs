//! SiLIF: adaptive leaky integrate-and-fire with the time steps of a state space model.

use super::adlif::{adapt, states};
use super::sparch_lif::{boxcar, clamped};
use super::{Common, Granularity, Neuron, Scope, State, Trainable};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Adaptive leaky integrate-and-fire in the parametrization of state space models.
///
/// α = exp(−e^(alpha)·e^(dt)), β = exp(−e^(beta)·e^(dt)): logarithms of decay rates, and of a time step
///
/// `W[t] = β·W[t−1] + a·V[t−1] + b·S[t−1]`
///
/// `H[t] = α·(V[t−1] − S[t−1]) + (1 − α)·(X[t] − W[t])`, `V[t] = H[t]`
///
/// `S[t] = Θ(H[t] − v_threshold)`, which is 0 at the threshold
///
/// All five constants are trained for each neuron; a and b are clamped in the forward pass. V, W and S start from
/// random values, uniform on [0, 1), also in evaluation.
///
/// Source: Fabre et al., Structured state space model dynamics and parametrization for spiking neural networks,
/// arXiv:2506.06374, 2025.
///
/// ```
/// use spikelet_nn::neuron::SiLifCell;
/// use spikelet_nn::prelude::*;
/// // A step as long as the time constant of the potential: α = 1/e
/// let mut silif = SiLifCell { dt: (1.0_f64 / 50.0).ln(), ..SiLifCell::default() };
/// silif.common.trainable.clear();
/// assert_eq!(silif.run(&[[1.7], [0.0]])?, [[1.0], [0.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[schema(name = "silif_cell")]
pub struct SiLifCell {
    /// Logarithm of the decay rate of the potential; trained: uniform on ln 10 … ln 250 before training.
    #[schema(default = 50.0_f64.ln())]
    pub alpha: f64,
    /// Logarithm of the decay rate of the adaptation; trained: uniform on ln 2.5 … ln 10 before training.
    #[schema(default = 5.0_f64.ln())]
    pub beta: f64,
    /// Logarithm of the time step; trained.
    #[schema(default = 0.004_f64.ln())]
    pub dt: f64,
    /// Coupling of the adaptation to the potential; trained: 0 … 1.
    #[schema(default = 0.5)]
    pub a: f64,
    /// Coupling of the adaptation to the spikes; trained: 0 … 2.
    #[schema(default = 1.0)]
    pub b: f64,
    /// Whether states start from random values on [0, 1).
    #[schema(default = true)]
    pub random_start: bool,
    /// Threshold, surrogate.
    #[schema(flatten, default = trained())]
    pub common: Common,
}

/// The common constants with all others trained.
fn trained() -> Common {
    let each = Trainable::new(Granularity::Neuron);
    let logarithm = |low: f64, high: f64| each.uniform(low.ln(), high.ln());
    boxcar([
        ("alpha", logarithm(10.0, 250.0)),
        ("beta", logarithm(2.5, 10.0)),
        ("dt", each),
        ("a", clamped([0.0, 1.0])),
        ("b", clamped([0.0, 2.0])),
    ])
}

impl Neuron for SiLifCell {
    fn states(&self) -> Vec<State> {
        states(self.random_start)
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let step = n.constant("dt", self.dt).exp();
        let decay = |name, value| (-(n.constant(name, value).exp() * &step)).exp();
        let factors = [decay("alpha", self.alpha), decay("beta", self.beta)];
        let [alpha, beta] = factors;
        let couplings = [("a", self.a), ("b", self.b)];
        let [a, b] = couplings.map(|(name, value)| n.constant(name, value));
        adapt(n, x, [alpha, beta, a, b])
    }

    fn reset(&self, n: &Scope, h: &Expr, s: &Expr) -> Expr {
        n.set_state("fired", s.clone());
        h.clone()
    }
}
