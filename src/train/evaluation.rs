//! Accuracy and loss on a data set.

use super::in_flight::InFlight;
use super::step::Outcome;
use super::{EvalStep, Settings, Shape};
use crate::error::Result;
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
    Evaluation::new(module, settings, data, store)?.run()
}

/// A data set and the compiled forward passes over it.
pub(super) struct Evaluation {
    loader: Loader,
    /// A program for each batch size: whole batches, and the rest.
    steps: BTreeMap<usize, EvalStep>,
}

impl Evaluation {
    pub(super) fn new(
        module: &dyn Module,
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
                steps.insert(batch, EvalStep::new(module, settings, shape, false, store)?);
            }
        }
        Ok(Self {
            loader: Loader::new(data.clone(), settings.test_batches(whole))?,
            steps,
        })
    }

    /// Accuracy and mean loss.
    pub(super) fn run(&mut self) -> Result<(f64, f64)> {
        let (mut correct, mut loss, mut count) = (0.0, 0.0, 0.0);
        let mut add = |(found, images): (Outcome, usize)| {
            correct += found.correct;
            loss += found.loss * images as f64;
            count += images as f64;
        };
        let mut in_flight = InFlight::new();
        let mut batches = self.loader.epoch(0, 0);
        while let Some(batch) = batches.next() {
            let Some(step) = self.steps.get_mut(&batch.len()) else {
                continue;
            };
            in_flight.make_room()?.map(&mut add);
            in_flight.push(step.start(&batch, batch.index_in_epoch)?, batch.len());
            batches.recycle(batch);
        }
        while let Some(found) = in_flight.wait_for_oldest()? {
            add(found);
        }
        let count = f64::max(count, 1.0);
        Ok((correct / count, loss / count))
    }

    pub(super) fn arena_bytes(&self) -> usize {
        self.steps.values().map(|s| s.program().arena_bytes()).sum()
    }
}
