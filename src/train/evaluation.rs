//! Accuracy and loss on a data set.

use super::engine::{Engine, EvalEngine};
use super::in_flight::InFlight;
use super::step::Outcome;
use super::together::Together;
use super::{EvalStep, Settings, Shape};
use crate::error::{Error, Result};
use crate::model::Store;
use crate::module::Module;
use spikelet_data::{Dataset, Loader};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Images of a test batch.
const TEST_BATCH: usize = 500;

/// Accuracy and mean loss on a data set.
///
/// # Errors
/// When shapes do not fit or the device fails.
pub fn evaluate(
    module: &dyn Module,
    settings: &Settings,
    data: &Arc<Dataset>,
    store: &mut Store,
) -> Result<(f64, f64)> {
    let one = |shape, store: &mut Store| {
        let step = EvalStep::new(module, settings, shape, false, store)?;
        Ok(EvalEngine::One(Box::new(step)))
    };
    Evaluation::new(one, settings, data, store)?.run(&Together::new(None))
}

/// Refuses a network that does not have one score for each class.
fn check_scores(scores: usize, data: &Dataset) -> Result<()> {
    let classes = data.classes.len();
    if scores == classes {
        return Ok(());
    }
    Err(Error::invalid(
        "network",
        format!(
            "it gives each image {scores} scores, {} has {classes} classes",
            data.name
        ),
        format!("give its last layer {classes} outputs"),
    ))
}

/// A data set and the compiled forward passes over it.
pub(super) struct Evaluation {
    loader: Loader,
    /// A program for each batch size: whole batches, and the rest.
    steps: BTreeMap<usize, EvalEngine>,
}

impl Evaluation {
    /// As the steps of training are made.
    pub(super) fn through(
        engine: &Engine,
        module: &dyn Module,
        settings: &Settings,
        data: &Arc<Dataset>,
        store: &mut Store,
    ) -> Result<Self> {
        let made = |shape, store: &mut Store| engine.eval(module, settings, shape, store);
        Self::new(made, settings, data, store)
    }

    fn new(
        made: impl Fn(Shape, &mut Store) -> Result<EvalEngine>,
        settings: &Settings,
        data: &Arc<Dataset>,
        store: &mut Store,
    ) -> Result<Self> {
        let whole = TEST_BATCH.min(data.len().max(1));
        let mut steps = BTreeMap::new();
        for batch in [whole, data.len() % whole] {
            if batch > 0 && !data.is_empty() {
                let shape = Shape {
                    batch,
                    image: data.shape,
                };
                let step = made(shape, store)?;
                check_scores(step.scores(), data)?;
                steps.insert(batch, step);
            }
        }
        Ok(Self {
            loader: Loader::new(data.clone(), settings.test_batches(whole))?,
            steps,
        })
    }

    /// Accuracy and mean loss. Ranks take turns batch by batch, and all come to what one alone
    /// would: a batch's draws depend on its number, and batches are added up in their order.
    pub(super) fn run(&mut self, together: &Together) -> Result<(f64, f64)> {
        let mut found = vec![0.0; 2 * self.loader.len()];
        let mut note = |(outcome, index): (Outcome, usize)| {
            // Both were f32 on the device.
            found[2 * index] = outcome.correct as f32;
            found[2 * index + 1] = outcome.loss as f32;
        };
        let mut in_flight = InFlight::new();
        let mut batches = self.loader.share(0, together.share(0));
        while let Some(batch) = batches.next() {
            let Some(step) = self.steps.get_mut(&batch.len()) else {
                continue;
            };
            in_flight.make_room()?.map(&mut note);
            let index = batch.index_in_epoch;
            in_flight.push(step.start(&batch, index)?, index);
            batches.recycle(batch);
        }
        while let Some(found) = in_flight.wait_for_oldest()? {
            note(found);
        }
        together.join(&mut found)?;
        let (mut correct, mut loss, mut count) = (0.0, 0.0, 0.0);
        for (index, batch) in found.chunks_exact(2).enumerate() {
            let images = self.images_of(index) as f64;
            correct += f64::from(batch[0]);
            loss += f64::from(batch[1]) * images;
            count += images;
        }
        let count = f64::max(count, 1.0);
        Ok((correct / count, loss / count))
    }

    /// How many images a batch has.
    fn images_of(&self, index: usize) -> usize {
        let (size, all) = (self.loader.config().batch_size, self.loader.dataset().len());
        size.min(all - index * size)
    }

    pub(super) fn arena_bytes(&self) -> usize {
        self.steps.values().map(EvalEngine::bytes).sum()
    }
}
