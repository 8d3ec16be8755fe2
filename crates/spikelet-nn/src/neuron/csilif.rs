//! C-SiLIF: a complex potential that turns and decays, as the states of a diagonal state space model do.

use super::sparch_lif::boxcar;
use super::{Common, Granularity, Neuron, Scope, State, Trainable};
use spikelet_expr::Expr;
use spikelet_schema::Schema;
use std::f64::consts::PI;

/// Complex potential that turns and decays, as in diagonal state space models.
///
/// r = exp(−e^(log_log_alpha)·e^(log_dt)), φ = alpha_img·e^(log_dt)
///
/// `P = V[t−1] − ½·S[t−1]`
///
/// `H[t] = r·cos φ·P − r·sin φ·I[t−1] + b·X[t]`, `I[t] = r·cos φ·I[t−1] + r·sin φ·P`, `V[t] = H[t]`
///
/// `S[t] = Θ(2·H[t] − v_threshold)`, which is 0 at the threshold: V and I are real and imaginary part of one of two
/// conjugate states
///
/// The four constants are trained for each neuron. V, I and S start from random values, uniform on [0, 1), also in
/// evaluation.
///
/// Source: Fabre et al., Structured state space model dynamics and parametrization for spiking neural networks,
/// arXiv:2506.06374, 2025.
///
/// ```
/// use spikelet_nn::neuron::CSiLifCell;
/// use spikelet_nn::prelude::*;
/// let mut csilif = CSiLifCell::default();
/// csilif.common.trainable.clear();
/// // H = 0.55, fires above ½; then P = 0.05 is turned
/// assert_eq!(csilif.run(&[[1.1], [0.0]])?, [[1.0], [0.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[schema(name = "csilif_cell")]
pub struct CSiLifCell {
    /// Logarithm of the decay rate; trained.
    #[schema(default = 0.5_f64.ln())]
    pub log_log_alpha: f64,
    /// Angular frequency; trained.
    #[schema(default = PI)]
    pub alpha_img: f64,
    /// Logarithm of the time step; trained: uniform on ln 0.01 … ln 0.5 before training.
    #[schema(default = 0.07_f64.ln())]
    pub log_dt: f64,
    /// Scale of the input; trained: uniform on 0 … 1 before training.
    #[schema(default = 0.5)]
    pub b: f64,
    /// Whether states start from random values on [0, 1).
    #[schema(default = true)]
    pub random_start: bool,
    /// Threshold, surrogate.
    #[schema(flatten, default = trained())]
    pub common: Common,
}

/// The common constants with all others trained.
fn trained() -> Common {
    let each = Trainable::new(Granularity::Neuron);
    boxcar([
        ("log_log_alpha", each),
        ("alpha_img", each),
        ("log_dt", each.uniform(0.01_f64.ln(), 0.5_f64.ln())),
        ("b", each.uniform(0.0, 1.0)),
    ])
}

impl Neuron for CSiLifCell {
    fn states(&self) -> Vec<State> {
        let names = ["v", "i", "fired"];
        names
            .map(|name| State::new(name, 0.0).random(self.random_start))
            .to_vec()
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let step = n.constant("log_dt", self.log_dt).exp();
        let rate = n.constant("log_log_alpha", self.log_log_alpha).exp();
        let r = (-(rate * &step)).exp();
        let angle = n.constant("alpha_img", self.alpha_img) * step;
        let (re, im) = (&r * angle.cos(), &r * angle.sin());
        let (p, i) = (n.state("v") - 0.5 * n.state("fired"), n.state("i"));
        n.set_state("i", &re * &i + &im * &p);
        re * p - im * i + n.constant("b", self.b) * x
    }

    fn fire(&self, n: &Scope, h: &Expr) -> Expr {
        n.spike(2.0 * h - n.v_threshold())
    }

    fn reset(&self, n: &Scope, h: &Expr, s: &Expr) -> Expr {
        n.set_state("fired", s.clone());
        h.clone()
    }
}
