//! The forward pass over the test images for the report of a run: scores of images, and the activity of neurons for the
//! first ones.

use super::EvalStep;
use super::evaluation::Evaluator;
use super::forward::Forward;
use super::show::{batch_of, examples_of_outputs, first_examples, rows};
use super::step::{Observation, ObservedLayer};
use super::subject::Subject;
use super::trainer::{EXAMPLES, Trainer};
use crate::report::Example;
use spikelet_core::Result;
use spikelet_data::ImageDataset;
use spikelet_nn::runtime::VarStore;

/// The largest number of images whose scores are computed.
const MOST_TESTED: usize = 10_000;

/// The results of the pass. A step of one's own has none.
#[derive(Debug, Default)]
pub(super) struct TestPass {
    /// The first images with the output spikes.
    pub(super) examples: Vec<Example>,
    /// The scores of the first images of the test set.
    pub(super) scores: Vec<Vec<f64>>,
    /// The layers with neurons.
    pub(super) layers: Vec<LayerPass>,
}

/// The activity of a layer.
#[derive(Debug)]
pub(super) struct LayerPass {
    pub(super) layer: ObservedLayer,
    /// That of the examples.
    pub(super) observation: Observation,
    /// The number of spikes for each neuron and time step over all images.
    pub(super) rate: f64,
}

impl TestPass {
    /// Runs the network with the weights of the store.
    pub(super) fn run(
        trainer: &Trainer<'_>,
        test: &ImageDataset,
        evaluation: &mut Evaluator,
        store: &mut VarStore,
    ) -> Result<Self> {
        let Subject::Classifier { settings, .. } = &trainer.subject else {
            return Ok(Self::default());
        };
        if let Some(eval) = evaluation.engine_within(test.len())
            && let Some((examples, scores)) =
                first_examples(eval, settings, test, EXAMPLES, MOST_TESTED)?
        {
            return Ok(Self {
                examples,
                scores,
                layers: vec![],
            });
        }
        let step = (trainer.subject).report_step(Some(test.shape), EXAMPLES, test.len())?;
        let Some(step) = step else {
            return Ok(Self::default());
        };
        let limit = settings.memory_budget.map(|_| store.arena_bytes());
        let device = store.backend().clone();
        let forward = Forward {
            step: &step,
            batch: None,
            device: &*device,
        };
        let mut step = forward.plan(step.samples(), limit)?.load(store)?;
        let batch = step.batch_size();
        let tested = test.len().min(MOST_TESTED);
        let mut pass = Self::default();
        let mut spikes = vec![0.0; step.observed().len()];
        let mut counted = 0;
        for first in (0..tested).step_by(batch) {
            // The last batch has images again that were counted before: the program has one batch size.
            let first = first.min(test.len() - batch);
            let indices: Vec<usize> = (first..first + batch).collect();
            step.run_batch(&batch_of(settings, test, &indices)?, first)?;
            let scores = rows(&step.output("scores")?);
            pass.scores.truncate(first);
            if first == 0 {
                pass.look_at_the_first(&step, test, &scores)?;
            }
            pass.scores.extend(scores);
            for (layer, sum) in spikes.iter_mut().enumerate() {
                *sum += step.spikes_of_all(layer)?;
            }
            counted += batch;
        }
        for (layer, sum) in pass.layers.iter_mut().zip(spikes) {
            let neurons: usize = layer.layer.shape.iter().product();
            layer.rate = sum / (neurons * layer.layer.time_steps * counted).max(1) as f64;
        }
        Ok(pass)
    }

    fn look_at_the_first(
        &mut self,
        step: &EvalStep,
        test: &ImageDataset,
        scores: &[Vec<f64>],
    ) -> Result<()> {
        let shown: Vec<usize> = (0..EXAMPLES.min(scores.len())).collect();
        let output = step.output("output_seq")?;
        self.examples = examples_of_outputs(test, &shown, &output, scores);
        for (k, layer) in step.observed().iter().enumerate() {
            self.layers.push(LayerPass {
                layer: layer.clone(),
                observation: step.observation(k)?,
                rate: 0.0,
            });
        }
        Ok(())
    }
}
