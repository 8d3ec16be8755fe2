//! Elements selected by indices along an axis, and its adjoint.

use super::*;
use crate::types::elements as product;

/// What an index selects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Indexed {
    /// A slice across the axis, such as a row of a table: `y[o…, k…, i…] = x[o…, index[k…], i…]`. The
    /// axes of the index take the place of the axis.
    #[default]
    Slices,
    /// One element: `y[o…, k, i…] = x[o…, index[o…, k, i…], i…]`. The index has the axes of `x`, of
    /// which only the indexed one may have another length.
    Elements,
}

/// Selects by i64 indices along an axis: operands `x` and the index.
///
/// An index below 0 counts as 0, one beyond the end as the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gather {
    /// The axis of `x`.
    pub axis: usize,
    /// What an index selects.
    pub indexed: Indexed,
}

/// The adjoint of [`Gather`]: adds each element of the first operand where the index, the second one,
/// points to, along an axis of a result that starts with zeros.
///
/// Elements with the same place are added in ascending order, on every device. A 16-bit operand is
/// summed in f32, and the result is f32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScatterAdd {
    /// The axis of the result.
    pub axis: usize,
    /// The length of this axis.
    pub length: usize,
    /// What an index selects.
    pub indexed: Indexed,
}

/// The sizes of a gather or scatter: `x` is `[outer, length, inner]`, `y` is `[outer, count, inner]`; the
/// index is `[count]` for slices, else as `y`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GatherSizes {
    /// The elements of the axes before the indexed one.
    pub outer: usize,
    /// The length of the indexed axis.
    pub length: usize,
    /// The number of indices along the axis.
    pub count: usize,
    /// The elements of the axes after the indexed one.
    pub inner: usize,
}

const INDEXED: [(&str, Indexed); 2] =
    [("slices", Indexed::Slices), ("elements", Indexed::Elements)];

impl Indexed {
    /// The number of axes that the index has in place of the indexed one.
    fn axes(self, index: &TensorType) -> usize {
        match self {
            Self::Slices => index.shape.len(),
            Self::Elements => 1,
        }
    }

    /// The place of axis `at` of the selected elements in the tensor that they are selected from along `axis`, and in the
    /// index.
    fn places(self, axis: usize, index: &TensorType, at: usize) -> (Option<usize>, Option<usize>) {
        let count = self.axes(index);
        let of_index = (axis..axis + count).contains(&at);
        let other = (!of_index).then(|| if at < axis { at } else { at + 1 - count });
        match self {
            Self::Slices => (other, of_index.then(|| at - axis)),
            Self::Elements => (other, Some(at)),
        }
    }
}

impl Gather {
    /// The sizes for operands of these types.
    pub fn sizes(&self, x: &TensorType, index: &TensorType) -> GatherSizes {
        GatherSizes {
            outer: product(&x.shape[..self.axis]),
            length: x.shape[self.axis],
            count: match self.indexed {
                Indexed::Slices => index.len(),
                Indexed::Elements => index.shape[self.axis],
            },
            inner: product(&x.shape[self.axis + 1..]),
        }
    }
}

impl ScatterAdd {
    /// The sizes for operands of these types.
    pub fn sizes(&self, y: &TensorType, index: &TensorType) -> GatherSizes {
        let axes = self.indexed.axes(index);
        GatherSizes {
            outer: product(&y.shape[..self.axis]),
            length: self.length,
            count: product(&y.shape[self.axis..self.axis + axes]),
            inner: product(&y.shape[self.axis + axes..]),
        }
    }
}

impl Operation for Gather {
    fn kind(&self) -> Kind {
        Kind::new("gather", Class::Movement)
    }

    fn text(&mut self, t: &mut Text<'_>) {
        t.word("gather[").value(&mut self.axis).word(", ");
        t.one_of(&mut self.indexed, &INDEXED).word("]");
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let [x, index] = operands(inputs)?;
        expect_labels(index)?;
        let length = expect_axis(x, self.axis)?;
        if x.dtype == DType::Bits {
            return invalid!("cannot select bits"; "convert to a floating-point type");
        }
        let shape = match self.indexed {
            Indexed::Slices => {
                let (before, after) = (&x.shape[..self.axis], &x.shape[self.axis + 1..]);
                [before, &index.shape, after].concat()
            }
            Indexed::Elements => {
                let count = index.shape.get(self.axis).copied().unwrap_or(length);
                let expected = x.with_length(self.axis, count).shape;
                if index.shape != expected {
                    return invalid!("the shape of the index differs: {} against {}",
                        ShapeText(&index.shape), ShapeText(&x.shape);
                        "all axes except the indexed one must be equal; `index_select` takes one \
                         index for whole slices");
                }
                expected
            }
        };
        if length == 0 && !index.is_empty() {
            return invalid!("an index into an axis without elements";
                "pass a tensor with at least one element along the axis");
        }
        Ok(vec![TensorType::new(x.dtype, shape)])
    }

    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>> {
        if !b.wanted[0] {
            return Ok(vec![None, None]);
        }
        let scatter = ScatterAdd {
            axis: self.axis,
            length: b.graph.shape(node.inputs[0])[self.axis],
            indexed: self.indexed,
        };
        let sum = b.push1(scatter, &[b.grad(), node.inputs[1]])?;
        Ok(vec![Some(b.cast_as(sum, node.inputs[0])?), None])
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        let mut s = Semantics::new(inputs, outputs);
        for (at, &length) in outputs[0].shape.iter().enumerate() {
            let (in_x, in_index) = self.indexed.places(self.axis, &inputs[1], at);
            let in_x = in_x.map(|place| (0, place)).into_iter();
            let operands = in_x.chain(in_index.map(|place| (1, place)));
            s.axis(Role::Parallel, length, operands, [(0, at)]);
        }
        s
    }
}

impl Operation for ScatterAdd {
    fn kind(&self) -> Kind {
        Kind::new("scatter_add", Class::Reduction)
    }

    fn text(&mut self, t: &mut Text<'_>) {
        t.word("scatter_add[").value(&mut self.axis);
        t.word(" of ").value(&mut self.length).word(", ");
        t.one_of(&mut self.indexed, &INDEXED).word("]");
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let [y, index] = operands(inputs)?;
        expect_labels(index)?;
        if !y.dtype.is_float() {
            return invalid!("cannot add {}", y.dtype; "convert to a floating-point type");
        }
        let axes = self.indexed.axes(index);
        let end = self.axis.saturating_add(axes);
        if end > y.shape.len() {
            return Err(InvalidOp::no_axis(self.axis, y.shape.len()));
        }
        let fits = match self.indexed {
            Indexed::Slices => y.shape[self.axis..end] == index.shape,
            Indexed::Elements => y.shape == index.shape,
        };
        if !fits {
            return invalid!("the shape of the index differs: {} against {}",
                ShapeText(&index.shape), ShapeText(&y.shape);
                "pass one index for each slice along the axis, or one for each element");
        }
        if self.length == 0 && !index.is_empty() {
            return invalid!("an index into an axis without elements"; "use a length of at least 1");
        }
        let (before, after) = (&y.shape[..self.axis], &y.shape[end..]);
        let shape = [before, &[self.length], after].concat();
        Ok(vec![TensorType::new(y.dtype.arithmetic(), shape)])
    }

    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>> {
        if !b.wanted[0] {
            return Ok(vec![None, None]);
        }
        let (axis, indexed) = (self.axis, self.indexed);
        let grad = b.push1(Gather { axis, indexed }, &[b.grad(), node.inputs[1]])?;
        Ok(vec![Some(b.cast_as(grad, node.inputs[0])?), None])
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        let mut s = Semantics::new(inputs, outputs);
        for (at, &length) in inputs[0].shape.iter().enumerate() {
            let (in_result, in_index) = self.indexed.places(self.axis, &inputs[1], at);
            let role = in_result.map_or(Role::Reduced, |_| Role::Parallel);
            let operands = in_index.map(|place| (1, place)).into_iter();
            let result = in_result.map(|place| (0, place));
            s.axis(role, length, operands.chain([(0, at)]), result);
        }
        s
    }

    fn flops(&self, inputs: &[TensorType], _: &[TensorType]) -> u64 {
        elements(&inputs[..1])
    }
}
