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
use crate::domain::{Constant, Domain};
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// STDP with a trace of each neuron.
///
/// | field | unit | default | |
/// |---|---|---|---|
/// | `tau_pre`, `tau_post` | steps | 2 | time constants of the traces, ≥ 1; a step keeps 1 − 1/τ |
/// | `f_pre`, `f_post` | | clamp to −1 … 1 | functions of the weight in depression and potentiation |
/// | `scale` | | 1 | factor of the change |
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[doc(alias = "STDPLearner")]
pub struct Stdp {
    /// The time constant of the presynaptic trace.
    pub tau_pre: f64,
    /// The time constant of the postsynaptic trace.
    pub tau_post: f64,
    /// The function of the weight in depression, at a presynaptic spike.
    pub f_pre: WeightFunction,
    /// The function of the weight in potentiation, at a postsynaptic spike.
    pub f_post: WeightFunction,
    /// The factor of the change.
    pub scale: f64,
}

/// The default functions of the weight.
pub(super) const CLAMPED: WeightFunction = WeightFunction::Clamp { lo: -1.0, hi: 1.0 };

impl Default for Stdp {
    fn default() -> Self {
        Self {
            tau_pre: 2.0,
            tau_post: 2.0,
            f_pre: CLAMPED,
            f_post: CLAMPED,
            scale: 1.0,
        }
    }
}

impl LearningRule for Stdp {
    fn name(&self) -> &'static str {
        "stdp"
    }

    fn change(&self, r: &RuleScope) -> Expr {
        let decayed = |trace: Expr, tau: f64| &trace - &trace / tau;
        let (p, q) = (r.pre_trace("trace_pre"), r.post_trace("trace_post"));
        let p = r.set_pre_trace("trace_pre", decayed(p, self.tau_pre) + r.pre());
        let q = r.set_post_trace("trace_post", decayed(q, self.tau_post) + r.post());
        let (up, down) = (self.f_post.of(&r.weight()), self.f_pre.of(&r.weight()));
        self.scale * (up * (r.post() * p) - down * (q * r.pre()))
    }

    fn constants(&self) -> Vec<Constant> {
        let tau = Domain::at_least(1.0);
        vec![
            Constant::new("tau_pre", self.tau_pre, tau),
            Constant::new("tau_post", self.tau_post, tau),
            Constant::new("scale", self.scale, Domain::FINITE),
        ]
    }
}
