//! Focal loss.
//!
//! L = −Σ_c q_c · (1 − p_c)^γ · ln p_c with p = softmax(score) and the target q, mean over the batch.
//!
//! Source: T.-Y. Lin et al., *Focal loss for dense object detection*, ICCV 2017.

use super::Loss;
use super::classifier::log_softmax;
use super::target::one_hot;
use crate::module::StepOutputs;
use spikelet_graph::{DType, Var};
use spikelet_schema::Schema;

/// Cross entropy in which samples count less the better they are classified, for classes of different sizes.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct Focal {
    /// The exponent γ; 0 is the cross entropy.
    #[schema(default = 2.0, at_least = 0)]
    pub gamma: f64,
}

impl Loss for Focal {
    fn apply(&self, _: &StepOutputs, scores: &Var, labels: &Var) -> Var {
        let target = match labels.ty().dtype {
            DType::I64 => one_hot(scores, labels, 0, None),
            _ => labels.clone(),
        };
        let terms = Var::map(&[&scores.log_softmax(), &target], |x| {
            // Of a sample that is classified without doubt, the power has a derivative.
            let rest = (1.0 - x[0].exp()).max(1e-12);
            &x[1] * rest.pow(self.gamma) * &x[0]
        });
        let classes = scores.shape().last().copied().unwrap_or(1);
        -(terms.mean_all() * classes as f64)
    }

    fn of_sample(&self, scores: &[f64], label: usize) -> f64 {
        let logarithm = log_softmax(scores)[label];
        -(1.0 - logarithm.exp()).powf(self.gamma) * logarithm
    }
}
