//! Stochastic depth: blocks that are skipped in training.
//!
//! Source: G. Huang et al., *Deep networks with stochastic depth*, ECCV 2016.

use super::layer::with;
use serde_json::{Value, json};

/// The probabilities of `blocks` blocks, from 0 for the first to `last`.
pub fn probabilities(last: f64, blocks: usize) -> impl Iterator<Item = f64> {
    let steps = blocks.saturating_sub(1).max(1) as f64;
    (0..blocks).map(move |k| last * k as f64 / steps)
}

/// A residual block that is skipped with probability `p`.
pub fn skipped(residual: Value, p: f64) -> Value {
    match p == 0.0 {
        true => residual,
        false => with(residual, "stochastic_depth", json!(p)),
    }
}
