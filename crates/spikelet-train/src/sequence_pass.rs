//! The forward pass over the test sequences for the report of a run: counts of labels and predictions.

use super::forward::Forward;
use super::show::rows;
use super::step::{LABELS, SampleShape};
use super::subject::Subject;
use super::trainer::EXAMPLES;
use spikelet_core::Result;
use spikelet_data::{DataLoader, Subset};
use spikelet_nn::runtime::VarStore;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The largest number of sequences whose scores are computed.
const MOST_TESTED: usize = 10_000;

/// The predictions of test sequences, or of their time steps if each has a label.
#[derive(Debug)]
pub(super) struct SequencePass {
    /// By label and prediction. Time steps without a label, or that do not count, are left out.
    pub(super) counts: BTreeMap<(usize, usize), u32>,
    /// The number of sequences, and of those in the test set.
    pub(super) samples: usize,
    pub(super) of: usize,
    /// Whether time steps are counted, not sequences.
    pub(super) steps: bool,
    /// The names of the classes.
    pub(super) classes: Vec<String>,
}

impl SequencePass {
    /// Runs the network with the weights of the store; `None` if it is no classifier of sequences.
    pub(super) fn run(
        subject: &Subject<'_>,
        sample: SampleShape,
        test: &DataLoader,
        store: &mut VarStore,
    ) -> Result<Option<Self>> {
        let (Subject::Classifier { settings, .. }, SampleShape::Sequence { step_labels, .. }) =
            (subject, sample)
        else {
            return Ok(None);
        };
        let dataset = test.dataset();
        let len = dataset.len();
        let steps = subject.report_steps(Some(sample), EXAMPLES.min(len), len)?;
        let Some(step) = steps.first() else {
            return Ok(None);
        };
        let device = store.backend().clone();
        let forward = Forward {
            step,
            batch: None,
            device: &*device,
        };
        let limit = settings.memory_budget.map(|_| store.arena_bytes());
        let mut step = forward.plan(step.samples(), limit)?.load(store)?;
        let batch = step.batch_size();
        let mut pass = Self {
            counts: BTreeMap::new(),
            samples: len.min(MOST_TESTED),
            of: len,
            steps: step_labels.is_some(),
            classes: match step.output_type("scores") {
                Some(scores) => names_of(dataset.class_names(LABELS), scores.shape.last()),
                None => return Ok(None),
            },
        };
        for first in (0..pass.samples).step_by(batch) {
            // The last batch has sequences again that were counted before: the program has one batch size.
            let start = first.min(len - batch);
            let part = Subset::new(dataset.clone(), (start..start + batch).collect())?;
            let loader = DataLoader::new(Arc::new(part), settings.test_batches(batch))?;
            let Some(found) = loader.epoch(0, 0).next().transpose()? else {
                break;
            };
            step.run_batch(&found, start)?;
            let scores = rows(&step.output("scores")?);
            let labels = found.i64(LABELS)?;
            // [N], or [T, N].
            for (at, (scores, label)) in scores.iter().zip(labels).enumerate() {
                let (t, n) = (at / batch, at % batch);
                let counts = start + n >= first && !(pass.steps && t < settings.skip_steps);
                if let Some(label) = usize::try_from(*label)
                    .ok()
                    .filter(|label| *label < scores.len())
                    && counts
                {
                    *pass.counts.entry((label, predicted(scores))).or_default() += 1;
                }
            }
        }
        Ok(Some(pass))
    }
}

/// The names of the classes; their numbers if they have none.
fn names_of(given: &[String], scores: Option<&usize>) -> Vec<String> {
    match given.is_empty() {
        true => (0..scores.copied().unwrap_or(0))
            .map(|k| k.to_string())
            .collect(),
        false => given.to_vec(),
    }
}

/// The class with the highest score, the first of several.
pub(super) fn predicted(scores: &[f64]) -> usize {
    (0..scores.len()).fold(0, |best, k| if scores[k] > scores[best] { k } else { best })
}
