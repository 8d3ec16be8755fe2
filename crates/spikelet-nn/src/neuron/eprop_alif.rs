//! Adaptive leaky integrate-and-fire of the e-prop authors: a reset by subtraction one step after the spike, an
//! adaptive threshold, and a refractory period in which the neuron integrates.

use super::{Common, Neuron, ResetGrad, Scope, State};
use crate::surrogate::{PiecewiseQuadratic, Scaled};
use spikelet_expr::Expr;
use spikelet_schema::Schema;
use std::sync::Arc;

/// Steps are counted in f32, which represents all integers up to this one.
const MOST_SILENT: u32 = 1 << 24;

/// Adaptive leaky integrate-and-fire of e-prop, with a late reset and a refractory period.
///
/// `B[t] = ρ·B[t−1] + S[t−1]` with ρ = e^(−dt/τ_a)
///
/// `H[t] = α·V[t−1] + X[t] − v_threshold·S[t−1]` with α = e^(−dt/τ_m), `V[t] = H[t]`
///
/// `S[t] = Θ((H[t] − v_threshold − β·B[t]) / v_threshold)`, which is 0 at the threshold and for the steps after a
/// spike until `refractory` steps, with that of the spike, have passed
///
/// The surrogate's argument is divided by v_threshold, not by the raised threshold; the reset passes no gradient by
/// default.
///
/// `v_threshold` is the threshold without adaptation.
///
/// Source: Bellec et al., A solution to the learning dilemma for recurrent networks of spiking neurons, Nature
/// Communications 2020; the authors' program, `EligALIF`.
///
/// ```
/// use spikelet_nn::neuron::EpropAlif;
/// use spikelet_nn::prelude::*;
/// let neuron = EpropAlif { refractory: 3, ..EpropAlif::default() };
/// // The second and the third step are in the refractory period.
/// assert_eq!(neuron.run(&[[1.0], [1.0], [1.0], [9.0]])?, [[1.0], [0.0], [0.0], [1.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[schema(name = "eprop_alif")]
#[doc(alias = "EligALIF")]
pub struct EpropAlif {
    /// Membrane time constant.
    #[schema(default = 20.0, above = 0.0, unit = "steps")]
    pub tau_m: f64,
    /// Time constant of the adaptation.
    #[schema(default = 200.0, above = 0.0, unit = "steps")]
    pub tau_a: f64,
    /// Increase of the threshold per unit of adaptation; 0 for a neuron without adaptation.
    #[schema(default = 1.8)]
    pub beta: f64,
    /// Length of a step.
    #[schema(default = 1.0, above = 0.0, unit = "steps")]
    pub dt: f64,
    /// Refractory period, with the step of the spike; 0 for none.
    #[schema(default = 5, from = 0, to = MOST_SILENT, unit = "steps")]
    pub refractory: u32,
    /// Threshold, surrogate.
    #[schema(flatten, default = subtracting())]
    pub common: Common,
}

/// The common constants: a soft reset without a gradient, and a scaled triangle.
fn subtracting() -> Common {
    Common {
        v_threshold: 0.6,
        v_reset: None,
        strict: true,
        reset_grad: ResetGrad::Detach,
        surrogate: Arc::new(Scaled::new(PiecewiseQuadratic::default(), 0.3)),
        ..Common::default()
    }
}

impl EpropAlif {
    fn kept(&self, n: &Scope, tau: Expr) -> Expr {
        (-n.constant("dt", self.dt) / tau).exp()
    }

    /// The adaptation of the current step.
    fn adaptation(&self, n: &Scope) -> Expr {
        let rho = self.kept(n, n.constant("tau_a", self.tau_a));
        rho * n.state("b") + n.state("fired")
    }
}

impl Neuron for EpropAlif {
    fn states(&self) -> Vec<State> {
        vec![
            State::v(self.common()),
            State::new("b", 0.0),
            State::new("fired", 0.0),
            State::new("silent", 0.0),
        ]
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        n.set_state("b", self.adaptation(n));
        let alpha = self.kept(n, n.constant("tau_m", self.tau_m));
        let fired = match self.common.reset_grad {
            ResetGrad::Detach => n.state("fired").detach(),
            ResetGrad::Surrogate | ResetGrad::Soft => n.state("fired"),
        };
        alpha * n.state("v") + x - fired * n.v_threshold()
    }

    fn fire(&self, n: &Scope, h: &Expr) -> Expr {
        let raised = n.constant("beta", self.beta) * self.adaptation(n);
        let above = (h - n.v_threshold() - raised) / n.v_threshold();
        Expr::select(n.state("silent").gt(0.0), 0.0, n.spike(above))
    }

    fn reset(&self, n: &Scope, h: &Expr, s: &Expr) -> Expr {
        let left = (n.state("silent") - 1.0).max(0.0);
        let after = f64::from(self.refractory.saturating_sub(1));
        n.set_state("silent", Expr::select(s.ge(0.5), after, left).detach());
        n.set_state("fired", s.clone());
        h.clone()
    }
}
