//! Leaky integrate-and-fire with an absolute refractory period.
//!
//! H is that of the leaky integrate-and-fire neuron; for R steps after a spike the potential is constant
//! and the neuron does not fire: H[t] = V[t−1], S[t] = 0.
//!
//! Source: Gerstner & Kistler, Spiking Neuron Models, ch. 4.1.

use super::common::base;
use super::{Lif, Neuron, Scope, State};
use crate::domain::{Domain, domains};
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// Steps are counted in f32, which represents all integers up to this one.
const MOST_SILENT: u32 = 1 << 24;

/// Leaky integrate-and-fire neuron that does not fire for some steps after each spike.
///
/// | field | unit | default | |
/// |---|---|---|---|
/// | `tau` | steps | 2 | membrane time constant, > 1 |
/// | `decay_input` | | true | whether X is divided by τ as well |
/// | `refractory` | steps | 2 | R, how long it is silent |
///
/// In Rust `tau` and `decay_input` are fields of `neuron`, a [`Lif`]:
/// `RefractoryLif { neuron: Lif::new(30.0), ..RefractoryLif::default() }`. In files they are on the same level as the others.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let spikes = RefractoryLif::default().run(&[[3.0], [3.0], [3.0], [3.0]])?;
/// assert_eq!(spikes, [[1.0], [0.0], [0.0], [1.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RefractoryLif {
    /// The neuron.
    #[serde(flatten)]
    pub neuron: Lif,
    /// The number of refractory steps after a spike.
    pub refractory: u32,
}

impl Default for RefractoryLif {
    fn default() -> Self {
        Self {
            neuron: Lif::default(),
            refractory: 2,
        }
    }
}

impl Neuron for RefractoryLif {
    base!("refractory_lif", neuron.common);
    domains! { in neuron; refractory: Domain::whole(0, MOST_SILENT) }

    fn states(&self) -> Vec<State> {
        vec![State::v(self.common()), State::new("silent", 0.0)]
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let silent = n.state("silent").gt(0.0);
        Expr::select(silent, n.state("v"), self.neuron.charge(n, x))
    }

    fn fire(&self, n: &Scope, h: &Expr) -> Expr {
        let silent = n.state("silent").gt(0.0);
        Expr::select(silent, 0.0, n.spike(h - n.v_threshold()))
    }

    fn reset(&self, n: &Scope, h: &Expr, s: &Expr) -> Expr {
        let left = (n.state("silent") - 1.0).max(0.0);
        let after = Expr::select(s.ge(0.5), f64::from(self.refractory), left);
        n.set_state("silent", after.detach());
        n.reset(h, s)
    }
}
