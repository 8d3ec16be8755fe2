//! Spike-timing-dependent plasticity (STDP) with traces, in SpikingJelly's convention.
//!
//! p[t] = p[t−1] − p[t−1]/τ_pre + pre[t],  q[t] = q[t−1] − q[t−1]/τ_post + post[t]
//! ΔW[t] = scale · (f_post(W) · Σ_n post[t] p[t] − f_pre(W) · Σ_n q[t] pre[t])
//!
//! Traces grow before they are read: spikes of both neurons in one step count in both terms.
//!
//! Source: SpikingJelly 2.0.0, `activation_based.learning.STDPLearner`; Morrison, Diesmann and Gerstner,
//! Phenomenological models of synaptic plasticity based on spike timing, Biological Cybernetics 2008.

use super::{LearningRule, RuleScope, WeightFunction};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Traces of both neurons; spikes of one step pair.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[doc(alias = "STDPLearner")]
pub struct Stdp {
    /// The time constant of the presynaptic trace; a step keeps 1 − 1/τ.
    #[schema(default = 2.0, at_least = 1.0, unit = "steps")]
    pub tau_pre: f64,
    /// The time constant of the postsynaptic trace; a step keeps 1 − 1/τ.
    #[schema(default = 2.0, at_least = 1.0, unit = "steps")]
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

/// The default functions of the weight.
pub(super) const CLAMPED: WeightFunction = WeightFunction::Clamp { lo: -1.0, hi: 1.0 };

impl LearningRule for Stdp {
    fn change(&self, r: &RuleScope) -> Expr {
        let decayed = |trace: Expr, tau: f64| &trace - &trace / tau;
        let (p, q) = (r.pre_trace("trace_pre"), r.post_trace("trace_post"));
        let p = r.set_pre_trace("trace_pre", decayed(p, self.tau_pre) + r.pre());
        let q = r.set_post_trace("trace_post", decayed(q, self.tau_post) + r.post());
        let (up, down) = (self.f_post.of(&r.weight()), self.f_pre.of(&r.weight()));
        self.scale * (up * (r.post() * p) - down * (q * r.pre()))
    }
}
