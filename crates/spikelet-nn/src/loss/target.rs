//! Targets in the shape of the scores.

use spikelet_graph::{Error, Var};

/// The labels `[N]` as one-hot rows of scores `[…, N, classes]`. If the scores have no row for each label, the trace
/// records an error.
pub(super) fn one_hot(scores: &Var, labels: &Var, leading_axes: usize) -> Var {
    let given = scores.shape().split_last();
    let rows = given.and_then(|(_, rows)| rows.get(leading_axes..));
    if rows != Some(labels.shape()) {
        scores.tracer().fail(Error::Shape {
            layer: scores.tracer().path(),
            operation: "loss".to_string(),
            problem: "the scores are not a row for each label".to_string(),
            given: format!("scores {} and labels {}", scores.ty(), labels.ty()),
            help: match leading_axes {
                0 => "give scores [N, classes] and labels [N]; put a `Flatten` behind the last layer",
                _ => "give scores [T, N, classes] and labels [N]; put a `Flatten` behind the last layer",
            }
            .to_string(),
        });
    }
    labels.one_hot(given.map_or(0, |(classes, _)| *classes))
}
