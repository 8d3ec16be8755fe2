//! Permutation of axes.

use super::{Operation, arity};
use crate::backward::Backward;
use crate::error::{InvalidOp, Result};
use crate::graph::{Node, ValueId};
use crate::semantics::{Class, Role, Semantics, Storage};
use crate::text::Text;
use crate::types::{ShapeText, TensorType};

/// Output axis `k` is input axis `order[k]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permute {
    /// The input axis for each output axis.
    pub order: Vec<usize>,
}

/// The inverse permutation.
pub(crate) fn inverse(order: &[usize]) -> Vec<usize> {
    let mut back = vec![0; order.len()];
    for (to, &from) in order.iter().enumerate() {
        back[from] = to;
    }
    back
}

impl Operation for Permute {
    fn name(&self) -> String {
        "permute".to_string()
    }

    fn text(&mut self, t: &mut Text<'_>) {
        t.word("permute").list(&mut self.order);
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        arity(inputs, 1)?;
        let mut sorted = self.order.clone();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..inputs[0].shape.len()) {
            return Err(InvalidOp::new(
                format!(
                    "order {} of a tensor with {} axes",
                    ShapeText(&self.order),
                    inputs[0].shape.len()
                ),
                "list each axis exactly once, counted from 0",
            ));
        }
        let shape: Vec<usize> = self.order.iter().map(|&k| inputs[0].shape[k]).collect();
        Ok(vec![TensorType::new(inputs[0].dtype, shape)])
    }

    fn differentiate(&self, b: &mut Backward<'_>, _: &Node) -> Result<Vec<Option<ValueId>>> {
        let Some(g) = b.grads[0] else {
            return Ok(vec![None]);
        };
        let order = inverse(&self.order);
        Ok(vec![Some(b.push1(Permute { order }, &[g])?)])
    }

    fn class(&self) -> Class {
        Class::Movement
    }

    fn storage(&self) -> Storage {
        Storage::Follows
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        let mut s = Semantics::new(inputs, outputs);
        for (to, &from) in self.order.iter().enumerate() {
            s.axis(Role::Parallel, outputs[0].shape[to], [(0, from)], [(0, to)]);
        }
        s
    }

    fn flops(&self, _: &[TensorType], _: &[TensorType]) -> u64 {
        0
    }
}
