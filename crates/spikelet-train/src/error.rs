//! The errors of training. Each converts into [`spikelet_core::Error`], from which
//! [`Error::downcast_ref`] returns it.

use spikelet_core::Error;
use std::fmt;

/// A failed run, or a run that does not match its data.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// The loss of a step is not finite. The step did not update the weights.
    #[error(
        "training: the loss is {loss} in step {step} (epoch {epoch}, batch {batch}); {origin}\n  help: {LOWER}"
    )]
    Diverged {
        /// The loss.
        loss: f64,
        /// The step, counted from 1.
        step: u64,
        /// The epoch, counted from 1.
        epoch: usize,
        /// The batch in the epoch, counted from 1.
        batch: usize,
        /// The first value that is not finite.
        origin: Origin,
    },
    /// Weights or optimizer tensors are not finite, although the loss is: spikes are finite for any potential.
    #[error(
        "training: after step {step} weights are not finite: {}; a gradient was not finite at `{}` or after it, \
         though the loss was: spikes are finite for any potential\n  help: {LOWER}",
        .tensors.join(", "), .tensors.last().map_or("", String::as_str)
    )]
    WeightsNotFinite {
        /// The last step.
        step: u64,
        /// The tensors' names.
        tensors: Vec<String>,
    },
    /// The number of outputs of the network is not the number of classes of the data set.
    #[error(
        "network: it has {scores} scores for each image, {dataset} has {classes} classes\n  help: give its last \
         layer {classes} outputs"
    )]
    Classes {
        /// The network's scores.
        scores: usize,
        /// The name of the data set.
        dataset: String,
        /// Its classes.
        classes: usize,
    },
    /// An evaluation batch that cannot be planned.
    #[error(
        "evaluation of {images} images at once: {source}\n  help: use a smaller batch (evaluation_batch, \
         --eval-batch-size) or fewer time steps"
    )]
    Evaluation {
        /// The number of images of the batch.
        images: usize,
        /// The error of the plan.
        source: Box<Error>,
    },
    /// An image index that is out of range.
    #[error("image: {index} was given, `{dataset}` has {images}\n  help: count from 0")]
    UnknownImage {
        /// The image.
        index: usize,
        /// The name of the data set.
        dataset: String,
        /// The number of its images.
        images: usize,
    },
}

const LOWER: &str =
    "lower the learning rate, clip the gradients, or use a neuron whose potential cannot diverge";

impl spikelet_core::OtherError for TrainError {}

/// The first value that is not finite in a step that diverged.
#[derive(Debug)]
#[non_exhaustive]
pub enum Origin {
    /// A value of a layer.
    Found(NotFinite),
    /// All values are finite when the forward pass is run again with the current weights.
    AllFinite,
    /// The forward pass could not be run again.
    Unknown(Box<Error>),
    /// The batch is no longer available.
    NotSearched,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Found(found) => write!(f, "not finite first: {found}"),
            Self::AllFinite => f.write_str("with the current weights all layers are finite"),
            Self::Unknown(error) => write!(f, "its origin cannot be found: {error}"),
            Self::NotSearched => f.write_str("its origin was not searched for"),
        }
    }
}

/// A value of a layer that is not finite.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotFinite {
    /// The layer's path; empty for the network.
    pub layer: String,
    /// The name of the value: `x_seq` (the input), `spike_seq`, `v_seq` or that of another state, or
    /// `output_seq` (the network's output).
    pub value: String,
    /// The first time step, counted from 1.
    pub time_step: usize,
    /// The number of time steps.
    pub time_steps: usize,
}

impl NotFinite {
    pub(crate) fn new(path: &str, time_step: usize, time_steps: usize) -> Self {
        let (layer, value) = path.rsplit_once('.').unwrap_or(("", path));
        Self {
            layer: layer.to_string(),
            value: value.to_string(),
            time_step,
            time_steps,
        }
    }
}

impl fmt::Display for NotFinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layer = &self.layer;
        match &*self.value {
            "x_seq" => write!(f, "the input of layer `{layer}`"),
            "v_seq" => write!(f, "the potential of layer `{layer}`"),
            "spike_seq" => write!(f, "the spikes of layer `{layer}`"),
            "output_seq" => f.write_str("the network's output"),
            state => {
                let state = state.trim_end_matches("_seq");
                write!(f, "the state `{state}` of layer `{layer}`")
            }
        }?;
        write!(
            f,
            ", at time step {} of {}",
            self.time_step, self.time_steps
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_value_is_named_by_its_layer() {
        let cases = [
            ("fc.2.v_seq", "the potential of layer `fc.2`"),
            ("fc.2.w_seq", "the state `w` of layer `fc.2`"),
            ("0.x_seq", "the input of layer `0`"),
            ("output_seq", "the network's output"),
        ];
        for (path, expected) in cases {
            let text = NotFinite::new(path, 1, 4).to_string();
            assert_eq!(text, format!("{expected}, at time step 1 of 4"));
        }
    }
}
