//! Products of many pairs of matrices.

use super::matmul::{product_gradients, product_text};
use super::*;

/// `y[b…] = op(a[b…]) · op(b[b…])` for matrices `[b…, rows, columns]` with the same leading axes.
///
/// Products of 16-bit operands are accumulated in f32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchMatMul {
    /// Use the transposes of the matrices `a`.
    pub transpose_a: bool,
    /// Use the transposes of the matrices `b`.
    pub transpose_b: bool,
    /// The precision of f32 products.
    pub precision: MatmulPrecision,
}

/// The sizes of a [`BatchMatMul`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchMatMulSizes {
    /// The number of products.
    pub batch: usize,
    /// The rows of a result.
    pub m: usize,
    /// The columns of a result.
    pub n: usize,
    /// The terms of a sum.
    pub k: usize,
}

/// Leading axes, rows and columns.
fn split(ty: &TensorType) -> Option<(&[usize], usize, usize)> {
    match &ty.shape[..] {
        [leading @ .., rows, columns] => Some((leading, *rows, *columns)),
        _ => None,
    }
}

impl BatchMatMul {
    /// Products in full precision.
    pub fn new(transpose_a: bool, transpose_b: bool) -> Self {
        Self {
            transpose_a,
            transpose_b,
            ..Self::default()
        }
    }

    /// The sizes of the products of operands of these types, which were checked.
    pub fn sizes(&self, a: &TensorType, b: &TensorType) -> BatchMatMulSizes {
        let (leading, rows, columns) = split(a).unwrap_or((&[], 1, 1));
        let (m, k) = match self.transpose_a {
            true => (columns, rows),
            false => (rows, columns),
        };
        let (_, rows, columns) = split(b).unwrap_or((&[], 1, 1));
        BatchMatMulSizes {
            batch: crate::types::elements(leading),
            m,
            n: if self.transpose_b { rows } else { columns },
            k,
        }
    }
}

impl Operation for BatchMatMul {
    fn kind(&self) -> Kind {
        Kind::new("batch_matmul", Class::Contraction).stored(Storage::Product)
    }

    fn text(&mut self, t: &mut Text<'_>) {
        let transposed = [&mut self.transpose_a, &mut self.transpose_b];
        product_text(t.word("batch_matmul["), transposed, &mut self.precision);
        t.word("]");
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let [a, b] = operands(inputs)?;
        if !a.dtype.is_float() || a.dtype != b.dtype {
            return invalid!("cannot multiply {} by {}", a.dtype, b.dtype;
                "convert the operands to one floating-point type");
        }
        let (Some((leading, ..)), Some((other, rows, columns))) = (split(a), split(b)) else {
            return invalid!("an operand has fewer than two axes: {} against {}",
                ShapeText(&a.shape), ShapeText(&b.shape);
                "pass matrices [batch, rows, columns]");
        };
        if leading != other {
            return invalid!("the leading axes differ: {} against {}",
                ShapeText(leading), ShapeText(other);
                "pass as many matrices on both sides");
        }
        let BatchMatMulSizes { m, n, k, .. } = self.sizes(a, b);
        let terms = if self.transpose_b { columns } else { rows };
        if k != terms {
            let (a, b) = (ShapeText(&a.shape), ShapeText(&b.shape));
            return invalid!("the sums have {k} terms on the left and {terms} on the right";
                format!("the columns of {a} must be as many as the rows of {b}, after transposition"));
        }
        let shape = [leading, &[m, n]].concat();
        Ok(vec![TensorType::new(a.dtype, shape)])
    }

    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>> {
        product_gradients(b, node, [self.transpose_a, self.transpose_b], |a, b| {
            let precision = self.precision;
            BatchMatMul {
                precision,
                ..BatchMatMul::new(a, b)
            }
            .into()
        })
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        let BatchMatMulSizes { m, n, k, .. } = self.sizes(&inputs[0], &inputs[1]);
        let matrix = outputs[0].shape.len() - 2;
        let (rows, columns) = (matrix, matrix + 1);
        let place = |transpose: bool| match transpose {
            false => (rows, columns),
            true => (columns, rows),
        };
        let (a, b) = (place(self.transpose_a), place(self.transpose_b));
        let mut s = Semantics::new(inputs, outputs).alike(0..matrix, &outputs[0].shape);
        s.axis(Role::Parallel, m, [(0, a.0)], [(0, rows)]);
        s.axis(Role::Parallel, n, [(1, b.1)], [(0, columns)]);
        s.axis(Role::Reduced, k, [(0, a.1), (1, b.0)], []);
        s
    }

    fn precision_mut(&mut self) -> Option<&mut MatmulPrecision> {
        Some(&mut self.precision)
    }

    fn flops(&self, inputs: &[TensorType], _: &[TensorType]) -> u64 {
        let BatchMatMulSizes { batch, m, n, k } = self.sizes(&inputs[0], &inputs[1]);
        match inputs.iter().any(|t| t.dtype == DType::Bits) {
            true => 0,
            false => product([2, batch, m, n, k]),
        }
    }
}
