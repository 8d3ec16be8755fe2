//! Polynomial decay.

use super::{Schedule, fraction};
use spikelet_schema::Schema;

/// A polynomial from the initial rate to `min_factor` times the rate: (1 − progress)^`power`.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct Polynomial {
    /// The exponent; 1 is a linear schedule.
    #[schema(default = 1.0, above = 0)]
    pub power: f64,
    /// The factor at the end.
    #[schema(from = 0, to = 1)]
    pub min_factor: f64,
}

impl Schedule for Polynomial {
    fn factor(&self, epoch: f64, epochs: f64, _: &[f64]) -> f64 {
        let rest = 1.0 - fraction(epoch, epochs);
        self.min_factor + (1.0 - self.min_factor) * rest.powf(self.power)
    }

    fn depends_on_epochs(&self) -> bool {
        true
    }
}
