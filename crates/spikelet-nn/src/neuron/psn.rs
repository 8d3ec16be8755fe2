//! Parallel spiking neuron.

use super::{Common, Neuron, Scope, State, over_time};
use crate::module::Context;
use crate::surrogate::Atan;
use spikelet_core::Result;
use spikelet_expr::Expr;
use spikelet_graph::Var;
use spikelet_schema::Schema;
use std::sync::Arc;

/// Parallel: a product over the time axis, no reset.
///
/// It has no potential and no reset: of the common constants, only the surrogate is used.
///
/// H = W·X + b over the time axis, S = Θ(H): every step depends on all steps, and nothing is reset, so that all steps
/// are computed at once. W `[T, T]` and b `[T]` are learned.
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
/// use spikelet_nn::neuron::Psn;
/// use spikelet_nn::prelude::*;
/// let cx = Context::new(Mode::TRAIN, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [8, 2, 5]);
/// assert_eq!(cx.trace(&Psn::default(), x)?.shape(), [8, 2, 5]);
/// assert_eq!(cx.traced().parameters[0].shape, [8, 8]); // its weight
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[doc(alias = "PSN")]
pub struct Psn {
    /// The surrogate.
    #[schema(flatten, default = parallel())]
    pub common: Common,
}

/// The shared constants of parallel neurons.
pub(super) fn parallel() -> Common {
    Common {
        surrogate: Arc::new(Atan::default()),
        ..Common::default()
    }
}

impl Neuron for Psn {
    over_time::parallel_step!();

    fn charge_seq(&self, cx: &Context, x_seq: &Var) -> Result<Option<Var>> {
        let time = x_seq.dim(0);
        let (weight, bias) = over_time::parameters(cx, time);
        Ok(Some(over_time::product(&weight, &bias, x_seq)))
    }
}
