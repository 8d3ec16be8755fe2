//! The data of a run.

use super::Settings;
use super::checkpoint::DatasetId;
use super::health::RunFacts;
use super::hexadecimal::hexadecimal;
use super::step::LABELS;
use serde_json::{Value, json};
use spikelet_core::{Error, Result};
use spikelet_data::{DataLoader, Dataset, Split, held_out};
use spikelet_nn::loss::Loss;
use std::path::Path;
use std::sync::Arc;

/// Data that a [`Trainer`](crate::Trainer) trains on: a [`Split`], samples of which a share is for validation
/// ([`Settings::validation`]), or [`Loaders`].
pub trait TrainingData {
    /// The loaders of a run with these settings.
    ///
    /// # Errors
    /// When the settings do not fit the data.
    fn loaders(&self, settings: &Settings) -> Result<Loaders>;
}

/// The loaders of a run: batches of the training set, and of a validation set and a test set if there are any.
///
/// A [`Split`] gives them by the [`Settings`]: its training samples are augmented, normalized and divided into training and
/// validation samples ([`Split::parts`]). Loaders of one's own have transforms and weighted samples:
///
/// ```
/// use spikelet_data::{DataLoader, LoaderConfig, split, synthetic};
/// use spikelet_train::{Loaders, Settings, loaders::TrainingData};
/// let digits = synthetic::digits_of(0, 512, 128);
/// let settings = Settings { batch_size: 64, ..Settings::default() };
/// let parts = split(digits.train.clone(), &[0.9, 0.1], 0)?;
/// let data = Loaders {
///     validation: Some(DataLoader::new(parts[1].clone(), settings.test_batches(64))?),
///     ..Loaders::new(DataLoader::new(parts[0].clone(), settings.training_batches())?)
/// };
/// assert_eq!(data.train.len(), digits.loaders(&settings)?.train.len());
/// # Ok::<(), spikelet_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Loaders {
    /// Training batches, of the size of the step; incomplete ones are dropped.
    pub train: DataLoader,
    /// A set that selects the best epoch. Its loader's transforms are applied; batch size and order are chosen by the trainer.
    pub validation: Option<DataLoader>,
    /// A set that is evaluated after each epoch and selects nothing, likewise.
    pub test: Option<DataLoader>,
}

impl TrainingData for Loaders {
    fn loaders(&self, _: &Settings) -> Result<Loaders> {
        Ok(self.clone())
    }
}

impl TrainingData for Arc<dyn Dataset> {
    fn loaders(&self, settings: &Settings) -> Result<Loaders> {
        let (train, validation) = match settings.validation {
            0.0 => (self.clone(), None),
            share => {
                let (train, validation) = held_out(self, share)?;
                (train, Some(validation))
            }
        };
        let train = DataLoader::new(train, settings.training_batches())?;
        Loaders::new(train).evaluating(validation, None, settings)
    }
}

impl TrainingData for Split {
    fn loaders(&self, settings: &Settings) -> Result<Loaders> {
        let (train, validation) = self.parts(settings.validation)?;
        let mut train = self.training(train, settings.training_batches())?;
        let classes = self.class_names().len();
        let mixture = settings.mixture(classes).filter(|_| self.has_images());
        if let Some(mixture) = mixture {
            train = train.batch_transform(mixture)?;
        }
        Loaders::new(train).evaluating(validation, Some(self.test.clone()), settings)
    }
}

impl Loaders {
    /// Training batches alone.
    pub fn new(train: DataLoader) -> Self {
        Self {
            train,
            validation: None,
            test: None,
        }
    }

    /// With loaders of these samples for evaluations.
    fn evaluating(
        self,
        validation: Option<Arc<dyn Dataset>>,
        test: Option<Arc<dyn Dataset>>,
        settings: &Settings,
    ) -> Result<Self> {
        let loader = |samples| DataLoader::new(samples, settings.test_batches(1));
        Ok(Self {
            validation: validation.map(loader).transpose()?,
            test: test.map(loader).transpose()?,
            ..self
        })
    }

    /// The loaders of a run with batches of this size and a number of loader threads (0: automatic).
    pub(super) fn for_run(mut self, batch_size: usize, threads: usize) -> Result<Self> {
        let config = self.train.config();
        let given = config.batch_size;
        if given != batch_size {
            return Err(Error::invalid(
                "batch size",
                format!("the loader's is {given}, the step's is {batch_size}"),
                "give both the same",
            ));
        }
        if !config.drop_last {
            self.train = self.train.dropping_last()?;
        }
        if threads > 0 {
            self.train = self.train.with_threads(threads);
        }
        Ok(self)
    }

    /// The evaluated data sets: the test set, then the validation set.
    pub(super) fn evaluated(&self) -> Vec<DataLoader> {
        self.test.iter().chain(&self.validation).cloned().collect()
    }

    /// The facts that a diagnosis of the run needs.
    pub(super) fn facts(
        &self,
        ranks: usize,
        pretrained: bool,
        loss: Option<&dyn Loss>,
    ) -> RunFacts {
        let samples = |loader: Option<&DataLoader>| loader.map_or(0, |l| l.dataset().len());
        let classes = self.train.dataset().class_names(LABELS).len();
        RunFacts {
            classes: (classes > 0).then_some(classes),
            guessing_loss: loss.and_then(|loss| loss.of_guessing(classes)),
            train_samples: self.train.dataset().len(),
            validation_samples: samples(self.validation.as_ref()),
            test_samples: samples(self.test.as_ref()),
            steps_per_epoch: self.train.len() / ranks.max(1),
            pretrained,
        }
    }

    /// The identity of the data, which were read from this folder.
    pub(super) fn identity(&self, folder: Option<&Path>) -> Result<DatasetId> {
        let (validation, test) = (self.validation.as_ref(), self.test.as_ref());
        let identity = DatasetId::of_loaders(&self.train, validation, test)?;
        Ok(match folder {
            Some(folder) => identity.in_folder(folder),
            None => identity,
        })
    }

    /// The settings of the loaders, by which a resumed run recognizes them.
    pub(super) fn description(&self) -> Value {
        let of = |loader: &DataLoader| {
            let config = loader.config();
            json!({
                "shuffle": config.shuffle,
                "seed": config.seed,
                "augment": config.augment,
                "normalize": config.normalize,
                "weighted": config.weighted.as_ref().map(|weighted| hexadecimal(&weighted.digest())),
                "transforms": loader.transforms(),
            })
        };
        json!({
            "train": of(&self.train),
            "validation": self.validation.as_ref().map(of),
            "test": self.test.as_ref().map(of),
        })
    }
}
