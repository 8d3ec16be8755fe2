//! NIR's current-based leaky integrate-and-fire (`CubaLIF`).

use super::discretization::CurrentAndPotential;
use super::reset_delay;
use super::{Common, Discretization, Neuron, Scope, State};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Leaky integrate-and-fire of NIR with a current, with a strict threshold and a choice of discretizations.
///
/// τ_syn dI/dt = −I + w_in·X, τ_mem dV/dt = (v_leak − V) + r·I, discretized:
///
/// `I[t] = I[t−1] + a_syn·(w_in·X[t] − I[t−1])`, `H[t] = V[t−1] + a_mem·((v_leak − V[t−1]) + r·I)`, a = 1/τ or 1 −
/// e^(−1/τ), with `I = I[t−1]` (euler) or `I[t]` (euler_seq, exact_seq); exact solves both equations jointly.
///
/// `S[t] = 1` where `H[t] > v_threshold`; `V[t] = v_reset` there
///
/// V and I start at 0. Without `v_reset`, v_threshold is subtracted.
///
/// Source: Pedersen et al., Neuromorphic intermediate representation: a unified instruction set for interoperable
/// brain-inspired computing, Nature Communications 15:8122, 2024.
///
/// ```
/// use spikelet_nn::neuron::NirCubaLif;
/// use spikelet_nn::prelude::*;
/// let neuron = NirCubaLif { tau_mem: 2.0, ..NirCubaLif::default() };
/// assert_eq!(neuron.run(&[[3.0], [3.0]])?, [[0.0], [1.0]]); // I = 1.5, 2.25; H = 0.75, 1.5
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[schema(name = "nir_cuba_lif")]
pub struct NirCubaLif {
    /// Time constant of the current.
    #[schema(default = 2.0, above = 0.0, unit = "steps")]
    pub tau_syn: f64,
    /// Membrane time constant.
    #[schema(default = 4.0, above = 0.0, unit = "steps")]
    pub tau_mem: f64,
    /// Resistance: the factor of the current.
    #[schema(default = 1.0)]
    pub r: f64,
    /// Potential without current.
    pub v_leak: f64,
    /// The factor of X.
    #[schema(default = 1.0)]
    pub w_in: f64,
    /// Euler, euler_seq, exact or exact_seq.
    pub discretization: Discretization,
    /// Whether the reset comes one step after the spike: `H[t]` is reset where `S[t−1]` = 1, and `V[t]` = `H[t]`.
    pub reset_delay: bool,
    /// Threshold, reset, surrogate.
    #[schema(flatten, default = Common { strict: true, ..Common::default() })]
    pub common: Common,
}

impl Neuron for NirCubaLif {
    fn states(&self) -> Vec<State> {
        reset_delay::states(self.reset_delay, &["v", "i"])
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let equations = CurrentAndPotential {
            tau_syn: n.constant("tau_syn", self.tau_syn),
            tau_mem: n.constant("tau_mem", self.tau_mem),
            r: n.constant("r", self.r),
            v_leak: n.constant("v_leak", self.v_leak),
        };
        let drive = n.constant("w_in", self.w_in) * x;
        let (v, i) = (n.state("v"), n.state("i"));
        let [current, h] = equations.step(self.discretization, &i, &v, &drive);
        n.set_state("i", current);
        reset_delay::charge(n, self.reset_delay, h)
    }

    fn reset(&self, n: &Scope, h: &Expr, s: &Expr) -> Expr {
        reset_delay::reset(n, self.reset_delay, h, s)
    }
}
