//! Leaky integrator with an exact decay, which never fires: for the readout of classes.

use super::sparch_lif::{alpha_limits, clamped};
use super::{Common, Neuron, Readout, Scope, State};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Leaky integrator with an exact decay that never fires: for readouts.
///
/// `V[t] = α·V[t−1] + (1 − α)·X[t]`; the output is V, or one value for all time steps.
///
/// A trained decay factor for each class is clamped ([`Trainable::clamp`](super::Trainable::clamp)), or has a time
/// constant as its parameter ([`Trainable::decay`](super::Trainable::decay)).
///
/// Source: the output layers of Bittar & Garner, Frontiers in Neuroscience 16:865897, 2022 (sparch), of Baronig et
/// al., Nature Communications 16:5776, 2025, and of Yin, Corradi & Bohté, Nature Machine Intelligence 3:905, 2021.
///
/// ```
/// use spikelet_nn::neuron::LeakyIntegrator;
/// use spikelet_nn::prelude::*;
/// let v = LeakyIntegrator { alpha: 0.5, ..LeakyIntegrator::default() }.run(&[[0.5], [0.75]])?;
/// assert_eq!(v, [[0.25], [0.5]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[schema(name = "leaky_integrator")]
#[doc(alias = "LI")]
pub struct LeakyIntegrator {
    /// Decay factor; e^(−1/τ) of a time constant τ in steps.
    #[schema(default = (-1.0_f64 / 15.0).exp(), from = 0.0, to = 1.0)]
    pub alpha: f64,
    /// Whether V starts from random values on [0, 1).
    pub random_start: bool,
    /// Trainable constants and readout.
    #[schema(flatten, default = Common { fires: false, ..Common::default() })]
    pub common: Common,
}

impl LeakyIntegrator {
    /// A leaky integrator with a time constant of `tau` steps.
    pub fn new(tau: f64) -> Self {
        Self {
            alpha: (-1.0 / tau).exp(),
            ..Self::default()
        }
    }

    /// The readout of sparch: the sum of the softmax over time, with a trained decay factor for each class, uniform on
    /// e^(−1/5) … e^(−1/25) before training and clamped to these, and a random start.
    pub fn sparch() -> Self {
        let alpha = ("alpha".to_string(), clamped(alpha_limits()));
        Self {
            alpha: 0.9,
            random_start: true,
            common: Common {
                fires: false,
                readout: Some(Readout::SoftmaxSum),
                trainable: [alpha].into(),
                ..Common::default()
            },
        }
    }
}

impl Neuron for LeakyIntegrator {
    fn states(&self) -> Vec<State> {
        vec![State::new("v", 0.0).random(self.random_start)]
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let alpha = n.constant("alpha", self.alpha);
        &alpha * n.state("v") + (1.0 - &alpha) * x
    }
}
