//! The indices of random numbers.

use spikelet_graph::op::GENERATOR_STATE;

/// The step of an evaluation. Its random numbers differ from those of training, whose steps count from 1.
const EVALUATION: u64 = 1 << 31;

/// The indices of the random numbers of a program.
#[derive(Clone, Copy, Debug)]
pub struct Draws {
    /// The seed of the run.
    seed: u64,
    /// The training step, counted from 1; an evaluation is a single step.
    step: u64,
    /// The number of time steps before the first one of the program.
    steps_before: usize,
    /// The number of images of the step before the first one of the program: those of other ranks, of other
    /// micro-batches, or of earlier batches of an evaluation.
    images_before: usize,
}

impl Draws {
    /// The random numbers of training step `step`, from its first time step and image.
    pub fn for_step(seed: u64, step: u64) -> Self {
        Self {
            seed,
            step,
            steps_before: 0,
            images_before: 0,
        }
    }

    /// The random numbers of an evaluation, from image `first` of the data set. Those of an image do not depend on
    /// the batch size.
    pub fn for_evaluation(seed: u64, first: usize) -> Self {
        Self::for_step(seed, EVALUATION).behind(0, first)
    }

    /// The random numbers after this many more time steps and images.
    #[must_use]
    pub fn behind(self, steps: usize, images: usize) -> Self {
        Self {
            steps_before: self.steps_before + steps,
            images_before: self.images_before + images,
            ..self
        }
    }

    /// The state of the generator.
    pub fn state(self) -> [i64; GENERATOR_STATE] {
        let (seed, step) = (self.seed as i64, self.step as i64);
        let before = [self.steps_before, self.images_before].map(|count| count as i64);
        [seed, step, before[0], before[1]]
    }
}
