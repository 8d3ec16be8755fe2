//! Measurements of training batches, from which the health of the run is diagnosed.
//!
//! A probe is a forward and backward pass of its own with the weights of the step; it changes nothing. It runs on the
//! device between two steps, before the first update and at the ends of epochs, at most once in [`INTERVAL`] steps but
//! for the first and the last one: it takes less than a hundredth of the time. Its result is read when the next probe is
//! started, so that no step waits for it.

use crate::health::{InputProbe, Probe};
use crate::step::{PendingMetrics, ProbeStep};
use spikelet_core::Result;
use spikelet_data::{Batch, BatchTensor, BatchValues};

/// The fewest steps between two probes.
const INTERVAL: u64 = 100;

/// The probe, and its run whose result has not been read.
pub(super) struct Probes {
    step: Option<ProbeStep>,
    pending: Option<(Option<PendingMetrics>, Probe)>,
    /// The step of the last probe.
    last: Option<u64>,
}

/// The place of a batch in the run.
pub(super) struct Place {
    /// The number of batches trained before.
    pub(super) step: u64,
    /// Counted from 1.
    pub(super) epoch: usize,
    pub(super) ends_epoch: bool,
    pub(super) ends_run: bool,
}

impl Probes {
    pub(super) fn new(step: Option<ProbeStep>) -> Self {
        Self {
            step,
            pending: None,
            last: None,
        }
    }

    /// Continues after `step` steps. All ranks measure the same steps, and only rank 0 reads the log.
    pub(super) fn resume(&mut self, step: u64) {
        self.last = Some(step);
    }

    /// Whether the batch at this place is measured.
    fn is_due(&self, place: &Place) -> bool {
        let since = self
            .last
            .map_or(u64::MAX, |last| place.step.saturating_sub(last));
        match place.step {
            0 => self.last.is_none(),
            _ => place.ends_epoch && (since >= INTERVAL || place.ends_run && since > 0),
        }
    }

    /// Starts to measure a batch if that is due, after the result before it has been read.
    pub(super) fn start(&mut self, batch: &Batch, place: &Place) -> Result<Option<Probe>> {
        if !self.is_due(place) {
            return Ok(None);
        }
        let before = self.finish()?;
        self.last = Some(place.step);
        let probe = Probe {
            step: place.step,
            epoch: place.epoch,
            loss: f64::NAN,
            inputs: batch
                .iter()
                .filter_map(|(name, tensor)| input(name, tensor))
                .collect(),
            ..Probe::default()
        };
        let pending = self
            .step
            .as_mut()
            .map(|step| step.start(batch))
            .transpose()?;
        self.pending = Some((pending, probe));
        Ok(before)
    }

    /// Waits for the result, if there is one.
    pub(super) fn finish(&mut self) -> Result<Option<Probe>> {
        let Some((pending, mut probe)) = self.pending.take() else {
            return Ok(None);
        };
        if let (Some(pending), Some(step)) = (pending, &self.step) {
            step.read(&pending.wait()?, &mut probe);
        }
        Ok(Some(probe))
    }
}

/// An input that is not a label.
fn input(name: &str, tensor: &BatchTensor) -> Option<InputProbe> {
    let values: Vec<f32> = match &tensor.values {
        BatchValues::F32(values) => values.clone(),
        BatchValues::U8(values) => values.iter().map(|&byte| f32::from(byte)).collect(),
        _ => return None,
    };
    let samples = tensor.shape.get(tensor.batch_axis).copied()?;
    let inner: usize = tensor.shape.iter().skip(tensor.batch_axis + 1).product();
    if samples < 2 || inner == 0 || values.is_empty() {
        return None;
    }
    let mut spread = 0.0_f64;
    for step in values.chunks_exact(samples * inner) {
        let (first, others) = step.split_at(inner);
        for other in others.chunks_exact(inner) {
            let pairs = first.iter().zip(other);
            spread = pairs
                .map(|(a, b)| f64::from((a - b).abs()))
                .fold(spread, f64::max);
        }
    }
    let sum: f64 = values.iter().map(|&value| f64::from(value)).sum();
    Some(InputProbe {
        name: name.to_string(),
        elements: values.len() / samples,
        mean: sum / values.len() as f64,
        spread,
    })
}
