//! Balanced resonate-and-fire: a resonator that its discretization keeps stable, with a refractory
//! threshold in place of a reset.
//!
//! b[t] = p(ω) − b′ − q[t−1], where p(ω) = (√(1 − (ω·dt)²) − 1)/dt is the damping at which the
//! discretization neither grows nor falls
//!
//! H[t] = V[t−1] + dt·(b[t]·V[t−1] − ω·u[t−1] + X[t]), u[t] = u[t−1] + dt·(ω·V[t−1] + b[t]·u[t−1])
//!
//! S[t] = Θ(H[t] − v_threshold − q[t−1]), q[t] = γ·q[t−1] + S[t], V[t] = H[t]
//!
//! Source: Higuchi et al., Balanced resonate-and-fire neurons, ICML 2024.

use super::common::base;
use super::{Common, Neuron, Scope, State};
use crate::domain::{Constant, Domain};
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// Balanced resonate-and-fire neuron.
///
/// | field | unit | default | |
/// |---|---|---|---|
/// | `omega` | 1/time | 10 | angular frequency, below 1/dt |
/// | `b_offset` | 1/time | 1 | b′, damping beyond balance, > 0 |
/// | `gamma` | | 0.9 | decay factor of the refractoriness |
/// | `dt` | time | 0.01 | length of a step |
///
/// ```
/// use spikelet_nn::prelude::*;
/// let spikes = Brf::default().run(&[[120.0], [120.0], [0.0]])?; // H = 1.2, 2.37 against 2
/// assert_eq!(spikes, [[1.0], [1.0], [0.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Brf {
    /// Angular frequency.
    pub omega: f64,
    /// Damping beyond balance.
    pub b_offset: f64,
    /// Decay factor of the refractoriness.
    pub gamma: f64,
    /// Length of a step.
    pub dt: f64,
    /// Threshold, surrogate.
    #[serde(flatten)]
    pub common: Common,
}

impl Default for Brf {
    fn default() -> Self {
        Self {
            omega: 10.0,
            b_offset: 1.0,
            gamma: 0.9,
            dt: 0.01,
            common: Common::default(),
        }
    }
}

impl Neuron for Brf {
    base!("brf");

    fn domains(&self) -> Vec<Constant> {
        let stable = Domain::at_least(0.0).below(1.0 / self.dt);
        vec![
            Constant::new("dt", self.dt, Domain::above(0.0)),
            Constant::new("omega", self.omega, stable),
            Constant::new("b_offset", self.b_offset, Domain::above(0.0)),
            Constant::new("gamma", self.gamma, Domain::at_least(0.0).at_most(1.0)),
        ]
    }

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
