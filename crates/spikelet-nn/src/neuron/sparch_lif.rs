//! Leaky integrate-and-fire of sparch: the soft reset comes one step after the spike and decays with the potential.

use super::{Common, Granularity, Neuron, Scope, State, Trainable};
use crate::surrogate::Boxcar;
use spikelet_expr::Expr;
use spikelet_schema::Schema;
use std::sync::Arc;

/// Leaky integrate-and-fire of sparch, with a late reset and a trained decay for each neuron.
///
/// `H[t] = α·(V[t−1] − S[t−1]) + (1 − α)·X[t]`, `V[t] = H[t]`
///
/// `S[t] = Θ(H[t] − v_threshold)`, which is 0 at the threshold
///
/// α is trained for each neuron and clamped to its limits in the forward pass. V and S start from random values,
/// uniform on [0, 1), also in evaluation.
///
/// Source: Bittar & Garner, A surrogate gradient spiking baseline for speech command recognition, Frontiers in
/// Neuroscience 16:865897, 2022.
///
/// ```
/// use spikelet_nn::neuron::SparchLif;
/// use spikelet_nn::prelude::*;
/// let mut lif = SparchLif { alpha: 0.5, ..SparchLif::default() };
/// lif.common.trainable.clear();
/// assert_eq!(lif.run(&[[2.1], [2.1], [0.0]])?, [[1.0], [1.0], [0.0]]); // H = 1.05, 1.075, 0.0375
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[schema(name = "sparch_lif")]
pub struct SparchLif {
    /// Decay factor of the potential; trained: uniform on e^(−1/5) … e^(−1/25) before training, clamped to these.
    #[schema(default = 0.9, from = 0.0, to = 1.0)]
    pub alpha: f64,
    /// Whether states start from random values on [0, 1).
    #[schema(default = true)]
    pub random_start: bool,
    /// Threshold, surrogate.
    #[schema(flatten, default = boxcar([("alpha", clamped(alpha_limits()))]))]
    pub common: Common,
}

/// The limits of the decay factor of the potential: time constants of 5 to 25 steps.
pub(crate) fn alpha_limits() -> [f64; 2] {
    [5.0, 25.0].map(|tau: f64| (-1.0 / tau).exp())
}

/// One value for each neuron, uniform between two limits before training and clamped to them in the forward pass.
pub(super) fn clamped([low, high]: [f64; 2]) -> Trainable {
    let each = Trainable::new(Granularity::Neuron);
    each.clamp(low, high).uniform(low, high)
}

/// Boxcar, and trainable constants.
pub(super) fn boxcar<const N: usize>(trainable: [(&str, Trainable); N]) -> Common {
    Common {
        surrogate: Arc::new(Boxcar::default()),
        strict: true,
        trainable: trainable.map(|(name, how)| (name.to_string(), how)).into(),
        ..Common::default()
    }
}

impl Neuron for SparchLif {
    fn states(&self) -> Vec<State> {
        let names = ["v", "fired"];
        names
            .map(|name| State::new(name, 0.0).random(self.random_start))
            .to_vec()
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let alpha = n.constant("alpha", self.alpha);
        &alpha * (n.state("v") - n.state("fired")) + (1.0 - &alpha) * x
    }

    fn reset(&self, n: &Scope, h: &Expr, s: &Expr) -> Expr {
        n.set_state("fired", s.clone());
        h.clone()
    }
}
