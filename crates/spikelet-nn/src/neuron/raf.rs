//! Resonate-and-fire.

use super::{Common, Neuron, Scope, State};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Resonate-and-fire.
///
/// dz/dt = (b + iω)·z + X for a complex z = u + iv. Discretized with a step of dt:
///
/// `u[t] = e^(b·dt)·(u[t−1]·cos(ω·dt) − V[t−1]·sin(ω·dt)) + X[t]`
///
/// `H[t] = e^(b·dt)·(u[t−1]·sin(ω·dt) + V[t−1]·cos(ω·dt))`
///
/// It responds to inputs with a frequency near ω. Only V is reset.
///
/// Source: Izhikevich, Resonate-and-fire neurons, Neural Networks 14:883, 2001; the discretization is SpikingJelly's.
///
/// ```
/// use spikelet_nn::neuron::Raf;
/// use spikelet_nn::prelude::*;
/// let spikes = Raf::new(-0.2, 1.0).run(&[[1.6], [0.0]])?; // u = 1.6, then H = 1.10
/// assert_eq!(spikes, [[0.0], [1.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
pub struct Raf {
    /// Damping.
    #[schema(default = -0.2, below = 0.0, unit = "1/time")]
    pub b: f64,
    /// Angular frequency.
    #[schema(default = 1.0, unit = "1/time")]
    pub omega: f64,
    /// Length of a step.
    #[schema(default = 1.0, above = 0.0, unit = "time")]
    pub dt: f64,
    /// Threshold, reset, surrogate.
    #[schema(flatten)]
    pub common: Common,
}

impl Raf {
    /// A neuron with this damping and angular frequency, and steps of length 1.
    pub fn new(b: f64, omega: f64) -> Self {
        Self {
            b,
            omega,
            ..Self::default()
        }
    }
}

impl Neuron for Raf {
    fn states(&self) -> Vec<State> {
        vec![State::v(&self.common), State::new("u", 0.0)]
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let (v, u, dt) = (n.state("v"), n.state("u"), n.constant("dt", self.dt));
        let kept = (n.constant("b", self.b) * &dt).exp();
        let angle = n.constant("omega", self.omega) * dt;
        let (sin, cos) = (angle.sin(), angle.cos());
        n.set_state("u", &kept * (&u * &cos - &v * &sin) + x);
        kept * (u * sin + v * cos)
    }
}
