//! Pair and triplet spike-timing-dependent plasticity with exponential traces.
//!
//! A step first decays all traces by exp(−dt/τ), then changes the weight, then adds its spikes to the traces:
//!
//! ΔW = post · r1 · (A2⁺ + A3⁺ · o2) − pre · o1 · (A2⁻ + A3⁻ · r2)
//!
//! with r1 (τ_plus) and r2 (τ_x) of the presynaptic, o1 (τ_minus) and o2 (τ_y) of the postsynaptic neuron. The pair rule
//! has A3⁺ = A3⁻ = 0. Spikes of both neurons in one step do not pair.
//!
//! Source: Pfister and Gerstner, Triplets of spikes in a model of spike timing-dependent plasticity, Journal of
//! Neuroscience 2006; Morrison, Diesmann and Gerstner, Biological Cybernetics 2008.

use super::{LearningRule, RuleScope};
use crate::DefinitionError;
use crate::domain::{Constant, Domain};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Which spikes of a neuron interact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Schema)]
pub enum Interaction {
    /// All earlier spikes: a spike adds 1 to the trace.
    #[default]
    All,
    /// The last spike: a spike sets the trace to 1.
    Nearest,
}

/// How weights stay between their bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Schema)]
pub enum Bound {
    /// They are clamped.
    #[default]
    Hard,
    /// Potentiation is multiplied by w_max − W, depression by W − w_min.
    Soft,
}

/// Pairs of spikes, exponential traces; spikes of one step do not pair.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[schema(check = Self::check)]
pub struct PairStdp {
    /// The duration of a step.
    #[schema(default = 1.0, above = 0.0, unit = "ms")]
    pub dt: f64,
    /// The time constant of the presynaptic trace r1.
    #[schema(default = 16.8, above = 0.0, unit = "ms")]
    pub tau_plus: f64,
    /// The time constant of the postsynaptic trace o1.
    #[schema(default = 33.7, above = 0.0, unit = "ms")]
    pub tau_minus: f64,
    /// The amplitude of potentiation.
    #[schema(default = 0.01)]
    pub a2_plus: f64,
    /// The amplitude of depression.
    #[schema(default = 0.01)]
    pub a2_minus: f64,
    /// The lower bound of the weight.
    pub w_min: f64,
    /// The upper bound of the weight.
    #[schema(default = 1.0)]
    pub w_max: f64,
    /// How weights stay between their bounds.
    pub bound: Bound,
    /// Which spikes interact.
    pub interaction: Interaction,
}

impl PairStdp {
    /// The bounds of the weight are in order.
    fn check(&self) -> Result<(), DefinitionError> {
        let above = Domain::above(self.w_min);
        Constant::new("w_max", self.w_max, above).check(&format!("the rule `{}`", self.name()))
    }

    fn decay(&self, tau: f64) -> f64 {
        (-self.dt / tau).exp()
    }

    /// A decayed trace with a spike.
    fn grown(&self, decayed: &Expr, spike: &Expr) -> Expr {
        match self.interaction {
            Interaction::All => decayed + spike,
            Interaction::Nearest => Expr::select(spike.gt(0.0), 1.0, decayed),
        }
    }

    /// The decayed traces r1 and o1 of a step.
    fn traces(&self, r: &RuleScope) -> [Expr; 2] {
        let r1 = r.pre_trace("r1") * self.decay(self.tau_plus);
        let o1 = r.post_trace("o1") * self.decay(self.tau_minus);
        r.set_pre_trace("r1", self.grown(&r1, &r.pre()));
        r.set_post_trace("o1", self.grown(&o1, &r.post()));
        [r1, o1]
    }

    fn bounded(&self, r: &RuleScope, plus: Expr, minus: Expr) -> Expr {
        match self.bound {
            Bound::Hard => plus - minus,
            Bound::Soft => (self.w_max - r.weight()) * plus - (r.weight() - self.w_min) * minus,
        }
    }

    fn limits(&self) -> Option<[f64; 2]> {
        (self.bound == Bound::Hard).then_some([self.w_min, self.w_max])
    }
}

impl LearningRule for PairStdp {
    fn change(&self, r: &RuleScope) -> Expr {
        let [r1, o1] = self.traces(r);
        let plus = r.post() * (r1 * self.a2_plus);
        let minus = o1 * self.a2_minus * r.pre();
        self.bounded(r, plus, minus)
    }

    fn bounds(&self) -> Option<[f64; 2]> {
        self.limits()
    }
}

/// Pairs and triplets of spikes.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct TripletStdp {
    /// The pair rule.
    #[schema(flatten)]
    pub pair: PairStdp,
    /// The time constant of the presynaptic trace r2.
    #[schema(default = 101.0, above = 0.0, unit = "ms")]
    pub tau_x: f64,
    /// The time constant of the postsynaptic trace o2.
    #[schema(default = 125.0, above = 0.0, unit = "ms")]
    pub tau_y: f64,
    /// The amplitude of triplets in potentiation.
    #[schema(default = 0.01)]
    pub a3_plus: f64,
    /// The amplitude of triplets in depression.
    pub a3_minus: f64,
}

impl LearningRule for TripletStdp {
    fn change(&self, r: &RuleScope) -> Expr {
        let pair = &self.pair;
        let [r1, o1] = pair.traces(r);
        let r2 = r.pre_trace("r2") * pair.decay(self.tau_x);
        let o2 = r.post_trace("o2") * pair.decay(self.tau_y);
        r.set_pre_trace("r2", pair.grown(&r2, &r.pre()));
        r.set_post_trace("o2", pair.grown(&o2, &r.post()));
        let post = r.post() * (pair.a2_plus + self.a3_plus * o2);
        let pre = r.pre() * (pair.a2_minus + self.a3_minus * r2);
        pair.bounded(r, post * r1, o1 * pre)
    }

    fn bounds(&self) -> Option<[f64; 2]> {
        self.pair.limits()
    }
}
