//! R²: the coefficient of determination.
//!
//! R² = 1 − Σ(y − t)² / Σ(t − mean of t)² over all samples, of each output; the mean over the outputs.
//!
//! Source: scikit-learn's `r2_score`.

use super::Metric;
use spikelet_graph::{Error, Var};

/// R² of predictions and targets of one shape, `[N, …]`. An output whose targets are all equal has R² = 0, or 1 if
/// the predictions are exact.
///
/// The sum of squares is computed around the mean of the targets in f64, from sums over batches in f32: the mean of the
/// targets should not be much larger than their standard deviation.
///
/// ```
/// use spikelet_graph::{DType, Tracer};
/// use spikelet_train::metric;
/// let tracer = Tracer::new(DType::F32);
/// let [y, target] = ["y", "target"].map(|name| tracer.input(name, DType::F32, [4, 1]));
/// let r2 = metric::r2(&y, &target);
/// // Squared error 1, targets of sum 4 and squared sum 8 in 4 samples.
/// assert_eq!(r2.value(&[1.0, 4.0, 8.0], 4.0), 0.75);
/// ```
pub fn r2(predictions: &Var, targets: &Var) -> Metric {
    if predictions.shape() != targets.shape() || targets.rank() == 0 {
        predictions.tracer().fail(Error::Shape {
            layer: predictions.tracer().path(),
            operation: "R²".to_string(),
            problem: "predictions and targets have different shapes".to_string(),
            given: format!("{} and targets {}", predictions.ty(), targets.ty()),
            help: "reshape one of them; metrics do not broadcast".to_string(),
        });
    }
    let samples = targets.shape().first().copied().unwrap_or(1);
    let outputs = targets.ty().len() / samples.max(1);
    let rows = |x: &Var| x.reshape([samples, outputs]).sum(&[0]);
    let errors = (predictions - targets).square();
    let parts = [rows(&errors), rows(targets), rows(&targets.square())];
    let sums = Var::concat(&parts.iter().collect::<Vec<_>>(), 0);
    Metric::new(sums, |sums, samples| {
        let outputs = sums.len() / 3;
        let of_output = |k: usize| {
            let [error, sum, squares] = [sums[k], sums[outputs + k], sums[2 * outputs + k]];
            let spread = squares - sum * sum / samples;
            match spread > 0.0 {
                true => 1.0 - error / spread,
                false if error == 0.0 => 1.0,
                false => 0.0,
            }
        };
        (0..outputs).map(of_output).sum::<f64>() / outputs.max(1) as f64
    })
}
