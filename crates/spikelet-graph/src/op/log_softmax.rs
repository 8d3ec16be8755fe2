//! Logarithm of the softmax.

use super::*;

/// `y = x − max − ln Σ exp(x − max)` along the last axis. The result of 16-bit scores is f32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogSoftmax;

impl Operation for LogSoftmax {
    fn kind(&self) -> Kind {
        Kind::new("log_softmax", Class::Reduction).stored(Storage::Accumulated)
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let [x] = operands(inputs)?;
        if !x.dtype.is_float() || x.shape.last().is_none_or(|&n| n == 0) {
            return invalid!("needs floating-point scores with a last axis of at least one class";
                "reshape the scores to [..., classes]");
        }
        Ok(vec![TensorType::new(x.dtype.arithmetic(), &*x.shape)])
    }

    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>> {
        let g = b.grad();
        let y = node.outputs[0];
        let shape = b.graph.shape(y).to_vec();
        let last = Reduce::sum(vec![shape.len() - 1]);
        let total = b.push1(last.clone(), &[g])?;
        let total = b.reshape(total, last.kept_shape(&shape))?;
        let expression = Map::operand(0) - Map::operand(1).exp() * Map::operand(2);
        let dtype = b.graph.ty(node.inputs[0]).dtype;
        let grad = b.map1(expression, shape, dtype, &[g, y, total])?;
        Ok(vec![Some(grad)])
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        let shape = &outputs[0].shape;
        Semantics::new(inputs, outputs).alike(0..shape.len() - 1, shape)
    }

    fn flops(&self, inputs: &[TensorType], _: &[TensorType]) -> u64 {
        elements(inputs).saturating_mul(5)
    }
}
