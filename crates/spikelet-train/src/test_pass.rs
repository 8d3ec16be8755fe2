//! The forward passes over the test samples for the report of a run: scores and predictions, and the activity of neurons for
//! the first samples.

use super::evaluation::Evaluator;
use super::forward::Forward;
use super::metric::predicted;
use super::show::{examples_of_outputs, first_examples, rows};
use super::step::{EpochMetrics, LABELS, Observation, ObservedLayer, SCORES, Step, path_of};
use super::trainer::EXAMPLES;
use super::{EvalStep, Settings};
use spikelet_core::{Error, Result};
use spikelet_data::{Batch, DataLoader, Shard, image_shape};
use spikelet_nn::runtime::VarStore;
use spikelet_report::report::Example;
use std::collections::BTreeMap;

/// The largest number of samples whose scores are computed.
pub(super) const MOST_TESTED: usize = 10_000;

/// The results of the passes. A step has those that its outputs tell.
#[derive(Debug, Default)]
pub(super) struct TestPass {
    /// The first images with the output spikes.
    pub(super) examples: Vec<Example>,
    /// The number of test samples whose scores were computed.
    pub(super) tested: usize,
    /// The number of scores of a sample, or of a time step.
    pub(super) classes: usize,
    /// Whether each time step has scores and a label.
    pub(super) each_step: bool,
    /// By label and prediction. Samples without a label, and the first time steps of `skip_steps`, are left out.
    pub(super) counts: BTreeMap<(usize, usize), u32>,
    /// The scores and the labels of the samples, if these have one.
    pub(super) scores: Vec<Vec<f64>>,
    pub(super) labels: Vec<i64>,
    /// The layers with neurons.
    pub(super) layers: Vec<LayerPass>,
}

/// The activity of a layer.
#[derive(Debug)]
pub(super) struct LayerPass {
    pub(super) layer: ObservedLayer,
    /// That of the examples.
    pub(super) observation: Observation,
    /// The number of spikes for each neuron and time step over all samples, if it was measured.
    pub(super) rate: Option<f64>,
}

impl TestPass {
    /// Runs the passes of a report with the weights of the store. Without them the scores are those of the evaluation, if its
    /// engine tells them.
    pub(super) fn run(
        steps: &[Step<'_>],
        settings: &Settings,
        test: &DataLoader,
        evaluation: &mut Evaluator,
        store: &mut VarStore,
    ) -> Result<Self> {
        let mut pass = Self::default();
        let len = test.dataset().len();
        if let Some(eval) = evaluation.engine_within(len)
            && let Some((examples, scores, labels)) =
                first_examples(eval, test, EXAMPLES, MOST_TESTED)?
        {
            pass.tested = scores.len();
            pass.examples = examples;
            for (scores, label) in scores.into_iter().zip(labels) {
                pass.add_sample(scores, Some(label));
            }
            return Ok(pass);
        }
        let limit = settings.memory_budget.map(|_| store.arena_bytes());
        let device = store.backend().clone();
        let mut load = |step: &Step<'_>| {
            // The test set of the report may be a part of that of the run.
            let step = &step.with_batch(step.samples().min(len));
            let forward = Forward {
                step,
                batch: None,
                device: &*device,
            };
            forward.plan(step.samples(), limit)?.load(store)
        };
        let Some(first) = steps.first() else {
            return Ok(pass);
        };
        let mut first = load(first)?;
        pass.look_at_the_first(&mut first, test)?;
        let mut all = match steps.get(1) {
            Some(all) => load(all)?,
            None => first,
        };
        pass.test_all(&mut all, settings, test)?;
        Ok(pass)
    }

    /// The examples and the activity of neurons.
    fn look_at_the_first(&mut self, step: &mut EvalStep, test: &DataLoader) -> Result<()> {
        let count = step.batch_size();
        step.run_batch(&batch_from(test, count, 0)?)?;
        if let Some(output) = step.observed_output()?
            && output.shape.len() == 3
            && output.shape[1] == count
            && step.output_type(SCORES).is_some()
            && image_shape(&**test.dataset()).is_ok()
        {
            let indices: Vec<usize> = (0..count).collect();
            let scores = rows(&step.output(SCORES)?);
            self.examples = examples_of_outputs(&**test.dataset(), &indices, &output, &scores)?;
        }
        for (k, layer) in step.observed().iter().enumerate() {
            self.layers.push(LayerPass {
                layer: layer.clone(),
                observation: step.observation(k)?,
                rate: None,
            });
        }
        Ok(())
    }

    /// The scores of the test samples, and the firing rates of the layers over them if the step measures them.
    fn test_all(
        &mut self,
        step: &mut EvalStep,
        settings: &Settings,
        test: &DataLoader,
    ) -> Result<()> {
        let (batch, len) = (step.batch_size(), test.dataset().len());
        let scored = step.output_type(SCORES).is_some();
        self.each_step = step
            .output_type(SCORES)
            .is_some_and(|ty| ty.shape.len() == 3);
        self.tested = len.min(MOST_TESTED);
        let mut found = EpochMetrics::default();
        let mut batches = test.in_order(batch)?.epoch(0, 0);
        for first in (0..self.tested).step_by(batch) {
            // The last batch has samples again that were counted before: the program has one batch size.
            let start = first.min(len - batch);
            let given = match start == first {
                true => batches.next().transpose()?,
                false => Some(batch_from(test, batch, start)?),
            };
            let Some(given) = given else {
                break;
            };
            found.add(&step.run_batch(&given)?);
            if scored {
                let scores = rows(&step.output(SCORES)?);
                // A label for each row of scores, or none.
                let labels = given.i64(LABELS).unwrap_or_default();
                let labels = if labels.len() == scores.len() {
                    labels
                } else {
                    &[]
                };
                let new = first - start..batch.min(self.tested - start);
                for (at, scores) in scores.into_iter().enumerate() {
                    let (t, n) = (at / batch, at % batch);
                    let label = labels.get(at).copied();
                    match (new.contains(&n), self.each_step) {
                        (false, _) => {}
                        (true, false) => self.add_sample(scores, label),
                        (true, true) if t >= settings.skip_steps => self.count(&scores, label),
                        (true, true) => {}
                    }
                }
            }
            batches.recycle(given);
        }
        for pass in &mut self.layers {
            pass.rate = found.get(&path_of(&pass.layer.name, "rate"));
        }
        Ok(())
    }

    /// Counts a prediction with its label, if it has one.
    fn count(&mut self, scores: &[f64], label: Option<i64>) {
        self.classes = scores.len();
        let label = label.and_then(|label| usize::try_from(label).ok());
        if let Some(label) = label.filter(|label| *label < scores.len()) {
            *self.counts.entry((label, predicted(scores))).or_default() += 1;
        }
    }

    fn add_sample(&mut self, scores: Vec<f64>, label: Option<i64>) {
        self.count(&scores, label);
        self.labels.push(label.unwrap_or(-1));
        self.scores.push(scores);
    }
}

/// The batch of `size` samples that begins with sample `first`.
fn batch_from(test: &DataLoader, size: usize, first: usize) -> Result<Batch> {
    let shard = Shard {
        first_sample: first,
        ..Shard::default()
    };
    let batch = test.in_order(size)?.shard(0, shard).next();
    let missing = || {
        Error::invalid(
            "test set",
            format!("it has no sample {first}"),
            "give another data set",
        )
    };
    Ok(batch.ok_or_else(missing)??)
}
