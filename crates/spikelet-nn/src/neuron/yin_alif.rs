//! Adaptive leaky integrate-and-fire of Yin et al.: the raised threshold is subtracted one step after the spike.

use super::{Common, Granularity, Neuron, Scope, State, Trainable};
use crate::surrogate::MultiGaussian;
use spikelet_expr::Expr;
use spikelet_schema::Schema;
use std::sync::Arc;

/// Adaptive leaky integrate-and-fire whose raised threshold is subtracted one step late.
///
/// `A[t] = ρ·A[t−1] + (1 − ρ)·S[t−1]` with ρ = e^(−dt/τ_adp), `B[t] = v_threshold + β·A[t]`
///
/// `H[t] = α·V[t−1] + (1 − α)·r_m·X[t] − B[t]·S[t−1]·dt` with α = e^(−dt/τ_m), `V[t] = H[t]`
///
/// `S[t] = Θ(H[t] − B[t])`, which is 0 at the threshold
///
/// Both time constants are trained for each neuron, without bounds. V starts from random values, uniform on [0, 1),
/// also in evaluation; A starts at v_threshold.
///
/// `v_threshold` is the threshold without adaptation.
///
/// Source: Yin, Corradi & Bohté, Accurate and efficient time-domain classification with adaptive spiking recurrent
/// neural networks, Nature Machine Intelligence 3:905, 2021.
///
/// ```
/// use spikelet_nn::neuron::YinAlif;
/// use spikelet_nn::prelude::*;
/// let mut alif = YinAlif { tau_m: 0.1, tau_adp: 2.0, ..YinAlif::default() }.v_threshold(0.5);
/// alif.common.trainable.clear();
/// // H = X − B·S, nearly
/// assert_eq!(alif.run(&[[1.5], [1.5], [1.9]])?, [[1.0], [0.0], [1.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[schema(name = "yin_alif")]
pub struct YinAlif {
    /// Membrane time constant (trained: normal with standard deviation 5 before training).
    #[schema(default = 20.0, above = 0.0, unit = "steps")]
    pub tau_m: f64,
    /// Time constant of the adaptation (trained: normal with standard deviation 10 before training).
    #[schema(default = 150.0, above = 0.0, unit = "steps")]
    pub tau_adp: f64,
    /// Increase of the threshold per unit of adaptation.
    #[schema(default = 1.8)]
    pub beta: f64,
    /// Membrane resistance.
    #[schema(default = 1.0)]
    pub r_m: f64,
    /// Length of a step.
    #[schema(default = 1.0, above = 0.0, unit = "steps")]
    pub dt: f64,
    /// Whether V starts from random values on [0, 1).
    #[schema(default = true)]
    pub random_start: bool,
    /// Threshold, surrogate.
    #[schema(flatten, default = trained())]
    pub common: Common,
}

/// The common constants with trained time constants.
fn trained() -> Common {
    let each = Trainable::new(Granularity::Neuron);
    let trainable = [
        ("tau_m", each.normal(20.0, 5.0)),
        ("tau_adp", each.normal(150.0, 10.0)),
    ];
    Common {
        v_threshold: 0.01,
        strict: true,
        surrogate: Arc::new(MultiGaussian::default()),
        trainable: trainable.map(|(name, how)| (name.to_string(), how)).into(),
        ..Common::default()
    }
}

impl YinAlif {
    /// A and B, the adaptation and the threshold of the current step.
    fn adaptation(&self, n: &Scope) -> [Expr; 2] {
        let kept = (-n.constant("dt", self.dt) / n.constant("tau_adp", self.tau_adp)).exp();
        let a = &kept * n.state("a") + (1.0 - &kept) * n.state("fired");
        let threshold = n.v_threshold() + n.constant("beta", self.beta) * &a;
        [a, threshold]
    }
}

impl Neuron for YinAlif {
    fn states(&self) -> Vec<State> {
        vec![
            State::new("v", 0.0).random(self.random_start),
            State::new("a", self.common.v_threshold),
            State::new("fired", 0.0),
        ]
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let [a, threshold] = self.adaptation(n);
        n.set_state("a", a);
        let dt = n.constant("dt", self.dt);
        let kept = (-&dt / n.constant("tau_m", self.tau_m)).exp();
        let input = (1.0 - &kept) * n.constant("r_m", self.r_m) * x;
        &kept * n.state("v") + input - threshold * n.state("fired") * dt
    }

    fn fire(&self, n: &Scope, h: &Expr) -> Expr {
        let [_, threshold] = self.adaptation(n);
        n.spike(h - threshold)
    }

    fn reset(&self, n: &Scope, h: &Expr, s: &Expr) -> Expr {
        n.set_state("fired", s.clone());
        h.clone()
    }
}
