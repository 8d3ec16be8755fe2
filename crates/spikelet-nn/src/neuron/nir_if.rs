//! NIR's integrate-and-fire (`IF`).

use super::reset_delay;
use super::{Common, Neuron, Scope, State};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Integrate-and-fire of NIR, with a strict threshold.
///
/// dV/dt = r·X, with a step of one: `H[t] = V[t−1] + r·X[t]`
///
/// `S[t] = 1` where `H[t] > v_threshold`; `V[t] = v_reset` there
///
/// V starts at 0. Without `v_reset`, v_threshold is subtracted.
///
/// Source: Pedersen et al., Neuromorphic intermediate representation: a unified instruction set for interoperable
/// brain-inspired computing, Nature Communications 15:8122, 2024.
///
/// ```
/// use spikelet_nn::neuron::NirIf;
/// use spikelet_nn::prelude::*;
/// let neuron = NirIf { r: 0.5, ..NirIf::default() };
/// assert_eq!(neuron.run(&[[2.0], [0.5]])?, [[0.0], [1.0]]); // H = 1, 1.25
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[schema(name = "nir_if")]
pub struct NirIf {
    /// Resistance: the factor of X; that of NIR, times the length of a step.
    #[schema(default = 1.0, unit = "1/steps")]
    pub r: f64,
    /// Whether the reset comes one step after the spike: `H[t]` is reset where `S[t−1]` = 1, and `V[t]` = `H[t]`.
    pub reset_delay: bool,
    /// Threshold, reset, surrogate.
    #[schema(flatten, default = Common { strict: true, ..Common::default() })]
    pub common: Common,
}

impl Neuron for NirIf {
    fn states(&self) -> Vec<State> {
        reset_delay::states(self.reset_delay, &["v"])
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let charged = n.state("v") + n.constant("r", self.r) * x;
        reset_delay::charge(n, self.reset_delay, charged)
    }

    fn reset(&self, n: &Scope, h: &Expr, s: &Expr) -> Expr {
        reset_delay::reset(n, self.reset_delay, h, s)
    }
}
