//! NIR's current-based leaky integrator (`CubaLI`).
//!
//! τ_syn dI/dt = −I + w_in·X, τ_mem dV/dt = (v_leak − V) + r·I, discretized as those of `nir_cuba_lif`; the output is V.
//!
//! Source: Pedersen et al., Neuromorphic intermediate representation: a unified instruction set for interoperable
//! brain-inspired computing, Nature Communications 15:8122, 2024.

use super::common::base;
use super::readout::membrane;
use super::{Neuron, NirCubaLif, Readout, Scope, State};
use crate::domain::domains;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// NIR's leaky integrator with a current that decays too, which never fires.
///
/// | field | unit | default | |
/// |---|---|---|---|
/// | `tau_syn` | steps | 2 | time constant of the current, > 0 |
/// | `tau_mem` | steps | 4 | membrane time constant, > 0 |
/// | `r` | | 1 | resistance: the factor of the current |
/// | `v_leak` | | 0 | potential without current |
/// | `w_in` | | 1 | the factor of X |
/// | `discretization` | | euler_seq | euler, euler_seq, exact or exact_seq |
/// | `reset_delay` | | false | unused: the neuron does not fire |
/// | `readout` | | none | last, max, max_abs or mean over time; none: every step is returned |
///
/// In Rust the constants are fields of `neuron`, a [`NirCubaLif`], whose threshold and reset are unused. In files they
/// are on the same level as the others. V and I start at 0.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let neuron = NirCubaLi { neuron: NirCubaLif { tau_mem: 2.0, ..NirCubaLif::default() }, ..NirCubaLi::default() };
/// assert_eq!(neuron.run(&[[3.0], [3.0]])?, [[0.75], [1.5]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct NirCubaLi {
    /// The neuron that charges.
    #[serde(flatten)]
    pub neuron: NirCubaLif,
    /// The readout of the membrane over time.
    pub readout: Option<Readout>,
}

impl Neuron for NirCubaLi {
    base!("nir_cuba_li", neuron.common);
    domains! { in neuron; }
    membrane!();

    fn states(&self) -> Vec<State> {
        self.neuron.states()
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        self.neuron.charge(n, x)
    }
}
