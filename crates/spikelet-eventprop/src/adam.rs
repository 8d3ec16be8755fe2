//! The optimizer Adam in f64.

use crate::error::{Error, Result, not_negative, positive};
use crate::gradient::Gradients;
use crate::network::Network;

/// Adam: m ← β₁m + (1 − β₁)g, v ← β₂v + (1 − β₂)g², w ← w − lr·m̂/(√v̂ + ε), m̂ = m/(1 − β₁ᵏ), v̂ = v/(1 − β₂ᵏ) in
/// step k, β = (0.9, 0.999), ε = 1e-8. Source: Kingma and Ba 2015.
///
/// The state is public, so that it can be stored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Adam {
    /// The number of steps taken.
    pub steps: u64,
    /// m of each tensor of [`Network::parameters`]; empty before the first step.
    pub mean: Vec<Vec<f64>>,
    /// v of each tensor; empty before the first step.
    pub square: Vec<Vec<f64>>,
}

const BETA_1: f64 = 0.9;
const BETA_2: f64 = 0.999;
const EPSILON: f64 = 1e-8;

impl Adam {
    /// An optimizer before its first step.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a step with a learning rate ≥ 0 and a decay of the weights (AdamW: w ← w·(1 − lr·decay) before the step).
    ///
    /// # Errors
    /// When the learning rate or the decay is negative or not finite, or the gradients or the state belong to another
    /// network.
    pub fn step(
        &mut self,
        network: &mut Network,
        gradients: &Gradients,
        lr: f64,
        weight_decay: f64,
    ) -> Result<()> {
        positive("the learning rate", lr, "give a rate such as 0.001")?;
        not_negative("the weight decay", weight_decay, "give 0 for none")?;
        let (mut weights, grads) = (network.parameters_mut(), gradients.parameters());
        let sizes: Vec<usize> = weights.iter().map(|w| w.len()).collect();
        if self.steps == 0 && self.mean.is_empty() && self.square.is_empty() {
            self.mean = sizes.iter().map(|&n| vec![0.0; n]).collect();
            self.square = self.mean.clone();
        }
        same_sizes("the gradients", &sizes, grads.iter().map(|g| g.len()))?;
        same_sizes(
            "the optimizer's state `mean`",
            &sizes,
            self.mean.iter().map(Vec::len),
        )?;
        same_sizes(
            "the optimizer's state `square`",
            &sizes,
            self.square.iter().map(Vec::len),
        )?;
        self.steps += 1;
        let correction = |beta: f64| 1.0 - beta.powf(self.steps as f64);
        let (mean_scale, square_scale) = (1.0 / correction(BETA_1), 1.0 / correction(BETA_2));
        let states = self.mean.iter_mut().zip(&mut self.square);
        for ((weights, grads), (mean, square)) in weights.iter_mut().zip(grads).zip(states) {
            for (((w, g), m), v) in weights.iter_mut().zip(grads).zip(mean).zip(square) {
                *m = BETA_1 * *m + (1.0 - BETA_1) * g;
                *v = BETA_2 * *v + (1.0 - BETA_2) * g * g;
                *w -= lr
                    * (weight_decay * *w
                        + *m * mean_scale / ((*v * square_scale).sqrt() + EPSILON));
            }
        }
        Ok(())
    }
}

fn same_sizes(name: &str, expected: &[usize], given: impl Iterator<Item = usize>) -> Result<()> {
    let given: Vec<usize> = given.collect();
    match given == expected {
        true => Ok(()),
        false => Err(Error::Size {
            what: name.to_string(),
            given: format!("tensors of {given:?} elements"),
            expected: format!("{expected:?}, those of the network"),
            help: "use the gradients and the optimizer of this network",
        }),
    }
}
