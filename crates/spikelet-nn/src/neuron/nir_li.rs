//! NIR's leaky integrator (`LI`).

use super::readout::membrane;
use super::{Neuron, NirLif, Readout, Scope, State};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Leaky integrator of NIR, which never fires.
///
/// τ dV/dt = (v_leak − V) + r·X, discretized: `V[t] = V[t−1] + a·((v_leak − V[t−1]) + r·X[t])`, a = 1/τ or 1 −
/// e^(−1/τ); the output is V.
///
/// In Rust the constants are fields of `neuron`, a [`NirLif`], whose threshold and reset are unused. In files they are
/// on the same level as the others. V starts at 0.
///
/// Source: Pedersen et al., Neuromorphic intermediate representation: a unified instruction set for interoperable
/// brain-inspired computing, Nature Communications 15:8122, 2024.
///
/// ```
/// use spikelet_nn::prelude::*;
/// assert_eq!(NirLi::default().run(&[[2.0], [2.0]])?, [[1.0], [1.5]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[schema(name = "nir_li")]
pub struct NirLi {
    /// The neuron that charges.
    #[schema(flatten)]
    pub neuron: NirLif,
    /// Last, max, max_abs or mean over time; none: every step is returned.
    pub readout: Option<Readout>,
}

impl Neuron for NirLi {
    membrane!();

    fn states(&self) -> Vec<State> {
        self.neuron.states()
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        self.neuron.charge(n, x)
    }
}
