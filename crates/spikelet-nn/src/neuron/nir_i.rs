//! NIR's integrator (`I`).
//!
//! dV/dt = r·X, with a step of one: V[t] = V[t−1] + r·X[t]; the output is V.
//!
//! Source: Pedersen et al., Neuromorphic intermediate representation: a unified instruction set for interoperable
//! brain-inspired computing, Nature Communications 15:8122, 2024.

use super::common::base;
use super::readout::membrane;
use super::{Common, Neuron, Readout, Scope, State};
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// NIR's integrator, which never fires.
///
/// | field | unit | default | |
/// |---|---|---|---|
/// | `r` | 1/steps | 1 | resistance: the factor of X; that of NIR, times the length of a step |
/// | `readout` | | none | last, max, max_abs or mean over time; none: every step is returned |
///
/// V starts at 0.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let neuron = NirI { r: 0.5, ..NirI::default() };
/// assert_eq!(neuron.run(&[[2.0], [0.5]])?, [[1.0], [1.25]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NirI {
    /// Resistance, times the length of a step.
    pub r: f64,
    /// The readout of the membrane over time.
    pub readout: Option<Readout>,
    /// Trainable constants; threshold, reset and surrogate are unused.
    #[serde(flatten)]
    pub common: Common,
}

impl Default for NirI {
    fn default() -> Self {
        Self {
            r: 1.0,
            readout: None,
            common: Common::default(),
        }
    }
}

impl Neuron for NirI {
    base!("nir_i");
    membrane!();

    fn states(&self) -> Vec<State> {
        vec![State::new("v", 0.0)]
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        n.state("v") + n.constant("r", self.r) * x
    }
}
