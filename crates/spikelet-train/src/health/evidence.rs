//! The evidence of a diagnosis: what a run records.

use crate::checkpoint::EpochRecord;
use crate::probe::Probe;
use serde::{Deserialize, Serialize};

/// The number of steps after which the spikes of a network are judged.
const LATE: u64 = 100;

/// The number of steps through which a layer must be silent to be called dead before.
const EARLY: u64 = 10;

/// The evidence of a diagnosis. All of it is optional: less evidence means fewer findings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Evidence {
    /// Facts about the run.
    pub run: RunFacts,
    /// The completed epochs.
    pub history: Vec<EpochRecord>,
    /// Measurements of training batches, in the order of their steps.
    pub probes: Vec<Probe>,
}

/// Facts about a run that do not change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunFacts {
    /// The number of classes of a classifier.
    pub classes: Option<usize>,
    /// The loss of scores that are the same for all samples, if it is known.
    pub guessing_loss: Option<f64>,
    /// The number of training samples.
    pub train_samples: usize,
    /// The number of validation samples.
    pub validation_samples: usize,
    /// The number of test samples.
    pub test_samples: usize,
    /// The number of training steps of an epoch.
    pub steps_per_epoch: usize,
    /// Whether the run started from trained weights.
    pub pretrained: bool,
}

impl Evidence {
    /// The evidence of the results of epochs alone, with the values of [monitors](crate::Monitor) in them.
    pub fn of_history(history: Vec<EpochRecord>) -> Self {
        Self {
            history,
            ..Self::default()
        }
    }

    /// The probe before the first update.
    pub(super) fn first_probe(&self) -> Option<&Probe> {
        self.probes.first().filter(|probe| probe.step == 0)
    }

    /// The last probe.
    pub(super) fn last_probe(&self) -> Option<&Probe> {
        self.probes.last()
    }

    /// The last probe of a run that has trained long enough to judge its spikes: neurons of a new network may be silent,
    /// and begin to fire.
    pub(super) fn late_probe(&self) -> Option<&Probe> {
        self.last_probe().filter(|probe| probe.step >= LATE)
    }

    /// A sentence about a run that is too short for most findings; `None` if it is long enough.
    ///
    /// ```
    /// use spikelet_train::health::{Evidence, Probe};
    /// let evidence = Evidence { probes: vec![Probe { step: 12, ..Probe::default() }], ..Evidence::default() };
    /// assert_eq!(evidence.too_short().as_deref(), Some("too short to judge (12 of 100 steps)"));
    /// ```
    pub fn too_short(&self) -> Option<String> {
        let steps = self.steps();
        (steps < LATE).then(|| format!("too short to judge ({steps} of {LATE} steps)"))
    }

    /// The last probe of a run that was silent from its start through at least some updates, or that is
    /// [late](Self::late_probe), and the earlier probes that count.
    pub(super) fn probes_of_silence(&self) -> &[Probe] {
        match (self.late_probe(), self.last_probe()) {
            (Some(_), _) => &self.probes[self.probes.len() - 1..],
            (None, Some(last)) if last.step >= EARLY && self.first_probe().is_some() => {
                &self.probes
            }
            _ => &[],
        }
    }

    /// The number of trained batches.
    pub(super) fn steps(&self) -> u64 {
        let of_epochs = self.history.len() * self.run.steps_per_epoch;
        let probed = self.last_probe().map_or(0, |probe| probe.step);
        probed.max(of_epochs as u64)
    }
}
