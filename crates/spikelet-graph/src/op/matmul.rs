//! Matrix products.

use super::{Operation, arity};
use crate::backward::Backward;
use crate::error::{Refusal, Result, mismatch};
use crate::graph::{Node, ValueId};
use crate::types::{DType, TensorType};

/// `y = op(a) · op(b)`, where all axes of an operand but its last are folded into rows.
///
/// Transposition is of the folded matrix. Without `transpose_a` the result keeps the leading
/// axes of `a`, so that a linear layer maps `[T, N, in]` to `[T, N, out]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatMul {
    /// Use the transpose of the folded `a`.
    pub transpose_a: bool,
    /// Use the transpose of the folded `b`.
    pub transpose_b: bool,
}

impl MatMul {
    /// The sizes `(m, n, k)` of the product of operands of these types.
    pub fn sizes(&self, a: &TensorType, b: &TensorType) -> (usize, usize, usize) {
        let (rows, columns) = a.rows_and_columns();
        let (m, k) = if self.transpose_a {
            (columns, rows)
        } else {
            (rows, columns)
        };
        let (rows, columns) = b.rows_and_columns();
        let n = if self.transpose_b { rows } else { columns };
        (m, n, k)
    }
}

impl Operation for MatMul {
    fn name(&self) -> String {
        "matmul".to_string()
    }

    fn describe(&self) -> String {
        let mark = |yes: bool| if yes { "ᵀ" } else { "" };
        format!(
            "matmul[a{}·b{}]",
            mark(self.transpose_a),
            mark(self.transpose_b)
        )
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, Refusal> {
        arity(inputs, 2)?;
        let (a, b) = (&inputs[0], &inputs[1]);
        if a.shape.is_empty() || b.shape.is_empty() {
            return Err(mismatch(
                "a matrix has at least one axis",
                &a.shape,
                &b.shape,
                "reshape scalars to matrices first",
            ));
        }
        let float = |t: &TensorType| t.dtype.is_float() || t.dtype == DType::Bits;
        if !float(a)
            || !float(b)
            || (a.dtype != b.dtype && a.dtype != DType::Bits && b.dtype != DType::Bits)
        {
            return Err(Refusal::new(
                format!("multiplies {} by {}", a.dtype, b.dtype),
                "convert the operands to one floating-point type",
            ));
        }
        let (m, n, k) = self.sizes(a, b);
        let (rows, columns) = b.rows_and_columns();
        let other = if self.transpose_b { columns } else { rows };
        if k != other {
            return Err(Refusal::new(
                format!("expects {other} input features, the operand has {k}"),
                format!("the weight must have {k} input features, or the input {other}"),
            ));
        }
        let mut shape = if self.transpose_a {
            vec![m]
        } else {
            a.shape[..a.shape.len() - 1].to_vec()
        };
        shape.push(n);
        let dtype = if a.dtype == DType::Bits {
            b.dtype
        } else {
            a.dtype
        };
        Ok(vec![TensorType::new(dtype, shape)])
    }

    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>> {
        let Some(g) = b.grads[0] else {
            return Ok(vec![None, None]);
        };
        let (x, w) = (node.inputs[0], node.inputs[1]);
        let plain = |transpose_a, transpose_b| MatMul {
            transpose_a,
            transpose_b,
        };
        let dx = match (self.transpose_a, self.transpose_b) {
            (false, true) => (plain(false, false), g, w),
            (false, false) => (plain(false, true), g, w),
            (true, false) => (plain(false, true), w, g),
            (true, true) => (plain(true, true), w, g),
        };
        let dw = match (self.transpose_a, self.transpose_b) {
            (false, true) => (plain(true, false), g, x),
            (false, false) => (plain(true, false), x, g),
            (true, false) => (plain(false, false), x, g),
            (true, true) => (plain(true, true), g, x),
        };
        let mut grads = vec![None, None];
        for (k, (op, left, right)) in [dx, dw].into_iter().enumerate() {
            if b.wanted[k] {
                let made = b.push1(op, &[left, right])?;
                grads[k] = Some(b.reshape_as(made, node.inputs[k])?);
            }
        }
        Ok(grads)
    }

    fn flops(&self, inputs: &[TensorType], _: &[TensorType]) -> u64 {
        let (m, n, k) = self.sizes(&inputs[0], &inputs[1]);
        2 * m as u64 * n as u64 * k as u64
    }
}
