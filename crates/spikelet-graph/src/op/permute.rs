//! Permutation of axes.

use super::*;

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
    fn kind(&self) -> Kind {
        Kind::new("permute", Class::Movement)
    }

    fn text(&mut self, t: &mut Text<'_>) {
        t.word("permute").list(&mut self.order);
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let [x] = operands(inputs)?;
        let mut sorted = self.order.clone();
        sorted.sort_unstable();
        let rank = x.shape.len();
        if !sorted.into_iter().eq(0..rank) {
            return invalid!("order {} of a tensor with {rank} axes", ShapeText(&self.order);
                "list each axis exactly once, counted from 0");
        }
        let shape: Vec<usize> = self.order.iter().map(|&k| x.shape[k]).collect();
        Ok(vec![TensorType::new(x.dtype, shape)])
    }

    fn changes_nothing(&self, inputs: &[TensorType]) -> bool {
        matches!(inputs, [x] if self.order.iter().copied().eq(0..x.shape.len()))
    }

    fn differentiate(&self, b: &mut Backward<'_>, _: &Node) -> Result<Vec<Option<ValueId>>> {
        let g = b.grad();
        let order = inverse(&self.order);
        Ok(vec![Some(b.push1(Permute { order }, &[g])?)])
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        let mut s = Semantics::new(inputs, outputs);
        for (to, &from) in self.order.iter().enumerate() {
            s.axis(Role::Parallel, outputs[0].shape[to], [(0, from)], [(0, to)]);
        }
        s
    }
}
