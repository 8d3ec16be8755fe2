//! Running products along an axis.

use super::*;
use spikelet_expr::Expr;
use std::sync::Arc;

/// `y[…, k, …] = x[…, 0, …] · … · x[…, k, …]` along one axis, multiplied in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CumProd {
    /// The axis.
    pub axis: usize,
}

impl CumProd {
    /// `s[i] = g[i] + x[i + 1]·s[i + 1]`, by a scan from the last element to the first.
    fn behind(&self, b: &mut Backward<'_>, g: ValueId, x: ValueId) -> Result<ValueId> {
        let ty = b.graph.ty(x).clone();
        let others = (0..ty.shape.len()).filter(|k| *k != self.axis);
        let order: Vec<usize> = [self.axis].into_iter().chain(others).collect();
        let permuted: Vec<usize> = order.iter().map(|k| ty.shape[*k]).collect();
        let back = inverse(&order);
        let columns = ty.len() / permuted[0];
        let mut reversed = |value: ValueId| {
            let front = match self.axis {
                0 => value,
                _ => b.permute(value, &order)?,
            };
            let rows = b.reshape(front, vec![permuted[0], columns])?;
            b.push1(Flip { axis: 0 }, &[rows])
        };
        let sequences = [reversed(g)?, reversed(x)?];
        let [g, x, carried] = ["g", "x", "carried"].map(Expr::symbol);
        let sum = g + carried;
        let step = Recurrence::new("cumprod_grad", ["g", "x"], ["carried"])
            .output("s", sum.clone(), false)
            .next(vec![sum * x]);
        let zero = b.fill(TensorType::new(ty.dtype.arithmetic(), []), 0.0)?;
        let scan = Scan::new(Arc::new(step), permuted[0]);
        let sums = b.push(scan, &[sequences[0], sequences[1], zero])?[0];
        let sums = b.push1(Flip { axis: 0 }, &[sums])?;
        let sums = b.reshape(sums, permuted)?;
        match self.axis {
            0 => Ok(sums),
            _ => b.permute(sums, &back),
        }
    }
}

impl Operation for CumProd {
    fn kind(&self) -> Kind {
        Kind::new("cumprod", Class::Reduction)
    }

    fn text(&mut self, t: &mut Text<'_>) {
        t.word("cumprod[").value(&mut self.axis).word("]");
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let [x] = operands(inputs)?;
        expect_axis(x, self.axis)?;
        if !x.dtype.is_float() {
            return invalid!("products of {} are not supported", x.dtype;
                "convert to a floating-point type");
        }
        Ok(vec![x.clone()])
    }

    /// `dx[i] = x[0]·…·x[i − 1] · s[i]`, where `s[i] = g[i] + x[i + 1]·s[i + 1]`. Nothing is divided, so that elements may
    /// be 0.
    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>> {
        let g = b.grad();
        let (axis, ty) = (self.axis, b.graph.ty(node.inputs[0]).clone());
        let length = ty.shape[axis];
        if length == 1 || ty.is_empty() {
            return Ok(vec![Some(g)]);
        }
        let one = b.fill(ty.with_length(axis, 1), 1.0)?;
        let (start, end) = (0, length - 1);
        let others = b.push1(Slice { axis, start, end }, &[node.outputs[0]])?;
        let before = b.push1(Concat { axis }, &[one, others])?;
        let behind = self.behind(b, g, node.inputs[0])?;
        let product = Map::operand(0) * Map::operand(1);
        let grad = b.map1(product, ty.shape, ty.dtype, &[before, behind])?;
        Ok(vec![Some(grad)])
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        Concat { axis: self.axis }.semantics(inputs, outputs)
    }

    fn permuted(&self, order: &[usize]) -> Option<Op> {
        let axis = *order.get(self.axis)?;
        Some(CumProd { axis }.into())
    }
}
