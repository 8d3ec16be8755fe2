//! Izhikevich's neuron: quadratic integrate-and-fire with an adaptation current.

use super::{Common, Neuron, Scope, State};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Quadratic integrate-and-fire with an adaptation current.
///
/// `H[t] = V[t−1] + (X[t] + a₀·(V[t−1] − v_rest)·(V[t−1] − v_c) − W[t−1]) / τ`
///
/// `W[t] = W[t−1] + (a·(H[t] − v_rest) − W[t−1]) / τ_w + b·S[t]`
///
/// Source: Izhikevich, Simple model of spiking neurons, IEEE Transactions on Neural Networks 14:1569, 2003; the form
/// and the discretization are SpikingJelly's.
///
/// ```
/// use spikelet_nn::neuron::Izhikevich;
/// use spikelet_nn::prelude::*;
/// let adapting = Izhikevich { b: 0.5, ..Izhikevich::default() };
/// assert_eq!(adapting.run(&[[2.1], [2.1], [2.1]])?, [[1.0], [0.0], [1.0]]);
/// assert_eq!(Izhikevich::default().run(&[[2.1], [2.1], [2.1]])?, [[1.0]; 3]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[doc(alias = "IzhikevichNode")]
pub struct Izhikevich {
    /// Membrane time constant.
    #[schema(default = 2.0, above = 1.0, unit = "steps")]
    pub tau: f64,
    /// Critical potential.
    #[schema(default = 0.8)]
    pub v_c: f64,
    /// Strength of the quadratic term.
    #[schema(default = 1.0, above = 0.0)]
    pub a0: f64,
    /// Resting potential.
    #[schema(default = -0.1)]
    pub v_rest: f64,
    /// The adaptation current before the first step.
    pub w_rest: f64,
    /// Time constant of the adaptation.
    #[schema(default = 2.0, above = 1.0, unit = "steps")]
    pub tau_w: f64,
    /// Coupling of the adaptation to the potential.
    pub a: f64,
    /// Increment of the adaptation at each spike, whatever `reset_grad` is.
    pub b: f64,
    /// Threshold, reset, surrogate.
    #[schema(flatten)]
    pub common: Common,
}

impl Neuron for Izhikevich {
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
