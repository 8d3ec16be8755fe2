//! The settings of training.

use crate::optim::schedule::Cosine;
use crate::optim::{Adam, Clip, LrSchedule, Optimizer, decays};
use crate::penalty::Penalty;
use crate::{Normalization, ParameterGroup};
use spikelet_core::{Error, MemoryBudget, Result};
use spikelet_data::{Augment, CutMix, FrameSettings, LoaderConfig, MixSometimes, MixUp, OneOf};
use spikelet_nn::encoder::{self, Encoder};
use spikelet_nn::layer::DelayWidth;
use spikelet_nn::loss::{CrossEntropy, Loss};
use spikelet_nn::module::{Precision, Propagation};
use spikelet_schema::{Member, Record, Schema};
use std::sync::Arc;

/// The settings of training. Together with the network and the data they determine the result.
#[derive(Clone, Debug, PartialEq, Schema)]
#[schema(check = Self::check_together)]
pub struct Settings {
    /// How an image becomes a sequence.
    #[schema(flatten, table = "encoder", default = encoder::Poisson.into())]
    pub encoder: Member<dyn Encoder>,
    /// The loss of the scores.
    #[schema(flatten, table = "loss")]
    pub loss: Member<dyn Loss>,
    /// Penalties on spikes, which are added to the loss of training: \[{ name = "spike-count", layers = "lif*", weight = 1e-3 }\].
    #[schema(table = "loss")]
    pub penalties: Vec<Penalty>,
    /// First time steps that do not count, where each step has a label.
    #[schema(table = "loss")]
    pub skip_steps: usize,
    /// The class of time steps without a label in the loss; `ignore` leaves them out.
    #[schema(table = "loss", none = "ignore", from = 0, to = 1 << 20)]
    pub unlabeled: Option<i64>,
    /// How parameters are updated.
    #[schema(flatten, table = "optimizer", default = Adam::default().into())]
    pub optimizer: Member<dyn Optimizer>,
    /// Whether weight decay applies to parameters of fewer than two axes too: biases, normalization and constants of neurons.
    #[schema(table = "optimizer", default = true)]
    pub bias_decay: bool,
    /// Factor of the learning rate from each layer to the one before it: see [`Step::layer_decay`](crate::Step::layer_decay).
    #[schema(table = "optimizer", above = 0, to = 1)]
    pub layer_decay: Option<f64>,
    /// Largest norm of all gradients together; larger ones are scaled down.
    #[schema(table = "optimizer", above = 0)]
    pub clip_norm: Option<f64>,
    /// Largest absolute value of a gradient.
    #[schema(table = "optimizer", above = 0)]
    pub clip_value: Option<f64>,
    /// Variance of noise on the gradients in the first step, which falls with the steps t as 1 / (1 + t)^0.55.
    #[schema(table = "optimizer", above = 0)]
    pub gradient_noise: Option<f64>,
    /// Parameters with values of their own, of which the first group that matches applies: \[{ parameters = "*.bias", lr = 1e-4 }\].
    #[schema(table = "optimizer")]
    pub groups: Vec<ParameterGroup>,
    /// How the learning rate changes.
    #[schema(flatten, table = "schedule", default = Cosine::default().into())]
    pub schedule: LrSchedule,
    /// Passes over the training set.
    #[schema(table = "training", default = 20, from = 1, to = MOST)]
    pub epochs: usize,
    /// Time steps of a sequence.
    #[schema(table = "training", default = 8, from = 1, to = MOST)]
    pub time_steps: usize,
    /// Samples of a training step, on each rank if there are several.
    #[schema(table = "training", default = 128, from = 1, to = MOST)]
    pub batch_size: usize,
    /// Batches whose gradients are added before each update. An epoch leaves out the last batches that do not make up an update:
    /// see [`Step::accumulate`](crate::Step::accumulate).
    #[schema(table = "training", default = 1, from = 1, to = MOST)]
    pub accumulate: usize,
    /// Decay of an exponential moving average of the weights, which is evaluated and is in `best.safetensors`.
    #[schema(table = "training", from = 0, below = 1)]
    pub ema: Option<f64>,
    /// Width of the kernels of learned delays: { start = 12.0, end = 0.23, epochs = 37 }.
    #[schema(table = "training")]
    pub delay_width: Option<DelayWidth>,
    /// The element types of matrix products and of stored sequences.
    #[schema(table = "training")]
    pub precision: Precision,
    /// The order in which layers and time steps run.
    #[schema(table = "training")]
    pub propagation: Propagation,
    /// Memory limit of training with its evaluation: an amount, or a fraction of the memory without a limit.
    #[schema(table = "training")]
    pub memory_budget: Option<MemoryBudget>,
    /// Samples of an evaluation batch; `auto` are as many as fit into the memory of a training step, up to 500.
    #[schema(table = "training", none = "auto", from = 1, to = MOST)]
    pub evaluation_batch: Option<usize>,
    /// Seed of initial weights, shuffling and random numbers.
    #[schema(table = "training", from = 0, to = i64::MAX)]
    pub seed: u64,
    /// Whether batch norm computes mean and variance over the samples of all ranks, instead of separately on each rank.
    #[schema(table = "device")]
    pub sync_batch_norm: bool,
    /// The split of a data set of sequences, such as "held-out-theo"; `auto` is its own.
    #[schema(table = "data", none = "auto")]
    pub split: Option<String>,
    /// The frames of a data set of recordings of events.
    #[schema(flatten, table = "data")]
    pub frames: FrameSettings,
    /// Fraction of the training samples that is used for validation, to choose the best epoch. The division does not depend on
    /// `seed`; with 0 no best epoch is chosen. A data set with validation samples of its own uses these.
    #[schema(table = "data", default = 0.1, from = 0, below = 1)]
    pub validation: f64,
    /// Normalization of pixels: `none`, `auto` (statistics of the training images; of ImageNet, for images in folders), or { mean =
    /// \[0.5\], std = \[0.2\] }.
    #[schema(table = "data")]
    pub normalize: Normalization,
    /// Random changes of training samples, such as \["crop=4", "flip"\].
    #[schema(table = "data")]
    pub augment: Augment,
    /// The α of the shares in which pairs of images are mixed ([`MixUp`]). With `cutmix` as well, each batch is mixed in one
    /// of the two ways.
    #[schema(table = "data", above = 0)]
    pub mixup: Option<f32>,
    /// The α of the areas that are pasted from other images ([`CutMix`]).
    #[schema(table = "data", above = 0)]
    pub cutmix: Option<f32>,
    /// Probability that a batch is mixed.
    #[schema(table = "data", default = 1.0, from = 0, to = 1)]
    pub mix_probability: f32,
    /// Number of the first epochs in which batches are mixed.
    #[schema(table = "data", none = "all", at_least = 1)]
    pub mix_epochs: Option<usize>,
}

/// Checks settings that a program made.
pub(crate) fn checked(settings: &dyn Record) -> Result<()> {
    spikelet_schema::check(settings).map_err(|error| {
        let problem = error.problem;
        Error::invalid("settings", problem.to_string(), problem.help())
    })
}

/// The largest number of epochs, time steps or samples.
const MOST: usize = u32::MAX as usize;

impl Settings {
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

    /// Sets what differs for sequences of this many time steps: no encoder, and cross entropy.
    pub fn use_sequences(&mut self, time_steps: usize) {
        self.time_steps = time_steps;
        self.encoder = encoder::Direct.into();
        self.loss = CrossEntropy::new().into();
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
        if self.mix_probability == 1.0 && self.mix_epochs.is_none() {
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
    pub fn optimizer_of(&self, shape: &[usize]) -> Arc<dyn Optimizer> {
        let own = &self.optimizer.0;
        let none = match self.bias_decay || decays(shape) {
            true => None,
            false => own.with_weight_decay(0.0),
        };
        none.unwrap_or_else(|| own.clone())
    }

    /// The clipping of gradients.
    pub fn clip(&self) -> Option<Clip> {
        let norm = self.clip_norm.map(Clip::Norm);
        norm.or(self.clip_value.map(Clip::Value))
    }

    /// The loader settings of the training images.
    pub fn training_batches(&self) -> LoaderConfig {
        LoaderConfig {
            batch_size: self.batch_size,
            shuffle: true,
            drop_last: true,
            seed: self.seed,
            augment: self.augment.clone(),
            normalize: self.normalize.given().cloned(),
            ..LoaderConfig::default()
        }
    }

    /// The loader settings of evaluated images: in order, without augmentation.
    pub fn test_batches(&self, batch_size: usize) -> LoaderConfig {
        LoaderConfig {
            batch_size,
            shuffle: false,
            normalize: self.normalize.given().cloned(),
            ..LoaderConfig::default()
        }
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// [`Error::Invalid`] for the first invalid setting.
    pub fn check(&self) -> Result<()> {
        checked(self)
    }

    /// Checks settings that depend on each other.
    fn check_together(&self) -> Result<()> {
        if let [Some(_), Some(_)] = [self.clip_norm, self.clip_value] {
            return Err(Error::invalid(
                "gradient clipping",
                "`clip_value` is given where `clip_norm` is set",
                "set one of them to \"none\"",
            ));
        }
        for group in &self.groups {
            group.config(&*self.optimizer)?;
        }
        self.augment.check()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::Sgd;
    use spikelet_nn::loss::{MseOneHot, Tet};

    #[test]
    fn weight_decay_can_exclude_biases_and_normalization() {
        let sgd = Sgd {
            momentum: 0.9,
            nesterov: true,
            weight_decay: 5e-4,
            ..Sgd::default()
        };
        let settings = |bias_decay| Settings {
            optimizer: sgd.into(),
            bias_decay,
            ..Settings::default()
        };
        for shape in [&[][..], &[64], &[10, 512], &[64, 3, 3, 3]] {
            assert_eq!(settings(true).optimizer_of(shape).weight_decay(), 5e-4);
            let expected = if shape.len() < 2 { 0.0 } else { 5e-4 };
            let of = settings(false).optimizer_of(shape);
            assert_eq!(of.weight_decay(), expected, "{shape:?}");
            assert_eq!(of.constants()["momentum"], 0.9);
        }
    }

    #[test]
    fn label_smoothing_is_checked() {
        let check = |loss: Member<dyn Loss>| {
            let settings = Settings {
                loss,
                ..Settings::default()
            };
            settings.check().is_ok()
        };
        let smoothed = |epsilon| CrossEntropy::new().label_smoothing(epsilon);
        let tet = |epsilon| Tet {
            cross_entropy: smoothed(epsilon),
        };
        assert!(check(tet(0.1).into()) && check(smoothed(0.0).into()) && check(MseOneHot.into()));
        assert!(!check(tet(1.0).into()) && !check(smoothed(f64::NAN).into()));
    }
}
