//! NIR's leaky integrate-and-fire (`LIF`).

use super::reset_delay;
use super::{Common, Discretization, Neuron, Scope, State};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Leaky integrate-and-fire of NIR, with a strict threshold and a choice of discretizations.
///
/// τ dV/dt = (v_leak − V) + r·X, discretized: `H[t] = V[t−1] + a·((v_leak − V[t−1]) + r·X[t])`, a = 1/τ or 1 −
/// e^(−1/τ)
///
/// `S[t] = 1` where `H[t] > v_threshold`; `V[t] = v_reset` there
///
/// V starts at 0. Without `v_reset`, v_threshold is subtracted.
///
/// Source: Pedersen et al., Neuromorphic intermediate representation: a unified instruction set for interoperable
/// brain-inspired computing, Nature Communications 15:8122, 2024.
///
/// ```
/// use spikelet_nn::neuron::NirLif;
/// use spikelet_nn::prelude::*;
/// let lif = NirLif { tau: 2.0, ..NirLif::default() };
/// assert_eq!(lif.run(&[[2.0], [2.0]])?, [[0.0], [1.0]]); // H = 1, 1.5
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[schema(name = "nir_lif")]
pub struct NirLif {
    /// Membrane time constant.
    #[schema(default = 2.0, above = 0.0, unit = "steps")]
    pub tau: f64,
    /// Resistance: the factor of X.
    #[schema(default = 1.0)]
    pub r: f64,
    /// Potential without input.
    pub v_leak: f64,
    /// Euler, euler_seq, exact or exact_seq.
    pub discretization: Discretization,
    /// Whether the reset comes one step after the spike: `H[t]` is reset where `S[t−1]` = 1, and `V[t]` = `H[t]`.
    pub reset_delay: bool,
    /// Threshold, reset, surrogate.
    #[schema(flatten, default = Common { strict: true, ..Common::default() })]
    pub common: Common,
}

impl Neuron for NirLif {
    fn states(&self) -> Vec<State> {
        reset_delay::states(self.reset_delay, &["v"])
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let v = n.state("v");
        let rate = self.discretization.rate(&n.constant("tau", self.tau));
        let leak = n.constant("v_leak", self.v_leak) - &v;
        let charged = &v + rate * (leak + n.constant("r", self.r) * x);
        reset_delay::charge(n, self.reset_delay, charged)
    }

    fn reset(&self, n: &Scope, h: &Expr, s: &Expr) -> Expr {
        reset_delay::reset(n, self.reset_delay, h, s)
    }
}
