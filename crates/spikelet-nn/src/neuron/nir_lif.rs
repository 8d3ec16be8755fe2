//! NIR's leaky integrate-and-fire (`LIF`).
//!
//! τ dV/dt = (v_leak − V) + r·X, discretized: H[t] = V[t−1] + a·((v_leak − V[t−1]) + r·X[t]), a = 1/τ or 1 − e^(−1/τ)
//!
//! S[t] = 1 where H[t] > v_threshold; V[t] = v_reset there
//!
//! Source: Pedersen et al., Neuromorphic intermediate representation: a unified instruction set for interoperable
//! brain-inspired computing, Nature Communications 15:8122, 2024.

use super::common::base;
use super::reset_delay;
use super::{Common, Discretization, Neuron, Scope, State};
use crate::domain::{Domain, domains};
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// NIR's leaky integrate-and-fire neuron.
///
/// | field | unit | default | |
/// |---|---|---|---|
/// | `tau` | steps | 2 | membrane time constant, > 0 |
/// | `r` | | 1 | resistance: the factor of X |
/// | `v_leak` | | 0 | potential without input |
/// | `discretization` | | euler_seq | euler, euler_seq, exact or exact_seq |
/// | `strict` | | true | whether H = v_threshold causes no spike |
/// | `reset_delay` | | false | whether the reset comes one step after the spike: `H[t]` is reset where `S[t−1]` = 1, and `V[t]` = `H[t]` |
///
/// V starts at 0. Without `v_reset`, v_threshold is subtracted.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let lif = NirLif { tau: 2.0, ..NirLif::default() };
/// assert_eq!(lif.run(&[[2.0], [2.0]])?, [[0.0], [1.0]]); // H = 1, 1.5
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NirLif {
    /// Membrane time constant, in steps.
    pub tau: f64,
    /// Resistance.
    pub r: f64,
    /// Potential without input.
    pub v_leak: f64,
    /// The way from one step to the next.
    pub discretization: Discretization,
    /// Whether the reset comes one step after the spike, as with snnTorch's `reset_delay=True`.
    pub reset_delay: bool,
    /// Threshold, reset, surrogate.
    #[serde(flatten)]
    pub common: Common,
}

impl Default for NirLif {
    fn default() -> Self {
        Self {
            tau: 2.0,
            r: 1.0,
            v_leak: 0.0,
            discretization: Discretization::default(),
            reset_delay: false,
            common: Common {
                strict: true,
                ..Common::default()
            },
        }
    }
}

impl Neuron for NirLif {
    base!("nir_lif");
    domains! { tau: Domain::above(0.0) }

    fn states(&self) -> Vec<State> {
        reset_delay::states(self.reset_delay, &["v"])
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let v = n.state("v");
        let rate = self.discretization.rate(&n.constant("tau", self.tau));
        let leak = n.constant("v_leak", self.v_leak) - &v;
        let charged = &v + rate * (leak + n.constant("r", self.r) * x);
        reset_delay::charge(n, self.reset_delay, charged)
    }

    fn reset(&self, n: &Scope, h: &Expr, s: &Expr) -> Expr {
        reset_delay::reset(n, self.reset_delay, h, s)
    }
}
