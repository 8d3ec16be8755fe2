//! Weighted phase encoder.
//!
//! The first K binary digits of x, one per step, the most significant first: a spike at step k of a period has
//! the weight 2^(−k−1).
//!
//! Source: Kim et al., Deep neural networks with weighted spikes, Neurocomputing 311:373, 2018.

use super::{Encoder, over_time};
use crate::domain::{Domain, domains};
use crate::module::Context;
use crate::registry::spec;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;
use spikelet_graph::Var;
use spikelet_graph::op::Recurrence;

/// The maximal K: smaller bits are lost in f32.
const MOST_BITS: u32 = 126;

/// The bits of the value, from 0 to 1 − 2⁻ᴷ; 1 is encoded as the largest of them.
///
/// | field | default | |
/// |---|---|---|
/// | `k` | 8 | bits; the period in steps |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeightedPhase {
    /// Bits; the period in steps.
    pub k: usize,
}

impl Default for WeightedPhase {
    fn default() -> Self {
        Self { k: 8 }
    }
}

impl Encoder for WeightedPhase {
    spec!("weighted_phase");
    domains! { k: Domain::whole(1, MOST_BITS) }

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
