//! The output of a network over time.

use spikelet_graph::Var;

/// A value over time: a sequence `[T, N, …]`, or separate time steps `[1, N, …]`.
#[derive(Clone, Debug)]
pub struct StepOutputs {
    parts: Vec<Var>,
}

impl StepOutputs {
    /// The value from its parts along axis 0, at least one.
    pub fn new(parts: Vec<Var>) -> Self {
        Self { parts }
    }

    /// The parts as they were computed: one sequence, or one part per time step.
    pub fn parts(&self) -> &[Var] {
        &self.parts
    }

    /// The full sequence, `[T, N, …]`.
    pub fn join(&self) -> Var {
        match &self.parts[..] {
            [whole] => whole.clone(),
            parts => Var::concat(&parts.iter().collect::<Vec<_>>(), 0),
        }
    }

    /// The mean over time, `[N, …]`. Steps are added one by one, without concatenation.
    pub fn mean(&self) -> Var {
        let steps: usize = self.parts.iter().map(|part| part.dim(0)).sum();
        let sums = self.parts.iter().map(|part| match part.dim(0) {
            1 if part.rank() > 0 => part.reshape(&part.shape()[1..]),
            _ => part.sum(&[0]),
        });
        let total = sums.reduce(|sum, step| sum + step);
        total.expect("there is at least one part") / steps as f64
    }
}
