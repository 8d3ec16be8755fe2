//! Gradient clipping.

use serde::{Deserialize, Serialize};
use spikelet_core::{Error, Result};
use spikelet_expr::Expr;
use spikelet_graph::Var;
use spikelet_nn::domain::{self, Constant, Domain};

/// Gradient clipping.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Clip {
    /// Scales all gradients by a common factor so that their total norm is at most this.
    Norm(f64),
    /// Clamps each element to −value … value.
    Value(f64),
}

impl Clip {
    /// Checks that the bound can be used.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is not above 0.
    pub fn check(&self) -> Result<()> {
        let (name, value) = match *self {
            Self::Norm(most) => ("norm", most),
            Self::Value(most) => ("value", most),
        };
        Constant::new(name, value, Domain::above(0.0))
            .check("gradient clipping")
            .map_err(|error| Error::invalid("gradient clipping", error.to_string(), domain::HELP))
    }

    /// The clipped gradients.
    pub fn apply(&self, grads: &[Var]) -> Vec<Var> {
        match *self {
            Self::Value(most) => grads
                .iter()
                .map(|g| g.map1(|g| g.clamp(-most, most)))
                .collect(),
            Self::Norm(most) => {
                let Some(total) = squares(grads) else {
                    return vec![];
                };
                let scale = total.map1(|t| (most / (t.sqrt() + 1e-6)).min(Expr::constant(1.0)));
                grads.iter().map(|g| g * &scale).collect()
            }
        }
    }
}

/// The norm of all gradients together, a scalar; `None` without gradients. Before clipping it is the norm that
/// [`Clip::Norm`] bounds.
///
/// ```
/// use spikelet_graph::{DType, Tracer};
/// use spikelet_train::optim;
/// let tracer = Tracer::new(DType::F32);
/// let grads = [tracer.input("a", DType::F32, [4, 3]), tracer.input("b", DType::F32, [4])];
/// let norm = optim::grad_norm(&grads).expect("there are gradients");
/// tracer.output("grad_norm", &norm);
/// assert!(norm.shape().is_empty());
/// ```
pub fn grad_norm(grads: &[Var]) -> Option<Var> {
    squares(grads).map(|total| total.sqrt())
}

/// The sum of the squares of all gradients; `None` without gradients.
pub fn squares(grads: &[Var]) -> Option<Var> {
    let each = grads.iter().map(|g| g.square().sum_all());
    each.reduce(|a, b| a + b)
}
