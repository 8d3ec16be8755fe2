//! The plans of an evaluation, and its batch size.

use super::TrainError;
use super::step::{EvalPlan, Purpose, Step};
use super::without_workspaces::WithoutWorkspaces;
use spikelet_core::{Error, MemoryBudget, Result};
use spikelet_graph::Target;
use std::collections::BTreeSet;

/// The largest batch of an evaluation: no device is faster with more images.
pub(super) const USEFUL: usize = 500;

/// The forward passes of a step on a device.
pub(super) struct Forward<'a> {
    /// The step of evaluations; its batch size is not used.
    pub(super) step: &'a Step<'a>,
    /// The batch size, if it is given.
    pub(super) batch: Option<usize>,
    pub(super) device: &'a dyn Target,
}

impl Forward<'_> {
    /// The batch size: the given one, or the largest, up to `most`, whose arena has at most `limit` bytes.
    pub(super) fn batch(&self, tested: &[usize], limit: usize, most: usize) -> Result<usize> {
        if let Some(batch) = self.batch {
            return Ok(batch);
        }
        let longest = tested.iter().copied().max().unwrap_or(0);
        let need = |target: &dyn Target, batch| -> Result<Option<usize>> {
            let plan = self.unlimited(batch, target)?;
            let fits = plan.plan().check_target(target).is_ok();
            Ok(fits.then(|| plan.plan().arena_bytes))
        };
        // Finding the workspaces may take seconds, because a device measures kernels for it.
        let without = WithoutWorkspaces(self.device);
        let batch = fitting(most.min(longest), limit, |batch| need(&without, batch))?;
        let batch = fitting(batch, limit, |batch| need(self.device, batch))?;
        Ok(even(batch, tested))
    }

    /// The batch size without training: that of an evaluation during the training of `step`, if the device has enough
    /// memory.
    pub(super) fn batch_alone(
        &self,
        step: &Step<'_>,
        tested: &[usize],
        free: usize,
    ) -> Result<usize> {
        let step = step.plan(&WithoutWorkspaces(self.device));
        // A model whose training step cannot be planned can still be evaluated.
        let limit = step.map_or(free, |step| step.plan().arena_bytes);
        self.batch(tested, limit.min(free - free / 8), USEFUL)
    }

    /// The plan of a batch without a limit.
    pub(super) fn unlimited(&self, batch: usize, target: &dyn Target) -> Result<EvalPlan> {
        self.within(batch, target, None)
    }

    /// The plan of a batch within a budget, if there is one.
    fn within(
        &self,
        batch: usize,
        target: &dyn Target,
        budget: Option<MemoryBudget>,
    ) -> Result<EvalPlan> {
        (self.step.with_batch(batch)).plan_forward(Purpose::EVALUATE, target, budget)
    }

    /// The plan of a batch, with an arena of at most `limit` bytes if there is a limit.
    ///
    /// # Errors
    /// [`TrainError::Evaluation`] when the limit is too small or the device has no kernel.
    pub(super) fn plan(&self, batch: usize, limit: Option<usize>) -> Result<EvalPlan> {
        let device = self.device;
        let mut plan = self.unlimited(batch, device)?;
        if let Some(limit) = limit
            && plan.plan().arena_bytes > limit
        {
            let bytes = limit + plan.plan().buffer_bytes();
            let budget = Some(MemoryBudget::Bytes(bytes as u64));
            plan = self
                .within(batch, device, budget)
                .map_err(|error| evaluation_error(batch, error))?;
        }
        let checked = plan.plan().check_target(device);
        checked.map_err(|error| evaluation_error(batch, error))?;
        Ok(plan)
    }
}

fn evaluation_error(images: usize, error: impl Into<Error>) -> Error {
    let source = Box::new(error.into());
    TrainError::Evaluation { images, source }.into()
}

/// The batch sizes of data sets with `tested` images each: a full batch and the remainder.
pub fn batches(batch: usize, tested: &[usize]) -> BTreeSet<usize> {
    let sizes = tested.iter().flat_map(|len| [batch.min(*len), len % batch]);
    sizes.filter(|size| *size > 0).collect()
}

/// The largest batch size found, up to `most`, whose program needs at most `limit` bytes, and at least 1.
/// `need` returns `None` for a batch that the device cannot run.
fn fitting(
    most: usize,
    limit: usize,
    mut need: impl FnMut(usize) -> Result<Option<usize>>,
) -> Result<usize> {
    let mut batch = most.max(1);
    while batch > 1 {
        let next = match need(batch)? {
            Some(bytes) if bytes <= limit => break,
            Some(bytes) => (batch as u128 * limit as u128 / bytes as u128) as usize,
            None => batch / 2,
        };
        batch = next.min(batch - batch.div_ceil(16)).max(1);
    }
    Ok(batch)
}

/// The batch size, or a slightly smaller one without a remainder: a remainder needs another program.
fn even(batch: usize, tested: &[usize]) -> usize {
    let whole = |size: &usize| tested.iter().all(|len| len % size == 0);
    let near = (batch - batch / 4..=batch).rev();
    near.into_iter().find(whole).unwrap_or(batch)
}
