//! q-PseudoSpike.

use super::Surrogate;
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Power law with tails of adjustable weight.
///
/// b = 1 + 2|x|/(α − 1); g′(x) = b^(−α); g(x) = ½b^(1−α) if x < 0, else 1 − ½b^(1−α)
///
/// Source: Herranz-Celotti & Rouat, Surrogate gradients design, arXiv:2202.00282.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[schema(name = "q_pseudo_spike")]
pub struct QPseudoSpike {
    /// Exponent; larger has lighter tails.
    #[schema(default = 2.0, above = 1.0)]
    pub alpha: f64,
}

impl Surrogate for QPseudoSpike {
    fn derivative(&self, x: &Expr) -> Expr {
        inverse_power(&self.base(x), self.alpha)
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        let tail = 0.5 * inverse_power(&self.base(x), self.alpha - 1.0);
        Some(Expr::select(x.lt(0.0), &tail, 1.0 - &tail))
    }
}

impl QPseudoSpike {
    fn base(&self, x: &Expr) -> Expr {
        1.0 + x.abs() * (2.0 / (self.alpha - 1.0))
    }
}

/// `base` to the power −`exponent`; by products where they are as accurate as a power.
fn inverse_power(base: &Expr, exponent: f64) -> Expr {
    let square = base * base;
    let power = match exponent {
        1.0 => base.clone(),
        2.0 => square,
        3.0 => square * base,
        4.0 => &square * &square,
        _ => return base.pow(-exponent),
    };
    1.0 / power
}
