//! Max and average pooling, channels last.

use super::*;

/// The windows along one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Window {
    /// A sliding window of fixed size.
    Sliding {
        /// The size of a window.
        kernel: usize,
        /// The distance between neighboring windows.
        stride: usize,
        /// The padding on both sides; at most half a window.
        padding: usize,
        /// The distance between neighboring elements of a window.
        dilation: usize,
        /// Whether the last window may extend beyond the end.
        ceil: bool,
    },
    /// A given number of windows of nearly equal size: window `o` of `n` elements extends
    /// from `⌊o·n/outputs⌋` to `⌈(o+1)·n/outputs⌉`.
    Adaptive {
        /// The number of windows.
        outputs: usize,
    },
}

impl Window {
    /// Adjacent windows without overlap.
    pub fn blocks(kernel: usize) -> Self {
        Self::Sliding {
            kernel,
            stride: kernel,
            padding: 0,
            dilation: 1,
            ceil: false,
        }
    }

    /// The number of windows of `n` elements; 0 if none fits.
    pub fn outputs(self, n: usize) -> usize {
        match self {
            _ if !self.is_valid() => 0,
            Self::Adaptive { outputs } => outputs,
            Self::Sliding {
                kernel,
                stride,
                padding,
                dilation,
                ceil,
            } => {
                // Valid values are far below the maximum.
                let reach = dilation * (kernel - 1) + 1;
                let Some(free) = n.saturating_add(2 * padding).checked_sub(reach) else {
                    return 0;
                };
                if !ceil {
                    return free / stride + 1;
                }
                // The last window begins inside the elements or the padding before them.
                let last = free.div_ceil(stride);
                let outside = last.saturating_mul(stride) >= n.saturating_add(padding);
                last + usize::from(!outside)
            }
        }
    }

    /// The block size, if the windows are blocks that cover `n` elements.
    pub fn as_blocks(self, n: usize) -> Option<usize> {
        match self {
            Self::Sliding {
                kernel,
                stride,
                padding: 0,
                dilation: 1,
                ..
            } if kernel == stride && n.is_multiple_of(kernel) => Some(kernel),
            _ => None,
        }
    }

    fn is_valid(self) -> bool {
        match self {
            Self::Adaptive { outputs } => outputs > 0,
            Self::Sliding {
                kernel,
                stride,
                padding,
                dilation,
                ..
            } => {
                let step = 1..=MAX_STEP;
                [kernel, stride, dilation].iter().all(|n| step.contains(n)) && padding <= kernel / 2
            }
        }
    }
}

/// The value computed from a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Pooling {
    /// The maximum; of equal elements the first in row-major order gets the gradient. NaN is the
    /// largest.
    #[default]
    Max,
    /// The mean.
    Average {
        /// Whether padding counts as elements that are 0.
        count_padding: bool,
    },
}

/// Pooling of `[…, spatial…, channels]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pool {
    /// Maximum or mean.
    pub pooling: Pooling,
    /// The windows of each spatial axis.
    pub windows: Vec<Window>,
}

impl Pool {
    /// Leading elements, spatial sizes and channels of a shape.
    pub fn split<'a>(&self, shape: &'a [usize]) -> (&'a [usize], &'a [usize], usize) {
        let (leading, rest) = shape.split_at(shape.len() - self.windows.len() - 1);
        let axes = self.windows.len();
        (leading, &rest[..axes], rest[axes])
    }

    fn check(&self, x: &TensorType) -> std::result::Result<(), InvalidOp> {
        let axes = self.windows.len();
        if !x.dtype.is_float() || !(1..=3).contains(&axes) || x.shape.len() < axes + 2 {
            return invalid!("cannot pool {axes} spatial axes of a tensor with {} axes", x.shape.len();
                "pass floating-point images [batch, spatial, channels] with one to three spatial axes");
        }
        let (_, sizes, _) = self.split(&x.shape);
        let padded = sizes.iter().zip(&self.windows).map(|(n, w)| match w {
            Window::Sliding { padding, .. } => n.saturating_add(padding.saturating_mul(2)),
            Window::Adaptive { .. } => *n,
        });
        TensorType::new(x.dtype, padded.collect::<Vec<_>>()).check_size()?;
        let outputs = sizes.iter().zip(&self.windows).map(|(n, w)| w.outputs(*n));
        let valid = self.windows.iter().all(|w| w.is_valid());
        let dilated = |w: &Window| matches!(w, Window::Sliding { dilation, .. } if *dilation != 1);
        if !valid || sizes.contains(&0) || outputs.into_iter().any(|n| n == 0) {
            return invalid!("windows {:?} do not fit images of {}", self.windows, ShapeText(sizes);
                "use a window that is no larger than the image, padded by at most half a window");
        }
        if self.pooling != Pooling::Max && self.windows.iter().any(dilated) {
            return invalid!("dilated average pooling is not implemented"; "use a dilation of 1");
        }
        Ok(())
    }

    fn pooled(&self, x: &TensorType) -> TensorType {
        let (leading, sizes, channels) = self.split(&x.shape);
        let pooled = sizes.iter().zip(&self.windows).map(|(n, w)| w.outputs(*n));
        let pooled: Vec<usize> = pooled.collect();
        TensorType::new(x.dtype, [leading, &pooled, &[channels]].concat())
    }
}

fn title(pooling: Pooling) -> &'static str {
    match pooling {
        Pooling::Max => "max_pool",
        Pooling::Average { .. } => "avg_pool",
    }
}

/// `max_pool2d[2 by 2, padding 0; to 3`
fn pool_text(t: &mut Text<'_>, pool: &mut Pool, name: &str) {
    let (max, average) = (Pooling::Max, |count_padding| Pooling::Average {
        count_padding,
    });
    let mut axes = pool.windows.len();
    let mut counts_padding = pool.pooling == average(true);
    let mut averages = pool.pooling != max;
    t.one_of(&mut averages, &[("max_pool", false), ("avg_pool", true)]);
    t.value(&mut axes).word(name);
    t.many(&mut pool.windows, &Window::blocks(1), "; ", |t, window| {
        window.text(t)
    });
    t.flag(&mut counts_padding, ", counts padding");
    pool.pooling = if averages {
        average(counts_padding)
    } else {
        max
    };
}

impl Window {
    fn text<'t, 'a>(&mut self, t: &'t mut Text<'a>) -> &'t mut Text<'a> {
        let mut to = match self {
            Self::Adaptive { outputs } => Some(*outputs),
            Self::Sliding { .. } => None,
        };
        t.optional(&mut to, "to ", Text::value);
        if let Some(outputs) = to {
            *self = Self::Adaptive { outputs };
        }
        if let Self::Sliding {
            kernel,
            stride,
            padding,
            dilation,
            ceil,
        } = self
        {
            t.value(kernel).word(" by ").value(stride);
            t.word(", padding ").value(padding);
            t.unless(dilation, 1, ", dilation ", Text::value)
                .flag(ceil, ", ceil");
        }
        t
    }
}

impl Operation for Pool {
    fn kind(&self) -> Kind {
        Kind::new("pool", Class::Reduction).stored(Storage::Follows)
    }

    fn name(&self) -> String {
        format!("{}{}d", title(self.pooling), self.windows.len())
    }

    fn text(&mut self, t: &mut Text<'_>) {
        pool_text(t, self, "d[");
        t.word("]");
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let [x] = operands(inputs)?;
        self.check(x)?;
        Ok(vec![self.pooled(x)])
    }

    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>> {
        let g = b.grad();
        let x = node.inputs[0];
        let size = self.split(b.graph.shape(x)).1.to_vec();
        let g = b.cast_as(g, x)?;
        let pool = self.clone();
        let op = PoolGrad { pool, size };
        let operands: &[ValueId] = match self.pooling {
            Pooling::Max => &[g, x],
            Pooling::Average { .. } => &[g],
        };
        Ok(vec![Some(b.push1(op, operands)?)])
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        let shape = &outputs[0].shape;
        let channels = shape.len() - 1;
        Semantics::new(inputs, outputs)
            .alike(0..channels - self.windows.len(), shape)
            .alike(channels..channels + 1, shape)
    }
}

/// The gradient of a [`Pool`]. Operands: the gradient of its result and, for maxima, its operand.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PoolGrad {
    /// The pooling.
    pub pool: Pool,
    /// The spatial size of its operand.
    pub size: Vec<usize>,
}

impl PoolGrad {
    /// Whether it is the gradient of maxima of blocks, where each element is in exactly one block.
    pub fn by_blocks(&self) -> bool {
        let covers = |(w, n): (&Window, &usize)| w.as_blocks(*n).is_some();
        self.pool.pooling == Pooling::Max && self.pool.windows.iter().zip(&self.size).all(covers)
    }
}

impl Operation for PoolGrad {
    fn kind(&self) -> Kind {
        Kind::new("pool_grad", Class::Reduction)
    }

    fn name(&self) -> String {
        format!("{}_grad", self.pool.name())
    }

    fn text(&mut self, t: &mut Text<'_>) {
        pool_text(t, &mut self.pool, "d_grad[");
        t.word(" of ").list(&mut self.size).word("]");
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let max = self.pool.pooling == Pooling::Max;
        arity(inputs, if max { 2 } else { 1 })?;
        let g = &inputs[0];
        if g.shape.len() < self.pool.windows.len() + 2 || self.size.len() != self.pool.windows.len()
        {
            return invalid!("the gradient has the wrong number of axes";
                "pass the gradient of the pooled tensor");
        }
        let (leading, _, channels) = self.pool.split(&g.shape);
        let x = TensorType::new(g.dtype, [leading, &self.size, &[channels]].concat());
        self.pool.check(&x)?;
        if self.pool.pooled(&x) != *g || (max && inputs[1] != x) {
            return invalid!("the gradient does not match a pooled {x}";
                "pass the gradient of the pooled tensor, and the tensor that was pooled");
        }
        Ok(vec![x])
    }

    fn differentiate(&self, b: &mut Backward<'_>, _: &Node) -> Result<Vec<Option<ValueId>>> {
        if self.pool.pooling == Pooling::Max {
            return Err(self.no_gradient("second derivatives of max pooling are not implemented"));
        }
        let g = b.grad();
        Ok(vec![Some(b.push1(self.pool.clone(), &[g])?)])
    }

    fn in_place(&self, _: usize) -> InPlace {
        match self.by_blocks() {
            true => InPlace::Elements,
            false => InPlace::Never,
        }
    }

    fn asks_device(&self) -> bool {
        true
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        self.pool.semantics(inputs, outputs)
    }

    fn flops(&self, _: &[TensorType], outputs: &[TensorType]) -> u64 {
        elements(outputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_windows_is_that_of_pytorch() {
        let w = |kernel, stride, padding, dilation, ceil| Window::Sliding {
            kernel,
            stride,
            padding,
            dilation,
            ceil,
        };
        assert_eq!(w(2, 2, 0, 1, false).outputs(7), 3);
        assert_eq!(w(2, 2, 0, 1, true).outputs(7), 4);
        assert_eq!(w(3, 2, 1, 1, false).outputs(8), 4);
        assert_eq!(w(3, 2, 1, 1, true).outputs(8), 5);
        assert_eq!(w(2, 3, 1, 1, true).outputs(4), 2);
        assert_eq!(w(3, 1, 0, 2, false).outputs(4), 0);
    }
}
