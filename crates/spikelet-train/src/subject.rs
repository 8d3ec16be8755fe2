//! What a trainer trains: a classifier of images or sequences with [`Settings`], or any [`Step`].

use super::Settings;
use super::memory::RunSteps;
use super::optim::LrSchedule;
use super::optim::schedule::Cosine;
use super::settings::checked;
#[cfg(feature = "plots")]
use super::step::Monitor;
use super::step::{RankInfo, SampleBatch, SampleShape, Step};
use spikelet_core::Result;
use spikelet_data::LoaderConfig;
use spikelet_nn::module::Module;
use spikelet_nn::network::Network;
use spikelet_schema::Schema;
use std::fmt;
use std::sync::Arc;

/// The settings of a run of a [`Step`] that do not belong to the step.
///
/// ```
/// use spikelet_train::FitSettings;
/// let settings = FitSettings { epochs: 5, ..FitSettings::default() };
/// assert_eq!(settings.evaluation_batch, None);
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub struct FitSettings {
    /// Passes over the training set.
    #[schema(default = 20, at_least = 1)]
    pub epochs: usize,
    /// The learning rate schedule: it multiplies the learning rates of the step.
    #[schema(default = Cosine::default().into())]
    pub schedule: LrSchedule,
    /// Samples of an evaluation batch; `auto` are as many as fit into the memory of a training step, up to 500.
    #[schema(none = "auto", at_least = 1)]
    pub evaluation_batch: Option<usize>,
}

/// The largest batch of the report's forward passes.
#[cfg(feature = "plots")]
const MOST_REPORTED: usize = 100;

/// Stands for the samples of a step, which has inputs of its own.
const NO_IMAGE: SampleShape = SampleShape::Image([0; 3]);

/// What is trained.
pub(super) enum Subject<'a> {
    Classifier {
        module: Arc<dyn Module>,
        network: Option<Network>,
        settings: Box<Settings>,
    },
    Step {
        train: Box<Step<'a>>,
        /// The step of evaluations, if it is another one.
        eval: Option<Box<Step<'a>>>,
        settings: FitSettings,
    },
}

impl Subject<'_> {
    /// The settings of a classifier.
    pub(super) fn settings(&self) -> Option<&Settings> {
        match self {
            Self::Classifier { settings, .. } => Some(settings),
            Self::Step { .. } => None,
        }
    }

    pub(super) fn epochs(&self) -> usize {
        match self {
            Self::Classifier { settings, .. } => settings.epochs,
            Self::Step { settings, .. } => settings.epochs,
        }
    }

    pub(super) fn schedule(&self) -> &LrSchedule {
        match self {
            Self::Classifier { settings, .. } => &settings.schedule,
            Self::Step { settings, .. } => &settings.schedule,
        }
    }

    pub(super) fn batch_size(&self) -> usize {
        match self {
            Self::Classifier { settings, .. } => settings.batch_size,
            Self::Step { train, .. } => train.samples(),
        }
    }

    /// The batches of the training set.
    pub(super) fn training_batches(&self) -> LoaderConfig {
        match self.settings() {
            Some(settings) => settings.training_batches(),
            None => LoaderConfig {
                batch_size: self.batch_size(),
                drop_last: true,
                seed: self.seed(),
                ..LoaderConfig::default()
            },
        }
    }

    /// The batches of an evaluation, in the order of the data.
    pub(super) fn test_batches(&self) -> LoaderConfig {
        match self.settings() {
            Some(settings) => settings.test_batches(1),
            None => LoaderConfig {
                shuffle: false,
                ..LoaderConfig::default()
            },
        }
    }

    /// The number of batches of an update.
    pub(super) fn accumulate(&self) -> usize {
        let batches = match self {
            Self::Classifier { settings, .. } => settings.accumulate,
            Self::Step { train, .. } => train.accumulated(),
        };
        batches.max(1)
    }

    pub(super) fn seed(&self) -> u64 {
        match self {
            Self::Classifier { settings, .. } => settings.seed,
            Self::Step { train, .. } => train.seed_of(),
        }
    }

    /// The name, for the report.
    #[cfg(feature = "plots")]
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Classifier {
                network: Some(network),
                ..
            } => network.name(),
            Self::Step { train, .. } if !train.name_of().is_empty() => train.name_of(),
            _ => "network",
        }
    }

    /// Checks the settings.
    pub(super) fn check(&self) -> Result<()> {
        match self {
            Self::Classifier { settings, .. } => settings.check(),
            Self::Step { settings, .. } => checked(settings),
        }
    }

    /// The training step, as that of a single rank. A classifier has samples of the shape `sample`.
    pub(super) fn train(&self, sample: Option<SampleShape>) -> Result<Step<'_>> {
        match self {
            Self::Classifier {
                module, settings, ..
            } => {
                let shape = SampleBatch {
                    batch: settings.batch_size,
                    sample: sample.unwrap_or(NO_IMAGE),
                };
                let step = Step::classifier(&**module, settings, shape)?;
                Ok(step.rank(RankInfo::default(), settings.sync_batch_norm))
            }
            Self::Step { train, .. } => Ok(train.as_ref().clone()),
        }
    }

    /// The forward passes of a classifier for the report, which shows `examples` of `tested` images: one for the activity
    /// of neurons in the examples, and one for the scores and firing rates of all images. Within a memory budget, which
    /// includes them, there is the first one only.
    #[cfg(feature = "plots")]
    pub(super) fn report_steps(
        &self,
        sample: Option<SampleShape>,
        examples: usize,
        tested: usize,
    ) -> Result<Vec<Step<'_>>> {
        let (
            Self::Classifier {
                module, settings, ..
            },
            Some(sample),
            1..,
        ) = (self, sample, examples)
        else {
            return Ok(vec![]);
        };
        let module = &**module;
        let shape = |batch: usize| SampleBatch {
            batch: batch.min(tested),
            sample,
        };
        if let SampleShape::Sequence { .. } = sample {
            let batch = match settings.memory_budget {
                Some(_) => examples,
                None => settings.batch_size.clamp(examples, MOST_REPORTED),
            };
            return Ok(vec![Step::classifier_eval(module, settings, shape(batch))?]);
        }
        let first = Step::classifier_for_report(module, settings, shape(examples))?;
        if settings.memory_budget.is_some() {
            return Ok(vec![first]);
        }
        let batch = settings.batch_size.clamp(examples, MOST_REPORTED);
        let all = Step::classifier_eval(module, settings, shape(batch))?;
        let all = match first.observes_distinct_layers()? {
            true => all.monitor(Monitor::Rate, "*"),
            false => all,
        };
        Ok(vec![first, all])
    }

    #[cfg(not(feature = "plots"))]
    #[expect(clippy::unused_self, reason = "the same signature")]
    fn report_steps(&self, _: Option<SampleShape>, _: usize, _: usize) -> Result<Vec<Step<'_>>> {
        Ok(vec![])
    }

    /// The steps of a run on this rank. A classifier has samples of the shape `sample`, of which `examples` are in the
    /// report.
    pub(super) fn steps(
        &self,
        sample: Option<SampleShape>,
        rank: RankInfo,
        tested: Vec<usize>,
        examples: usize,
    ) -> Result<RunSteps<'_>> {
        let train = self.train(sample)?.on_rank(rank);
        Ok(match self {
            Self::Classifier {
                module, settings, ..
            } => {
                let shape = |batch| SampleBatch {
                    batch,
                    sample: sample.unwrap_or(NO_IMAGE),
                };
                let module = &**module;
                let eval = Step::classifier_eval(module, settings, shape(settings.batch_size))?;
                RunSteps {
                    train,
                    eval: eval.outputs(false),
                    report: self.report_steps(
                        sample,
                        examples,
                        tested.first().copied().unwrap_or(0),
                    )?,
                    sampled: None,
                    evaluation_batch: settings.evaluation_batch,
                    tested,
                }
            }
            Self::Step {
                train: own,
                eval,
                settings,
            } => RunSteps {
                train,
                eval: eval.as_ref().unwrap_or(own).as_ref().clone().outputs(false),
                report: vec![],
                sampled: None,
                evaluation_batch: settings.evaluation_batch,
                tested,
            },
        })
    }
}

impl fmt::Debug for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Classifier {
                module,
                network,
                settings,
            } => f
                .debug_struct("Classifier")
                .field("module", &&**module)
                .field("network", network)
                .field("settings", settings)
                .finish(),
            Self::Step {
                train,
                eval,
                settings,
            } => f
                .debug_struct("Step")
                .field("train", train)
                .field("eval", eval)
                .field("settings", settings)
                .finish(),
        }
    }
}
