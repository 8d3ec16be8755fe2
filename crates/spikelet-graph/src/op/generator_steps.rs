//! The state of the random number generator at each time step.

use super::draw::expect_generator;
use super::*;

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
    fn kind(&self) -> Kind {
        Kind::new("generator_steps", Class::Source)
    }

    fn text(&mut self, t: &mut Text<'_>) {
        t.word("generator_steps")
            .results(|types| self.length = types[0].shape.first().copied().unwrap_or(0));
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let [state] = operands(inputs)?;
        expect_generator(state)?;
        let shape = [self.length, GENERATOR_STATE];
        Ok(vec![TensorType::new(DType::I64, shape)])
    }

    fn differentiate(&self, _: &mut Backward<'_>, _: &Node) -> Result<Vec<Option<ValueId>>> {
        Ok(vec![None])
    }
}
