//! A factor on the derivative of any surrogate.

use super::Surrogate;
use crate::domain::{Constant, Domain};
use serde_json::Value;
use spikelet_expr::Expr;
use std::sync::Arc;

/// The key of the factor in specifications.
pub(super) const FACTOR: &str = "factor";

/// A surrogate whose derivative and primitive are multiplied by a factor. In files it is the constant `factor`, which
/// every surrogate has.
///
/// ```
/// use spikelet_nn::surrogate::{Scaled, SoftSign, from_spec};
/// use spikelet_nn::prelude::*;
/// // 1/(1 + 25·|x|)²
/// let scaled = Scaled::new(SoftSign { alpha: 25.0 }, 2.0 / 25.0);
/// let spec = serde_json::json!({"name": "soft_sign", "alpha": 25.0, "factor": 0.08});
/// assert_eq!(scaled.spec(), from_spec(&spec)?.spec());
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Scaled {
    /// The surrogate.
    pub surrogate: Arc<dyn Surrogate>,
    /// The factor.
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

    fn domains(&self) -> Vec<Constant> {
        let mut domains = self.surrogate.domains();
        domains.push(Constant::new(FACTOR, self.factor, Domain::FINITE));
        domains
    }

    fn spec(&self) -> Value {
        let mut spec = match self.surrogate.spec() {
            Value::Object(constants) => constants,
            name => [("name".to_string(), name)].into_iter().collect(),
        };
        spec.insert(FACTOR.to_string(), Value::from(self.factor));
        Value::Object(spec)
    }
}
