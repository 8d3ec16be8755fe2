//! Log-tailed ReLU.
//!
//! | x | g′(x) | g(x) |
//! |---|---|---|
//! | x ≤ 0 | α | αx |
//! | 0 < x ≤ 1 | 1 | x |
//! | x > 1 | 1/x | ln x + 1 |
//!
//! Source: Cai et al., Deep learning with low precision by half-wave Gaussian quantization, CVPR
//! 2017.

use super::Surrogate;
use crate::domain::{Domain, domains};
use crate::registry::spec;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// ReLU whose slope decays above 1.
///
/// | field | default | |
/// |---|---|---|
/// | `alpha` | 0 | slope below the threshold |
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogTailedRelu {
    /// Slope below the threshold.
    pub alpha: f64,
}

impl Default for LogTailedRelu {
    fn default() -> Self {
        Self { alpha: 0.0 }
    }
}

impl Surrogate for LogTailedRelu {
    spec!("log_tailed_relu");
    domains! { alpha: Domain::at_least(0.0) }

    fn derivative(&self, x: &Expr) -> Expr {
        let above = Expr::select(x.le(1.0), 1.0, 1.0 / x);
        Expr::select(x.le(0.0), self.alpha, above)
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        let above = Expr::select(x.le(1.0), x, x.ln() + 1.0);
        Some(Expr::select(x.le(0.0), self.alpha * x, above))
    }
}
