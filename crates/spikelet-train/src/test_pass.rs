//! The forward pass over the test images for the report of a run: scores of images, and the activity of neurons for the
//! first ones.

use super::evaluation::Evaluator;
use super::forward::Forward;
use super::show::{batch_of, examples_of_outputs, first_examples, rows};
use super::step::{EpochMetrics, LABELS, Observation, ObservedLayer, SampleShape, Step, path_of};
use super::subject::Subject;
use super::trainer::{EXAMPLES, Trainer};
use super::{EvalStep, Settings};
use crate::report::Example;
use spikelet_core::Result;
use spikelet_data::Dataset;
use spikelet_nn::runtime::VarStore;
use std::sync::Arc;

/// The largest number of images whose scores are computed.
const MOST_TESTED: usize = 10_000;

/// The results of the pass. A step of one's own has none.
#[derive(Debug, Default)]
pub(super) struct TestPass {
    /// The first images with the output spikes.
    pub(super) examples: Vec<Example>,
    /// The scores of the first images of the test set.
    pub(super) scores: Vec<Vec<f64>>,
    /// The labels of the same images.
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
    /// The number of spikes for each neuron and time step over all images, if it was measured.
    pub(super) rate: Option<f64>,
}

impl TestPass {
    /// Runs the network with the weights of the store.
    pub(super) fn run(
        trainer: &Trainer<'_>,
        test: &Arc<dyn Dataset>,
        evaluation: &mut Evaluator,
        store: &mut VarStore,
    ) -> Result<Self> {
        let Subject::Classifier { settings, .. } = &trainer.subject else {
            return Ok(Self::default());
        };
        if let Some(eval) = evaluation.engine_within(test.len())
            && let Some((examples, scores, labels)) =
                first_examples(eval, settings, test, EXAMPLES, MOST_TESTED)?
        {
            return Ok(Self {
                examples,
                scores,
                labels,
                layers: vec![],
            });
        }
        let sample = SampleShape::of_dataset(&**test)?;
        let steps = (trainer.subject).report_steps(Some(sample), EXAMPLES, test.len())?;
        let limit = settings.memory_budget.map(|_| store.arena_bytes());
        let device = store.backend().clone();
        let mut load = |step: &Step<'_>| {
            let forward = Forward {
                step,
                batch: None,
                device: &*device,
            };
            forward.plan(step.samples(), limit)?.load(store)
        };
        let mut pass = Self::default();
        let Some(first) = steps.first() else {
            return Ok(pass);
        };
        let mut first = load(first)?;
        pass.look_at_the_first(&mut first, settings, test)?;
        let mut all = match steps.get(1) {
            Some(all) => load(all)?,
            None => first,
        };
        pass.test_all(&mut all, settings, test)?;
        Ok(pass)
    }

    /// The examples and the activity of neurons.
    fn look_at_the_first(
        &mut self,
        step: &mut EvalStep,
        settings: &Settings,
        test: &Arc<dyn Dataset>,
    ) -> Result<()> {
        let indices: Vec<usize> = (0..step.batch_size()).collect();
        step.run_batch(&batch_of(settings, test, &indices)?, 0)?;
        let (output, scores) = (step.output("output_seq")?, step.output("scores")?);
        self.examples = examples_of_outputs(&**test, &indices, &output, &rows(&scores))?;
        for (k, layer) in step.observed().iter().enumerate() {
            self.layers.push(LayerPass {
                layer: layer.clone(),
                observation: step.observation(k)?,
                rate: None,
            });
        }
        Ok(())
    }

    /// The scores of the test images, and the firing rates of the layers over them if the step measures them.
    fn test_all(
        &mut self,
        step: &mut EvalStep,
        settings: &Settings,
        test: &Arc<dyn Dataset>,
    ) -> Result<()> {
        let batch = step.batch_size();
        let mut found = EpochMetrics::default();
        for first in (0..test.len().min(MOST_TESTED)).step_by(batch) {
            // The last batch has images again that were counted before: the program has one batch size.
            let first = first.min(test.len() - batch);
            let indices: Vec<usize> = (first..first + batch).collect();
            let given = batch_of(settings, test, &indices)?;
            found.add(&step.run_batch(&given, first)?);
            self.scores.truncate(first);
            self.labels.truncate(first);
            self.labels.extend_from_slice(given.i64(LABELS)?);
            self.scores.extend(rows(&step.output("scores")?));
        }
        for pass in &mut self.layers {
            pass.rate = found.get(&path_of(&pass.layer.name, "rate"));
        }
        Ok(())
    }
}
