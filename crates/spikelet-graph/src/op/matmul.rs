//! Matrix products.

use super::*;

/// The precision of the multiplications of an f32 product.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MatmulPrecision {
    /// Full f32.
    #[default]
    Full,
    /// TF32 of tensor cores: factors with 10 bits of mantissa, accumulation in f32. A device without
    /// TF32 uses full f32.
    Tf32,
}

/// `y = op(a) · op(b)`, where all axes of an operand but its last are folded into rows.
///
/// Transposition is of the folded matrix. Without `transpose_a` the result keeps the leading
/// axes of `a`, so that a linear layer maps `[T, N, in]` to `[T, N, out]`.
///
/// Products of 16-bit operands are accumulated in f32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MatMul {
    /// Use the transpose of the folded `a`.
    pub transpose_a: bool,
    /// Use the transpose of the folded `b`.
    pub transpose_b: bool,
    /// The precision of f32 products.
    pub precision: MatmulPrecision,
    /// The element type of the result; `None` for that of the operands. A product of 16-bit operands
    /// may be stored as f32.
    pub out: Option<DType>,
    /// Whether most elements of `a` are 0, as in the spikes of a step. A device may skip them; its sums then have another
    /// order.
    pub sparse: bool,
}

impl MatMul {
    /// A product in full precision; the result has the operands' type.
    pub fn new(transpose_a: bool, transpose_b: bool) -> Self {
        Self {
            transpose_a,
            transpose_b,
            ..Self::default()
        }
    }

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

/// The settings of a product, as in `matmul[aᵀ·b, tf32]`.
pub(super) fn product_text(
    t: &mut Text<'_>,
    [a, b]: [&mut bool; 2],
    precision: &mut MatmulPrecision,
) {
    t.word("a").flag(a, "ᵀ").word("·b").flag(b, "ᵀ");
    precision.text(t);
}

/// The gradients of the operands of a product: products of these transposes.
pub(super) fn product_gradients(
    b: &mut Backward<'_>,
    node: &Node,
    [of_x, of_w]: [bool; 2],
    product: impl Fn(bool, bool) -> Op,
) -> Result<Vec<Option<ValueId>>> {
    let (x, w) = (node.inputs[0], node.inputs[1]);
    // The operands have the same type; the type of the product may differ.
    let g = b.cast_as(b.grad(), x)?;
    let dx = match of_x {
        false => (product(false, !of_w), [g, w]),
        true => (product(of_w, true), [w, g]),
    };
    let dw = match of_w {
        false => (product(!of_x, false), [x, g]),
        true => (product(true, of_x), [g, x]),
    };
    let mut grads = vec![None, None];
    for (k, (op, operands)) in [dx, dw].into_iter().enumerate() {
        if b.wanted[k] {
            let made = b.push1(op, &operands)?;
            grads[k] = Some(b.reshape_as(made, node.inputs[k])?);
        }
    }
    Ok(grads)
}

impl MatmulPrecision {
    pub(super) fn text(&mut self, t: &mut Text<'_>) {
        let names = [(", tf32", Self::Tf32), ("", Self::Full)];
        t.one_of(self, &names);
    }
}

impl Operation for MatMul {
    fn kind(&self) -> Kind {
        Kind::new("matmul", Class::Contraction).stored(Storage::Product)
    }

    fn text(&mut self, t: &mut Text<'_>) {
        t.flag(&mut self.sparse, "sparse_").word("matmul[");
        let transposed = [&mut self.transpose_a, &mut self.transpose_b];
        product_text(t, transposed, &mut self.precision);
        t.optional(&mut self.out, " as ", Text::dtype).word("]");
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let [a, b] = operands(inputs)?;
        if a.shape.is_empty() || b.shape.is_empty() {
            return invalid!("an operand has no axis: {} against {}",
                ShapeText(&a.shape), ShapeText(&b.shape);
                "reshape scalars to matrices first");
        }
        let float = |t: &TensorType| t.dtype.is_float() || t.dtype == DType::Bits;
        if !float(a)
            || !float(b)
            || (a.dtype != b.dtype && a.dtype != DType::Bits && b.dtype != DType::Bits)
        {
            return invalid!("cannot multiply {} by {}", a.dtype, b.dtype;
                "convert the operands to one floating-point type");
        }
        let (m, n, k) = self.sizes(a, b);
        let (rows, columns) = b.rows_and_columns();
        let other = if self.transpose_b { columns } else { rows };
        if k != other {
            return invalid!("expects {other} input features; the operand has {k}";
                format!("the weight must have {k} input features, or the input {other}"));
        }
        let mut shape = if self.transpose_a {
            vec![m]
        } else {
            a.shape[..a.shape.len() - 1].to_vec()
        };
        shape.push(n);
        let own = if a.dtype == DType::Bits {
            b.dtype
        } else {
            a.dtype
        };
        let dtype = self.out.unwrap_or(own);
        if dtype != own && !(own.is_half() && dtype == DType::F32) {
            return invalid!("cannot store a product of {own} as {dtype}";
                "store it in the operands' type; products of f16 or bf16 may be stored as f32");
        }
        Ok(vec![TensorType::new(dtype, shape)])
    }

    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>> {
        product_gradients(b, node, [self.transpose_a, self.transpose_b], |a, b| {
            let precision = self.precision;
            MatMul {
                precision,
                ..MatMul::new(a, b)
            }
            .into()
        })
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        let (a, b) = (&inputs[0].shape, &inputs[1].shape);
        let (in_a, in_b) = (a.len() - 1, b.len() - 1);
        let columns = outputs[0].shape.len() - 1;
        let n = outputs[0].shape[columns];
        let mut s = Semantics::new(inputs, outputs);
        match self.transpose_a {
            false => (0..in_a).for_each(|k| s.axis(Role::Parallel, a[k], [(0, k)], [(0, k)])),
            true => s.axis(Role::Parallel, a[in_a], [(0, in_a)], [(0, 0)]),
        }
        // The axes of both operands that the sums run over: one axis, or the folded ones.
        let of_a = if self.transpose_a {
            0..in_a
        } else {
            in_a..in_a + 1
        };
        let of_b = if self.transpose_b {
            in_b..in_b + 1
        } else {
            0..in_b
        };
        for (length, x, y) in common_axes(&a[of_a.clone()], &b[of_b.clone()]) {
            s.axis(
                Role::Reduced,
                length,
                [(0, of_a.start + x), (1, of_b.start + y)],
                [],
            );
        }
        match self.transpose_b {
            false => s.axis(Role::Parallel, n, [(1, in_b)], [(0, columns)]),
            true => {
                for (length, y, _) in common_axes(&b[..in_b], &[n]) {
                    s.axis(Role::Parallel, length, [(1, y)], [(0, columns)]);
                }
            }
        }
        s
    }

    fn stored_as(&self, dtype: DType) -> Option<Op> {
        let out = Some(dtype);
        Some(MatMul { out, ..*self }.into())
    }

    fn precision_mut(&mut self) -> Option<&mut MatmulPrecision> {
        Some(&mut self.precision)
    }

    fn flops(&self, inputs: &[TensorType], _: &[TensorType]) -> u64 {
        let (m, n, k) = self.sizes(&inputs[0], &inputs[1]);
        product([2, m, n, k])
    }
}
