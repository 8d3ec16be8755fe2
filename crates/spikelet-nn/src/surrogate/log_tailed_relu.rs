//! Log-tailed ReLU.

use super::Surrogate;
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// ReLU whose slope decays as 1/x above 1.
///
/// | x | g′(x) | g(x) |
/// |---|---|---|
/// | x ≤ 0 | α | αx |
/// | 0 < x ≤ 1 | 1 | x |
/// | x > 1 | 1/x | ln x + 1 |
///
/// Source: Cai et al., Deep learning with low precision by half-wave Gaussian quantization, CVPR 2017.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[schema(name = "log_tailed_relu")]
pub struct LogTailedRelu {
    /// Slope below the threshold.
    #[schema(default = 0.0, at_least = 0.0)]
    pub alpha: f64,
}

impl Surrogate for LogTailedRelu {
    fn derivative(&self, x: &Expr) -> Expr {
        let above = Expr::select(x.le(1.0), 1.0, 1.0 / x);
        Expr::select(x.le(0.0), self.alpha, above)
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        let above = Expr::select(x.le(1.0), x, x.ln() + 1.0);
        Some(Expr::select(x.le(0.0), self.alpha * x, above))
    }
}
