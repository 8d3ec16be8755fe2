//! Convolutions over one, two or three axes, channels last.
//!
//! `y[n, o, c] = Σ_k Σ_i x[n, o·stride + k·dilation − padding, i] · w[c, k, i]`, as PyTorch's
//! convolution with the axes in another order. The three products of a convolution (the result,
//! the gradient of the input, the gradient of the weight) are one operation with three variants; the
//! derivative of each consists of the other two. A transposed convolution is [`ConvPart::Input`].

use super::*;
use crate::types::elements;

/// The product of `y = conv(x, w)` that is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ConvPart {
    /// `(x, w) → y`
    #[default]
    Forward,
    /// `(gradient of y, w) → gradient of x`
    Input,
    /// `(x, gradient of y) → gradient of w`
    Weight,
}

/// How the name of a convolution ends.
const PARTS: [(&str, ConvPart); 3] = [
    ("_input", ConvPart::Input),
    ("_weight", ConvPart::Weight),
    ("", ConvPart::Forward),
];

/// A convolution, or one of its gradients.
///
/// `x` is `[…, spatial…, in]`, `w` is `[out, kernel…, in / groups]`, `y` is `[…, spatial…, out]`;
/// all axes before the spatial ones are folded into the batch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Conv {
    /// The product.
    pub part: ConvPart,
    /// The stride of the window, for each spatial axis.
    pub stride: Vec<usize>,
    /// The number of zeros on both sides of `x`.
    pub padding: Vec<usize>,
    /// The distance between neighboring elements of the kernel.
    pub dilation: Vec<usize>,
    /// The number of independent groups of channels.
    pub groups: usize,
    /// The size that the operands do not determine: the spatial size of `x` for [`ConvPart::Input`], of
    /// the kernel for [`ConvPart::Weight`]; empty for [`ConvPart::Forward`].
    pub size: Vec<usize>,
    /// The precision of f32 products.
    pub precision: MatmulPrecision,
}

/// The sizes that all three products have in common.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ConvSizes {
    /// The number of images: the product of all axes before the spatial ones.
    pub batch: usize,
    /// Channels of `x`.
    pub inputs: usize,
    /// Channels of `y`.
    pub outputs: usize,
    /// Spatial size of `x`.
    pub x: Vec<usize>,
    /// Size of the kernel.
    pub kernel: Vec<usize>,
    /// Spatial size of `y`.
    pub y: Vec<usize>,
}

impl Conv {
    /// A convolution over `axes` axes with stride 1 and without padding.
    pub fn new(axes: usize) -> Self {
        Self {
            stride: vec![1; axes],
            padding: vec![0; axes],
            dilation: vec![1; axes],
            groups: 1,
            ..Self::default()
        }
    }

    /// Another product of the same convolution.
    pub fn part(&self, part: ConvPart, size: impl Into<Vec<usize>>) -> Self {
        Self {
            part,
            size: size.into(),
            ..self.clone()
        }
    }

    /// The number of spatial axes.
    pub fn axes(&self) -> usize {
        self.stride.len()
    }

    /// The number of positions of a window along one axis; 0 if it does not fit.
    fn positions(&self, axis: usize, size: usize, kernel: usize) -> usize {
        if kernel == 0 {
            return 0;
        }
        let reach = self.dilation[axis].saturating_mul(kernel - 1);
        match self.padded(axis, size).checked_sub(reach) {
            Some(free) if free > 0 => (free - 1) / self.stride[axis] + 1,
            _ => 0,
        }
    }

    /// The elements of an axis of `size` with the padding on both sides; `usize::MAX` if it overflows.
    fn padded(&self, axis: usize, size: usize) -> usize {
        self.padding[axis].saturating_mul(2).saturating_add(size)
    }

    /// Leading axes, spatial axes and channels of a shape.
    fn split<'a>(&self, shape: &'a [usize]) -> (&'a [usize], &'a [usize], usize) {
        let (leading, rest) = shape.split_at(shape.len() - self.axes() - 1);
        (leading, &rest[..self.axes()], rest[self.axes()])
    }

    /// The sizes of the convolution with these operands.
    pub fn sizes(&self, inputs: &[TensorType]) -> ConvSizes {
        let (a, b) = (&inputs[0].shape, &inputs[1].shape);
        let (leading, first, channels) = self.split(a);
        let batch = elements(leading);
        match self.part {
            ConvPart::Forward => {
                let (_, kernel, _) = self.split(b);
                let y = (0..self.axes()).map(|k| self.positions(k, first[k], kernel[k]));
                ConvSizes {
                    batch,
                    inputs: channels,
                    outputs: b[0],
                    y: y.collect(),
                    x: first.to_vec(),
                    kernel: kernel.to_vec(),
                }
            }
            ConvPart::Input => ConvSizes {
                batch,
                inputs: self.split(b).2.saturating_mul(self.groups),
                outputs: channels,
                x: self.size.clone(),
                kernel: self.split(b).1.to_vec(),
                y: first.to_vec(),
            },
            ConvPart::Weight => ConvSizes {
                batch,
                inputs: channels,
                outputs: self.split(b).2,
                x: first.to_vec(),
                kernel: self.size.clone(),
                y: self.split(b).1.to_vec(),
            },
        }
    }

    fn check(&self, inputs: &[TensorType]) -> std::result::Result<(), InvalidOp> {
        let [a, b] = operands(inputs)?;
        let axes = self.axes();
        let same = self.padding.len() == axes && self.dilation.len() == axes;
        let size = match self.part {
            ConvPart::Forward => 0,
            _ => axes,
        };
        if !(1..=3).contains(&axes) || !same || self.size.len() != size {
            return invalid!("strides {}, padding {}, dilation {}",
                ShapeText(&self.stride), ShapeText(&self.padding), ShapeText(&self.dilation);
                "pass one value of each for every spatial axis, of one to three axes");
        }
        if self.groups == 0 || self.stride.contains(&0) || self.dilation.contains(&0) {
            return invalid!("a stride, a dilation or the number of groups is 0"; "use at least 1");
        }
        let steps = [&self.stride, &self.padding, &self.dilation];
        if steps.into_iter().flatten().any(|n| *n > MAX_STEP) {
            return invalid!("a stride, a padding or a dilation is more than {MAX_STEP}";
                "use a smaller value");
        }
        if a.dtype != b.dtype || !a.dtype.is_float() {
            return invalid!("cannot convolve {} with {}", a.dtype, b.dtype;
                "convert the operands to one floating-point type");
        }
        let second = match self.part {
            ConvPart::Weight => a.shape.len(),
            _ => axes + 2,
        };
        if a.shape.len() < axes + 2 || b.shape.len() != second {
            return invalid!("an operand has the wrong number of axes";
                format!("images are [batch, {axes} spatial, channels], weights [out, {axes} kernel, in]"));
        }
        Ok(())
    }
}

impl Operation for Conv {
    fn kind(&self) -> Kind {
        Kind::new("conv", Class::Contraction).stored(Storage::Product)
    }

    fn name(&self) -> String {
        let part = PARTS.iter().find(|(_, part)| *part == self.part);
        format!("conv{}d{}", self.axes(), part.map_or("", |part| part.0))
    }

    fn text(&mut self, t: &mut Text<'_>) {
        let mut axes = self.axes();
        t.word("conv").value(&mut axes).word("d");
        t.one_of(&mut self.part, &PARTS);
        t.word("[stride ").list(&mut self.stride);
        t.word(", padding ").list(&mut self.padding);
        let near = vec![1; self.axes()];
        t.unless(&mut self.dilation, near, ", dilation ", Text::list)
            .unless(&mut self.groups, 1, ", groups ", Text::value)
            .unless(&mut self.size, vec![], ", size ", Text::list);
        self.precision.text(t);
        t.word("]");
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        self.check(inputs)?;
        let sizes = self.sizes(inputs);
        let (a, b) = (&inputs[0], &inputs[1]);
        let (leading, ..) = self.split(&a.shape);
        let per_group = match self.part {
            ConvPart::Weight => sizes.inputs / self.groups,
            _ => self.split(&b.shape).2,
        };
        let fitting = per_group.checked_mul(self.groups) == Some(sizes.inputs);
        if !fitting || !sizes.outputs.is_multiple_of(self.groups) {
            return invalid!("{} groups of {per_group} input channels; the input has {} channels, the output {}",
                self.groups, sizes.inputs, sizes.outputs;
                "input and output channels must be multiples of the groups, and the weight fit the input");
        }
        let fits = (0..self.axes()).all(|k| {
            self.positions(k, sizes.x[k], sizes.kernel[k]) == sizes.y[k] && sizes.y[k] > 0
        });
        let outputs = match self.part {
            ConvPart::Weight => sizes.outputs,
            ConvPart::Input | ConvPart::Forward => b.shape[0],
        };
        if !fits
            || outputs != sizes.outputs
            || (self.part == ConvPart::Weight && self.split(&b.shape).0 != leading)
        {
            return invalid!("kernel {} on images of {} does not give images of {}",
                ShapeText(&sizes.kernel), ShapeText(&sizes.x), ShapeText(&sizes.y);
                "use larger images, a smaller kernel, or more padding");
        }
        let padded = (0..self.axes()).map(|k| self.padded(k, sizes.x[k]));
        TensorType::new(a.dtype, padded.collect::<Vec<_>>()).check_size()?;
        let image = |spatial: &[usize], channels| [leading, spatial, &[channels]].concat();
        let shape = match self.part {
            ConvPart::Forward => image(&sizes.y, sizes.outputs),
            ConvPart::Input => image(&sizes.x, sizes.inputs),
            ConvPart::Weight => [&[sizes.outputs], &*sizes.kernel, &[per_group]].concat(),
        };
        Ok(vec![TensorType::new(a.dtype, shape)])
    }

    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>> {
        let g = b.grad();
        let (first, second) = (node.inputs[0], node.inputs[1]);
        let types = [first, second].map(|v| b.graph.ty(v).clone());
        let sizes = self.sizes(&types);
        let g = b.cast_as(g, first)?;
        let forward = self.part(ConvPart::Forward, []);
        let input = self.part(ConvPart::Input, sizes.x);
        let weight = self.part(ConvPart::Weight, sizes.kernel);
        let (of_first, of_second) = match self.part {
            ConvPart::Forward => ((input, g, second), (weight, first, g)),
            ConvPart::Input => ((forward, g, second), (weight, g, first)),
            ConvPart::Weight => ((input, second, g), (forward, first, g)),
        };
        let mut grads = vec![None, None];
        // The second operand's gradient first: the memory that it reads is then free for the other's result.
        for (k, (op, left, right)) in [of_first, of_second].into_iter().enumerate().rev() {
            if b.wanted[k] {
                grads[k] = Some(b.push1(op, &[left, right])?);
            }
        }
        Ok(grads)
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        let (first, second) = (&inputs[0].shape, &inputs[1].shape);
        let channels = first.len() - 1;
        let leading = channels - self.axes();
        let of_weight = second.len() - 1;
        let is_weight = self.part == ConvPart::Weight;
        let mut s = Semantics::new(inputs, outputs);
        for (k, length) in first[..leading].iter().enumerate() {
            match is_weight {
                true => s.axis(Role::Reduced, *length, [(0, k), (1, k)], []),
                false => s.axis(Role::Parallel, *length, [(0, k)], [(0, k)]),
            }
        }
        if self.groups == 1 {
            // The channels of the second operand that the sum runs over, and those of the result.
            let (sum, result) = match self.part {
                ConvPart::Forward => (Some(of_weight), 0),
                ConvPart::Input => (Some(0), of_weight),
                ConvPart::Weight => (None, of_weight),
            };
            if let Some(sum) = sum {
                s.axis(Role::Reduced, second[sum], [(0, channels), (1, sum)], []);
                s.axis(
                    Role::Parallel,
                    second[result],
                    [(1, result)],
                    [(0, channels)],
                );
            } else {
                let last = outputs[0].shape.len() - 1;
                s.axis(
                    Role::Parallel,
                    first[channels],
                    [(0, channels)],
                    [(0, last)],
                );
                s.axis(Role::Parallel, second[result], [(1, result)], [(0, 0)]);
            }
        }
        s
    }

    fn precision_mut(&mut self) -> Option<&mut MatmulPrecision> {
        Some(&mut self.precision)
    }

    fn is_chunked(&self) -> bool {
        true
    }

    fn flops(&self, inputs: &[TensorType], _: &[TensorType]) -> u64 {
        let s = self.sizes(inputs);
        let counts = [2, s.batch, s.outputs, s.inputs / self.groups];
        product(counts.into_iter().chain(s.y).chain(s.kernel))
    }
}
