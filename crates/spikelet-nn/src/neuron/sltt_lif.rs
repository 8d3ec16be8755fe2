//! Leaky integrate-and-fire with spatial gradients only (spatial learning through time).

use super::{Lif, Neuron, NeuronExt, ResetGrad, Scope};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Leaky integrate-and-fire without gradients through time.
///
/// Forward, the leaky integrate-and-fire neuron; backward, no gradient passes from a step to the one before it.
/// Training does not store earlier steps.
///
/// In Rust `tau` and `decay_input` are fields of `neuron`, a [`Lif`]; in files they are on the same level as the
/// others.
///
/// Source: Meng et al., Towards memory- and time-efficient backpropagation for training spiking neural networks, ICCV
/// 2023.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let spikes = SlttLif::default().run(&[[0.6], [0.9], [2.0]])?;
/// assert_eq!(spikes, Lif::new(2.0).run(&[[0.6], [0.9], [2.0]])?);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[schema(name = "sltt_lif")]
#[doc(alias = "SLTTLIFNode")]
pub struct SlttLif {
    /// The neuron.
    #[schema(flatten, default = Lif::default().reset_grad(ResetGrad::Detach))]
    pub neuron: Lif,
}

impl Neuron for SlttLif {
    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        self.neuron.charge_from(n, n.state("v").detach(), x)
    }
}
