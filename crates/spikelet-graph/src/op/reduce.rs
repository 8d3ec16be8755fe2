//! Sums and maxima over axes.

use super::*;

/// The function of a reduction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reduction {
    /// The sum.
    #[default]
    Sum,
    /// The maximum; equal elements share the gradient.
    Max,
}

/// Reduces over `axes`, which are removed from the shape.
///
/// The order of summation is fixed: it does not depend on the number of threads or the load of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reduce {
    /// Sum or maximum.
    pub reduction: Reduction,
    /// The axes, ascending.
    pub axes: Vec<usize>,
    /// The element type of the result; `None` for that of the operand, f32 for bits.
    ///
    /// A 16-bit operand is summed in f32 and the sum rounded once.
    pub out: Option<DType>,
}

impl Reduce {
    /// A sum over axes, of the operand's type.
    pub fn sum(axes: impl Into<Vec<usize>>) -> Self {
        Self {
            reduction: Reduction::Sum,
            axes: axes.into(),
            out: None,
        }
    }

    /// A maximum over axes, of the operand's type.
    pub fn max(axes: impl Into<Vec<usize>>) -> Self {
        Self {
            reduction: Reduction::Max,
            ..Self::sum(axes)
        }
    }

    /// The reduction of a value of type `from` whose result has the element type of `to`.
    pub(crate) fn stored_as(mut self, from: &TensorType, to: &TensorType) -> Self {
        if from.dtype != to.dtype {
            self.out = Some(to.dtype);
        }
        self
    }

    /// The shape with the reduced axes kept as 1.
    pub fn kept_shape(&self, shape: &[usize]) -> Vec<usize> {
        let keep = |(k, &n): (usize, &usize)| if self.axes.contains(&k) { 1 } else { n };
        shape.iter().enumerate().map(keep).collect()
    }
}

impl Operation for Reduce {
    fn kind(&self) -> Kind {
        let name = match self.reduction {
            Reduction::Sum => "sum",
            Reduction::Max => "max",
        };
        Kind::new(name, Class::Reduction).stored(Storage::Accumulated)
    }

    fn text(&mut self, t: &mut Text<'_>) {
        t.one_of(
            &mut self.reduction,
            &[("sum", Reduction::Sum), ("max", Reduction::Max)],
        )
        .list(&mut self.axes);
        t.optional(&mut self.out, " as ", Text::dtype);
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let [x] = operands(inputs)?;
        let ascending = self.axes.windows(2).all(|w| w[0] < w[1]);
        if !ascending || self.axes.last().is_some_and(|&k| k >= x.shape.len()) {
            return invalid!("axes {} of a tensor with {} axes",
                ShapeText(&self.axes), x.shape.len();
                "list each axis once, in ascending order, counted from 0");
        }
        if self.reduction == Reduction::Max && self.axes.iter().any(|&k| x.shape[k] == 0) {
            return invalid!("maximum over an empty axis";
                "pass a tensor with at least one element");
        }
        if x.dtype == DType::I64 {
            return invalid!("cannot reduce integers"; "convert to a floating-point type");
        }
        let shape: Vec<usize> = (0..x.shape.len())
            .filter(|k| !self.axes.contains(k))
            .map(|k| x.shape[k])
            .collect();
        let own = if x.dtype == DType::Bits {
            DType::F32
        } else {
            x.dtype
        };
        let dtype = self.out.unwrap_or(own);
        let rounds = self.reduction == Reduction::Max && dtype.is_half() && dtype != own;
        if !dtype.is_float() || dtype.arithmetic() != own.arithmetic() || rounds {
            return invalid!("cannot store the {} of {} as {dtype}", self.name(), x.dtype;
                "store it in the operand's own type or in f32; a sum may become f16 or bf16");
        }
        Ok(vec![TensorType::new(dtype, shape)])
    }

    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>> {
        let g = b.grad();
        let x = node.inputs[0];
        let TensorType { dtype, shape } = b.graph.ty(x).clone();
        let kept = self.kept_shape(&shape);
        let g = b.cast(g, dtype)?;
        let g = b.reshape(g, kept.clone())?;
        let grad = match self.reduction {
            Reduction::Sum => b.expand(g, shape)?,
            Reduction::Max => {
                let y = b.reshape(node.outputs[0], kept)?;
                let (x0, x1) = (Map::operand(0), Map::operand(1));
                let hit = b.map1(x0.equals(x1), shape.clone(), dtype, &[x, y])?;
                let mut count = Reduce::sum(self.axes.clone());
                count.out = Some(dtype.arithmetic());
                let count = b.push1(count, &[hit])?;
                let count = b.reshape(count, self.kept_shape(&shape))?;
                let share = Map::operand(0) * (Map::operand(1) / Map::operand(2));
                b.map1(share, shape, dtype, &[hit, g, count])?
            }
        };
        Ok(vec![Some(grad)])
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        let mut s = Semantics::new(inputs, outputs);
        if self.reduction == Reduction::Max {
            s.joins = vec![Join::Max];
        }
        let mut kept = 0;
        for (k, &length) in inputs[0].shape.iter().enumerate() {
            let (role, result) = match self.axes.contains(&k) {
                true => (Role::Reduced, None),
                false => (Role::Parallel, Some((0, kept))),
            };
            kept += usize::from(result.is_some());
            s.axis(role, length, [(0, k)], result);
        }
        s
    }

    fn stored_as(&self, dtype: DType) -> Option<Op> {
        let mut op = self.clone();
        op.out = Some(dtype);
        Some(op.into())
    }
}
