//! Second operands of methods: a tensor or a number.

use super::Var;
use crate::op::Map;
use spikelet_expr::Expr;

/// A tensor or a number: the operand of elementwise methods such as [`Var::maximum`].
///
/// ```
/// use spikelet_graph::{DType, Tracer};
/// let tracer = Tracer::new(DType::F32);
/// let (x, y) = (tracer.input("x", DType::F32, [4, 3]), tracer.input("y", DType::F32, [3]));
/// assert_eq!(x.maximum(&y).shape(), [4, 3]);
/// assert_eq!(x.maximum(0.5).shape(), [4, 3]);
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// A tensor, broadcast with the others.
    Tensor(&'a Var),
    /// A number, the same for every element.
    Number(f64),
}

impl<'a> From<&'a Var> for Operand<'a> {
    fn from(value: &'a Var) -> Self {
        Self::Tensor(value)
    }
}

impl From<f64> for Operand<'_> {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl Var {
    /// One elementwise expression of this tensor, the first argument of `build`, and other operands.
    pub(super) fn with_operands(
        &self,
        others: &[Operand<'_>],
        build: impl FnOnce(&[Expr]) -> Expr,
    ) -> Var {
        let mut tensors = vec![self];
        let mut arguments = vec![Map::operand(0)];
        for other in others {
            arguments.push(match other {
                Operand::Number(number) => Expr::constant(*number),
                Operand::Tensor(tensor) => {
                    tensors.push(tensor);
                    Map::operand(tensors.len() - 1)
                }
            });
        }
        Var::map(&tensors, |_| build(&arguments))
    }
}
