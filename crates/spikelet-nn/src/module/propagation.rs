//! The order in which layers and time steps run.

use crate::DefinitionError;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The order in which layers and time steps run. Spikes do not depend on it.
///
/// ```
/// use spikelet_nn::module::Propagation;
/// let parsed: Propagation = "step-by-step".parse()?;
/// assert_eq!(parsed, Propagation::StepByStep);
/// assert_eq!(Propagation::default().to_string(), "layer-by-layer");
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Propagation {
    /// Each layer runs all time steps before the next one begins: a linear layer is one product
    /// for the full sequence, a neuron one kernel that keeps its states in registers or cache.
    #[default]
    #[serde(alias = "layer_by_layer")]
    LayerByLayer,
    /// Each time step runs through all layers before the next one begins; states are carried from
    /// step to step as ordinary values. A neuron is one kernel per step.
    #[serde(alias = "step_by_step")]
    StepByStep,
    /// Step by step without fusion: charge, fire and reset are separate kernels, as in
    /// a framework with eager execution; for comparison.
    #[serde(alias = "step_by_step_unfused")]
    StepByStepUnfused,
}

impl Propagation {
    /// All orders.
    pub const ALL: [Self; 3] = [
        Self::LayerByLayer,
        Self::StepByStep,
        Self::StepByStepUnfused,
    ];

    /// The name, as on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::LayerByLayer => "layer-by-layer",
            Self::StepByStep => "step-by-step",
            Self::StepByStepUnfused => "step-by-step-unfused",
        }
    }

    /// Whether time steps run one after the other through the whole network.
    pub fn is_step_by_step(self) -> bool {
        self != Self::LayerByLayer
    }
}

impl fmt::Display for Propagation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Propagation {
    type Err = DefinitionError;

    fn from_str(text: &str) -> Result<Self, DefinitionError> {
        let found = Self::ALL.into_iter().find(|p| p.name() == text);
        found.ok_or_else(|| DefinitionError::UnknownName {
            family: "propagation",
            name: text.to_string(),
            known: Self::ALL.map(Self::name).to_vec(),
        })
    }
}
