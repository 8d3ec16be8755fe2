//! Distillation: the distribution of a teacher's scores as target.
//!
//! L = τ² · Σ_c p_c · (ln p_c − ln q_c), mean over the batch, with p = softmax(teacher / τ) and
//! q = softmax(student / τ). The factor τ² keeps the size of the gradients.
//!
//! Source: G. Hinton, O. Vinyals, J. Dean, *Distilling the knowledge in a neural network*, arXiv:1503.02531 (2015).

use super::target::{Range, expect_constant, expect_same_shape};
use spikelet_graph::Var;

/// Kullback–Leibler divergence of the student's scores from the teacher's, both `[…, classes]`, at a
/// `temperature` τ > 0. The teacher has no gradient.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let tracer = Tracer::new(DType::F32);
/// let [student, teacher] = ["student", "teacher"].map(|n| tracer.input(n, DType::F32, [32, 10]));
/// assert!(loss::kl_divergence(&student, &teacher, 4.0).shape().is_empty());
/// ```
#[doc(alias = "KLDivLoss")]
pub fn kl_divergence(student: &Var, teacher: &Var, temperature: f64) -> Var {
    let loss = "KL divergence";
    expect_same_shape(loss, student, teacher);
    expect_constant(loss, student, "temperature", temperature, &Range::POSITIVE);
    let classes = student.shape().last().copied().unwrap_or(1).max(1);
    let rows = (student.ty().len() / classes).max(1);
    let soft = |scores: &Var| (scores / temperature).log_softmax();
    let (q, p) = (soft(student), soft(&teacher.detach()));
    let terms = Var::map(&[&p, &q], |v| v[0].exp() * (&v[0] - &v[1]));
    terms.sum_all() * (temperature * temperature / rows as f64)
}
