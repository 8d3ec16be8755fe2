//! Decay after every so many epochs.

use super::Schedule;
use spikelet_schema::Schema;

/// The rate is multiplied by `gamma` after every `epochs` epochs.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct Step {
    /// The number of epochs between two changes.
    #[schema(default = 32.0, above = 0, unit = "epochs")]
    pub epochs: f64,
    /// The factor.
    #[schema(default = 0.1, above = 0)]
    pub gamma: f64,
}

impl Schedule for Step {
    fn factor(&self, epoch: f64, _: f64, _: &[f64]) -> f64 {
        let size = self.epochs.max(f64::MIN_POSITIVE);
        self.gamma.powf((epoch / size).floor())
    }
}
