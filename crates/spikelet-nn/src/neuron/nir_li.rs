//! NIR's leaky integrator (`LI`).
//!
//! τ dV/dt = (v_leak − V) + r·X, discretized: V[t] = V[t−1] + a·((v_leak − V[t−1]) + r·X[t]), a = 1/τ or 1 − e^(−1/τ);
//! the output is V.
//!
//! Source: Pedersen et al., Neuromorphic intermediate representation: a unified instruction set for interoperable
//! brain-inspired computing, Nature Communications 15:8122, 2024.

use super::common::base;
use super::readout::membrane;
use super::{Neuron, NirLif, Readout, Scope, State};
use crate::domain::domains;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// NIR's leaky integrator, which never fires.
///
/// | field | unit | default | |
/// |---|---|---|---|
/// | `tau` | steps | 2 | membrane time constant, > 0 |
/// | `r` | | 1 | resistance: the factor of X |
/// | `v_leak` | | 0 | potential without input |
/// | `discretization` | | euler_seq | euler, euler_seq, exact or exact_seq |
/// | `reset_delay` | | false | unused: the neuron does not fire |
/// | `readout` | | none | last, max, max_abs or mean over time; none: every step is returned |
///
/// In Rust the constants are fields of `neuron`, a [`NirLif`], whose threshold and reset are unused. In files they are
/// on the same level as the others. V starts at 0.
///
/// ```
/// use spikelet_nn::prelude::*;
/// assert_eq!(NirLi::default().run(&[[2.0], [2.0]])?, [[1.0], [1.5]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct NirLi {
    /// The neuron that charges.
    #[serde(flatten)]
    pub neuron: NirLif,
    /// The readout of the membrane over time.
    pub readout: Option<Readout>,
}

impl Neuron for NirLi {
    base!("nir_li", neuron.common);
    domains! { in neuron; }
    membrane!();

    fn states(&self) -> Vec<State> {
        self.neuron.states()
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        self.neuron.charge(n, x)
    }
}
