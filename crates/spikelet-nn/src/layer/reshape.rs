//! Changes the feature axes.

use crate::LayerProblem;
use crate::module::{Context, Description, Module, Tree};
use spikelet_core::Result;
use spikelet_graph::Var;

/// `[T, N, …] → [T, N, shape]`, with the same number of elements.
///
/// ```
/// use spikelet_nn::layer::Reshape;
/// use spikelet_nn::prelude::*;
/// let cx = Context::new(Mode::EVAL, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [4, 8, 36]);
/// assert_eq!(cx.trace(&Reshape::new([4, 3, 3]), x)?.shape(), [4, 8, 4, 3, 3]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[doc(alias = "Unflatten")]
pub struct Reshape {
    /// The feature axes of the output.
    pub shape: Vec<usize>,
}

impl Reshape {
    /// The feature axes of the output.
    pub fn new(shape: impl Into<Vec<usize>>) -> Self {
        Self {
            shape: shape.into(),
        }
    }
}

impl Module for Reshape {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        cx.expect_rank("reshape", x, 2)?;
        let count = |shape: &[usize]| shape.iter().try_fold(1_usize, |n, &k| n.checked_mul(k));
        let (given, own) = (count(&x.shape()[2..]), count(&self.shape));
        match own {
            Some(_) if own == given => Ok(x.reshape([&x.shape()[..2], &self.shape].concat())),
            _ => {
                let (shape, given) = (self.shape.clone(), x.ty().clone());
                Err(cx.error("reshape", LayerProblem::Reshape { shape, given }))
            }
        }
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }

    fn describe(&self) -> Description<'_> {
        Description::Reshape(&self.shape)
    }
}
