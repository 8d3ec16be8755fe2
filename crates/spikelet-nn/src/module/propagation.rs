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
    /// Each layer runs all time steps; a neuron is one kernel.
    ///
    /// A linear layer is one product for the full sequence; a neuron keeps its states in registers or cache.
    #[default]
    LayerByLayer,
    /// All layers run one time step after the other.
    ///
    /// States are carried from step to step as ordinary values. A neuron is one kernel per step.
    StepByStep,
    /// Step by step, with separate kernels for charge, fire and reset.
    ///
    /// As in a framework with eager execution; for comparison.
    StepByStepUnfused,
}

impl Propagation {
    /// Whether time steps run one after the other through the whole network.
    pub fn is_step_by_step(self) -> bool {
        self != Self::LayerByLayer
    }
}
