//! Reshaping.

use super::{Op, Operation, View, arity};
use crate::backward::Backward;
use crate::error::{InvalidOp, Result};
use crate::graph::{Node, ValueId};
use crate::semantics::{Class, Role, Semantics, Storage, common_axes};
use crate::text::Text;
use crate::types::{ShapeText, TensorType};
use std::ops::Range;

/// The same elements in the same order, with another shape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reshape {
    /// The new shape.
    pub shape: Vec<usize>,
}

impl Operation for Reshape {
    fn name(&self) -> String {
        "reshape".to_string()
    }

    fn text(&mut self, t: &mut Text<'_>) {
        t.word("reshape").list(&mut self.shape);
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        arity(inputs, 1)?;
        let made = TensorType::new(inputs[0].dtype, self.shape.clone());
        made.check_size()?;
        if made.len() != inputs[0].len() {
            return Err(InvalidOp::new(
                format!(
                    "{} elements do not fill the shape {}, which has {}",
                    inputs[0].len(),
                    ShapeText(&self.shape),
                    made.len()
                ),
                "the number of elements must stay the same",
            ));
        }
        Ok(vec![made])
    }

    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>> {
        let Some(g) = b.grads[0] else {
            return Ok(vec![None]);
        };
        Ok(vec![Some(b.reshape_as(g, node.inputs[0])?)])
    }

    fn class(&self) -> Class {
        Class::Movement
    }

    fn storage(&self) -> Storage {
        Storage::Follows
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        let mut s = Semantics::new(inputs, outputs);
        for (length, from, to) in common_axes(&inputs[0].shape, &self.shape) {
            s.axis(Role::Parallel, length, [(0, from)], [(0, to)]);
        }
        s
    }

    fn resized(&self, _axis: usize, _range: &Range<usize>, results: &[TensorType]) -> Option<Op> {
        let shape = results[0].shape.clone();
        Some(Reshape { shape }.into())
    }

    fn flops(&self, _: &[TensorType], _: &[TensorType]) -> u64 {
        0
    }

    fn view(&self) -> Option<View> {
        Some(View::Operand)
    }
}
