//! Cosine annealing.

use super::{Schedule, fraction};
use spikelet_schema::Schema;
use std::f64::consts::PI;

/// Cosine annealing from the initial rate to `min_factor` times the rate, which stays afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct Cosine {
    /// The length of the cosine (PyTorch's `T_max`); `auto` is the length of the training.
    #[schema(none = "auto", above = 0, unit = "epochs")]
    pub epochs: Option<f64>,
    /// The factor at the end.
    #[schema(from = 0, to = 1)]
    pub min_factor: f64,
}

impl Schedule for Cosine {
    fn factor(&self, epoch: f64, epochs: f64, _: &[f64]) -> f64 {
        let part = fraction(epoch, self.epochs.unwrap_or(epochs));
        self.min_factor + (1.0 - self.min_factor) * 0.5 * (1.0 + (PI * part).cos())
    }

    fn depends_on_epochs(&self) -> bool {
        self.epochs.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cosine_of_its_own_length_ends_before_the_training() {
        let cosine = |epochs| Cosine {
            epochs,
            min_factor: 0.1,
        };
        let (whole, half) = (cosine(None), cosine(Some(32.0)));
        for epoch in [0.0, 3.5, 16.0, 32.0] {
            assert_eq!(
                half.factor(epoch, 64.0, &[]),
                whole.factor(epoch, 32.0, &[])
            );
        }
        assert_eq!(half.factor(50.0, 64.0, &[]), half.factor(32.0, 64.0, &[]));
        assert!(whole.factor(50.0, 64.0, &[]) > half.factor(50.0, 64.0, &[]));
    }
}
