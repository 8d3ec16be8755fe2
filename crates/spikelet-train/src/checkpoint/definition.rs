//! What a run trains, and how: by it a resumed run recognizes its checkpoint.

use super::error::{CheckpointProblem, Difference};
use super::fields::{differences, parse};
use super::progress::RunSize;
use super::{DatasetId, to_json};
use crate::Settings;
use crate::optim::LrSchedule;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use spikelet_nn::network::Network;
use std::collections::HashMap;

/// What a run trains, and how.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RunDefinition {
    /// A classifier of images.
    Classifier {
        /// The network, if it is one of the named networks.
        network: Option<Network>,
        /// The settings.
        settings: Box<Settings>,
    },
    /// A [`Step`](crate::Step) of one's own.
    Step(StepDefinition),
}

/// The definition of a run of a [`Step`](crate::Step). It recognizes a step, and cannot rebuild it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepDefinition {
    /// The number of passes over the training set.
    pub epochs: usize,
    /// The learning rate schedule.
    pub schedule: LrSchedule,
    /// The number of samples of a batch, on each rank.
    pub batch_size: usize,
    /// The number of training samples of an epoch.
    pub samples: usize,
    /// The settings of the step, and a digest of its graph.
    pub step: Value,
    /// The same of the step of evaluations, if it is another one.
    pub eval_step: Option<Value>,
    /// The loaders of the training, validation and test set: order, augmentation and transforms.
    pub loaders: Value,
}

impl RunDefinition {
    /// The network, if it is one of the named networks or from a file.
    pub fn network(&self) -> Option<&Network> {
        match self {
            Self::Classifier { network, .. } => network.as_ref(),
            Self::Step(_) => None,
        }
    }

    pub(super) fn size(&self, dataset: &DatasetId) -> RunSize {
        let (epochs, batch_size, samples) = match self {
            Self::Classifier { settings, .. } => {
                (settings.epochs, settings.batch_size, dataset.train_samples)
            }
            Self::Step(step) => (step.epochs, step.batch_size, step.samples),
        };
        RunSize {
            epochs,
            batch_size,
            samples,
        }
    }

    /// The entries of the metadata.
    pub(crate) fn entries(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Classifier { network, settings } => vec![
                ("network", to_json(network)),
                ("settings", to_json(settings)),
            ],
            Self::Step(step) => vec![("step", to_json(step))],
        }
    }

    pub(super) fn read(metadata: &HashMap<String, Value>) -> Result<Self, CheckpointProblem> {
        if let Some(step) = metadata.get("step") {
            return Ok(Self::Step(parse("step", step)?));
        }
        let entry = |name| super::entry(metadata, name);
        let settings: Settings = spikelet_schema::from_json(entry("settings")?)?;
        Ok(Self::Classifier {
            network: parse("network", entry("network")?)?,
            settings: Box::new(settings),
        })
    }

    /// The fields in which the run of a checkpoint differs from this one. More epochs than those of the checkpoint are
    /// allowed if the learning rate does not depend on their number and at least `trained` are wanted; memory is no
    /// difference.
    pub(crate) fn differences(&self, checkpoint: &Self, trained: usize) -> Vec<Difference> {
        let may_continue = |schedule: &LrSchedule, epochs: usize| {
            !schedule.depends_on_epochs() && epochs >= trained
        };
        match (checkpoint, self) {
            (
                Self::Classifier {
                    network: of_checkpoint,
                    settings: theirs,
                },
                Self::Classifier {
                    network,
                    settings: ours,
                },
            ) => {
                let mut theirs = theirs.clone();
                if may_continue(&theirs.schedule, ours.epochs) {
                    theirs.epochs = ours.epochs;
                }
                theirs.memory_budget = ours.memory_budget;
                theirs.evaluation_batch = ours.evaluation_batch;
                let mut found = differences("network", of_checkpoint, network);
                found.extend(differences("", &*theirs, &**ours));
                found
            }
            (Self::Step(theirs), Self::Step(ours)) => {
                let mut theirs = theirs.clone();
                if may_continue(&theirs.schedule, ours.epochs) {
                    theirs.epochs = ours.epochs;
                }
                differences("run", &theirs, ours)
            }
            (theirs, ours) => {
                let kind = |definition: &Self| match definition {
                    Self::Classifier { .. } => "a classifier of images".to_string(),
                    Self::Step(_) => "a step of one's own".to_string(),
                };
                vec![Difference {
                    field: "run".to_string(),
                    checkpoint: kind(theirs),
                    here: kind(ours),
                }]
            }
        }
    }
}
