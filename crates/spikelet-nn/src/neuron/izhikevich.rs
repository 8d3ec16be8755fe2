//! Izhikevich's neuron: quadratic integrate-and-fire with an adaptation current.
//!
//! H[t] = V[t−1] + (X[t] + a₀·(V[t−1] − v_rest)·(V[t−1] − v_c) − W[t−1]) / τ
//!
//! W[t] = W[t−1] + (a·(H[t] − v_rest) − W[t−1]) / τ_w + b·S[t]
//!
//! Source: Izhikevich, Simple model of spiking neurons, IEEE Transactions on Neural Networks
//! 14:1569, 2003; the form and the discretization are SpikingJelly's.

use super::common::base;
use super::{Common, Neuron, Scope, State};
use crate::domain::{Domain, domains};
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// Izhikevich's neuron.
///
/// | field | unit | default | |
/// |---|---|---|---|
/// | `tau` | steps | 2 | membrane time constant, > 1 |
/// | `v_c` | | 0.8 | critical potential |
/// | `a0` | | 1 | strength of the quadratic term, > 0 |
/// | `v_rest` | | −0.1 | resting potential |
/// | `w_rest` | | 0 | the adaptation current before the first step |
/// | `tau_w` | steps | 2 | time constant of the adaptation, > 1 |
/// | `a` | | 0 | coupling of the adaptation to the potential |
/// | `b` | | 0 | increment of the adaptation at each spike, whatever `reset_grad` is |
///
/// ```
/// use spikelet_nn::prelude::*;
/// let adapting = Izhikevich { b: 0.5, ..Izhikevich::default() };
/// assert_eq!(adapting.run(&[[2.1], [2.1], [2.1]])?, [[1.0], [0.0], [1.0]]);
/// assert_eq!(Izhikevich::default().run(&[[2.1], [2.1], [2.1]])?, [[1.0]; 3]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[doc(alias = "IzhikevichNode")]
pub struct Izhikevich {
    /// Membrane time constant, in steps.
    pub tau: f64,
    /// Critical potential.
    pub v_c: f64,
    /// Strength of the quadratic term.
    pub a0: f64,
    /// Resting potential.
    pub v_rest: f64,
    /// The adaptation current before the first step.
    pub w_rest: f64,
    /// Time constant of the adaptation, in steps.
    pub tau_w: f64,
    /// Coupling of the adaptation to the potential.
    pub a: f64,
    /// Increment of the adaptation at each spike.
    pub b: f64,
    /// Threshold, reset, surrogate.
    #[serde(flatten)]
    pub common: Common,
}

impl Default for Izhikevich {
    fn default() -> Self {
        Self {
            tau: 2.0,
            v_c: 0.8,
            a0: 1.0,
            v_rest: -0.1,
            w_rest: 0.0,
            tau_w: 2.0,
            a: 0.0,
            b: 0.0,
            common: Common::default(),
        }
    }
}

impl Neuron for Izhikevich {
    base!("izhikevich");
    domains! { tau: Domain::above(1.0), a0: Domain::above(0.0), tau_w: Domain::above(1.0) }

    fn states(&self) -> Vec<State> {
        vec![State::v(&self.common), State::new("w", self.w_rest)]
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let (v, v_rest) = (n.state("v"), n.constant("v_rest", self.v_rest));
        let (v_c, a0) = (n.constant("v_c", self.v_c), n.constant("a0", self.a0));
        let drive = x + a0 * (&v - v_rest) * (&v - v_c) - n.state("w");
        v + drive / n.constant("tau", self.tau)
    }

    fn reset(&self, n: &Scope, h: &Expr, s: &Expr) -> Expr {
        let (w, v_rest) = (n.state("w"), n.constant("v_rest", self.v_rest));
        let (a, b) = (n.constant("a", self.a), n.constant("b", self.b));
        let towards = a * (h - v_rest) - &w;
        let followed = w + towards / n.constant("tau_w", self.tau_w);
        n.set_state("w", followed + b * s);
        n.reset(h, s)
    }
}
