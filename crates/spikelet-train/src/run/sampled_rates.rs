//! Firing rates of training batches, measured by a forward pass of their own every few steps.
//!
//! The pass has the weights of the step and is in evaluation mode: it changes nothing. It runs on the device between two
//! steps, and its result is read when the next one is started, so that no step waits for it.

use crate::EvalStep;
use crate::step::PendingMetrics;
use spikelet_core::Result;
use spikelet_data::Batch;
use spikelet_report::log::SummaryWriter;

/// The forward pass, and its run whose result has not been read.
pub(super) struct SampledRates {
    pass: Option<EvalStep>,
    pending: Option<(PendingMetrics, u64)>,
}

impl SampledRates {
    pub(super) fn new(pass: Option<EvalStep>) -> Self {
        Self {
            pass,
            pending: None,
        }
    }

    /// Starts to measure the batch of step `step`, after the result before it has been written.
    pub(super) fn start(
        &mut self,
        batch: &Batch,
        step: u64,
        curves: Option<&mut SummaryWriter>,
    ) -> Result<()> {
        self.finish(curves)?;
        if let Some(pass) = &mut self.pass {
            self.pending = Some((pass.start_batch(batch)?, step));
        }
        Ok(())
    }

    /// Waits for the result, if there is one, and writes it: `step/LAYER.rate`.
    pub(super) fn finish(&mut self, curves: Option<&mut SummaryWriter>) -> Result<()> {
        let (Some((pending, step)), Some(pass)) = (self.pending.take(), &self.pass) else {
            return Ok(());
        };
        let found = pending.wait()?;
        let Some(curves) = curves else {
            return Ok(());
        };
        for name in pass
            .metrics()
            .names()
            .filter(|name| name.ends_with(".rate"))
        {
            if let Some(value) = found.get(name) {
                curves.add_scalar(&format!("step/{name}"), step, value as f32)?;
            }
        }
        Ok(())
    }
}
