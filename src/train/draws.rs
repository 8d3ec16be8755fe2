//! The numbers that a program's draws depend on.

use spikelet_graph::op::GENERATOR_STATE;

/// Draws of an evaluation are apart from those of training, whose steps count from 1.
const EVALUATION: u64 = 1 << 31;

/// Which of all draws a program makes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draws {
    /// Of the run.
    seed: u64,
    /// Of training counted from 1, or a batch of an evaluation.
    step: u64,
    /// Time steps before the program's first one.
    steps_before: usize,
    /// Images of the batch before the program's first one: other ranks and micro-batches have them.
    images_before: usize,
}

impl Draws {
    /// Those of step number `step`, from the first time step and image on.
    pub(crate) fn of_step(seed: u64, step: u64) -> Self {
        Self {
            seed,
            step,
            steps_before: 0,
            images_before: 0,
        }
    }

    /// Those of batch number `index` of an evaluation.
    pub(crate) fn of_evaluation(seed: u64, index: usize) -> Self {
        Self::of_step(seed, EVALUATION + index as u64)
    }

    /// Those of a part of it, behind so many time steps and images.
    pub(crate) fn behind(self, steps: usize, images: usize) -> Self {
        Self {
            steps_before: self.steps_before + steps,
            images_before: self.images_before + images,
            ..self
        }
    }

    /// The generator's state.
    pub(crate) fn state(self) -> [i64; GENERATOR_STATE] {
        let (seed, step) = (self.seed as i64, self.step as i64);
        let before = [self.steps_before, self.images_before].map(|count| count as i64);
        [seed, step, before[0], before[1]]
    }
}
