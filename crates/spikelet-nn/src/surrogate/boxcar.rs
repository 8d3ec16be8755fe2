//! Boxcar.

use super::Surrogate;
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Rectangle of area 1 with its upper edge.
///
/// g(x) = clamp(αx + ½, 0, 1), g′(x) = α if −½/α < x ≤ ½/α, else 0
///
/// It differs from the rectangle at one point: the upper edge belongs to the box.
///
/// Source: Bittar & Garner, A surrogate gradient spiking baseline for speech command recognition, Frontiers in
/// Neuroscience 16:865897, 2022 (sparch).
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct Boxcar {
    /// Height; its width is 1/α.
    #[schema(default = 1.0, above = 0.0)]
    pub alpha: f64,
}

impl Surrogate for Boxcar {
    fn derivative(&self, x: &Expr) -> Expr {
        let edge = 0.5 / self.alpha;
        let below = Expr::select(x.le(edge), self.alpha, 0.0);
        Expr::select(x.gt(-edge), below, 0.0)
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        Some((x * self.alpha + 0.5).clamp(0.0, 1.0))
    }
}
