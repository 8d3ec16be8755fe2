//! A factor on the derivative of any surrogate.

use super::{Sigmoid, Surrogate};
use spikelet_expr::Expr;
use spikelet_schema::Schema;
use std::sync::Arc;

/// A surrogate whose derivative and primitive are multiplied by a factor. In files it is the constant `factor`, which
/// every surrogate has.
///
/// ```
/// use spikelet_nn::surrogate::{Scaled, SoftSign, from_spec};
/// use spikelet_nn::prelude::*;
/// // 1/(1 + 25·|x|)²
/// let scaled: &dyn Surrogate = &Scaled::new(SoftSign { alpha: 25.0 }, 2.0 / 25.0);
/// let spec = serde_json::json!({"name": "soft_sign", "alpha": 25.0, "factor": 0.08});
/// assert_eq!(scaled, &*from_spec(&spec)?);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
pub struct Scaled {
    /// The surrogate.
    #[schema(flatten, default = Arc::new(Sigmoid::default()))]
    pub surrogate: Arc<dyn Surrogate>,
    /// The factor of the derivative.
    #[schema(default = 1.0)]
    pub factor: f64,
}

impl Scaled {
    /// A surrogate times a factor.
    pub fn new(surrogate: impl Surrogate + 'static, factor: f64) -> Self {
        Self {
            surrogate: Arc::new(surrogate),
            factor,
        }
    }
}

impl Surrogate for Scaled {
    fn derivative(&self, x: &Expr) -> Expr {
        self.surrogate.derivative(x) * self.factor
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        Some(self.surrogate.primitive(x)? * self.factor)
    }

    fn forward(&self, x: &Expr, noise: &Expr) -> Expr {
        self.surrogate.forward(x, noise)
    }

    fn needs_noise(&self) -> bool {
        self.surrogate.needs_noise()
    }

    fn is_binary(&self) -> bool {
        self.surrogate.is_binary()
    }
}
