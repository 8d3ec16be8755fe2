//! Current-based leaky integrate-and-fire.
//!
//! I[t] = I[t−1]·c_decay + X[t], H[t] = V[t−1]·v_decay + I[t]
//!
//! Source: Davies et al., Loihi: a neuromorphic manycore processor with on-chip learning, IEEE
//! Micro 38:82, 2018; the discretization and the defaults are SpikingJelly's.

use super::common::base;
use super::{Common, Neuron, Scope, State};
use crate::domain::{Domain, domains};
use crate::surrogate::Rect;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;
use std::sync::Arc;

/// Leaky integrate-and-fire neuron whose input is a current that decays too.
///
/// | field | default | |
/// |---|---|---|
/// | `c_decay` | 0.5 | decay factor of the current |
/// | `v_decay` | 0.75 | decay factor of the potential |
/// | `v_threshold` | 0.5 | |
/// | `surrogate` | rect, α = 1 | |
///
/// ```
/// use spikelet_nn::prelude::*;
/// let spikes = CubaLif::default().run(&[[0.3], [0.3]])?; // H = 0.3, 0.225 + 0.45
/// assert_eq!(spikes, [[0.0], [1.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[doc(alias = "CubaLIFNode")]
pub struct CubaLif {
    /// Decay factor of the current.
    pub c_decay: f64,
    /// Decay factor of the potential.
    pub v_decay: f64,
    /// Threshold, reset, surrogate.
    #[serde(flatten)]
    pub common: Common,
}

impl Default for CubaLif {
    fn default() -> Self {
        Self {
            c_decay: 0.5,
            v_decay: 0.75,
            common: Common {
                v_threshold: 0.5,
                surrogate: Arc::new(Rect::default()),
                ..Common::default()
            },
        }
    }
}

impl Neuron for CubaLif {
    base!("cuba_lif");
    domains! { c_decay: Domain::at_least(0.0).at_most(1.0), v_decay: Domain::at_least(0.0).at_most(1.0) }

    fn states(&self) -> Vec<State> {
        vec![State::v(&self.common), State::new("i", 0.0)]
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let current = n.state("i") * n.constant("c_decay", self.c_decay) + x;
        n.set_state("i", current.clone());
        n.state("v") * n.constant("v_decay", self.v_decay) + current
    }
}
