//! NIR's integrate-and-fire (`IF`).
//!
//! dV/dt = r·X, with a step of one: H[t] = V[t−1] + r·X[t]
//!
//! S[t] = 1 where H[t] > v_threshold; V[t] = v_reset there
//!
//! Source: Pedersen et al., Neuromorphic intermediate representation: a unified instruction set for interoperable
//! brain-inspired computing, Nature Communications 15:8122, 2024.

use super::common::base;
use super::reset_delay;
use super::{Common, Neuron, Scope, State};
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// NIR's integrate-and-fire neuron.
///
/// | field | unit | default | |
/// |---|---|---|---|
/// | `r` | 1/steps | 1 | resistance: the factor of X; that of NIR, times the length of a step |
/// | `strict` | | true | whether H = v_threshold causes no spike |
/// | `reset_delay` | | false | whether the reset comes one step after the spike: `H[t]` is reset where `S[t−1]` = 1, and `V[t]` = `H[t]` |
///
/// V starts at 0. Without `v_reset`, v_threshold is subtracted.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let neuron = NirIf { r: 0.5, ..NirIf::default() };
/// assert_eq!(neuron.run(&[[2.0], [0.5]])?, [[0.0], [1.0]]); // H = 1, 1.25
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NirIf {
    /// Resistance, times the length of a step.
    pub r: f64,
    /// Whether the reset comes one step after the spike, as with snnTorch's `reset_delay=True`.
    pub reset_delay: bool,
    /// Threshold, reset, surrogate.
    #[serde(flatten)]
    pub common: Common,
}

impl Default for NirIf {
    fn default() -> Self {
        Self {
            r: 1.0,
            reset_delay: false,
            common: Common {
                strict: true,
                ..Common::default()
            },
        }
    }
}

impl Neuron for NirIf {
    base!("nir_if");

    fn states(&self) -> Vec<State> {
        reset_delay::states(self.reset_delay, &["v"])
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let charged = n.state("v") + n.constant("r", self.r) * x;
        reset_delay::charge(n, self.reset_delay, charged)
    }

    fn reset(&self, n: &Scope, h: &Expr, s: &Expr) -> Expr {
        reset_delay::reset(n, self.reset_delay, h, s)
    }
}
