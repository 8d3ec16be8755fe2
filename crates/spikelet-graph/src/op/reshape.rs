//! Reshaping.

use super::{Operation, arity};
use crate::backward::Backward;
use crate::error::{InvalidOp, Result};
use crate::graph::{Node, ValueId};
use crate::text::Text;
use crate::types::{ShapeText, TensorType};

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

    fn flops(&self, _: &[TensorType], _: &[TensorType]) -> u64 {
        0
    }

    fn is_view(&self) -> bool {
        true
    }
}
