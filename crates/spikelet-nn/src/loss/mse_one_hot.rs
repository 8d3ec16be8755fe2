//! Mean squared error of the scores of a classifier.

use super::target::one_hot;
use super::{Loss, mse};
use crate::module::StepOutputs;
use spikelet_graph::{DType, Var};
use spikelet_schema::Schema;

/// Mean squared error of the scores and one-hot labels.
///
/// Firing rates can reach these targets, while the softmax of rates between 0 and 1 cannot approach a one-hot
/// distribution.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct MseOneHot;

impl Loss for MseOneHot {
    fn apply(&self, _: &StepOutputs, scores: &Var, labels: &Var) -> Var {
        match labels.ty().dtype {
            DType::I64 => mse_one_hot(scores, labels),
            _ => mse(scores, labels),
        }
    }

    fn of_sample(&self, scores: &[f64], label: usize) -> f64 {
        let target = |k: usize| f64::from(u8::from(k == label));
        let scored = scores.iter().enumerate();
        let squares = scored.map(|(k, score)| (score - target(k)).powi(2));
        squares.sum::<f64>() / scores.len() as f64
    }

    fn is_of_softmax(&self) -> bool {
        false
    }
}

/// Mean squared error of scores `[N, classes]` and one-hot labels i64 `[N]`.
pub fn mse_one_hot(scores: &Var, labels: &Var) -> Var {
    mse(scores, &one_hot(scores, labels, 0, None))
}
