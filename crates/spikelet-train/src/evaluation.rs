//! Accuracy and loss on a data set.

#[cfg(feature = "plots")]
use super::engine::EvalEngine;
use super::engine::EvalEngines;
use super::forward::{Forward, batches};
use super::free_memory::{LESS_FOR_EVALUATION, check_memory};
use super::in_flight::InFlight;
use super::ranks::{Ranks, Signal, SyncSchedule};
use super::step::{ACCURACY, StepMetrics};
use super::{EvalPlan, Settings, TrainError};
use spikelet_core::{Error, Result};
use spikelet_data::{DataLoader, ImageDataset};
use spikelet_graph::Plan;
use spikelet_nn::module::Module;
use spikelet_nn::runtime::VarStore;
use std::sync::Arc;

/// The result of an evaluation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Evaluation {
    /// The fraction of images that are classified correctly, from 0 to 1.
    pub accuracy: f64,
    /// The mean loss over the images.
    pub loss: f64,
}

/// Accuracy and mean loss on a data set. The batch size is [`Settings::evaluation_batch`], or by default as many
/// images as fit into the memory of a training step and of the device. The accuracy and the random numbers of
/// encoders do not depend on it; the loss only by the rounding of its sum.
///
/// # Errors
/// When shapes do not match, or the device has not enough memory or fails.
pub fn evaluate(
    module: &dyn Module,
    settings: &Settings,
    data: &Arc<ImageDataset>,
    store: &mut VarStore,
) -> Result<Evaluation> {
    let tested = [data.len()];
    let device = store.backend().clone();
    let forward = Forward {
        module,
        settings,
        image: data.shape,
        device: &*device,
    };
    let free = device
        .memory()
        .map_or(usize::MAX, |memory| memory.available);
    let batch = forward.batch_alone(&tested, free)?;
    let sizes = batches(batch, &tested).into_iter();
    let plans = sizes.map(|size| forward.plan(size, false, None));
    let plans = plans.collect::<Result<Vec<EvalPlan>>>()?;
    let each: Vec<&Plan> = plans.iter().map(EvalPlan::plan).collect();
    check_memory(
        "the evaluation",
        &each,
        &*device,
        Some(store),
        LESS_FOR_EVALUATION,
    )?;
    if let Some(largest) = each.into_iter().max_by_key(|plan| plan.arena_bytes) {
        store.arena(largest)?;
    }
    let mut engines = EvalEngines::new(batch);
    for plan in plans {
        engines.add(plan.load(store)?);
    }
    let mut evaluation = Evaluator::new(engines, settings, &[data])?;
    let found = evaluation.run(0, &Ranks::new(None), || false)?;
    Ok(found.expect("nothing asks it to stop"))
}

/// Checks that a network has one score for each class.
fn check_scores(scores: usize, data: &ImageDataset) -> Result<()> {
    let classes = data.classes.len();
    if scores == classes {
        return Ok(());
    }
    let dataset = data.name.clone();
    let error = TrainError::Classes {
        scores,
        dataset,
        classes,
    };
    Err(error.into())
}

/// Data sets and the compiled forward passes over them.
pub(super) struct Evaluator {
    loaders: Vec<DataLoader>,
    engines: EvalEngines,
}

impl Evaluator {
    /// The engines must have a program for each batch size of the data sets.
    pub(super) fn new(
        engines: EvalEngines,
        settings: &Settings,
        data: &[&Arc<ImageDataset>],
    ) -> Result<Self> {
        if let Some(engine) = engines.by_size.values().next() {
            let scores = engine.scores();
            data.iter()
                .try_for_each(|data| check_scores(scores, data))?;
        }
        let loader = |data: &&Arc<ImageDataset>| {
            let config = settings.test_batches(engines.batch);
            DataLoader::new((*data).clone(), config)
        };
        let loaders = data.iter().map(loader).collect::<Result<_, _>>();
        Ok(Self {
            loaders: loaders.map_err(Error::from)?,
            engines,
        })
    }

    /// The program of the largest batch of at most `most` images, if there is one.
    #[cfg(feature = "plots")]
    pub(super) fn engine_within(&mut self, most: usize) -> Option<&mut dyn EvalEngine> {
        let mut engines = self.engines.by_size.range_mut(..=most);
        Some(&mut **engines.next_back()?.1)
    }

    /// Accuracy and mean loss on data set `which`. The batches are distributed over the ranks; all ranks return the
    /// result of a single rank: the random numbers of an image depend on its index, and batches are summed in their
    /// order. If `stop`, called before each batch, returns true on any rank, no rank has a result.
    pub(super) fn run(
        &mut self,
        which: usize,
        together: &Ranks,
        stop: impl Fn() -> bool,
    ) -> Result<Option<Evaluation>> {
        let loader = &self.loaders[which];
        let size = loader.config().batch_size;
        let mut found = vec![0.0; 2 * loader.len()];
        let mut note = |(outcome, index): (StepMetrics, usize)| {
            // Both were f32 on the device.
            found[2 * index] = outcome.sum(ACCURACY) as f32;
            found[2 * index + 1] = outcome.loss as f32;
        };
        let mut in_flight = InFlight::new();
        let mut batches = loader.shard(0, together.share(0));
        // In the last round some ranks may have no batch; they synchronize anyway.
        let rounds = loader.len().div_ceil(together.ranks());
        let mut talks = SyncSchedule::new();
        let mut stopped = false;
        for _ in 0..rounds {
            let own = Signal {
                stop: stop(),
                save: false,
            };
            stopped = talks.step(together, own)?.stop;
            if stopped {
                break;
            }
            let Some(batch) = batches.next().transpose()? else {
                continue;
            };
            let Some(step) = self.engines.by_size.get_mut(&batch.len()) else {
                continue;
            };
            in_flight.wait_if_full()?.map(&mut note);
            let index = batch.index_in_epoch;
            in_flight.push(step.start(&batch, index * size)?, index);
            batches.recycle(batch);
        }
        while let Some(found) = in_flight.wait_for_oldest()? {
            note(found);
        }
        if stopped {
            return Ok(None);
        }
        together.join(&mut found)?;
        let (mut correct, mut loss, mut count) = (0.0, 0.0, 0.0);
        for (index, batch) in found.chunks_exact(2).enumerate() {
            let images = size.min(loader.dataset().len() - index * size) as f64;
            correct += f64::from(batch[0]);
            loss += f64::from(batch[1]) * images;
            count += images;
        }
        let count = f64::max(count, 1.0);
        Ok(Some(Evaluation {
            accuracy: correct / count,
            loss: loss / count,
        }))
    }
}
