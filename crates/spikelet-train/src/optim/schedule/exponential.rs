//! Exponential decay.

use super::Schedule;
use spikelet_schema::Schema;

/// The rate is multiplied by `gamma` in the course of each epoch.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct Exponential {
    /// The factor.
    #[schema(default = 0.95, above = 0)]
    pub gamma: f64,
}

impl Schedule for Exponential {
    fn factor(&self, epoch: f64, _: f64, _: &[f64]) -> f64 {
        self.gamma.powf(epoch)
    }
}
