//! A problem of a run.

use serde::{Deserialize, Serialize};
use spikelet_schema::Schema;
use std::fmt;

/// The kind of a problem.
///
/// ```
/// use spikelet_train::health::FindingKind;
/// assert_eq!(FindingKind::DeadLayer.name(), "dead_layer");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Schema)]
#[schema(snake_case)]
#[non_exhaustive]
pub enum FindingKind {
    /// A loss, gradient or weight is NaN or infinite.
    NotFinite,
    /// The input is the same for all samples.
    ConstantInput,
    /// Gradients grow from layer to layer, or from epoch to epoch.
    ExplodingGradients,
    /// Updates are so large that the weights lose their initial scale, or the loss rises.
    LearningRateTooHigh,
    /// No neuron of a layer fires.
    DeadLayer,
    /// The neurons of a layer fire at every time step, or always or never, for every input.
    SaturatedLayer,
    /// Gradients shrink from layer to layer: the first layers do not learn.
    VanishingGradients,
    /// A weight gets no gradient at all.
    NoGradient,
    /// Labels and inputs do not belong together.
    WrongLabels,
    /// The loss does not fall, for a reason that the evidence does not show.
    LossDoesNotFall,
    /// The network fits the training samples better and better, and other samples worse and worse.
    Overfitting,
}

/// A problem of a run, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Finding {
    /// The kind.
    pub kind: FindingKind,
    /// The path of the layer, or of the parameter's layer, if the problem is in one.
    pub layer: Option<String>,
    /// The epoch in which it was found, counted from 1.
    pub epoch: usize,
    /// The layer, the figure and the epoch in one sentence.
    pub sentence: String,
    /// What to try.
    pub advice: String,
}

impl Finding {
    pub(super) fn new(
        kind: FindingKind,
        epoch: usize,
        sentence: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            layer: None,
            epoch,
            sentence: sentence.into(),
            advice: advice.into(),
        }
    }

    /// The same in a layer.
    pub(super) fn in_layer(mut self, layer: &str) -> Self {
        self.layer = Some(layer.to_string());
        self
    }
}

/// The sentence, then the advice.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.sentence, self.advice)
    }
}
