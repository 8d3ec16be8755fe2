//! Leaky integrate-and-fire for online training with traces of its spikes.
//!
//! Forward, the leaky integrate-and-fire neuron, and the trace A[t] = A[t−1]·(1 − 1/τ) + S[t];
//! backward, no gradient passes from a step to the one before it. The weights of the next
//! layer are trained with the trace instead of the spikes: see [`TraceLearning`](crate::layer::TraceLearning).
//!
//! Source: Xiao et al., Online training through time for spiking neural networks, NeurIPS 2022.

use super::common::base;
use super::{Lif, Neuron, NeuronExt, ResetGrad, Scope, State};
use crate::domain::domains;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// [`Lif`] whose potential has no gradient between steps, with a trace of its spikes.
///
/// | field | unit | default | |
/// |---|---|---|---|
/// | `tau` | steps | 2 | membrane time constant, > 1 |
/// | `decay_input` | | false | whether X is divided by τ as well |
/// | `v_reset` | | none | soft reset |
/// | `reset_grad` | | detach | |
///
/// In Rust `tau` and `decay_input` are fields of `neuron`, a [`Lif`]; in files they are on the same level as
/// the others.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let spikes = OtttLif::default().run(&[[0.6], [0.6], [0.6]])?; // H = 0.6, 0.9, 1.05
/// assert_eq!(spikes, [[0.0], [0.0], [1.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[doc(alias = "OTTTLIFNode")]
pub struct OtttLif {
    /// The neuron.
    #[serde(flatten)]
    pub neuron: Lif,
}

impl Default for OtttLif {
    fn default() -> Self {
        let lif = Lif {
            decay_input: false,
            ..Lif::default()
        };
        let neuron = lif.v_reset(None).reset_grad(ResetGrad::Detach);
        Self { neuron }
    }
}

impl Neuron for OtttLif {
    base!("ottt_lif", neuron.common);
    domains! { in neuron; }

    fn states(&self) -> Vec<State> {
        vec![State::v(self.common()), State::new("trace", 0.0)]
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        self.neuron.charge_from(n, n.state("v").detach(), x)
    }

    fn reset(&self, n: &Scope, h: &Expr, s: &Expr) -> Expr {
        let kept = 1.0 - 1.0 / n.constant("tau", self.neuron.tau);
        n.set_state("trace", (n.state("trace") * kept + s).detach());
        n.reset(h, s)
    }
}
