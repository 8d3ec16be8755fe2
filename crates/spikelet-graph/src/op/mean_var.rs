//! Mean and variance of each channel.

use super::*;

/// Mean and biased variance over all axes but the last: `x [.., C] → mean [C], variance [C]`,
/// both f32 (f64 for f64), summed in a fixed order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MeanVar;

impl Operation for MeanVar {
    fn kind(&self) -> Kind {
        Kind::new("mean_var", Class::Reduction).stored(Storage::Accumulated)
    }

    fn outputs(&self, _: usize) -> usize {
        2
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let [x] = operands(inputs)?;
        if !x.dtype.is_float() || x.shape.len() < 2 || x.is_empty() {
            return invalid!("mean and variance need floating-point elements, at least one for each channel";
                "pass a tensor [.., channels] that is not empty");
        }
        let (_, channels) = x.rows_and_columns();
        Ok(vec![TensorType::new(x.dtype.arithmetic(), [channels]); 2])
    }

    /// `dx = (d_mean + 2·d_variance·(x − mean)) / n`, accumulated into the partial gradient of `x`:
    /// normalization reads the same `x`, and both need only one pass over it.
    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>> {
        let (x, mean) = (node.inputs[0], node.outputs[0]);
        let ty = b.graph.ty(x).clone();
        let count = ty.rows_and_columns().0 as f64;
        let mut operands = vec![];
        let mut operand = |value: ValueId| {
            operands.push(value);
            Map::operand(operands.len() - 1)
        };
        let mut terms = vec![];
        if let Some(g) = b.grads[1] {
            let deviation = operand(x) - operand(mean);
            terms.push(operand(g) * (2.0 / count) * deviation);
        }
        if let Some(g) = b.grads[0] {
            terms.push(operand(g) * (1.0 / count));
        }
        let Some(own) = terms.into_iter().reduce(|a, b| a + b) else {
            return Ok(vec![None]);
        };
        let sum = match b.take_partial_grad(0) {
            Some(before) => operand(before) + own,
            None => own,
        };
        Ok(vec![Some(b.map1(sum, ty.shape, ty.dtype, &operands)?)])
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        let shape = &inputs[0].shape;
        let channels = shape.len() - 1;
        let mut s = Semantics::new(inputs, outputs);
        s.joins = vec![Join::MeanVar; 2];
        for (k, &length) in shape[..channels].iter().enumerate() {
            s.axis(Role::Reduced, length, [(0, k)], []);
        }
        s.axis(
            Role::Parallel,
            shape[channels],
            [(0, channels)],
            [(0, 0), (1, 0)],
        );
        s
    }

    fn is_chunked(&self) -> bool {
        true
    }

    fn flops(&self, inputs: &[TensorType], _: &[TensorType]) -> u64 {
        elements(inputs).saturating_mul(4)
    }
}
