//! Rules for neurons that fire too rarely or too often.
//!
//! A neuron that does not fire has no gradient: no weight moves a spike that does not exist. These rules add to the
//! gradient what the loss does not have. They are optional; without them the gradient is exactly that of the loss.

use crate::error::{Error, Result, not_negative};

/// The rules of a step; by default none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rules {
    /// Lets silent neurons fire again.
    pub silent: Option<SilentPush>,
    /// Lets output neurons that should fire, fire.
    pub phantom: Option<PhantomSpike>,
    /// Lets neurons fire less.
    pub counts: Option<CountPenalty>,
}

/// A phantom spike of an output neuron that does not fire in a sample, at t_end: where the loss would decrease with an
/// earlier spike (dL/dt > 0, the neuron of the label), λ_V = strength·dL/dt at t_end, as if a spike with
/// 1/(I − ϑ) = `strength` were there. The adjoint pass then raises the weights of the spikes that the neuron received,
/// and moves these spikes. For losses of first spikes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PhantomSpike {
    /// The factor, ≥ 0.
    pub strength: f64,
}

/// A push for silent neurons: a neuron that fires in less than a share `active` of a batch's samples has `strength`
/// subtracted from the gradient of each of its input weights, so that the optimizer raises them.
///
/// It holds for all layers, also for output neurons that are to fire. Source: the missing-spike rule of Göltz et al.,
/// Fast and energy-efficient neuromorphic deep learning with first-spike times, Nature Machine Intelligence 3, 2021.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SilentPush {
    /// The share of samples, 0 to 1.
    pub active: f64,
    /// What is subtracted, ≥ 0.
    pub strength: f64,
}

/// A penalty on spike counts: λ_V −= strength·(mean − target)/N at each spike of a neuron that fires `mean` > `target`
/// spikes a sample in a batch of N samples. It acts in the adjoint pass, where spikes are, and is not the gradient of
/// a loss. Source: the regularization of GeNN's EventProp compiler (ml_genn), Nowotny, Turner and Knight 2022.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CountPenalty {
    /// Spikes a sample, ≥ 0.
    pub target: f64,
    /// The factor, ≥ 0.
    pub strength: f64,
}

impl Rules {
    pub(crate) fn check(&self) -> Result<()> {
        if let Some(SilentPush { active, strength }) = self.silent {
            if !(0.0..=1.0).contains(&active) {
                return Err(Error::Constant {
                    name: "active of the push for silent neurons".to_string(),
                    given: active,
                    expected: "a share from 0 to 1",
                    help: "give the share of samples in which a neuron has to fire, such as 0.3",
                });
            }
            not_negative(
                "strength of the push for silent neurons",
                strength,
                "give 0 for no push",
            )?;
        }
        if let Some(PhantomSpike { strength }) = self.phantom {
            not_negative("strength of the phantom spike", strength, "give 0 for none")?;
        }
        if let Some(CountPenalty { target, strength }) = self.counts {
            not_negative(
                "target of the penalty on spike counts",
                target,
                "give spikes a sample",
            )?;
            not_negative(
                "strength of the penalty on spike counts",
                strength,
                "give 0 for no penalty",
            )?;
        }
        Ok(())
    }
}

/// How often the neurons of a layer fire in a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Activity {
    /// Spikes a sample of each neuron.
    pub mean_spikes: Vec<f64>,
    /// The share of samples in which each neuron fires.
    pub active: Vec<f64>,
}

impl Activity {
    /// What is subtracted from λ_V of each neuron at its spikes.
    pub(crate) fn penalties(&self, rule: Option<CountPenalty>, samples: usize) -> Vec<f64> {
        let Some(CountPenalty { target, strength }) = rule else {
            return vec![];
        };
        let above = self.mean_spikes.iter().map(|mean| (mean - target).max(0.0));
        above
            .map(|above| strength * above / samples as f64)
            .collect()
    }

    /// Applies the push to a layer's gradient, stored source by source.
    pub(crate) fn push(&self, rule: Option<SilentPush>, gradient: &mut [f64]) {
        let Some(SilentPush { active, strength }) = rule else {
            return;
        };
        for row in gradient.chunks_mut(self.active.len()) {
            for (grad, share) in row.iter_mut().zip(&self.active) {
                if *share < active {
                    *grad -= strength;
                }
            }
        }
    }
}
