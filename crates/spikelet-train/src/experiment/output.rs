//! What a run measures and writes.

use super::LayerMonitors;
use spikelet_schema::Schema;

/// What an experiment measures and writes. It does not change what is trained.
#[derive(Clone, Debug, PartialEq, Schema)]
#[non_exhaustive]
pub struct OutputSettings {
    /// Values of layers that are measured, such as \["rate", "gradient=fc.*"\].
    #[schema(table = "output")]
    pub monitor: Vec<LayerMonitors>,
    /// Training steps between two points of the curves.
    #[schema(table = "output", default = 50, from = 1, to = u32::MAX)]
    pub curve_steps: usize,
    /// Longest time between two checkpoints.
    #[schema(table = "output", default = 20.0, above = 0, unit = "seconds")]
    pub checkpoint_seconds: f64,
}
