//! Reduction on a plateau of a metric.

use super::Schedule;
use spikelet_schema::Schema;

/// The learning rate is multiplied by `gamma` after `patience` epochs without improvement of a metric.
///
/// The factor is a function of the metric in all epochs so far, so that a resumed run has the same learning rates. The
/// rule and the defaults are those of PyTorch's `ReduceLROnPlateau`. The metric is a loss, or with `maximize` an accuracy.
///
/// ```
/// use spikelet_train::optim::schedule::Plateau;
/// let plateau = Plateau { patience: 1, gamma: 0.5, ..Plateau::default() };
/// assert_eq!(plateau.factor_after(&[0.9, 0.8]), 1.0);
/// assert_eq!(plateau.factor_after(&[0.9, 0.8, 0.8, 0.8]), 0.5);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct Plateau {
    /// The factor of a reduction.
    #[schema(default = 0.1, above = 0, below = 1)]
    pub gamma: f64,
    /// The number of epochs without improvement that are tolerated.
    #[schema(default = 10, unit = "epochs")]
    pub patience: u32,
    /// The smallest difference that counts as improvement.
    #[schema(default = 1e-4, at_least = 0)]
    pub threshold: f64,
    /// Whether the threshold is relative to the best value of the metric.
    #[schema(default = true)]
    pub relative: bool,
    /// The number of epochs after a reduction in which no epochs without improvement are counted.
    #[schema(unit = "epochs")]
    pub cooldown: u32,
    /// The smallest factor.
    #[schema(from = 0, to = 1)]
    pub min_factor: f64,
    /// Whether larger values of the metric are better.
    pub maximize: bool,
}

impl Schedule for Plateau {
    fn factor(&self, _: f64, _: f64, metrics: &[f64]) -> f64 {
        self.factor_after(metrics)
    }
}

impl Plateau {
    /// The factor of the learning rate after epochs with these values of the metric. NaN is no improvement.
    pub fn factor_after(&self, metrics: &[f64]) -> f64 {
        let mut best = match self.maximize {
            true => f64::NEG_INFINITY,
            false => f64::INFINITY,
        };
        let (mut factor, mut bad, mut cooldown) = (1.0_f64, 0, 0);
        for &metric in metrics {
            if self.is_better(metric, best) {
                best = metric;
                bad = 0;
            } else {
                bad += 1;
            }
            if cooldown > 0 {
                cooldown -= 1;
                bad = 0;
            }
            if bad > self.patience {
                factor = (factor * self.gamma).max(self.min_factor);
                cooldown = self.cooldown;
                bad = 0;
            }
        }
        factor
    }

    fn is_better(&self, metric: f64, best: f64) -> bool {
        match (self.maximize, self.relative) {
            (false, true) => metric < best * (1.0 - self.threshold),
            (false, false) => metric < best - self.threshold,
            (true, true) => metric > best * (1.0 + self.threshold),
            (true, false) => metric > best + self.threshold,
        }
    }
}
