//! The order in which layers and time steps run.

use spikelet_schema::Schema;

/// The order in which layers and time steps run. Spikes do not depend on it.
///
/// ```
/// use spikelet_nn::module::Propagation;
/// let parsed: Propagation = "step-by-step".parse()?;
/// assert_eq!(parsed, Propagation::StepByStep);
/// assert_eq!(Propagation::default().to_string(), "layer-by-layer");
/// # Ok::<(), spikelet_schema::UnknownName>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Schema)]
pub enum Propagation {
    /// Each layer runs all time steps before the next one begins: a linear layer is one product
    /// for the full sequence, a neuron one kernel that keeps its states in registers or cache.
    #[default]
    LayerByLayer,
    /// Each time step runs through all layers before the next one begins; states are carried from
    /// step to step as ordinary values. A neuron is one kernel per step.
    StepByStep,
    /// Step by step without fusion: charge, fire and reset are separate kernels, as in
    /// a framework with eager execution; for comparison.
    StepByStepUnfused,
}

impl Propagation {
    /// Whether time steps run one after the other through the whole network.
    pub fn is_step_by_step(self) -> bool {
        self != Self::LayerByLayer
    }
}
