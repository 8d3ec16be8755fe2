//! Sliding parallel spiking neuron.

use super::over_time::{self, LONGEST_WINDOW};
use super::{Common, Neuron, Scope, State, psn::parallel};
use crate::module::{Context, Init};
use spikelet_core::Result;
use spikelet_expr::Expr;
use spikelet_graph::Var;
use spikelet_schema::Schema;

/// Parallel, with the same few weights at every step.
///
/// `H[t] = Σ wᵢ·X[t − k + 1 + i] + b` over i = 0 … k − 1, S = Θ(H): the same k weights at every step, for sequences of
/// any length. w is initialized with 2^(i−k+1), or uniformly; w and b are trained.
///
/// | parameter | shape | start |
/// |---|---|---|
/// | `weight` | `[k]` | 2^(i−k+1): 1 for the current step, ½ for the previous one, …; or uniform |
/// | `bias` | `[]` | −1 |
///
/// Source: Fang et al., Parallel spiking neurons with high efficiency and ability to learn long-term dependencies,
/// NeurIPS 2023.
///
/// ```
/// use spikelet_nn::neuron::SlidingPsn;
/// use spikelet_nn::prelude::*;
/// let spikes = SlidingPsn::new(2).run(&[[0.6], [0.8], [0.4]])?; // H = −0.4, 0.8 + 0.3 − 1, −0.2
/// assert_eq!(spikes, [[0.0], [1.0], [0.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[schema(name = "sliding_psn")]
#[doc(alias = "SlidingPSN")]
pub struct SlidingPsn {
    /// Steps in the window, the current one included.
    #[schema(default = 4, from = 1, to = LONGEST_WINDOW)]
    pub k: usize,
    /// Whether the weights start at powers of 2; otherwise uniform, bound 1/√k.
    #[schema(default = true)]
    pub exp_init: bool,
    /// The surrogate.
    #[schema(flatten, default = parallel())]
    pub common: Common,
}

impl SlidingPsn {
    /// A neuron whose window is the current step and the `k − 1` before it.
    pub fn new(k: usize) -> Self {
        Self {
            k,
            ..Self::default()
        }
    }
}

impl Neuron for SlidingPsn {
    over_time::parallel_step!();
    fn charge_seq(&self, cx: &Context, x_seq: &Var) -> Result<Option<Var>> {
        let init = match self.exp_init {
            true => Init::Doubling,
            false => Init::fan_in(self.k),
        };
        let weight = cx.parameter("weight", [self.k], init);
        let bias = cx.parameter("bias", [], Init::Constant(-1.0));
        let whole = over_time::band(&weight, x_seq.dim(0));
        Ok(Some(over_time::product(&whole, &bias, x_seq)))
    }
}
