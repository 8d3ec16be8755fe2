//! NIR's integrator (`I`).

use super::readout::membrane;
use super::{Common, Neuron, Readout, Scope, State};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Integrator of NIR, which never fires.
///
/// dV/dt = r·X, with a step of one: `V[t] = V[t−1] + r·X[t]`; the output is V.
///
/// V starts at 0.
///
/// Source: Pedersen et al., Neuromorphic intermediate representation: a unified instruction set for interoperable
/// brain-inspired computing, Nature Communications 15:8122, 2024.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let neuron = NirI { r: 0.5, ..NirI::default() };
/// assert_eq!(neuron.run(&[[2.0], [0.5]])?, [[1.0], [1.25]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[schema(name = "nir_i")]
pub struct NirI {
    /// Resistance: the factor of X; that of NIR, times the length of a step.
    #[schema(default = 1.0, unit = "1/steps")]
    pub r: f64,
    /// Last, max, max_abs or mean over time; none: every step is returned.
    pub readout: Option<Readout>,
    /// Trainable constants; threshold, reset and surrogate are unused.
    #[schema(flatten)]
    pub common: Common,
}

impl Neuron for NirI {
    membrane!();

    fn states(&self) -> Vec<State> {
        vec![State::new("v", 0.0)]
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        n.state("v") + n.constant("r", self.r) * x
    }
}
