//! Leaky integrate-and-fire with a trainable scale of the potential.

use super::{Granularity, Lif, Neuron, Param, Scope};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Leaky integrate-and-fire with a trainable scale of the potential.
///
/// `H[t] = relu(k·F[t])`, with F the charge of the leaky integrate-and-fire neuron and k trainable. If the reset is
/// scaled, it acts on H/k with the threshold v_threshold/k.
///
/// In Rust `tau` and `decay_input` are fields of `neuron`, a [`Lif`]: `Klif { neuron: Lif::new(30.0),
/// ..Klif::default() }`. In files they are on the same level as the others.
///
/// Source: Jiang & Zhang, KLIF: an optimized spiking neuron unit for tuning surrogate gradient slope and membrane
/// potential, arXiv:2302.09238 (2023).
///
/// ```
/// use spikelet_nn::neuron::Klif;
/// use spikelet_nn::prelude::*;
/// let spikes = Klif::default().run(&[[1.5], [1.5]])?; // H = 0.75, 1.125
/// assert_eq!(spikes, [[0.0], [1.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[doc(alias = "KLIFNode")]
pub struct Klif {
    /// The neuron that computes F.
    #[schema(flatten)]
    pub neuron: Lif,
    /// Whether the reset undoes the scale.
    pub scale_reset: bool,
    /// One k for the layer, each channel or each neuron.
    pub granularity: Granularity,
}

impl Neuron for Klif {
    fn params(&self) -> Vec<Param> {
        vec![Param::new("k", 1.0, self.granularity)]
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let scaled = n.param("k") * self.neuron.charge(n, x);
        Expr::select(scaled.gt(0.0), scaled, 0.0)
    }

    fn reset(&self, n: &Scope, h: &Expr, s: &Expr) -> Expr {
        if !self.scale_reset {
            return n.reset(h, s);
        }
        let k = n.param("k");
        n.reset_by(&(h / &k), s, &(n.v_threshold() / k))
    }
}
