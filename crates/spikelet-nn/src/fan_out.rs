//! The fan-out of the elements of a layer's input, on a device.

use crate::synapses::{ConvSynapses, Synapses};
use spikelet_expr::Expr;
use spikelet_graph::op::{Conv, ConvPart};
use spikelet_graph::{DType, Var};

impl Synapses {
    /// The number of products of each element of the input with a nonzero weight, f32 integers: `[inputs]` of a linear
    /// layer, `[inputs, size…]` of a convolution. Products with the zeros of a padding do not count.
    ///
    /// It is the gradient of the sum of the layer's outputs with respect to the input, with ones in the place of the
    /// weights that are not 0. Σ_i nonzero(i) · fan_out(i) are the [`products`](Synapses::products).
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer};
    /// use spikelet_nn::energy::Synapses;
    /// let tracer = Tracer::new(DType::F32);
    /// let weight = tracer.parameter("weight", [3, 2]);
    /// let synapses = Synapses::Linear { inputs: 2, outputs: 3 };
    /// assert_eq!(synapses.fan_out(&weight).shape(), [2]);
    /// assert_eq!(synapses.most_fan_out(), 3);
    /// ```
    pub fn fan_out(&self, weight: &Var) -> Var {
        let nonzero = weight
            .cast(DType::F32)
            .map1(|w| Expr::select(w.abs().gt(0.0), 1.0, 0.0));
        match self {
            Self::Linear { .. } => nonzero.sum(&[0]),
            Self::Conv(conv) => conv.fan_out_of(&nonzero),
        }
    }

    /// A bound of the fan-out of an element: that without zeros among the weights and without boundaries.
    pub fn most_fan_out(&self) -> usize {
        match self {
            Self::Linear { outputs, .. } => *outputs,
            Self::Conv(conv) => {
                conv.outputs / conv.groups.max(1) * conv.kernel.iter().product::<usize>()
            }
        }
    }
}

impl ConvSynapses {
    /// The fan-out, `[inputs, size…]`, from ones for the nonzero weights.
    fn fan_out_of(&self, nonzero: &Var) -> Var {
        let axes = self.kernel.len();
        let op = Conv {
            stride: self.stride.clone(),
            padding: self.padding.clone(),
            dilation: self.dilation.clone(),
            groups: self.groups,
            ..Conv::new(axes)
        };
        // The gradient of a transposed convolution is a convolution.
        let op = match self.transposed {
            None => op.part(ConvPart::Input, self.size.clone()),
            Some(_) => op,
        };
        // The operation has its channels last.
        let mut order: Vec<usize> = (0..axes + 2).collect();
        order[1..].rotate_left(1);
        let mut ones = vec![1];
        ones.extend(self.output_size());
        ones.push(self.outputs);
        let ones = nonzero.tracer().fill(DType::F32, ones, 1.0);
        // Not all algorithms of convolutions give integers.
        let fan_out = ones
            .conv(&nonzero.permute(&order), op)
            .map1(|sum| (sum + Expr::from(0.5)).floor());
        let mut channels_second: Vec<usize> = (0..axes + 2).collect();
        channels_second[1..].rotate_right(1);
        let mut shape = vec![self.inputs];
        shape.extend(&self.size);
        fan_out.permute(&channels_second).reshape(shape)
    }
}
