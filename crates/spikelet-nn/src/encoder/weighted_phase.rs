//! Weighted phase encoder.

use super::{Encoder, over_time};
use crate::module::Context;
use spikelet_expr::Expr;
use spikelet_graph::Var;
use spikelet_graph::op::Recurrence;
use spikelet_schema::Schema;

/// The maximal K: smaller bits are lost in f32.
const MOST_BITS: u32 = 126;

/// The bits of the value, one a step.
///
/// The first K binary digits of x, the most significant first: a spike at step k of a period has the weight 2^(−k−1).
/// Values are from 0 to 1 − 2⁻ᴷ; 1 is encoded as the largest of them.
///
/// Source: Kim et al., Deep neural networks with weighted spikes, Neurocomputing 311:373, 2018.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
#[schema(name = "weighted_phase")]
pub struct WeightedPhase {
    /// Bits; the period in steps.
    #[schema(default = 8, from = 1, to = MOST_BITS)]
    pub k: usize,
}

impl Encoder for WeightedPhase {
    fn encode(&self, cx: &Context, x: &Var, time_steps: usize) -> Var {
        let [x_now, left, worth, phase] = ["x", "left", "worth", "phase"].map(Expr::symbol);
        let begins = phase.equals(0.0);
        let left = Expr::select(&begins, x_now, left);
        let worth = Expr::select(begins, 0.5, worth);
        let spike = left.ge(&worth);
        let next = phase + 1.0;
        let step = Recurrence::new("weighted_phase", ["x"], ["left", "worth", "phase"])
            .output("s", spike.clone(), true)
            .next(vec![
                left - spike * &worth,
                worth * 0.5,
                Expr::select(next.lt(self.k as f64), &next, 0.0),
            ]);
        over_time(cx, step, x, time_steps)
    }
}
