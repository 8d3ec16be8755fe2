//! Leaky integrate-and-fire for online training with traces of its spikes.

use super::{Lif, Neuron, NeuronExt, ResetGrad, Scope, State};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Leaky integrate-and-fire without gradients through time, with a trace of its spikes.
///
/// Forward, the leaky integrate-and-fire neuron, and the trace `A[t] = A[t−1]·(1 − 1/τ) + S[t]`; backward, no gradient
/// passes from a step to the one before it. The weights of the next layer are trained with the trace instead of the
/// spikes: see [`TraceLearning`](crate::layer::TraceLearning).
///
/// In Rust `tau` and `decay_input` are fields of `neuron`, a [`Lif`]; in files they are on the same level as the
/// others.
///
/// Source: Xiao et al., Online training through time for spiking neural networks, NeurIPS 2022.
///
/// ```
/// use spikelet_nn::neuron::OtttLif;
/// use spikelet_nn::prelude::*;
/// let spikes = OtttLif::default().run(&[[0.6], [0.6], [0.6]])?; // H = 0.6, 0.9, 1.05
/// assert_eq!(spikes, [[0.0], [0.0], [1.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[schema(name = "ottt_lif")]
#[doc(alias = "OTTTLIFNode")]
pub struct OtttLif {
    /// The neuron.
    #[schema(flatten, default = default_lif())]
    pub neuron: Lif,
}

/// The neuron of the paper: the input does not decay, and the soft reset has no gradient.
fn default_lif() -> Lif {
    let lif = Lif {
        decay_input: false,
        ..Lif::default()
    };
    lif.v_reset(None).reset_grad(ResetGrad::Detach)
}

impl Neuron for OtttLif {
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
