//! Targets in the shape of the scores, and checks of the operands of losses.

use spikelet_graph::{DType, Error, Tracer, Var};

/// Records that a loss rejects its operands.
pub(super) fn reject(loss: &str, operand: &Var, problem: &str, given: String, help: &str) {
    operand.tracer().fail(Error::Shape {
        layer: operand.tracer().path(),
        operation: loss.to_string(),
        problem: problem.to_string(),
        given,
        help: help.to_string(),
    });
}

/// Checks that two tensors have one shape: broadcasting would compare all pairs of samples.
pub(super) fn expect_same_shape(loss: &str, given: &Var, target: &Var) {
    if given.shape() != target.shape() {
        reject(
            loss,
            given,
            "the target has another shape",
            format!("{} and target {}", given.ty(), target.ty()),
            "reshape one of them; losses do not broadcast",
        );
    }
}

/// Checks a constant of a loss.
pub(super) fn expect_constant(loss: &str, operand: &Var, name: &str, value: f64, range: &Range) {
    if !(range.contains)(value) {
        let problem = format!("{name} is {value}");
        reject(
            loss,
            operand,
            &problem,
            operand.ty().to_string(),
            range.text,
        );
    }
}

/// The range of a constant, and its text in messages.
pub(super) struct Range {
    contains: fn(f64) -> bool,
    text: &'static str,
}

impl Range {
    pub(super) const FRACTION: Self = Self {
        contains: |x| (0.0..1.0).contains(&x),
        text: "use at least 0 and below 1",
    };
    pub(super) const POSITIVE: Self = Self {
        contains: |x| x > 0.0 && x.is_finite(),
        text: "use a finite value above 0",
    };
    pub(super) const NOT_NEGATIVE: Self = Self {
        contains: |x| x >= 0.0 && x.is_finite(),
        text: "use a finite value of at least 0",
    };
    pub(super) const FINITE: Self = Self {
        contains: f64::is_finite,
        text: "use a finite value",
    };
}

/// The labels `[N]` as one-hot rows of scores `[…, N, classes]`, zeros for the ignored label. If the scores have no row
/// for each label, the trace records an error.
pub(super) fn one_hot(
    scores: &Var,
    labels: &Var,
    leading_axes: usize,
    ignored: Option<i64>,
) -> Var {
    let given = scores.shape().split_last();
    let rows = given.and_then(|(_, rows)| rows.get(leading_axes..));
    if labels.ty().dtype != DType::I64 || rows != Some(labels.shape()) {
        let help = match leading_axes {
            0 => {
                "give scores [N, classes] and labels i64 [N]; put a `Flatten` behind the last layer, \
                 or use `CrossEntropy::soft` for targets [N, classes]"
            }
            _ => {
                "give scores [T, N, classes] and labels i64 [N]; put a `Flatten` behind the last layer"
            }
        };
        let given = format!("scores {} and labels {}", scores.ty(), labels.ty());
        let problem = "the scores are not a row for each label";
        reject("loss", scores, problem, given, help);
    }
    labels.one_hot_ignoring(given.map_or(0, |(classes, _)| *classes), ignored)
}

/// Checks that `sequence` is `[T, N, …]`.
pub(super) fn expect_sequence(loss: &str, sequence: &Var) {
    if sequence.rank() < 2 || sequence.dim(0) == 0 {
        reject(
            loss,
            sequence,
            "it needs a sequence [T, N, …]",
            sequence.ty().to_string(),
            "give the output at every time step, without the mean over time",
        );
    }
}

/// A vector of constants. Equal neighbors are one node of the graph.
pub(super) fn constants(tracer: &Tracer, values: &[f64]) -> Var {
    let runs = values.chunk_by(|a, b| a == b);
    let runs: Vec<Var> = runs
        .map(|run| tracer.fill(tracer.float(), [run.len()], run[0]))
        .collect();
    match &runs[..] {
        [] => tracer.fill(tracer.float(), [0], 0.0),
        [all] => all.clone(),
        several => Var::concat(&several.iter().collect::<Vec<_>>(), 0),
    }
}
