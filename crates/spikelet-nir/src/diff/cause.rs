//! The causes of differences that are tried, and the results.

use super::compare::Comparison;
use super::side::Runnable;
use spikelet_core::Result;
use spikelet_schema::Schema;
use std::fmt;

/// A cause of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
#[schema(crate = spikelet_schema)]
pub enum Cause {
    /// Reset to a value, or by subtraction of the threshold.
    Reset,
    /// Reset in the step of the spike, or in the next one.
    ResetDelay,
    /// Whether a potential that equals the threshold causes a spike.
    Fires,
    /// The way from one step to the next.
    Discretization,
    /// The length of a step.
    #[schema(name = "dt")]
    StepLength,
    /// The potential before the first step.
    VStart,
    /// Where the delay of one step is in a cycle.
    Feedback,
    /// The choices of a framework.
    Convention,
    /// The type of the computation or of the weights.
    Dtype,
    /// Weights with two axes exchanged.
    TransposedWeight,
    /// A kernel that is flipped.
    FlippedKernel,
    /// Two layers in the other's place.
    SwappedLayers,
    /// A bias that one network lacks.
    MissingBias,
    /// A factor of the input.
    InputScale,
    /// Other values of parameters.
    Parameters,
}

/// The network that was changed for a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// The first network.
    A,
    /// The second network.
    B,
}

impl fmt::Display for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::A => "A",
            Self::B => "B",
        })
    }
}

/// A network that was run again with a change, and compared again.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The causes; several if changes were combined.
    pub causes: Vec<Cause>,
    /// The changed network.
    pub changed: Changed,
    /// The change in words, such as `fires ge`.
    pub change: String,
    /// Whether nothing differs any more.
    pub explains: bool,
    /// The first time step and layer (of A) that still differ.
    pub first: Option<(usize, String)>,
    /// The number of elements that still differ.
    pub differing: usize,
}

type Apply = Box<dyn Fn(&mut Runnable) -> Result<()>>;

/// A change that may explain the difference.
pub(super) struct Candidate {
    pub(super) cause: Cause,
    pub(super) change: String,
    pub(super) apply: Apply,
}

impl Candidate {
    pub(super) fn new(
        cause: Cause,
        change: impl Into<String>,
        apply: impl Fn(&mut Runnable) -> Result<()> + 'static,
    ) -> Self {
        Self {
            cause,
            change: change.into(),
            apply: Box::new(apply),
        }
    }
}

/// A trial with the network as it was changed.
pub(super) struct Tried {
    pub(super) trial: Trial,
    pub(super) runnable: Runnable,
    pub(super) comparison: Comparison,
}
