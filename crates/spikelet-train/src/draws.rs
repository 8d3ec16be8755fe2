//! The indices of a program's random numbers.

use spikelet_graph::op::GENERATOR_STATE;

/// Draws of an evaluation are apart from those of training, whose steps count from 1.
const EVALUATION: u64 = 1 << 31;

/// Which of all draws a program makes.
#[derive(Clone, Copy, Debug)]
pub struct Draws {
    /// Of the run.
    seed: u64,
    /// Of training counted from 1; all of an evaluation is one step.
    step: u64,
    /// Time steps before the program's first one.
    steps_before: usize,
    /// Images of the step before the program's first one: other ranks and micro-batches have them,
    /// and earlier batches of an evaluation.
    images_before: usize,
}

impl Draws {
    /// Those of step number `step`, from the first time step and image on.
    pub fn for_step(seed: u64, step: u64) -> Self {
        Self {
            seed,
            step,
            steps_before: 0,
            images_before: 0,
        }
    }

    /// Those of an evaluation, from image number `first` of the data set on: however many images
    /// a batch has, an image's draws are the same.
    pub fn for_evaluation(seed: u64, first: usize) -> Self {
        Self::for_step(seed, EVALUATION).behind(0, first)
    }

    /// Those of a part of the batch, after so many time steps and images.
    #[must_use]
    pub fn behind(self, steps: usize, images: usize) -> Self {
        Self {
            steps_before: self.steps_before + steps,
            images_before: self.images_before + images,
            ..self
        }
    }

    /// The generator's state.
    pub fn state(self) -> [i64; GENERATOR_STATE] {
        let (seed, step) = (self.seed as i64, self.step as i64);
        let before = [self.steps_before, self.images_before].map(|count| count as i64);
        [seed, step, before[0], before[1]]
    }
}
