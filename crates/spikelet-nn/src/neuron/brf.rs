//! Balanced resonate-and-fire: a resonator that its discretization keeps stable, with a refractory threshold in place
//! of a reset.

use super::{Common, Neuron, Scope, State};
use crate::DefinitionError;
use crate::domain::{Constant, Domain};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Balanced resonate-and-fire, with a refractory threshold in place of a reset.
///
/// `b[t] = p(ω) − b′ − q[t−1]`, where p(ω) = (√(1 − (ω·dt)²) − 1)/dt is the damping at which the discretization
/// neither grows nor falls
///
/// `H[t] = V[t−1] + dt·(b[t]·V[t−1] − ω·u[t−1] + X[t])`, `u[t] = u[t−1] + dt·(ω·V[t−1] + b[t]·u[t−1])`
///
/// `S[t] = Θ(H[t] − v_threshold − q[t−1])`, `q[t] = γ·q[t−1] + S[t]`, `V[t] = H[t]`
///
/// Source: Higuchi et al., Balanced resonate-and-fire neurons, ICML 2024.
///
/// ```
/// use spikelet_nn::neuron::Brf;
/// use spikelet_nn::prelude::*;
/// let spikes = Brf::default().run(&[[120.0], [120.0], [0.0]])?; // H = 1.2, 2.37 against 2
/// assert_eq!(spikes, [[1.0], [1.0], [0.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[schema(check = Self::check)]
pub struct Brf {
    /// Angular frequency, below 1/dt.
    #[schema(default = 10.0, at_least = 0.0, unit = "1/time")]
    pub omega: f64,
    /// Damping beyond balance.
    #[schema(default = 1.0, above = 0.0, unit = "1/time")]
    pub b_offset: f64,
    /// Decay factor of the refractoriness.
    #[schema(default = 0.9, from = 0.0, to = 1.0)]
    pub gamma: f64,
    /// Length of a step.
    #[schema(default = 0.01, above = 0.0, unit = "time")]
    pub dt: f64,
    /// Threshold, surrogate.
    #[schema(flatten)]
    pub common: Common,
}

impl Brf {
    /// The discretization is stable.
    fn check(&self) -> Result<(), DefinitionError> {
        let stable = Domain::at_least(0.0).below(1.0 / self.dt);
        Constant::new("omega", self.omega, stable).check("neuron `brf`")
    }
}

impl Neuron for Brf {
    fn states(&self) -> Vec<State> {
        let rest = ["u", "q"].map(|name| State::new(name, 0.0));
        [vec![State::v(&self.common)], rest.to_vec()].concat()
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let (v, u, dt) = (n.state("v"), n.state("u"), n.constant("dt", self.dt));
        let omega = n.constant("omega", self.omega);
        let turn = &omega * &dt;
        let balance = ((1.0 - &turn * &turn).sqrt() - 1.0) / &dt;
        let b = balance - n.constant("b_offset", self.b_offset) - n.state("q");
        n.set_state("u", &u + &dt * (&omega * &v + &b * &u));
        &v + dt * (b * &v - omega * u + x)
    }

    fn fire(&self, n: &Scope, h: &Expr) -> Expr {
        n.spike(h - n.v_threshold() - n.state("q"))
    }

    fn reset(&self, n: &Scope, h: &Expr, s: &Expr) -> Expr {
        n.set_state("q", n.constant("gamma", self.gamma) * n.state("q") + s);
        h.clone()
    }
}
