//! NIR's current-based leaky integrator (`CubaLI`).

use super::readout::membrane;
use super::{Neuron, NirCubaLif, Readout, Scope, State};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Leaky integrator of NIR with a current, which never fires.
///
/// τ_syn dI/dt = −I + w_in·X, τ_mem dV/dt = (v_leak − V) + r·I, discretized as those of `nir_cuba_lif`; the output is
/// V.
///
/// In Rust the constants are fields of `neuron`, a [`NirCubaLif`], whose threshold and reset are unused. In files they
/// are on the same level as the others. V and I start at 0.
///
/// Source: Pedersen et al., Neuromorphic intermediate representation: a unified instruction set for interoperable
/// brain-inspired computing, Nature Communications 15:8122, 2024.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let neuron = NirCubaLi { neuron: NirCubaLif { tau_mem: 2.0, ..NirCubaLif::default() }, ..NirCubaLi::default() };
/// assert_eq!(neuron.run(&[[3.0], [3.0]])?, [[0.75], [1.5]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[schema(name = "nir_cuba_li")]
pub struct NirCubaLi {
    /// The neuron that charges.
    #[schema(flatten)]
    pub neuron: NirCubaLif,
    /// Last, max, max_abs or mean over time; none: every step is returned.
    pub readout: Option<Readout>,
}

impl Neuron for NirCubaLi {
    membrane!();

    fn states(&self) -> Vec<State> {
        self.neuron.states()
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        self.neuron.charge(n, x)
    }
}
