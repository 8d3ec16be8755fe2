//! Rewards of a classifier: the spikes of neurons that stand for classes are compared with the class of the sample.
//!
//! Source: Mozafari et al., First-spike-based visual categorization using reward-modulated STDP, IEEE Transactions on Neural
//! Networks and Learning Systems 2018, where the first spike of a sample decides; here each step with spikes does.

use super::LearningError;
use super::definition::Equations;
use super::label::label;
use super::{LearningRule, reward};
use crate::module::Context;
use spikelet_core::Result;
use spikelet_expr::Expr;
use spikelet_graph::Var;
use spikelet_schema::Schema;

/// A reward for the spikes of a layer whose neurons, or channels, are equal groups for the classes, in the order that
/// [`Voting`](crate::layer::Voting) reads.
///
/// The group with the most spikes in a step decides, the first of equal ones. The reward of the next step is `right` if it is
/// that of the sample's class, `wrong` if it is another one, and 0 if no neuron fired. Where the label is a probability of
/// each class, it is the expected reward.
///
/// The classes are given by [`Context::give_label`].
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[schema(name = "reward")]
pub struct ClassReward {
    /// The number of classes.
    #[schema(required, at_least = 2)]
    pub classes: usize,
    /// The reward for the class of the sample.
    #[schema(default = 1.0)]
    pub right: f64,
    /// The reward for another class, as a rule below 0.
    #[schema(default = -1.0)]
    pub wrong: f64,
}

/// The layer in error messages.
const WHAT: &str = "reward by classes";

/// The state with the rewards for the spikes of the step before.
const STATE: &str = "reward";

/// The axis of features or channels in `[T, N, features, …]`.
const FEATURES: usize = 2;

impl ClassReward {
    /// Refuses a rule without a reward.
    pub(super) fn check(&self, cx: &Context, rule: &dyn LearningRule) -> Result<()> {
        let refuse = |problem: LearningError| cx.error(WHAT, problem.into());
        let equations = Equations::of(rule).map_err(refuse)?;
        match equations.declared.signals.contains(&reward::SIGNAL) {
            true => Ok(()),
            false => Err(refuse(LearningError::NoReward { rule: rule.name() })),
        }
    }

    /// The rewards `[T, N]` in the steps of these spikes, `[T, N, features, …]`: those for the spikes of the step before.
    pub(super) fn before(&self, cx: &Context, rule: &'static str, spikes: &Var) -> Result<Var> {
        let refuse = |problem: LearningError| cx.error(WHAT, problem.into());
        let (time_steps, batch) = (spikes.dim(0), spikes.dim(1));
        let label = label(cx, rule, batch, self.classes).map_err(refuse)?;
        let neurons = spikes.dim(FEATURES);
        if !neurons.is_multiple_of(self.classes) {
            let classes = self.classes;
            return Err(refuse(LearningError::Classes { neurons, classes }));
        }
        let group = spikes.shape()[FEATURES..].iter().product::<usize>() / self.classes;
        let votes = spikes.cast(cx.tracer().float()).detach();
        let votes = votes
            .reshape([time_steps, batch, self.classes, group])
            .sum(&[3]);
        let decided = votes.argmax().one_hot(self.classes);
        let right = (decided * label.unsqueeze(0)).sum(&[2]);
        let fired = votes.sum(&[2]);
        let rewards = Var::map(&[&right, &fired], |v| {
            let reward = self.wrong + (self.right - self.wrong) * &v[0];
            Expr::select(v[1].gt(0.0), reward, 0.0)
        });
        let state = cx.state(STATE, [batch], 0.0);
        let first = state.expand([batch]).unsqueeze(0);
        let last = rewards.slice(0, time_steps - 1..time_steps);
        cx.set_state(&state, &last.reshape([batch]));
        Ok(match time_steps {
            1 => first,
            _ => Var::concat(&[&first, &rewards.slice(0, 0..time_steps - 1)], 0),
        })
    }
}
