//! Masked parallel spiking neuron.

use super::over_time::{self, LONGEST_WINDOW};
use super::{Common, Neuron, Scope, State, psn::parallel};
use crate::module::Context;
use spikelet_core::Result;
use spikelet_expr::Expr;
use spikelet_graph::Var;
use spikelet_schema::Schema;

/// Parallel, with a mask over the time axis.
///
/// H = (W ∘ M(λ))·X + b over the time axis, S = Θ(H). The mask is M(λ) = λ·B + (1 − λ)·1, where the band B has the
/// current step and the k − 1 before it. λ = 0 is the parallel spiking neuron, λ = 1 the band only; λ can be increased
/// during training.
///
/// | parameter | shape | start |
/// |---|---|---|
/// | `weight` | `[T, T]` | uniform, bound 1/√T |
/// | `bias` | `[T, 1]` | −1 |
///
/// Source: Fang et al., Parallel spiking neurons with high efficiency and ability to learn long-term dependencies,
/// NeurIPS 2023.
///
/// ```
/// use spikelet_nn::neuron::MaskedPsn;
/// use spikelet_nn::prelude::*;
/// let cx = Context::new(Mode::TRAIN, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [8, 2, 5]);
/// assert_eq!(cx.trace(&MaskedPsn::new(3), x)?.shape(), [8, 2, 5]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[schema(name = "masked_psn")]
#[doc(alias = "MaskedPSN")]
pub struct MaskedPsn {
    /// Steps in the window when the mask is on, the current one included.
    #[schema(default = 4, from = 1, to = LONGEST_WINDOW)]
    pub k: usize,
    /// Weight of the mask.
    #[schema(default = 1.0, from = 0.0, to = 1.0)]
    pub lambda: f64,
    /// The surrogate.
    #[schema(flatten, default = parallel())]
    pub common: Common,
}

impl MaskedPsn {
    /// A neuron whose window is the current step and the `k − 1` before it.
    pub fn new(k: usize) -> Self {
        Self {
            k,
            ..Self::default()
        }
    }
}

impl Neuron for MaskedPsn {
    over_time::parallel_step!();
    fn charge_seq(&self, cx: &Context, x_seq: &Var) -> Result<Option<Var>> {
        let time = x_seq.dim(0);
        let (weight, bias) = over_time::parameters(cx, time);
        let ones = cx
            .tracer()
            .fill(cx.tracer().float(), [self.k.min(time)], 1.0);
        let mask = over_time::band(&ones, time);
        let masked = Var::map(&[&weight, &mask], |x| {
            &x[0] * (self.lambda * &x[1] + (1.0 - self.lambda))
        });
        Ok(Some(over_time::product(&masked, &bias, x_seq)))
    }
}
