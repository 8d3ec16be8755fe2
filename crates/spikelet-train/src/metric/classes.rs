//! Scores and labels of classifiers.

use spikelet_graph::{DType, Error, Var};

/// The predictions and the labels as one-hot rows `[N, classes]`. Scores that are not a row for each label are
/// recorded as an error of the trace.
pub(super) fn one_hot(metric: &str, scores: &Var, labels: &Var) -> [Var; 2] {
    expect(metric, scores, labels);
    let classes = scores.shape().last().copied().unwrap_or(0);
    [scores.argmax().one_hot(classes), labels.one_hot(classes)]
}

/// Checks that there is a row of scores for each label.
pub(super) fn expect(metric: &str, scores: &Var, labels: &Var) {
    let fits = scores.rank() == 2 && scores.shape()[..1] == *labels.shape();
    if !fits || labels.ty().dtype != DType::I64 {
        scores.tracer().fail(Error::Shape {
            layer: scores.tracer().path(),
            operation: metric.to_string(),
            problem: "the scores are not a row for each label".to_string(),
            given: format!("scores {} and labels {}", scores.ty(), labels.ty()),
            help: "give scores [N, classes], such as the mean of the output over time, and labels i64 [N]"
                .to_string(),
        });
    }
}
