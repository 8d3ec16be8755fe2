//! Reward-modulated spike-timing-dependent plasticity, in SpikingJelly's conventions.
//!
//! Traces decay by exp(−1/τ). The eligibility of a step, e[t] = f_post(W) post[t] p[t] − f_pre(W) q[t] pre[t], is paid by
//! the reward of the step after it:
//!
//! - [`RewardStdp`]: ΔW[t] = Σ_n reward[t] · e[t−1]
//! - [`RewardTraceStdp`]: z[t] = z[t−1] · exp(−1/τ_trace) + e[t−1] / τ_trace, ΔW[t] = Σ_n reward[t] · z[t]
//!
//! Source: Florian, Reinforcement learning through modulation of spike-timing-dependent synaptic plasticity, Neural
//! Computation 2007; SpikingJelly 2.0.0, `MSTDPLearner` and `MSTDPETLearner`.

use super::stdp::CLAMPED;
use super::{LearningRule, RuleScope, WeightFunction};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// The signal with the reward.
pub(super) const SIGNAL: &str = "reward";

/// Traces of both neurons, times a reward in the step after.
///
/// The reward is `reward`, a [signal](crate::module::Context::give_signal).
///
/// The eligibility of the step before is kept as the values of its two neurons, and needs no memory for each synapse
/// and sample.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[doc(alias = "MSTDPLearner")]
pub struct RewardStdp {
    /// The time constant of the presynaptic trace; a step keeps exp(−1/τ).
    #[schema(default = 2.0, above = 0.0, unit = "steps")]
    pub tau_pre: f64,
    /// The time constant of the postsynaptic trace; a step keeps exp(−1/τ).
    #[schema(default = 2.0, above = 0.0, unit = "steps")]
    pub tau_post: f64,
    /// The function of the weight in depression, at a presynaptic spike.
    #[schema(default = CLAMPED)]
    pub f_pre: WeightFunction,
    /// The function of the weight in potentiation, at a postsynaptic spike.
    #[schema(default = CLAMPED)]
    pub f_post: WeightFunction,
    /// The factor of the change.
    #[schema(default = 1.0)]
    pub scale: f64,
}

impl RewardStdp {
    /// The eligibility of the step before; 0 at the first step.
    fn eligibility_before(&self, r: &RuleScope) -> Expr {
        let pre_now = r.pre_trace("trace_pre") * (-1.0 / self.tau_pre).exp() + r.pre();
        let post_now = r.post_trace("trace_post") * (-1.0 / self.tau_post).exp() + r.post();
        let before = [
            r.post_trace("post_before") * r.pre_trace("trace_pre"),
            r.post_trace("trace_post") * r.pre_trace("pre_before"),
        ];
        r.set_pre_trace("trace_pre", pre_now);
        r.set_post_trace("trace_post", post_now);
        r.set_pre_trace("pre_before", r.pre());
        r.set_post_trace("post_before", r.post());
        let weight = r.synapse_trace("weight_before");
        r.set_synapse_trace("weight_before", r.weight());
        let [up, down] = before;
        self.f_post.of(&weight) * up - self.f_pre.of(&weight) * down
    }
}

impl LearningRule for RewardStdp {
    fn change(&self, r: &RuleScope) -> Expr {
        self.scale * (r.signal(SIGNAL) * self.eligibility_before(r))
    }
}

/// [`RewardStdp`] with an eligibility trace `trace_e` of each synapse, which pays for spikes of earlier steps.
///
/// With one reward for all samples the trace is summed over the samples; with a reward for each sample there is one for
/// each.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[doc(alias = "MSTDPETLearner")]
pub struct RewardTraceStdp {
    /// The eligibility.
    #[schema(flatten)]
    pub stdp: RewardStdp,
    /// The time constant of the eligibility trace.
    #[schema(default = 10.0, above = 0.0, unit = "steps")]
    pub tau_trace: f64,
}

impl LearningRule for RewardTraceStdp {
    fn change(&self, r: &RuleScope) -> Expr {
        let kept = r.synapse_trace("trace_e") * (-1.0 / self.tau_trace).exp();
        let trace = kept + self.stdp.eligibility_before(r) / self.tau_trace;
        let trace = r.set_synapse_trace("trace_e", trace);
        self.stdp.scale * (r.signal(SIGNAL) * trace)
    }
}
