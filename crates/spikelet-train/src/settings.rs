//! How a network is trained.

use crate::optim::{Adam, Clip, LrSchedule, OptimizerConfig};
use serde::{Deserialize, Serialize};
use spikelet_core::MemoryBudget;
use spikelet_core::{Error, Result};
use spikelet_data::{Augment, Dataset, LoaderConfig, Normalize};
use spikelet_graph::Var;
use spikelet_nn::encoder;
use spikelet_nn::loss;
use spikelet_nn::module::{Precision, Propagation};
use std::sync::Arc;

/// The loss; scores are the mean of the network's output over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// Cross entropy of the softmax of the scores.
    CrossEntropy,
    /// Mean squared error against one-hot labels. Firing rates reach their target, where a
    /// softmax over rates between 0 and 1 never gets near certainty.
    #[default]
    Mse,
}

impl Loss {
    /// The loss of scores `[N, classes]`.
    pub fn apply(self, scores: &Var, labels: &Var) -> Var {
        match self {
            Self::CrossEntropy => loss::cross_entropy(scores, labels),
            Self::Mse => loss::mse(scores, labels),
        }
    }
}

/// How a network is trained. The settings and the network determine the result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Time steps of a sequence.
    pub time_steps: usize,
    /// Images of a step, on each rank where there are several.
    pub batch_size: usize,
    /// Passes over the training set.
    pub epochs: usize,
    /// The learning rate before the schedule.
    pub learning_rate: f64,
    /// The learning rate schedule.
    pub schedule: LrSchedule,
    /// The optimizer.
    pub optimizer: OptimizerConfig,
    /// Gradient clipping, if any.
    pub clip: Option<Clip>,
    /// The encoder by its name, with constants if they are not the defaults, as in
    /// [`encoder::parse`].
    pub encoder: String,
    /// The loss.
    pub loss: Loss,
    /// The order in which layers and time steps run.
    pub propagation: Propagation,
    /// The element types of matrix products and of stored sequences.
    pub precision: Precision,
    /// The most memory that training and its evaluation may take, if it is limited; a share is one
    /// of their memory without a limit.
    pub memory_budget: Option<MemoryBudget>,
    /// Images that are evaluated at once; without it, as many as fit into the memory that a
    /// training step takes, up to 500.
    pub evaluation_batch: Option<usize>,
    /// Whether batch norm takes mean and variance over the images of all ranks, where there are
    /// several, instead of each rank over its own.
    pub sync_batch_norm: bool,
    /// Data augmentation of the training images.
    pub augment: Augment,
    /// Mean and standard deviation by which pixels are normalized, if any.
    pub normalize: Option<Normalize>,
    /// The share of the training images that is set aside to choose the best epoch by, from 0 to
    /// below 1. Which images these are does not depend on `seed`. With 0 all images are trained on,
    /// and no epoch is the best.
    pub validation: f64,
    /// The seed of weights, shuffles and draws.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            time_steps: 8,
            batch_size: 128,
            epochs: 20,
            learning_rate: 2e-3,
            schedule: LrSchedule::Cosine { min_factor: 0.0 },
            optimizer: OptimizerConfig::Adam(Adam::default()),
            clip: None,
            encoder: "poisson".to_string(),
            loss: Loss::Mse,
            propagation: Propagation::default(),
            precision: Precision::default(),
            memory_budget: None,
            evaluation_batch: None,
            sync_batch_norm: false,
            augment: Augment::default(),
            normalize: None,
            validation: 0.1,
            seed: 0,
        }
    }
}

impl Settings {
    /// The images to train on, and those to validate with, if any.
    ///
    /// # Errors
    /// When there are too few images for both.
    pub(super) fn parts(
        &self,
        train: &Arc<Dataset>,
    ) -> Result<(Arc<Dataset>, Option<Arc<Dataset>>)> {
        if self.validation == 0.0 {
            return Ok((train.clone(), None));
        }
        let (rest, validation) = train.split_off(self.validation)?;
        Ok((Arc::new(rest), Some(Arc::new(validation))))
    }

    /// How training images become batches.
    pub fn training_batches(&self) -> LoaderConfig {
        LoaderConfig {
            batch_size: self.batch_size,
            shuffle: true,
            drop_last: true,
            seed: self.seed,
            augment: self.augment.clone(),
            normalize: self.normalize.clone(),
            ..LoaderConfig::default()
        }
    }

    /// How evaluation images become batches: in order, without augmentation.
    pub fn test_batches(&self, batch_size: usize) -> LoaderConfig {
        LoaderConfig {
            batch_size,
            shuffle: false,
            normalize: self.normalize.clone(),
            ..LoaderConfig::default()
        }
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// Names the first that cannot.
    pub fn check(&self) -> Result<()> {
        let at_least_one = [
            ("time steps", self.time_steps),
            ("batch size", self.batch_size),
            ("epochs", self.epochs),
            ("evaluation batch", self.evaluation_batch.unwrap_or(1)),
        ];
        for (what, given) in at_least_one {
            if given == 0 {
                return Err(Error::invalid(what, "0 was given", "use at least 1"));
            }
        }
        if !self.learning_rate.is_finite() || self.learning_rate < 0.0 {
            return Err(Error::invalid(
                "learning rate",
                format!("{} was given", self.learning_rate),
                "use a finite number that is not negative",
            ));
        }
        self.schedule.check()?;
        self.optimizer.check()?;
        self.clip.as_ref().map_or(Ok(()), Clip::check)?;
        if !(0.0..1.0).contains(&self.validation) {
            return Err(Error::invalid(
                "validation",
                format!("{} was given", self.validation),
                "use a share of the training images, from 0 to below 1",
            ));
        }
        self.augment.check()?;
        encoder::parse(&self.encoder)?;
        Ok(())
    }
}
