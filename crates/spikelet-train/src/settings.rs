//! The settings of training.

use crate::optim::{Adam, Clip, LrSchedule, OptimizerConfig, decays};
use crate::{ParameterGroup, Penalty};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use spikelet_core::MemoryBudget;
use spikelet_core::{Error, Result};
use spikelet_data::{
    Augment, CutMix, FrameSettings, ImageDataset, LoaderConfig, MixSometimes, MixUp, Normalize,
    OneOf,
};
use spikelet_graph::{DType, Var};
use spikelet_nn::DefinitionError;
use spikelet_nn::encoder;
use spikelet_nn::layer::DelayWidth;
use spikelet_nn::loss::{self, CrossEntropy};
use spikelet_nn::module::{Precision, Propagation, StepOutputs};
use std::sync::Arc;

/// The loss function. The scores are the mean of the network's output over time.
///
/// | name | |
/// |---|---|
/// | `cross-entropy` | of the softmax of the scores |
/// | `mse` | of the scores and one-hot labels |
/// | `tet` | mean over time of the cross entropy of the output at each step |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Loss {
    /// Cross entropy of the softmax of the scores.
    CrossEntropy,
    /// Mean squared error with one-hot labels. Firing rates can reach these targets, while the softmax of rates
    /// between 0 and 1 cannot approach a one-hot distribution.
    #[default]
    Mse,
    /// The mean over time of the cross entropy at each step (temporal efficient training), for networks whose last
    /// layer is linear.
    Tet,
}

impl Loss {
    /// The names of all losses, as on the command line.
    pub const NAMES: [&str; 3] = ["cross-entropy", "mse", "tet"];

    /// The name, as on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::CrossEntropy => "cross-entropy",
            Self::Mse => "mse",
            Self::Tet => "tet",
        }
    }

    /// The loss of scores that do not depend on the sample, with as many samples of each class; `None` without
    /// classes.
    pub(crate) fn of_guessing(self, classes: usize) -> Option<f64> {
        let classes = (classes > 0).then_some(classes as f64)?;
        Some(match self {
            Self::CrossEntropy | Self::Tet => classes.ln(),
            Self::Mse => (classes - 1.0) / (classes * classes),
        })
    }

    /// The loss of this name.
    ///
    /// ```
    /// use spikelet_train::Loss;
    /// assert_eq!(Loss::find("mse")?, Loss::Mse);
    /// assert!(Loss::find("hinge").is_err());
    /// # Ok::<(), spikelet_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`DefinitionError::UnknownName`].
    pub fn find(name: &str) -> Result<Self> {
        match name {
            "cross-entropy" => Ok(Self::CrossEntropy),
            "mse" => Ok(Self::Mse),
            "tet" => Ok(Self::Tet),
            _ => Err(DefinitionError::UnknownName {
                family: "loss",
                name: name.to_string(),
                known: Self::NAMES.to_vec(),
            }
            .into()),
        }
    }
}

/// The settings of training. Together with the network and the data they determine the result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// The number of time steps of a sequence.
    pub time_steps: usize,
    /// The number of images of a training step, on each rank if there are several.
    pub batch_size: usize,
    /// The number of passes over the training set.
    pub epochs: usize,
    /// The learning rate before the schedule.
    pub learning_rate: f64,
    /// The learning rate schedule.
    pub schedule: LrSchedule,
    /// The optimizer.
    pub optimizer: OptimizerConfig,
    /// Parameters with another optimizer or learning rate, or that are not trained. The first group that matches applies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<ParameterGroup>,
    /// The factor of the learning rate from each layer to the one before it, above 0 and at most 1, if layers have
    /// different ones: see [`Step::layer_decay`](crate::Step::layer_decay).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer_decay: Option<f64>,
    /// Gradient clipping, if any.
    pub clip: Option<Clip>,
    /// The number of batches whose gradients are added before each update, at least 1: see
    /// [`Step::accumulate`](crate::Step::accumulate). An epoch leaves out the last batches that do not make up an
    /// update.
    pub accumulate: usize,
    /// The decay of an exponential moving average of the weights, 0 to below 1, if there is one: see
    /// [`Step::ema`](crate::Step::ema). The averages are evaluated, and are in `best.safetensors`.
    pub ema: Option<f64>,
    /// The name of the encoder, with constants if they are not the defaults: see [`encoder::parse`].
    pub encoder: String,
    /// The loss.
    pub loss: Loss,
    /// The label smoothing ε of cross entropies, 0 to below 1: the target of each class is increased by ε / classes, that
    /// of the label is 1 − ε + ε / classes.
    pub label_smoothing: f64,
    /// Penalties on the spikes of layers, which are added to the loss of training. Evaluations have the loss alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub penalties: Vec<Penalty>,
    /// Of sequences with a label for each time step, the steps at the start that count neither in the loss nor in
    /// accuracies.
    #[serde(skip_serializing_if = "is_zero")]
    pub skip_steps: usize,
    /// Of sequences with a label for each time step, the class that unlabeled steps have in the loss; `None` leaves them
    /// out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unlabeled: Option<i64>,
    /// The width of the kernels of learned delays, if a schedule sets it before each epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_width: Option<DelayWidth>,
    /// Whether weight decay applies to parameters of fewer than two axes as well: biases, normalization and
    /// constants of neurons.
    pub bias_decay: bool,
    /// The order in which layers and time steps run.
    pub propagation: Propagation,
    /// The element types of matrix products and of stored sequences.
    pub precision: Precision,
    /// The memory limit of training with its evaluation, if any. A share is relative to the memory
    /// without a limit.
    pub memory_budget: Option<MemoryBudget>,
    /// The number of images of an evaluation batch. By default as many as fit into the memory of a
    /// training step, up to 500.
    pub evaluation_batch: Option<usize>,
    /// Whether batch norm computes mean and variance over the images of all ranks, instead of separately on
    /// each rank.
    pub sync_batch_norm: bool,
    /// Data augmentation of the training images.
    pub augment: Augment,
    /// The α of [`MixUp`] of the training images, if they are mixed. With [`Settings::cutmix`] as well, each batch
    /// is mixed in one of the two ways.
    pub mixup: Option<f32>,
    /// The α of [`CutMix`] of the training images, if they are mixed.
    pub cutmix: Option<f32>,
    /// The probability that a batch of training images is mixed.
    #[serde(skip_serializing_if = "is_one")]
    pub mix_probability: f32,
    /// The number of epochs in which training images are mixed; all without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mix_epochs: Option<usize>,
    /// The mean and standard deviation for the normalization of pixels, if any.
    pub normalize: Option<Normalize>,
    /// The split of a data set of sequences, if it is not the default one: which samples are for testing. It is used where
    /// data sets are read by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<String>,
    /// The frames of a data set of recordings of events. It is used where data sets are read by name.
    #[serde(skip_serializing_if = "FrameSettings::is_default")]
    pub frames: FrameSettings,
    /// The fraction of the training samples that is used for validation, to choose the best epoch; at least 0
    /// and below 1. The split does not depend on `seed`. With 0 all samples are used for training, and no best
    /// epoch is chosen. A data set with validation samples of its own uses these instead of a fraction.
    pub validation: f64,
    /// The seed of initial weights, shuffling and random numbers.
    pub seed: u64,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

fn is_one(probability: &f32) -> bool {
    *probability == 1.0
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
            groups: vec![],
            layer_decay: None,
            clip: None,
            accumulate: 1,
            ema: None,
            encoder: "poisson".to_string(),
            loss: Loss::Mse,
            label_smoothing: 0.0,
            penalties: vec![],
            skip_steps: 0,
            unlabeled: None,
            delay_width: None,
            bias_decay: true,
            propagation: Propagation::default(),
            precision: Precision::default(),
            memory_budget: None,
            evaluation_batch: None,
            sync_batch_norm: false,
            augment: Augment::default(),
            mixup: None,
            cutmix: None,
            mix_probability: 1.0,
            mix_epochs: None,
            normalize: None,
            split: None,
            frames: FrameSettings::default(),
            validation: 0.1,
            seed: 0,
        }
    }
}

impl Settings {
    /// Splits the training set into training and validation images, if any.
    ///
    /// # Errors
    /// When there are too few images for both.
    pub(super) fn parts(
        &self,
        train: &Arc<ImageDataset>,
    ) -> Result<(Arc<ImageDataset>, Option<Arc<ImageDataset>>)> {
        if self.validation == 0.0 {
            return Ok((train.clone(), None));
        }
        let (rest, validation) = train.split_off(self.validation)?;
        Ok((Arc::new(rest), Some(Arc::new(validation))))
    }

    /// The number of training samples that are left of `samples` behind those for validation.
    #[must_use]
    pub fn training_samples(&self, samples: usize) -> usize {
        if self.validation == 0.0 || samples < 2 {
            return samples;
        }
        let held_out = (samples as f64 * self.validation).round() as usize;
        samples - held_out.clamp(1, samples - 1)
    }

    /// The batch size, or as many as each of `ranks` has of these training samples for a step if it is larger.
    #[must_use]
    pub fn batch_of(&self, samples: usize, ranks: usize) -> usize {
        let most = samples / (ranks.max(1) * self.accumulate.max(1));
        self.batch_size.min(most.max(1))
    }

    /// The loss of an output over time, its mean `scores`, `[N, classes]`, and labels: i64 `[N]`, or f32
    /// `[N, classes]`, a probability of each class.
    pub fn apply_loss(&self, output: &StepOutputs, scores: &Var, labels: &Var) -> Var {
        let cross_entropy = CrossEntropy::new().label_smoothing(self.label_smoothing);
        let soft = labels.ty().dtype != DType::I64;
        match self.loss {
            Loss::CrossEntropy if soft => cross_entropy.soft(scores, labels),
            Loss::CrossEntropy => cross_entropy.loss(scores, labels),
            Loss::Mse if soft => loss::mean_squared_error(scores, labels),
            Loss::Mse => loss::mse(scores, labels),
            Loss::Tet => cross_entropy.over_time(output, labels),
        }
    }

    /// Sets what differs for sequences of this many time steps: no encoder, and cross entropy.
    pub fn use_sequences(&mut self, time_steps: usize) {
        self.time_steps = time_steps;
        self.encoder = "direct".to_string();
        self.loss = Loss::CrossEntropy;
    }

    /// Whether training images are mixed, and their labels with them.
    pub fn mixes(&self) -> bool {
        self.mixup.is_some() || self.cutmix.is_some()
    }

    /// The mixture of the training images of this many classes, if they are mixed.
    pub(super) fn mixture(&self, classes: usize) -> Option<OneOf> {
        let mixup = self
            .mixup
            .map(|alpha| Arc::new(MixUp { alpha, classes }) as Arc<_>);
        let cutmix = self
            .cutmix
            .map(|alpha| Arc::new(CutMix { alpha, classes }) as Arc<_>);
        if !self.mixes() {
            return None;
        }
        let mixture = OneOf(mixup.into_iter().chain(cutmix).collect());
        if is_one(&self.mix_probability) && self.mix_epochs.is_none() {
            return Some(mixture);
        }
        Some(OneOf(vec![Arc::new(MixSometimes {
            mixture: Arc::new(mixture),
            classes,
            probability: self.mix_probability,
            epochs: self.mix_epochs,
        })]))
    }

    /// The optimizer of a parameter of this shape: that of the settings, without weight decay where it does not
    /// apply.
    pub fn optimizer_of(&self, shape: &[usize]) -> OptimizerConfig {
        if self.bias_decay || decays(shape) {
            return self.optimizer;
        }
        let none = Map::from_iter([("weight_decay".to_string(), Value::from(0.0))]);
        // An optimizer without this constant has no weight decay.
        self.optimizer.with(&none).unwrap_or(self.optimizer)
    }

    /// The loader settings of the training images.
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

    /// The loader settings of evaluated images: in order, without augmentation.
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
    /// [`Error::Invalid`] for the first invalid setting.
    pub fn check(&self) -> Result<()> {
        let at_least_one = [
            ("time steps", self.time_steps),
            ("batch size", self.batch_size),
            ("epochs", self.epochs),
            ("evaluation batch", self.evaluation_batch.unwrap_or(1)),
            ("accumulated batches", self.accumulate),
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
                "use a finite value of at least 0",
            ));
        }
        if !(0.0..1.0).contains(&self.label_smoothing) {
            return Err(Error::invalid(
                "label smoothing",
                format!("{} was given", self.label_smoothing),
                "use at least 0 and below 1",
            ));
        }
        if self.loss == Loss::Mse && self.label_smoothing != 0.0 {
            return Err(Error::invalid(
                "label smoothing",
                "the loss mse has none",
                "use the loss cross-entropy or tet, or a label smoothing of 0",
            ));
        }
        self.penalties.iter().try_for_each(Penalty::check)?;
        if !(0.0..1.0).contains(&self.ema.unwrap_or(0.0)) {
            return Err(Error::invalid(
                "decay of the average",
                format!("{} was given", self.ema.unwrap_or(0.0)),
                "use at least 0 and below 1, such as 0.999",
            ));
        }
        for (what, alpha) in [("mixup", self.mixup), ("cutmix", self.cutmix)] {
            if !alpha.is_none_or(|alpha| alpha > 0.0 && alpha.is_finite()) {
                return Err(Error::invalid(
                    what,
                    format!("{} was given", alpha.unwrap_or(0.0)),
                    "use a finite value above 0, such as 0.2",
                ));
            }
        }
        if !(0.0..=1.0).contains(&self.mix_probability) {
            return Err(Error::invalid(
                "probability of mixtures",
                format!("{} was given", self.mix_probability),
                "use 0 to 1",
            ));
        }
        let layer_decay = self.layer_decay.unwrap_or(1.0);
        if !(layer_decay > 0.0 && layer_decay <= 1.0) {
            return Err(Error::invalid(
                "layer decay",
                format!("{layer_decay} was given"),
                "use a factor above 0 and at most 1, such as 0.75",
            ));
        }
        self.schedule.check()?;
        self.optimizer.check()?;
        for group in &self.groups {
            group.config(self.optimizer)?.check()?;
        }
        self.clip.as_ref().map_or(Ok(()), Clip::check)?;
        if !(0.0..1.0).contains(&self.validation) {
            return Err(Error::invalid(
                "validation",
                format!("{} was given", self.validation),
                "use a fraction of the training images, at least 0 and below 1",
            ));
        }
        self.augment.check()?;
        encoder::parse(&self.encoder)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::Sgd;

    #[test]
    fn weight_decay_can_exclude_biases_and_normalization() {
        let optimizer = OptimizerConfig::Sgd(Sgd {
            momentum: 0.9,
            nesterov: true,
            weight_decay: 5e-4,
        });
        let settings = |bias_decay| Settings {
            optimizer,
            bias_decay,
            ..Settings::default()
        };
        for shape in [&[][..], &[64], &[10, 512], &[64, 3, 3, 3]] {
            assert_eq!(settings(true).optimizer_of(shape), optimizer);
            let expected = if shape.len() < 2 { 0.0 } else { 5e-4 };
            let of = settings(false).optimizer_of(shape);
            assert_eq!(of.weight_decay(), expected, "{shape:?}");
            assert_eq!(of.constants()["momentum"], 0.9);
        }
    }

    #[test]
    fn label_smoothing_is_checked() {
        let check = |loss, label_smoothing| {
            let settings = Settings {
                loss,
                label_smoothing,
                ..Settings::default()
            };
            settings.check().is_ok()
        };
        assert!(check(Loss::Tet, 0.1) && check(Loss::CrossEntropy, 0.0) && check(Loss::Mse, 0.0));
        for (loss, smoothing) in [(Loss::Mse, 0.1), (Loss::Tet, 1.0), (Loss::Tet, f64::NAN)] {
            assert!(!check(loss, smoothing), "{loss:?} {smoothing}");
        }
    }
}
