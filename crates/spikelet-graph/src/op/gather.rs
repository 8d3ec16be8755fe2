//! Elements selected by indices along an axis, and its adjoint.

use super::{Operation, arity, elements, expect_labels};
use crate::backward::Backward;
use crate::error::{InvalidOp, Result, mismatch};
use crate::graph::{Node, ValueId};
use crate::semantics::{Class, Role, Semantics, Storage};
use crate::text::Text;
use crate::types::{DType, TensorType, elements as product};

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
    fn name(&self) -> String {
        "gather".to_string()
    }

    fn text(&mut self, t: &mut Text<'_>) {
        t.word("gather[")
            .value(&mut self.axis)
            .word(", ")
            .one_of(&mut self.indexed, &INDEXED)
            .word("]");
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        arity(inputs, 2)?;
        let (x, index) = (&inputs[0], &inputs[1]);
        expect_labels(index)?;
        let Some(&length) = x.shape.get(self.axis) else {
            return Err(InvalidOp::no_axis(self.axis, x.shape.len()));
        };
        if x.dtype == DType::Bits {
            return Err(InvalidOp::new(
                "cannot select bits",
                "convert to a floating-point type",
            ));
        }
        let shape = match self.indexed {
            Indexed::Slices => {
                let (before, after) = (&x.shape[..self.axis], &x.shape[self.axis + 1..]);
                [before, &index.shape, after].concat()
            }
            Indexed::Elements => {
                let mut expected = x.shape.clone();
                if let Some(&count) = index.shape.get(self.axis) {
                    expected[self.axis] = count;
                }
                if index.shape != expected {
                    return Err(mismatch(
                        "the shape of the index differs",
                        &index.shape,
                        &x.shape,
                        "all axes except the indexed one must be equal; `index_select` takes one \
                         index for whole slices",
                    ));
                }
                expected
            }
        };
        if length == 0 && !index.is_empty() {
            return Err(InvalidOp::new(
                "an index into an axis without elements",
                "pass a tensor with at least one element along the axis",
            ));
        }
        Ok(vec![TensorType::new(x.dtype, shape)])
    }

    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>> {
        let (Some(g), true) = (b.grads[0], b.wanted[0]) else {
            return Ok(vec![None, None]);
        };
        let scatter = ScatterAdd {
            axis: self.axis,
            length: b.graph.shape(node.inputs[0])[self.axis],
            indexed: self.indexed,
        };
        let sum = b.push1(scatter, &[g, node.inputs[1]])?;
        Ok(vec![Some(b.cast_as(sum, node.inputs[0])?), None])
    }

    fn class(&self) -> Class {
        Class::Movement
    }

    fn storage(&self) -> Storage {
        Storage::Follows
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        let (x, y) = (&inputs[0].shape, &outputs[0].shape);
        let count = self.indexed.axes(&inputs[1]);
        let elements = self.indexed == Indexed::Elements;
        let mut s = Semantics::new(inputs, outputs);
        for (at, &length) in y.iter().enumerate() {
            let of_index = (self.axis..self.axis + count).contains(&at);
            let of_x = match at < self.axis {
                true => at,
                false => at + 1 - count,
            };
            let in_x = (!of_index).then_some((0, of_x));
            let in_index = match elements {
                true => Some((1, at)),
                false => of_index.then(|| (1, at - self.axis)),
            };
            debug_assert!(in_x.is_none_or(|(_, at)| x[at] == length));
            s.axis(
                Role::Parallel,
                length,
                in_x.into_iter().chain(in_index),
                [(0, at)],
            );
        }
        s
    }

    fn flops(&self, _: &[TensorType], _: &[TensorType]) -> u64 {
        0
    }
}

impl Operation for ScatterAdd {
    fn name(&self) -> String {
        "scatter_add".to_string()
    }

    fn text(&mut self, t: &mut Text<'_>) {
        t.word("scatter_add[")
            .value(&mut self.axis)
            .word(" of ")
            .value(&mut self.length);
        t.word(", ").one_of(&mut self.indexed, &INDEXED).word("]");
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        arity(inputs, 2)?;
        let (y, index) = (&inputs[0], &inputs[1]);
        expect_labels(index)?;
        if !y.dtype.is_float() {
            return Err(InvalidOp::new(
                format!("cannot add {}", y.dtype),
                "convert to a floating-point type",
            ));
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
            return Err(mismatch(
                "the shape of the index differs",
                &index.shape,
                &y.shape,
                "pass one index for each slice along the axis, or one for each element",
            ));
        }
        if self.length == 0 && !index.is_empty() {
            return Err(InvalidOp::new(
                "an index into an axis without elements",
                "use a length of at least 1",
            ));
        }
        let (before, after) = (&y.shape[..self.axis], &y.shape[end..]);
        let shape = [before, &[self.length], after].concat();
        Ok(vec![TensorType::new(y.dtype.arithmetic(), shape)])
    }

    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>> {
        let (Some(g), true) = (b.grads[0], b.wanted[0]) else {
            return Ok(vec![None, None]);
        };
        let gather = Gather {
            axis: self.axis,
            indexed: self.indexed,
        };
        let grad = b.push1(gather, &[g, node.inputs[1]])?;
        Ok(vec![Some(b.cast_as(grad, node.inputs[0])?), None])
    }

    fn class(&self) -> Class {
        Class::Reduction
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        let y = &inputs[0].shape;
        let count = self.indexed.axes(&inputs[1]);
        let elements = self.indexed == Indexed::Elements;
        let mut s = Semantics::new(inputs, outputs);
        for (at, &length) in y.iter().enumerate() {
            let of_index = (self.axis..self.axis + count).contains(&at);
            let in_index = match elements {
                true => Some((1, at)),
                false => of_index.then(|| (1, at - self.axis)),
            };
            let of_result = match at < self.axis {
                true => at,
                false => at + 1 - count,
            };
            let (role, result) = match of_index {
                true => (Role::Reduced, None),
                false => (Role::Parallel, Some((0, of_result))),
            };
            s.axis(role, length, in_index.into_iter().chain([(0, at)]), result);
        }
        s
    }

    fn flops(&self, inputs: &[TensorType], _: &[TensorType]) -> u64 {
        elements(&inputs[..1])
    }
}
