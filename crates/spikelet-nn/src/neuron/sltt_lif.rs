//! Leaky integrate-and-fire with spatial gradients only (spatial learning through time).
//!
//! Forward, the leaky integrate-and-fire neuron; backward, no gradient passes from a step to the
//! one before it. Training does not store earlier steps.
//!
//! Source: Meng et al., Towards memory- and time-efficient backpropagation for training spiking
//! neural networks, ICCV 2023.

use super::common::base;
use super::{Lif, Neuron, NeuronExt, ResetGrad, Scope};
use crate::domain::domains;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// [`Lif`] whose potential has no gradient between steps.
///
/// | field | unit | default | |
/// |---|---|---|---|
/// | `tau` | steps | 2 | membrane time constant, > 1 |
/// | `decay_input` | | true | whether X is divided by τ as well |
/// | `reset_grad` | | detach | |
///
/// In Rust `tau` and `decay_input` are fields of `neuron`, a [`Lif`]; in files they are on the same level as
/// the others.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let spikes = SlttLif::default().run(&[[0.6], [0.9], [2.0]])?;
/// assert_eq!(spikes, Lif::new(2.0).run(&[[0.6], [0.9], [2.0]])?);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[doc(alias = "SLTTLIFNode")]
pub struct SlttLif {
    /// The neuron.
    #[serde(flatten)]
    pub neuron: Lif,
}

impl Default for SlttLif {
    fn default() -> Self {
        let neuron = Lif::default().reset_grad(ResetGrad::Detach);
        Self { neuron }
    }
}

impl Neuron for SlttLif {
    base!("sltt_lif", neuron.common);
    domains! { in neuron; }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        self.neuron.charge_from(n, n.state("v").detach(), x)
    }
}
