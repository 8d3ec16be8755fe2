//! The data of a run.

use super::Settings;
use super::checkpoint::{DatasetId, RunDefinition, StepDefinition};
use super::health::RunFacts;
use super::hexadecimal::hexadecimal;
use super::step::{LABELS, SampleShape};
use super::subject::Subject;
use serde_json::{Value, json};
use spikelet_core::{Error, Result};
use spikelet_data::{DataLoader, Split, image_shape};
use spikelet_nn::loss::Loss;
use std::path::PathBuf;

/// The data of a run: a loader of the training set, and loaders of a validation set and a test set if there are any.
///
/// A [`Split`] is converted: its training samples are augmented, normalized and divided into training and
/// validation samples as the [`Settings`](crate::Settings) say ([`Split::parts`]).
///
/// ```
/// use spikelet_data::{DataLoader, LoaderConfig, split, synthetic};
/// use spikelet_train::FitData;
/// let digits = synthetic::digits_of(0, 512, 128);
/// let parts = split(digits.train.clone(), &[0.9, 0.1], 0)?;
/// let config = LoaderConfig { batch_size: 64, drop_last: true, ..LoaderConfig::default() };
/// let data = FitData::new(DataLoader::new(parts[0].clone(), config.clone())?)
///     .validation(DataLoader::new(parts[1].clone(), LoaderConfig::default())?)
///     .test(DataLoader::new(digits.test.clone(), LoaderConfig::default())?);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FitData {
    source: Source,
    /// The data folder.
    folder: Option<PathBuf>,
}

#[derive(Clone, Debug)]
enum Source {
    Split(Box<Split>),
    Loaders(Box<Loaders>),
}

#[derive(Clone, Debug)]
struct Loaders {
    train: DataLoader,
    validation: Option<DataLoader>,
    test: Option<DataLoader>,
}

impl FitData {
    /// Training batches. The loader's batch size must be that of the step; incomplete batches are dropped.
    pub fn new(train: DataLoader) -> Self {
        Source::Loaders(Box::new(Loaders {
            train,
            validation: None,
            test: None,
        }))
        .into()
    }

    /// Adds a validation set, which selects the best epoch. Its loader's transforms are applied; batch size and order
    /// are chosen by the trainer.
    #[must_use]
    pub fn validation(mut self, loader: DataLoader) -> Self {
        if let Source::Loaders(loaders) = &mut self.source {
            loaders.validation = Some(loader);
        }
        self
    }

    /// Adds a test set, which is evaluated after each epoch and selects nothing.
    #[must_use]
    pub fn test(mut self, loader: DataLoader) -> Self {
        if let Source::Loaders(loaders) = &mut self.source {
            loaders.test = Some(loader);
        }
        self
    }

    /// Sets the data folder from which the samples were read. Its absolute path is kept in checkpoints
    /// ([`DatasetId::folder`](crate::DatasetId::folder)).
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// The batch size of these settings, or as many samples as each of `ranks` has for a step if it is larger. Samples for
    /// validation are not counted. Loaders have a batch size of their own.
    ///
    /// ```
    /// use spikelet_train::{FitData, Settings};
    /// let digits = spikelet_data::synthetic::digits_of(0, 100, 10);
    /// let settings = Settings { batch_size: 128, validation: 0.1, ..Settings::default() };
    /// assert_eq!(FitData::from(&digits).batch_size(&settings, 1), 90);
    /// ```
    pub fn batch_size(&self, settings: &Settings, ranks: usize) -> usize {
        let samples = match &self.source {
            // An error of the division is told where the samples are divided.
            Source::Split(split) => {
                let parts = split.parts(settings.validation);
                parts.map_or(usize::MAX, |(train, _)| train.len())
            }
            Source::Loaders(_) => usize::MAX,
        };
        settings.batch_of(samples, ranks)
    }
}

impl From<Source> for FitData {
    fn from(source: Source) -> Self {
        Self {
            source,
            folder: None,
        }
    }
}

impl From<&Split> for FitData {
    fn from(split: &Split) -> Self {
        Source::Split(Box::new(split.clone())).into()
    }
}

impl From<&FitData> for FitData {
    fn from(data: &FitData) -> Self {
        data.clone()
    }
}

/// The loaders of a run.
pub(super) struct RunData {
    pub(super) train: DataLoader,
    pub(super) test: Option<DataLoader>,
    pub(super) validation: Option<DataLoader>,
    /// The data folder, if it is known.
    folder: Option<PathBuf>,
}

impl RunData {
    /// The loaders for what is trained, and a number of loader threads (0: automatic).
    pub(super) fn new(data: &FitData, subject: &Subject<'_>, threads: usize) -> Result<Self> {
        let mut run = match &data.source {
            Source::Split(split) => Self::of_split(split, subject)?,
            Source::Loaders(loaders) => Self {
                train: loaders.train.clone(),
                validation: loaders.validation.clone(),
                test: loaders.test.clone(),
                folder: None,
            },
        };
        run.folder.clone_from(&data.folder);
        let config = run.train.config();
        let (given, expected) = (config.batch_size, subject.batch_size());
        if given != expected {
            return Err(Error::invalid(
                "batch size",
                format!("the loader's is {given}, the step's is {expected}"),
                "give both the same",
            ));
        }
        if !config.drop_last {
            run.train = run.train.dropping_last()?;
        }
        if threads > 0 {
            run.train = run.train.with_threads(threads);
        }
        Ok(run)
    }

    fn of_split(data: &Split, subject: &Subject<'_>) -> Result<Self> {
        let (train, validation) = match subject.settings() {
            Some(settings) => data.parts(settings.validation)?,
            None => (data.train.clone(), data.validation.clone()),
        };
        let mut train = data.training(train, subject.training_batches())?;
        let (has_images, classes) = (image_shape(&*data.test).is_ok(), data.class_names().len());
        let settings = subject.settings().filter(|_| has_images);
        if let Some(mixture) = settings.and_then(|own| own.mixture(classes)) {
            train = train.batch_transform(mixture)?;
        }
        let evaluated = |samples| DataLoader::new(samples, subject.test_batches());
        Ok(Self {
            train,
            validation: validation.map(evaluated).transpose()?,
            test: Some(evaluated(data.test.clone())?),
            folder: None,
        })
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

    /// The identity of the data.
    pub(super) fn identity(&self) -> Result<DatasetId> {
        let (validation, test) = (self.validation.as_ref(), self.test.as_ref());
        let identity = DatasetId::of_loaders(&self.train, validation, test)?;
        Ok(match &self.folder {
            Some(folder) => identity.in_folder(folder),
            None => identity,
        })
    }

    /// The settings of the loaders, by which a resumed run recognizes them.
    fn description(&self) -> Value {
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

    /// The definition of a run with this data.
    pub(super) fn definition(&self, subject: &Subject<'_>) -> Result<RunDefinition> {
        Ok(match subject {
            Subject::Classifier {
                network, settings, ..
            } => RunDefinition::Classifier {
                network: network.clone(),
                settings: settings.clone(),
            },
            Subject::Step {
                train,
                eval,
                settings,
            } => RunDefinition::Step(StepDefinition {
                epochs: settings.epochs,
                schedule: settings.schedule.clone(),
                batch_size: train.samples(),
                samples: self.train.samples(),
                step: train.description()?,
                eval_step: (eval.as_ref()).map(|step| step.description()).transpose()?,
                loaders: self.description(),
            }),
        })
    }

    /// The shape of the samples of a classifier.
    pub(super) fn sample_shape(&self) -> Result<SampleShape> {
        SampleShape::of_all_fields(self.train.fields())
    }
}
