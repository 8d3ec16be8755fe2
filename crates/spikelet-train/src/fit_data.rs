//! The data of a run.

use super::Settings;
use super::checkpoint::{DatasetId, RunDefinition, StepDefinition};
use super::health::RunFacts;
use super::hexadecimal::hexadecimal;
use super::run_images::RunImages;
use super::step::{LABELS, SampleShape};
use super::subject::Subject;
use serde_json::{Value, json};
use spikelet_core::{Error, Result};
use spikelet_data::{
    Concat, DataLoader, Dataset, DeviceFrames, LazySplit, SequenceLabels, SequenceSplit, Split,
    split,
};
use spikelet_nn::loss::Loss;
use std::path::PathBuf;
use std::sync::Arc;

/// The data of a run: a loader of the training set, and loaders of a validation set and a test set if there are any.
///
/// A [`Split`] of images is converted: its training images are augmented, normalized and divided into training and
/// validation images as the [`Settings`](crate::Settings) say. So is a [`LazySplit`], whose images are read when they are
/// needed, and a [`SequenceSplit`], whose own validation part is
/// used if it has one: with [`Settings::validation`](crate::Settings::validation) 0 it is added to the training samples.
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
    Images(Split),
    LazyImages(LazySplit),
    Sequences(SequenceSplit),
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
        let share = settings.validation;
        let samples = match &self.source {
            Source::Images(split) => settings.training_samples(split.train.len()),
            // An error of the division is told where the samples are divided.
            Source::LazyImages(split) => {
                held_out(split.train(), share).map_or(usize::MAX, |parts| parts.0.len())
            }
            Source::Sequences(split) => {
                parts_of(split, share).map_or(usize::MAX, |parts| parts.0.len())
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
        Source::Images(split.clone()).into()
    }
}

impl From<&LazySplit> for FitData {
    fn from(split: &LazySplit) -> Self {
        Source::LazyImages(split.clone()).into()
    }
}

impl From<&SequenceSplit> for FitData {
    fn from(split: &SequenceSplit) -> Self {
        Source::Sequences(split.clone()).into()
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
    /// The images, of which the report shows some.
    pub(super) images: Option<RunImages>,
    /// The number of labels of a sequence, of samples that are sequences.
    labels: SequenceLabels,
    /// The frames that the device makes of events.
    device_frames: Option<DeviceFrames>,
    /// The data folder, if it is known.
    folder: Option<PathBuf>,
}

impl RunData {
    /// The loaders for what is trained, and a number of loader threads (0: automatic).
    pub(super) fn new(data: &FitData, subject: &Subject<'_>, threads: usize) -> Result<Self> {
        let mut run = match &data.source {
            Source::Images(split) => Self::of_images(split, subject)?,
            Source::LazyImages(split) => Self::of_lazy_images(split, subject)?,
            Source::Sequences(split) => Self::of_sequences(split, subject)?,
            Source::Loaders(loaders) => Self {
                train: loaders.train.clone(),
                validation: loaders.validation.clone(),
                test: loaders.test.clone(),
                images: None,
                labels: SequenceLabels::Sequence,
                device_frames: None,
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

    fn of_images(split: &Split, subject: &Subject<'_>) -> Result<Self> {
        let Some(settings) = subject.settings() else {
            let train = DataLoader::new(split.train.clone(), subject.training_batches())?;
            let test = DataLoader::new(split.test.clone(), subject.test_batches())?;
            return Ok(Self {
                train,
                validation: None,
                test: Some(test),
                images: Some(RunImages::InMemory(split.clone())),
                labels: SequenceLabels::Sequence,
                device_frames: None,
                folder: None,
            });
        };
        let (train, validation) = settings.parts(&split.train)?;
        let evaluated = |data| DataLoader::new(data, subject.test_batches());
        let validation = validation.map(|data| evaluated(data));
        let mut train = DataLoader::new(train, subject.training_batches())?;
        if let Some(mixture) = settings.mixture(split.train.classes.len()) {
            train = train.batch_transform(mixture)?;
        }
        Ok(Self {
            train,
            validation: validation.transpose()?,
            test: Some(evaluated(split.test.clone())?),
            images: Some(RunImages::InMemory(split.clone())),
            labels: SequenceLabels::Sequence,
            device_frames: None,
            folder: None,
        })
    }

    fn of_lazy_images(data: &LazySplit, subject: &Subject<'_>) -> Result<Self> {
        let settings = subject.settings();
        let share = settings.map_or(0.0, |settings| settings.validation);
        let (train, validation) = held_out(data.train(), share)?;
        let mut train = data.training(train, subject.training_batches())?;
        if let Some(mixture) = settings.and_then(|own| own.mixture(data.classes().len())) {
            train = train.batch_transform(mixture)?;
        }
        let evaluated = |images| DataLoader::new(images, subject.test_batches());
        let validation = validation.map(|images| evaluated(data.evaluated(images)?));
        Ok(Self {
            train,
            validation: validation.transpose()?,
            test: Some(evaluated(data.test().clone())?),
            images: Some(RunImages::Lazy(data.clone())),
            labels: SequenceLabels::Sequence,
            device_frames: None,
            folder: None,
        })
    }

    fn of_sequences(data: &SequenceSplit, subject: &Subject<'_>) -> Result<Self> {
        let (train, validation) = parts_of(data, subject.settings().map_or(1.0, |s| s.validation))?;
        let evaluated = |data| DataLoader::new(data, subject.test_batches());
        Ok(Self {
            train: DataLoader::new(train, subject.training_batches())?,
            validation: validation.map(&evaluated).transpose()?,
            test: Some(evaluated(data.test.clone())?),
            images: None,
            labels: data.labels,
            device_frames: data.device_frames,
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
        let identity = self.identity_of_samples()?;
        Ok(match &self.folder {
            Some(folder) => identity.in_folder(folder),
            None => identity,
        })
    }

    fn identity_of_samples(&self) -> Result<DatasetId> {
        if let Some(RunImages::InMemory(split)) = &self.images {
            return Ok(DatasetId::of_split(split, self.train.dataset().len()));
        }
        let (validation, test) = (self.validation.as_ref(), self.test.as_ref());
        let identity = DatasetId::of_loaders(&self.train, validation, test)?;
        let classes = match &self.images {
            Some(RunImages::Lazy(split)) => split.classes().to_vec(),
            _ => vec![],
        };
        Ok(DatasetId {
            classes,
            ..identity
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
        let fields = self.train.fields();
        SampleShape::of_fields(fields, self.labels, self.device_frames).ok_or_else(|| {
            let fields: Vec<String> = fields.iter().map(ToString::to_string).collect();
            Error::invalid(
                "data",
                format!("the samples are {}", fields.join(", ")),
                format!(
                    "a classifier needs `images` of one shape [channels, height, width], or sequences `x` of one shape \
                     [time, channels], and `{LABELS}`; resize images of several sizes with a transform, or train a \
                     `Step` with `Trainer::over`"
                ),
            )
        })
    }
}

/// A data set.
type Samples = Arc<dyn Dataset>;

/// The training samples and the validation samples of sequences: those of the data set, or else a random `share` of the
/// training samples, the same for all seeds. Without a share there are no validation samples.
fn parts_of(data: &SequenceSplit, share: f64) -> Result<(Samples, Option<Samples>)> {
    Ok(match &data.validation {
        Some(validation) if share > 0.0 => (data.train.clone(), Some(validation.clone())),
        Some(validation) => {
            let all = Concat::new(vec![data.train.clone(), validation.clone()])?;
            (Arc::new(all), None)
        }
        // 1 stands for the validation samples of the data set.
        None if share < 1.0 => held_out(&data.train, share)?,
        None => (data.train.clone(), None),
    })
}

/// The samples without a random `share`, and that share for validation, the same for all seeds; none for 0.
fn held_out(train: &Samples, share: f64) -> Result<(Samples, Option<Samples>)> {
    if share == 0.0 {
        return Ok((train.clone(), None));
    }
    // At least one sample is for validation, however small its share.
    let least = match train.len() {
        0 | 1 => 0.0,
        len => 1.0 / len as f64,
    };
    let share = match (train.len() as f64 * (1.0 - share)).round() as usize == train.len() {
        true => share.max(least),
        false => share,
    };
    let parts = split(train.clone(), &[1.0 - share, share], 0)?;
    Ok((parts[0].clone(), Some(parts[1].clone())))
}
