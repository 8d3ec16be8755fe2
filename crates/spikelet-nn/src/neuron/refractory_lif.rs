//! Leaky integrate-and-fire with an absolute refractory period.

use super::{Lif, Neuron, Scope, State};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Steps are counted in f32, which represents all integers up to this one.
const MOST_SILENT: u32 = 1 << 24;

/// Leaky integrate-and-fire with an absolute refractory period.
///
/// H is that of the leaky integrate-and-fire neuron; for R steps after a spike the potential is constant and the
/// neuron does not fire: `H[t] = V[t−1]`, `S[t] = 0`.
///
/// In Rust `tau` and `decay_input` are fields of `neuron`, a [`Lif`]: `RefractoryLif { neuron: Lif::new(30.0),
/// ..RefractoryLif::default() }`. In files they are on the same level as the others.
///
/// Source: Gerstner & Kistler, Spiking Neuron Models, ch. 4.1.
///
/// ```
/// use spikelet_nn::neuron::RefractoryLif;
/// use spikelet_nn::prelude::*;
/// let spikes = RefractoryLif::default().run(&[[3.0], [3.0], [3.0], [3.0]])?;
/// assert_eq!(spikes, [[1.0], [0.0], [0.0], [1.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[schema(name = "refractory_lif")]
pub struct RefractoryLif {
    /// The neuron.
    #[schema(flatten)]
    pub neuron: Lif,
    /// R, how long it is silent.
    #[schema(default = 2, from = 0, to = MOST_SILENT, unit = "steps")]
    pub refractory: u32,
}

impl Neuron for RefractoryLif {
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
