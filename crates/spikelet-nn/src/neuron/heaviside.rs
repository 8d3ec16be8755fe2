//! A threshold without a state: NIR's `Threshold`.
//!
//! H[t] = X[t], S[t] = 1 where H[t] > v_threshold
//!
//! Source: McCulloch & Pitts, A logical calculus of the ideas immanent in nervous activity, Bulletin of Mathematical
//! Biophysics 5:115, 1943.

use super::common::base;
use super::{Common, Neuron, Scope, State};
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// A neuron without a state, which fires where its input exceeds the threshold.
///
/// | field | default | |
/// |---|---|---|
/// | `strict` | true | whether X = v_threshold causes no spike |
///
/// ```
/// use spikelet_nn::prelude::*;
/// assert_eq!(Heaviside::default().run(&[[1.0], [1.5]])?, [[0.0], [1.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Heaviside {
    /// Threshold, surrogate.
    #[serde(flatten)]
    pub common: Common,
}

impl Default for Heaviside {
    fn default() -> Self {
        Self {
            common: Common {
                strict: true,
                ..Common::default()
            },
        }
    }
}

impl Neuron for Heaviside {
    base!("heaviside");

    fn states(&self) -> Vec<State> {
        vec![]
    }

    fn charge(&self, _n: &Scope, x: Expr) -> Expr {
        x
    }
}
