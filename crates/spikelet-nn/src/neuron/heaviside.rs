//! A threshold without a state: NIR's `Threshold`.

use super::{Common, Neuron, Scope, State};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Threshold without a state.
///
/// `H[t] = X[t]`, `S[t] = 1` where `H[t] > v_threshold`
///
/// Source: McCulloch & Pitts, A logical calculus of the ideas immanent in nervous activity, Bulletin of Mathematical
/// Biophysics 5:115, 1943.
///
/// ```
/// use spikelet_nn::neuron::Heaviside;
/// use spikelet_nn::prelude::*;
/// assert_eq!(Heaviside::default().run(&[[1.0], [1.5]])?, [[0.0], [1.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
pub struct Heaviside {
    /// Threshold, surrogate.
    #[schema(flatten, default = Common { strict: true, ..Common::default() })]
    pub common: Common,
}

impl Neuron for Heaviside {
    fn states(&self) -> Vec<State> {
        vec![]
    }

    fn charge(&self, _n: &Scope, x: Expr) -> Expr {
        x
    }
}
