//! The state of the random number generator at each time step.

use super::{GENERATOR_STATE, Operation, arity};
use crate::backward::Backward;
use crate::error::{InvalidOp, Result};
use crate::graph::{Node, ValueId};
use crate::semantics::{Class, Semantics};
use crate::text::Text;
use crate::types::{DType, TensorType};

/// The element of a generator's state that is the offset of the program's first time step.
pub const GENERATOR_TIME: usize = 2;

/// The generator's state for each of `length` time steps: i64 `[4]` → `[length, 4]`. Row t is the operand
/// with the offset in time steps increased by t, so that a [`Draw`](super::Draw) of one step from row t
/// has the numbers of step t of a draw over all steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GeneratorSteps {
    /// The number of time steps.
    pub length: usize,
}

impl Operation for GeneratorSteps {
    fn name(&self) -> String {
        "generator_steps".to_string()
    }

    fn text(&mut self, t: &mut Text<'_>) {
        t.word("generator_steps")
            .results(|types| self.length = types[0].shape.first().copied().unwrap_or(0));
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        arity(inputs, 1)?;
        if inputs[0] != TensorType::new(DType::I64, [GENERATOR_STATE]) {
            return Err(InvalidOp::new(
                format!("the generator's state is {}", inputs[0]),
                "pass i64[4]: seed, step, offset in time steps, offset in images",
            ));
        }
        Ok(vec![TensorType::new(
            DType::I64,
            [self.length, GENERATOR_STATE],
        )])
    }

    fn differentiate(&self, _: &mut Backward<'_>, _: &Node) -> Result<Vec<Option<ValueId>>> {
        Ok(vec![None])
    }

    fn class(&self) -> Class {
        Class::Source
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        Semantics::new(inputs, outputs)
    }

    fn flops(&self, _: &[TensorType], _: &[TensorType]) -> u64 {
        0
    }
}
