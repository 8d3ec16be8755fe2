//! The confusion matrix of a classifier.

use super::{Metric, classes};
use spikelet_graph::Var;
use std::fmt;

/// A metric whose sums are the confusion matrix, row by row; its value is the accuracy. [`ConfusionMatrix::from_sums`]
/// reads the sums of a step or an epoch. Scores `[N, classes]`, labels i64 `[N]`.
///
/// It is meant for up to some hundred classes: a batch needs N · classes² operations.
///
/// ```
/// use spikelet_graph::{DType, Tracer};
/// use spikelet_train::metric::{self, ConfusionMatrix};
/// let tracer = Tracer::new(DType::F32);
/// let scores = tracer.input("scores", DType::F32, [32, 2]);
/// let labels = tracer.input("labels", DType::I64, [32]);
/// let confusion = metric::confusion_matrix(&scores, &labels);
/// let sums = [15.0, 1.0, 7.0, 9.0];
/// assert_eq!(confusion.value(&sums, 32.0), 0.75);
/// assert_eq!(ConfusionMatrix::from_sums(&sums).recall(0), 15.0 / 16.0);
/// ```
pub fn confusion_matrix(scores: &Var, labels: &Var) -> Metric {
    let [predicted, actual] = classes::one_hot("confusion matrix", scores, labels);
    let [samples, count] = [0, 1].map(|axis| predicted.shape().get(axis).copied().unwrap_or(0));
    // A product of matrices would round counts in 16 bits.
    let pairs = actual.reshape([samples, count, 1]) * predicted.reshape([samples, 1, count]);
    let sums = pairs.sum(&[0]).reshape([count * count]);
    Metric::new(sums, |sums, _| ConfusionMatrix::from_sums(sums).accuracy())
}

/// The number of samples of each class that were predicted as each class.
///
/// ```
/// use spikelet_train::metric::ConfusionMatrix;
/// let matrix = ConfusionMatrix::from_sums(&[15.0, 1.0, 7.0, 9.0]);
/// assert_eq!(matrix.count(1, 0), 7.0);
/// assert_eq!(matrix.precision(1), 0.9);
/// assert_eq!(matrix.to_string(), "15 1\n 7 9");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ConfusionMatrix {
    counts: Vec<f64>,
    classes: usize,
}

impl ConfusionMatrix {
    /// The matrix of the sums of [`confusion_matrix`], `[classes · classes]`.
    ///
    /// # Panics
    /// When the number of sums is not a square.
    pub fn from_sums(sums: &[f64]) -> Self {
        let classes = sums.len().isqrt();
        assert_eq!(
            classes * classes,
            sums.len(),
            "the sums of a confusion matrix are a square"
        );
        Self {
            counts: sums.to_vec(),
            classes,
        }
    }

    /// The number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The rows: for each label, the number of samples by predicted class.
    pub fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.counts.chunks(self.classes.max(1))
    }

    /// The number of samples with this label that were predicted as `predicted`; 0 for an unknown class.
    pub fn count(&self, label: usize, predicted: usize) -> f64 {
        let known = label < self.classes && predicted < self.classes;
        let index = label * self.classes + predicted;
        if known { self.counts[index] } else { 0.0 }
    }

    /// The fraction of the samples that were predicted correctly; 0 without samples.
    pub fn accuracy(&self) -> f64 {
        let hits = (0..self.classes).map(|k| self.count(k, k)).sum();
        ratio(hits, self.counts.iter().sum())
    }

    /// The fraction of the samples predicted as `class` that are of this class; 0 without any.
    pub fn precision(&self, class: usize) -> f64 {
        let predicted = (0..self.classes).map(|label| self.count(label, class));
        ratio(self.count(class, class), predicted.sum())
    }

    /// The fraction of the samples of `class` that were predicted as such; 0 without any.
    pub fn recall(&self, class: usize) -> f64 {
        let actual = (0..self.classes).map(|predicted| self.count(class, predicted));
        ratio(self.count(class, class), actual.sum())
    }

    /// The harmonic mean of precision and recall of `class`; 0 without a hit.
    pub fn f1(&self, class: usize) -> f64 {
        let [precision, recall] = [self.precision(class), self.recall(class)];
        ratio(2.0 * precision * recall, precision + recall)
    }
}

fn ratio(part: f64, all: f64) -> f64 {
    if all == 0.0 { 0.0 } else { part / all }
}

/// A table: a row for each label, a column for each prediction.
impl fmt::Display for ConfusionMatrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.counts.iter().map(f64::to_string).collect();
        let width = |column: usize| {
            let column = texts.iter().skip(column).step_by(self.classes.max(1));
            column.map(String::len).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.classes).map(width).collect();
        for (label, row) in texts.chunks(self.classes.max(1)).enumerate() {
            if label > 0 {
                writeln!(f)?;
            }
            for (k, (text, width)) in row.iter().zip(&widths).enumerate() {
                let space = if k == 0 { "" } else { " " };
                write!(f, "{space}{text:>width$}")?;
            }
        }
        Ok(())
    }
}
