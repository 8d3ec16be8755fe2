//! Decay after given epochs.

use super::Schedule;
use spikelet_schema::Schema;

/// The rate is multiplied by `gamma` after each of the milestones.
#[derive(Clone, Debug, PartialEq, Schema)]
pub struct MultiStep {
    /// The numbers of epochs after which the rate decays, such as \[30, 60, 80\].
    #[schema(required, at_least = 0, unit = "epochs")]
    pub milestones: Vec<f64>,
    /// The factor.
    #[schema(default = 0.1, above = 0)]
    pub gamma: f64,
}

impl Schedule for MultiStep {
    fn factor(&self, epoch: f64, _: f64, _: &[f64]) -> f64 {
        let passed = self.milestones.iter().filter(|at| **at <= epoch);
        self.gamma.powf(passed.count() as f64)
    }
}
