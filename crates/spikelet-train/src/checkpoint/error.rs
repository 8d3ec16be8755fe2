//! The errors of checkpoints.

use spikelet_core::document::Located;
use spikelet_graph::TensorType;
use std::fmt;
use std::path::PathBuf;

/// A checkpoint that cannot be used.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("{}: {problem}\n  help: {}", .path.display(), .problem.help())]
pub struct CheckpointError {
    /// The file; empty if the checkpoint was not read from one.
    pub path: PathBuf,
    /// The problem.
    pub problem: CheckpointProblem,
}

/// A setting or another property of a run that differs in the checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The path of the field, such as `optimizer.lr`.
    pub field: String,
    /// Its value in the checkpoint, as JSON.
    pub checkpoint: String,
    /// Its value in the resumed run, as JSON.
    pub here: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            field,
            checkpoint,
            here,
        } = self;
        write!(
            f,
            "{field} is {checkpoint} in the checkpoint and {here} here"
        )
    }
}

/// The problem of a checkpoint.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointProblem {
    /// The metadata is not that of a checkpoint.
    #[error("it is no checkpoint: {0}")]
    NotACheckpoint(String),
    /// The checkpoint has another format.
    #[error("its format is `{found}`, this program reads `{expected}`")]
    Format {
        /// The one in the file.
        found: String,
        /// The supported format.
        expected: &'static str,
    },
    /// Required fields of the metadata are missing.
    #[error("its metadata has no {}", .0.join(", "))]
    MissingFields(Vec<String>),
    /// The metadata has unknown fields.
    #[error("its metadata has fields that are not known: {}", .0.join(", "))]
    UnknownFields(Vec<String>),
    /// An invalid setting.
    #[error("its settings cannot be used: {0}")]
    Settings(String),
    /// Invalid progress of the run.
    #[error("its {field} is {found}, expected {expected}")]
    Progress {
        /// The field.
        field: String,
        /// Its value.
        found: String,
        /// The allowed values.
        expected: String,
    },
    /// Tensors with elements that are not finite.
    #[error("elements are not finite in the tensors {}", .0.join(", "))]
    NotFinite(Vec<String>),
    /// Tensors of means of squares with elements below 0.
    #[error("elements are below 0 in the tensors {}, which are means of squares", .0.join(", "))]
    Negative(Vec<String>),
    /// A tensor of the loss scale that is outside its range.
    #[error("tensor `{tensor}` is {found}, expected {expected}")]
    LossScale {
        /// Which.
        tensor: &'static str,
        /// Its value, or type.
        found: String,
        /// The allowed values.
        expected: String,
    },
    /// The checkpoint of a step of one's own, where that of a classifier is needed.
    #[error("it was trained with a user-defined step, not as a classifier")]
    NotAClassifier,
    /// Tensors of the network or its optimizer are missing.
    #[error("it has no tensors {}", .0.join(", "))]
    MissingTensors(Vec<String>),
    /// The network or its optimizer does not have these tensors.
    #[error("it has tensors that the network has not: {}", .0.join(", "))]
    UnknownTensors(Vec<String>),
    /// A tensor has another shape or element type than that of the network.
    #[error("tensor `{tensor}` is {found}, the network's is {expected}")]
    TensorType {
        /// Which.
        tensor: String,
        /// The one in the file.
        found: TensorType,
        /// The one of the network.
        expected: TensorType,
    },
    /// The checkpoint belongs to another run.
    #[error("it belongs to another run: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    OtherRun(Vec<Difference>),
}

/// Settings that are refused.
impl From<Located> for CheckpointProblem {
    fn from(error: Located) -> Self {
        Self::Settings(error.problem.to_string())
    }
}

impl CheckpointProblem {
    /// The remedy.
    fn help(&self) -> &'static str {
        match self {
            Self::NotACheckpoint(_) | Self::Format { .. } => {
                "give a checkpoint that this version of `spikelet train` wrote, such as last.safetensors"
            }
            Self::MissingFields(_)
            | Self::UnknownFields(_)
            | Self::Settings(_)
            | Self::Progress { .. }
            | Self::Negative(_)
            | Self::LossScale { .. } => {
                "the file was changed after it was written: take another checkpoint"
            }
            Self::NotFinite(_) => {
                "the network is broken: take an earlier checkpoint, or train again with a lower learning rate"
            }
            Self::NotAClassifier => {
                "use it in a program of its own, with `Checkpoint::restore_step`"
            }
            Self::MissingTensors(_) => {
                "only last.safetensors has all that --resume needs; for a network of your own, give the module that was trained"
            }
            Self::UnknownTensors(_) | Self::TensorType { .. } => {
                "give the network that was trained, with the same layers and sizes"
            }
            Self::OtherRun(_) => {
                "leave these out, or give the checkpoint's values; or start a run of its own without --resume"
            }
        }
    }
}

impl spikelet_core::OtherError for CheckpointError {}
