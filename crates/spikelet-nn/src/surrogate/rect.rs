//! Rectangle.

use super::Surrogate;
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Rectangle of area 1.
///
/// g(x) = clamp(αx + ½, 0, 1), g′(x) = α if |x| < ½/α, else 0
///
/// Source: Wu et al., Frontiers in Neuroscience 12:331, 2018.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct Rect {
    /// Height; its width is 1/α.
    #[schema(default = 1.0, above = 0.0)]
    pub alpha: f64,
}

impl Surrogate for Rect {
    fn derivative(&self, x: &Expr) -> Expr {
        Expr::select(x.abs().lt(0.5 / self.alpha), self.alpha, 0.0)
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        Some((x * self.alpha + 0.5).clamp(0.0, 1.0))
    }
}
