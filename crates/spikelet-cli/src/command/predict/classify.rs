//! The scores of images.

use super::as_dataset;
use crate::command::given::Input;
use crate::failure::Failure;
use spikelet::data::DataLoader;
use spikelet::loss::Loss;
use spikelet::module::Module;
use spikelet::report::Activity;
use spikelet::runtime::VarStore;
use spikelet::train::metric::recognized;
use spikelet::train::{BatchShape, EvalStep, Settings, Step, show_activity};

/// The scores of one image.
pub struct Prediction {
    pub scores: Vec<f64>,
    /// Whether the softmax of the scores are probabilities.
    is_softmax: bool,
}

impl Prediction {
    /// The classes with the highest scores, the best first; of equal scores the class with the lower index.
    pub fn top(&self, most: usize) -> impl Iterator<Item = usize> {
        let mut classes: Vec<usize> = (0..self.scores.len()).collect();
        classes.sort_by(|&a, &b| self.scores[b].total_cmp(&self.scores[a]));
        classes.into_iter().take(most)
    }

    /// The scores of a network that was trained with this loss.
    pub fn new(scores: &[f64], loss: &dyn Loss) -> Self {
        Self {
            scores: scores.to_vec(),
            is_softmax: loss.is_of_softmax(),
        }
    }

    /// The class with the highest score; `None` without a spike of the output.
    pub fn best(&self) -> Option<usize> {
        recognized(&self.scores)
    }

    /// The softmax of the scores, if the network was trained with a cross entropy.
    pub fn probability(&self, class: usize) -> Option<f64> {
        let most = self.scores.iter().copied().fold(f64::MIN, f64::max);
        let sum: f64 = self.scores.iter().map(|score| (score - most).exp()).sum();
        self.is_softmax
            .then(|| (self.scores[class] - most).exp() / sum)
    }

    /// The probability, or else the score, and its name.
    pub fn certainty(&self, class: usize) -> (&'static str, f64) {
        match self.probability(class) {
            Some(probability) => ("probability", probability),
            None => ("score", self.scores[class]),
        }
    }
}

/// A network that classifies batches of images.
pub struct Classifier<'a> {
    module: &'a dyn Module,
    settings: &'a Settings,
    classes: &'a [String],
    shape: [usize; 3],
    /// The program of the last batch's size.
    step: Option<EvalStep>,
    /// The number of images before the next batch.
    before: usize,
}

impl<'a> Classifier<'a> {
    pub fn new(
        module: &'a dyn Module,
        settings: &'a Settings,
        classes: &'a [String],
        shape: [usize; 3],
    ) -> Self {
        Self {
            module,
            settings,
            classes,
            shape,
            step: None,
            before: 0,
        }
    }

    /// The predictions for a batch. The random numbers of an encoder depend on the positions of the images
    /// among all images, not on the batches.
    pub fn run(
        &mut self,
        inputs: &[Input],
        store: &mut VarStore,
    ) -> Result<Vec<Prediction>, Failure> {
        let images = as_dataset(inputs, self.shape, self.classes)?;
        let loader = DataLoader::new(images, self.settings.test_batches(inputs.len()));
        let loader = loader.map_err(spikelet::Error::from)?;
        let batch = loader.epoch(0, 0).next().expect("an epoch has a batch");
        let mut batch = batch.map_err(spikelet::Error::from)?;
        for index in &mut batch.indices {
            *index += self.before as u32;
        }
        let fits = |step: &EvalStep| step.batch_size() == inputs.len();
        let step = match self.step.take().filter(fits) {
            Some(step) => step,
            None => {
                let shape = BatchShape {
                    batch: inputs.len(),
                    image: self.shape,
                };
                Step::classifier_eval(self.module, self.settings, shape)?.compile_eval(store)?
            }
        };
        let step = self.step.insert(step);
        step.run_batch(&batch)?;
        self.before += inputs.len();
        let scores = step.output("scores")?;
        let classes = scores.shape.last().copied().unwrap_or(1).max(1);
        let rows = scores.to_f64();
        Ok(rows
            .chunks(classes)
            .map(|row| self.prediction(row))
            .collect())
    }

    /// The predictions for the only batch, with the spikes of all layers. Its labels stand for unknown ones.
    pub fn draw(
        &self,
        inputs: &[Input],
        store: &mut VarStore,
    ) -> Result<(Activity, Vec<Prediction>), Failure> {
        let images = as_dataset(inputs, self.shape, self.classes)?;
        let indices: Vec<usize> = (0..inputs.len()).collect();
        let mut activity = show_activity(self.module, self.settings, &images, &indices, store)?;
        activity.captions = inputs.iter().map(Input::name).collect();
        let scores = activity.scores.iter();
        let found = scores.map(|row| self.prediction(row)).collect();
        Ok((activity, found))
    }

    fn prediction(&self, scores: &[f64]) -> Prediction {
        Prediction::new(scores, &*self.settings.loss)
    }
}

#[cfg(test)]
mod tests {
    use super::Prediction;
    use spikelet::loss::MseOneHot;

    #[test]
    fn classes_are_sorted_by_score_and_probabilities_sum_to_one() {
        let prediction = |is_softmax| Prediction {
            scores: vec![1000.0, 1002.0, 1002.0, -5.0],
            is_softmax,
        };
        let found = prediction(true);
        assert_eq!(found.top(3).collect::<Vec<_>>(), [1, 2, 0]);
        let each: Vec<f64> = (0..4).filter_map(|c| found.probability(c)).collect();
        assert!((each.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{each:?}");
        let expected = 1.0 / (2.0 + (-2.0_f64).exp());
        assert!((each[1] - expected).abs() < 1e-12);
        let found = prediction(false);
        assert_eq!(found.probability(1), None);
        assert_eq!(found.certainty(1), ("score", 1002.0));
        assert_eq!(found.best(), Some(1));
        assert_eq!(Prediction::new(&[0.0; 3], &MseOneHot).best(), None);
    }
}
