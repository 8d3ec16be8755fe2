//! Poisson pass.

use super::Surrogate;
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Fires with probability x; the gradient passes unchanged.
///
/// g(x) = x, g′(x) = 1; forward 1 with probability x: fires if u ≤ x, with u uniform on (0, 1], drawn at every step.
/// Never for x ≤ 0, always for x ≥ 1.
///
/// Source: Bengio et al., Estimating or propagating gradients through stochastic neurons for conditional computation,
/// arXiv:1308.3432 (the straight-through estimator); SpikingJelly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
#[schema(name = "poisson_pass")]
pub struct PoissonPass {}

impl Surrogate for PoissonPass {
    fn derivative(&self, _x: &Expr) -> Expr {
        Expr::constant(1.0)
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        Some(x.clone())
    }

    fn forward(&self, x: &Expr, noise: &Expr) -> Expr {
        noise.le(x)
    }

    fn needs_noise(&self) -> bool {
        true
    }
}
