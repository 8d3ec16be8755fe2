//! The step of a trainer, or a network that becomes the step of a classifier for the data of the run.

use super::Settings;
#[cfg(feature = "plots")]
use super::step::Monitor;
use super::step::{SampleBatch, SampleShape, Step};
use spikelet_core::Result;
use spikelet_data::Field;
use spikelet_nn::module::Module;
use std::fmt;
use std::sync::Arc;

/// The trained step, or network.
pub(super) enum Trained<'a> {
    Module(Arc<dyn Module>),
    Step {
        train: Box<Step<'a>>,
        /// The step of evaluations, if it is another one.
        eval: Option<Box<Step<'a>>>,
    },
}

/// The steps of a run.
pub(super) struct Steps<'a> {
    pub(super) train: Step<'a>,
    pub(super) eval: Step<'a>,
}

impl<'a> Trained<'a> {
    /// The settings of a run: those of the trainer, and of the step where it has its own.
    pub(super) fn settings(&self, given: &Settings) -> Result<Settings> {
        match self {
            Self::Module(_) => {
                given.check()?;
                Ok(given.clone())
            }
            Self::Step { train, .. } => {
                let step = train.as_ref().clone().settings(given)?;
                Ok(step.in_settings(given))
            }
        }
    }

    /// The steps of a run with these settings, on samples with these fields in training and evaluations.
    pub(super) fn steps(
        &self,
        settings: &Settings,
        fields: &[Field],
        evaluated: &[Field],
    ) -> Result<Steps<'a>> {
        match self {
            Self::Module(module) => {
                let shape = SampleBatch {
                    batch: settings.batch_size,
                    sample: SampleShape::of_all_fields(fields)?,
                };
                Ok(Steps {
                    train: Step::train_classifier(module.clone(), settings, shape)?,
                    eval: Step::eval_classifier(module.clone(), settings, shape)?,
                })
            }
            Self::Step { train, eval } => {
                let complete =
                    |step: &Step<'a>, fields| step.clone().on_fields(fields)?.settings(settings);
                let eval = eval.as_ref().unwrap_or(train);
                Ok(Steps {
                    train: complete(train, fields)?,
                    eval: complete(eval, evaluated)?,
                })
            }
        }
    }

    /// The network, if it is no step of one's own.
    pub(super) fn module(&self) -> Option<&Arc<dyn Module>> {
        match self {
            Self::Module(module) => Some(module),
            Self::Step { .. } => None,
        }
    }
}

/// The largest batch of the report's forward passes.
#[cfg(feature = "plots")]
const MOST_REPORTED: usize = 100;

impl<'a> Steps<'a> {
    /// The forward passes for the report, which shows `examples` of `tested` samples: one for the activity of neurons in the
    /// examples, and one for the scores and firing rates of all samples. Within a memory budget, which includes them, there is
    /// the first one only; for a step without neurons and scores, none.
    #[cfg(feature = "plots")]
    pub(super) fn report(&self, examples: usize, tested: usize) -> Result<Vec<Step<'a>>> {
        if examples == 0 {
            return Ok(vec![]);
        }
        let of = |batch: usize| self.eval.with_batch(batch.min(tested)).outputs(true);
        let first = of(examples).observe(examples);
        let found = first.readable()?;
        if !(found.neurons || found.scores) {
            return Ok(vec![]);
        }
        if self.train.budget().is_some() {
            return Ok(vec![first]);
        }
        let all = of(self
            .train
            .samples()
            .clamp(examples, MOST_REPORTED.max(examples)));
        let all = match found.neurons && found.distinct {
            true => all.monitor(Monitor::Rate, "*"),
            false => all,
        };
        Ok(vec![first, all])
    }

    #[cfg(not(feature = "plots"))]
    #[expect(clippy::unused_self, reason = "the same signature")]
    pub(super) fn report(&self, _: usize, _: usize) -> Result<Vec<Step<'a>>> {
        Ok(vec![])
    }
}

impl fmt::Debug for Trained<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Module(module) => f.debug_tuple("Module").field(&&**module).finish(),
            Self::Step { train, .. } => f.debug_tuple("Step").field(train).finish(),
        }
    }
}
