//! The products of weights and inputs of a layer.
//!
//! The number of products of a nonzero weight and a nonzero input is Σ_i nonzero(i) · fan_out(i): for each element i of
//! the input, the number of samples and time steps in which it is not 0, times the number of its nonzero weights. It is
//! the sum of the same product or convolution of the tensors x ≠ 0 and w ≠ 0.

/// A layer with weights.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Synapses {
    /// A matrix product over the last axis; the weight is `[outputs, inputs]`.
    Linear {
        /// Input features.
        inputs: usize,
        /// Output features.
        outputs: usize,
    },
    /// A convolution.
    Conv(ConvSynapses),
}

/// A convolution, or a transposed convolution, of an input `[inputs, size…]`. The weight is
/// `[outputs, inputs / groups, kernel…]`, of a transposed convolution `[inputs, outputs / groups, kernel…]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConvSynapses {
    /// Input channels.
    pub inputs: usize,
    /// Output channels.
    pub outputs: usize,
    /// The size of the window.
    pub kernel: Vec<usize>,
    /// The stride.
    pub stride: Vec<usize>,
    /// The padding on both sides.
    pub padding: Vec<usize>,
    /// The dilation.
    pub dilation: Vec<usize>,
    /// The groups of channels.
    pub groups: usize,
    /// The spatial size of the input.
    pub size: Vec<usize>,
    /// Rows added at the end of each axis of the output of a transposed convolution; `None` for a convolution.
    pub transposed: Option<Vec<usize>>,
}

impl Synapses {
    /// The number of weights.
    pub fn weights(&self) -> usize {
        match self {
            Self::Linear { inputs, outputs } => inputs * outputs,
            Self::Conv(conv) => {
                let rows = conv.inputs * conv.outputs / conv.groups.max(1);
                rows * conv.kernel.iter().product::<usize>()
            }
        }
    }

    /// The shape of the output of one sample in one time step, for an input of `shape`.
    pub fn output(&self, shape: &[usize]) -> Vec<usize> {
        match self {
            Self::Linear { outputs, .. } => {
                let rows = &shape[..shape.len().saturating_sub(1)];
                [rows, &[*outputs]].concat()
            }
            Self::Conv(conv) => [vec![conv.outputs], conv.output_size()].concat(),
        }
    }

    /// The number of products of weights and inputs, without those with the zeros of a padding. `inputs` has for each
    /// element of the input the number of times that it is a factor, such as the number of samples and time steps in
    /// which it is not 0; `weight` tells whether the weight of this index is a factor.
    ///
    /// ```
    /// use spikelet_nn::energy::Synapses;
    /// let synapses = Synapses::Linear { inputs: 2, outputs: 3 };
    /// assert_eq!(synapses.products(&[1, 1], |_| true), 6);
    /// // The first input was nonzero 5 times; two of its three weights are not 0.
    /// let weights = [0.5, 1.0, 0.0, 1.0, -2.0, 0.0];
    /// assert_eq!(synapses.products(&[5, 0], |k| weights[k] != 0.0), 10);
    /// ```
    pub fn products(&self, inputs: &[u64], weight: impl Fn(usize) -> bool) -> u64 {
        match self {
            Self::Linear {
                inputs: features,
                outputs,
            } => {
                let fan_out = |k: usize| (0..*outputs).filter(|o| weight(o * features + k)).count();
                let fan_out: Vec<u64> = (0..*features).map(|k| fan_out(k) as u64).collect();
                let rows = inputs.chunks(fan_out.len().max(1));
                rows.map(|row| dot(row, &fan_out)).sum()
            }
            Self::Conv(conv) => conv.products(inputs, &weight),
        }
    }
}

fn dot(a: &[u64], b: &[u64]) -> u64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl ConvSynapses {
    pub(crate) fn output_size(&self) -> Vec<usize> {
        let axes = 0..self.size.len();
        let size = axes.map(|axis| {
            let reach = self.dilation[axis] * self.kernel[axis].saturating_sub(1) + 1;
            match &self.transposed {
                None => (self.size[axis] + 2 * self.padding[axis])
                    .checked_sub(reach)
                    .map_or(0, |room| room / self.stride[axis].max(1) + 1),
                Some(added) => {
                    let grown = self.size[axis].saturating_sub(1) * self.stride[axis];
                    (grown + reach + added[axis]).saturating_sub(2 * self.padding[axis])
                }
            }
        });
        size.collect()
    }

    /// Whether the element `tap` of the window has an output for the input at `at`, on one axis.
    fn reaches(&self, axis: usize, at: usize, tap: usize, outputs: usize) -> bool {
        let (stride, padding) = (self.stride[axis].max(1), self.padding[axis]);
        let tap = tap * self.dilation[axis];
        let output = match self.transposed {
            // output · stride + tap − padding = at
            None => (at + padding)
                .checked_sub(tap)
                .filter(|room| room % stride == 0)
                .map(|room| room / stride),
            // at · stride + tap − padding = output
            Some(_) => (at * stride + tap).checked_sub(padding),
        };
        output.is_some_and(|output| output < outputs)
    }

    /// For each element of the window, the number of channels of the output that it connects with input channel
    /// `channel`.
    fn fan_out(&self, channel: usize, weight: &dyn Fn(usize) -> bool) -> Vec<u64> {
        let taps: usize = self.kernel.iter().product();
        let groups = self.groups.max(1);
        let (inputs, outputs) = (self.inputs / groups, self.outputs / groups);
        let group = channel / inputs.max(1);
        let index = |output: usize, tap: usize| match self.transposed {
            None => ((group * outputs + output) * inputs + channel % inputs.max(1)) * taps + tap,
            Some(_) => (channel * outputs + output) * taps + tap,
        };
        let count = |tap| (0..outputs).filter(|&o| weight(index(o, tap))).count() as u64;
        (0..taps).map(count).collect()
    }

    fn products(&self, inputs: &[u64], weight: &dyn Fn(usize) -> bool) -> u64 {
        let outputs = self.output_size();
        let positions: usize = self.size.iter().product();
        let taps: usize = self.kernel.iter().product();
        // The sum of the inputs that an element of the window reaches, by channel and element.
        let mut sum = 0;
        for (channel, inputs) in inputs.chunks(positions.max(1)).enumerate() {
            let fan_out = self.fan_out(channel, weight);
            for tap in (0..taps).filter(|&tap| fan_out[tap] > 0) {
                let tap_at = index_of(tap, &self.kernel);
                let reached = inputs.iter().enumerate().filter(|(at, count)| {
                    let at = || index_of(*at, &self.size);
                    **count > 0
                        && (at().into_iter().zip(&tap_at).enumerate())
                            .all(|(axis, (at, tap))| self.reaches(axis, at, *tap, outputs[axis]))
                });
                sum += fan_out[tap] * reached.map(|(_, count)| count).sum::<u64>();
            }
        }
        sum
    }
}

/// The index on each axis of the element `flat` of a tensor of this shape.
fn index_of(mut flat: usize, shape: &[usize]) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (at, size) in index.iter_mut().zip(shape).rev() {
        *at = flat % size.max(&1);
        flat /= size.max(&1);
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A convolution of one axis by loops over outputs.
    fn looped(conv: &ConvSynapses, inputs: &[u64], weight: &dyn Fn(usize) -> bool) -> u64 {
        let [size, kernel] = [conv.size[0], conv.kernel[0]];
        let outputs = conv.output_size()[0];
        let (ins, outs) = (conv.inputs / conv.groups, conv.outputs / conv.groups);
        let mut sum = 0;
        for (o, i, k) in (0..conv.outputs)
            .flat_map(|o| (0..conv.inputs).flat_map(move |i| (0..kernel).map(move |k| (o, i, k))))
        {
            if o / outs != i / ins {
                continue;
            }
            let index = match conv.transposed {
                None => (o * ins + i % ins) * kernel + k,
                Some(_) => (i * outs + o % outs) * kernel + k,
            };
            if !weight(index) {
                continue;
            }
            for (at, out) in (0..size).flat_map(|at| (0..outputs).map(move |out| (at, out))) {
                let (fine, coarse) = match conv.transposed {
                    None => (at, out),
                    Some(_) => (out, at),
                };
                let touched = coarse * conv.stride[0] + k * conv.dilation[0];
                if touched == fine + conv.padding[0] {
                    sum += inputs[i * size + at];
                }
            }
        }
        sum
    }

    #[test]
    fn products_of_convolutions_equal_loops_over_their_outputs() {
        let weights = |k: usize| k % 3 != 1;
        for (kernel, stride, padding, dilation, groups) in [
            (3, 1, 0, 1, 1),
            (3, 2, 1, 1, 1),
            (4, 3, 2, 2, 2),
            (1, 2, 0, 1, 2),
            (5, 1, 4, 1, 1),
        ] {
            for transposed in [None, Some(vec![0]), Some(vec![stride - 1])] {
                let conv = ConvSynapses {
                    inputs: 4,
                    outputs: 6,
                    kernel: vec![kernel],
                    stride: vec![stride],
                    padding: vec![padding],
                    dilation: vec![dilation],
                    groups,
                    size: vec![9],
                    transposed,
                };
                let inputs: Vec<u64> = (0..36).map(|k| (k * k) % 7).collect();
                let synapses = Synapses::Conv(conv.clone());
                for weight in [&weights as &dyn Fn(usize) -> bool, &|_| true] {
                    let expected = looped(&conv, &inputs, weight);
                    assert!(expected > 0);
                    assert_eq!(synapses.products(&inputs, weight), expected, "{conv:?}");
                }
                assert_eq!(synapses.weights(), 4 * 6 / groups * kernel);
            }
        }
    }
}
