//! The losses of classifiers.

use super::CrossEntropy;
use crate::module::StepOutputs;
use spikelet_graph::Var;
use spikelet_schema::Record;
use std::fmt::Debug;

/// The loss of a classifier. The scores of a sample are the mean of the network's output over time.
pub trait Loss: Record + Debug + Send + Sync {
    /// The mean loss of an output over time, its mean `scores`, `[N, classes]`, and labels: i64 `[N]`, or f32
    /// `[N, classes]`, a probability of each class.
    fn apply(&self, output: &StepOutputs, scores: &Var, labels: &Var) -> Var;

    /// The loss of a sample with these scores.
    fn of_sample(&self, scores: &[f64], label: usize) -> f64;

    /// Whether the softmax of the scores are probabilities.
    fn is_of_softmax(&self) -> bool {
        true
    }

    /// Whether it is a mean over time, of sequences of one length.
    fn is_over_time(&self) -> bool {
        false
    }

    /// The loss of each time step, where each has a label; `None` for a loss without one.
    fn of_steps(&self) -> Option<CrossEntropy> {
        None
    }
}

impl dyn Loss + '_ {
    /// The name, as in files.
    pub fn name(&self) -> &'static str {
        self.declaration().name
    }

    /// The loss of scores that do not depend on the sample, with as many samples of each class; `None` without classes.
    pub fn of_guessing(&self, classes: usize) -> Option<f64> {
        let scores = vec![1.0 / classes as f64; classes];
        (classes > 0).then(|| self.of_sample(&scores, 0))
    }
}

/// The logarithms of the softmax of scores.
pub(super) fn log_softmax(scores: &[f64]) -> Vec<f64> {
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = scores.iter().map(|score| (score - largest).exp()).sum();
    scores.iter().map(|x| x - largest - sum.ln()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{LOSSES, MseOneHot};
    use super::*;
    use crate::runtime::{Program, VarStore};
    use spikelet_graph::op::HostTensor;
    use spikelet_graph::{DType, Tensor, Tracer};

    #[test]
    fn losses_of_samples_are_those_of_training() {
        let scores = [0.5, 0.25, 0.0];
        let mse = MseOneHot.of_sample(&scores, 0);
        assert!((mse - (0.25 + 0.0625) / 3.0).abs() < 1e-12);
        let sum: f64 = scores.iter().map(|score: &f64| score.exp()).sum();
        let log = |k: usize| (scores[k].exp() / sum).ln();
        let cross_entropy = CrossEntropy::new().of_sample(&scores, 1);
        assert!((cross_entropy + log(1)).abs() < 1e-12);
        let smooth = CrossEntropy::new().label_smoothing(0.3);
        let mean = -(0..3).map(log).sum::<f64>() / 3.0;
        let expected = 0.7 * cross_entropy + 0.3 * mean;
        assert!((smooth.of_sample(&scores, 1) - expected).abs() < 1e-12);
    }

    #[test]
    fn every_loss_of_a_batch_is_the_mean_of_its_samples_with_the_gradient_of_its_differences() {
        let scores = [[0.5, 0.25, -1.0], [0.1, 2.0, 0.3]];
        let labels = [0, 2];
        for entry in LOSSES.entries {
            let loss = (entry.default)();
            let tracer = Tracer::new(DType::F32);
            let x = tracer.parameter("x", [2, 3]);
            let y = tracer.input("y", DType::I64, [2]);
            let output = StepOutputs::new(vec![x.reshape([1, 2, 3])]);
            let found = loss.apply(&output, &x, &y);
            let grad = &tracer.gradients(&found, &[&x])[0];
            tracer.output("loss", &found);
            tracer.output("grad", grad);
            let mut store = VarStore::new(crate::device::cpu().expect("a CPU"));
            let flat: Vec<f32> = scores.as_flattened().iter().map(|&x| x as f32).collect();
            store
                .insert("x", &Tensor::f32([2, 3], flat))
                .expect("a tensor");
            let graph = tracer.finish().expect("a graph");
            let mut program = Program::new(graph, &mut store).expect("a program");
            program
                .run_with([("y", HostTensor::I64(&labels))])
                .expect("a run");
            let mean = |scores: &[[f64; 3]; 2]| {
                let each = scores.iter().zip(labels);
                each.map(|(scores, label)| loss.of_sample(scores, label as usize))
                    .sum::<f64>()
                    / 2.0
            };
            let name = loss.name();
            let of_batch = program.scalar("loss").expect("a scalar");
            assert!(
                (of_batch - mean(&scores)).abs() < 1e-6,
                "{name}: {of_batch}"
            );
            let grad = program.get("grad").expect("a gradient").to_f64();
            for (k, found) in grad.into_iter().enumerate() {
                let moved = |by: f64| {
                    let mut moved = scores;
                    moved.as_flattened_mut()[k] += by;
                    mean(&moved)
                };
                let expected = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                assert!(
                    (found - expected).abs() < 1e-6,
                    "{name}, {k}: {found}, {expected}"
                );
            }
        }
    }

    #[test]
    fn guessing_has_the_loss_of_the_best_constant_scores() {
        let of = |name: &str| {
            let loss = LOSSES.named(name).expect("a loss");
            loss.of_guessing(10).expect("it has classes")
        };
        assert!((of("mse-one-hot") - 0.09).abs() < 1e-12);
        assert!((of("cross-entropy") - 10.0_f64.ln()).abs() < 1e-12);
        assert!((of("tet") - 10.0_f64.ln()).abs() < 1e-12);
    }
}
