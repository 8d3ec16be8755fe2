//! The definition of a run, by which a resumed run recognizes its checkpoint.

use super::error::{CheckpointProblem, Difference};
use super::fields::{differences, parse};
use super::progress::RunSize;
use super::{DatasetId, to_json};
use crate::Settings;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use spikelet_nn::network::Network;
use std::collections::HashMap;

/// The definition of a run: network, settings, step.
#[derive(Clone, Debug, PartialEq)]
pub struct RunDefinition {
    /// The network of a classifier, if it is one of the named networks or from a file.
    pub network: Option<Network>,
    /// The settings.
    pub settings: Box<Settings>,
    /// The step, if it is user-defined.
    pub step: Option<StepDefinition>,
}

/// The definition of a user-defined [`Step`](crate::Step) in a run. It recognizes a step, and cannot rebuild it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepDefinition {
    /// The number of training samples of an epoch.
    pub samples: usize,
    /// The inputs and groups of the step, and a digest of its graph.
    pub step: Value,
    /// The same of the step of evaluations, if it is another one.
    pub eval_step: Option<Value>,
    /// The loaders of the training, validation and test set: order, augmentation and transforms.
    pub loaders: Value,
}

impl RunDefinition {
    /// The definition of a run of a classifier.
    pub fn of_classifier(network: Option<Network>, settings: Settings) -> Self {
        Self {
            network,
            settings: Box::new(settings),
            step: None,
        }
    }

    pub(super) fn size(&self, dataset: &DatasetId) -> RunSize {
        RunSize {
            epochs: self.settings.epochs,
            batch_size: self.settings.batch_size,
            samples: (self.step.as_ref()).map_or(dataset.train_samples, |step| step.samples),
        }
    }

    /// The entries of the metadata.
    pub(crate) fn entries(&self) -> Vec<(&'static str, String)> {
        let step = self.step.as_ref().map(|step| ("step", to_json(step)));
        let mut entries = vec![
            ("network", to_json(&self.network)),
            ("settings", to_json(&self.settings)),
        ];
        entries.extend(step);
        entries
    }

    pub(super) fn read(metadata: &HashMap<String, Value>) -> Result<Self, CheckpointProblem> {
        let entry = |name| super::entry(metadata, name);
        let settings: Settings = spikelet_schema::from_json(entry("settings")?)?;
        let step = metadata.get("step").map(|step| parse("step", step));
        Ok(Self {
            network: parse("network", entry("network")?)?,
            settings: Box::new(settings),
            step: step.transpose()?,
        })
    }

    /// The fields in which the run of a checkpoint differs from this one. More epochs than those of the checkpoint are
    /// allowed if the learning rate does not depend on their number and at least `trained` are wanted; memory is no
    /// difference.
    pub(crate) fn differences(&self, checkpoint: &Self, trained: usize) -> Vec<Difference> {
        let (ours, mut theirs) = (&*self.settings, (*checkpoint.settings).clone());
        if !theirs.schedule.depends_on_epochs() && ours.epochs >= trained {
            theirs.epochs = ours.epochs;
        }
        theirs.memory_budget = ours.memory_budget;
        theirs.evaluation_batch = ours.evaluation_batch;
        let mut found = differences("network", &checkpoint.network, &self.network);
        found.extend(differences("", &theirs, ours));
        match (&checkpoint.step, &self.step) {
            (Some(theirs), Some(ours)) => found.extend(differences("run", theirs, ours)),
            (None, None) => {}
            (theirs, ours) => {
                let kind = |step: &Option<StepDefinition>| match step {
                    None => "a classifier".to_string(),
                    Some(_) => "a user-defined step".to_string(),
                };
                return vec![Difference {
                    field: "run".to_string(),
                    checkpoint: kind(theirs),
                    here: kind(ours),
                }];
            }
        }
        found
    }
}
