//! Matrix products over time in which each weight acts on another time step.
//!
//! `y[t, n, o] = Σ_i w[i, o] · x[t + lags − lag[i, o], n, i]`: operands `x` `[lags + T, N, in]`, a sequence behind the steps
//! before it, `w` and `lag` `[in, out]`. A row of the weights has those of one neuron that fires, so that a spike adds a
//! row, each element to the step of its own lag.
//!
//! Its derivative is that of the convolution over time whose kernel has one element for each weight.

use super::*;
use spikelet_expr::Expr;

/// A product of a sequence with weights that each have a lag in time steps.
///
/// Lags are floating-point numbers, rounded down after ½ is added, and clamped to 0 and `lags`. They have no gradient. Products
/// are added in ascending order of `i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DelayedMatMul {
    /// The number of steps of `x` before the first result, the largest lag.
    pub lags: usize,
}

/// The sizes of a [`DelayedMatMul`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedSizes {
    /// Time steps of the result.
    pub steps: usize,
    /// The batch.
    pub batch: usize,
    /// Input features.
    pub inputs: usize,
    /// Output features.
    pub outputs: usize,
}

impl DelayedMatMul {
    /// The sizes for operands of these types, which [`Operation::infer`] accepts.
    pub fn sizes(&self, x: &TensorType, weight: &TensorType) -> DelayedSizes {
        DelayedSizes {
            steps: x.shape[0] - self.lags,
            batch: x.shape[1],
            inputs: x.shape[2],
            outputs: weight.shape[1],
        }
    }

    /// The lag of an element as an expression.
    fn lag(&self, given: &Expr) -> Expr {
        (given + 0.5).floor().clamp(0.0, self.lags as f64)
    }

    /// 1 at the tap of each weight, `[out, lags + 1, in]`: tap k acts on the step k of the window. With `weight`, the
    /// weight.
    fn kernel(
        &self,
        b: &mut Backward<'_>,
        sizes: DelayedSizes,
        lag: ValueId,
        weight: Option<ValueId>,
    ) -> Result<ValueId> {
        let (taps, dtype) = (self.lags + 1, b.graph.ty(lag).dtype);
        let mut numbers = vec![];
        for k in 0..taps {
            numbers.push(b.fill(TensorType::new(dtype, [1]), k as f64)?);
        }
        let tap = b.push1(Concat { axis: 0 }, &numbers)?;
        let tap = b.reshape(tap, vec![1, taps, 1])?;
        let (inputs, outputs) = (sizes.inputs, sizes.outputs);
        let mut operands = vec![tap];
        for value in [Some(lag), weight].into_iter().flatten() {
            let rows = b.permute(value, &[1, 0])?;
            operands.push(b.reshape(rows, vec![outputs, 1, inputs])?);
        }
        let distance = Map::operand(0) + self.lag(&Map::operand(1)) - self.lags as f64;
        let one = distance.abs().lt(0.5);
        let value = match weight {
            Some(_) => one * Map::operand(2),
            None => one,
        };
        b.map1(value, vec![outputs, taps, inputs], dtype, &operands)
    }
}

impl Operation for DelayedMatMul {
    fn kind(&self) -> Kind {
        Kind::new("delayed_matmul", Class::Contraction)
    }

    fn text(&mut self, t: &mut Text<'_>) {
        t.word("delayed_matmul[")
            .value(&mut self.lags)
            .word(" lags]");
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let [x, weight, lag] = operands(inputs)?;
        let fits = matches!((&x.shape[..], &weight.shape[..]), ([rows, _, features], [inputs, _])
            if *rows > self.lags && features == inputs);
        if !fits || lag.shape != weight.shape {
            return invalid!("{x}, weight {weight} and lag {lag} with {} lags", self.lags;
                "x is [lags + T, N, in], weight and lag are [in, out]");
        }
        let full = x.dtype.is_float() && !x.dtype.is_half();
        if !full || weight.dtype != x.dtype || lag.dtype != x.dtype {
            return invalid!("cannot multiply {} with {} at {}", x.dtype, weight.dtype, lag.dtype;
                "convert all operands to f32 or f64");
        }
        let sizes = self.sizes(x, weight);
        let y = TensorType::new(x.dtype, [sizes.steps, sizes.batch, sizes.outputs]);
        y.check_size()?;
        Ok(vec![y])
    }

    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>> {
        let g = b.grad();
        let [x, weight, lag] = [0, 1, 2].map(|k| node.inputs[k]);
        let sizes = self.sizes(b.graph.ty(x), b.graph.ty(weight));
        let DelayedSizes {
            steps,
            batch,
            inputs,
            outputs,
        } = sizes;
        let (rows, taps) = (self.lags + steps, self.lags + 1);
        let conv = Conv::new(2);
        let image = b.reshape(g, vec![1, steps, batch, outputs])?;
        let mut grads = vec![None; 3];
        if b.wanted[1] {
            let window = b.reshape(x, vec![1, rows, batch, inputs])?;
            let op = conv.part(ConvPart::Weight, [taps, 1]);
            let all = b.push1(op, &[window, image])?;
            let all = b.reshape(all, vec![outputs, taps, inputs])?;
            let one = self.kernel(b, sizes, lag, None)?;
            let (shape, dtype) = (vec![outputs, taps, inputs], b.graph.ty(all).dtype);
            let own = Map::operand(0) * Map::operand(1);
            let own = b.map1(own, shape, dtype, &[all, one])?;
            let sum = b.push1(Reduce::sum([1]), &[own])?;
            grads[1] = Some(b.permute(sum, &[1, 0])?);
        }
        if b.wanted[0] {
            let kernel = self.kernel(b, sizes, lag, Some(weight))?;
            let kernel = b.reshape(kernel, vec![outputs, taps, 1, inputs])?;
            let op = conv.part(ConvPart::Input, [rows, batch]);
            let grad = b.push1(op, &[image, kernel])?;
            grads[0] = Some(b.reshape(grad, vec![rows, batch, inputs])?);
        }
        Ok(grads)
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        let sizes = self.sizes(&inputs[0], &inputs[1]);
        let mut s = Semantics::new(inputs, outputs);
        s.axis(Role::Parallel, sizes.batch, [(0, 1)], [(0, 1)]);
        s.axis(Role::Reduced, sizes.inputs, [(0, 2), (1, 0), (2, 0)], []);
        s.axis(Role::Parallel, sizes.outputs, [(1, 1), (2, 1)], [(0, 2)]);
        s
    }

    fn flops(&self, inputs: &[TensorType], _: &[TensorType]) -> u64 {
        let s = self.sizes(&inputs[0], &inputs[1]);
        product([2, s.steps, s.batch, s.inputs, s.outputs])
    }
}

#[cfg(test)]
mod tests {
    use crate::{DType, Tracer};

    #[test]
    fn operands_that_do_not_fit_are_refused() {
        let made = |x: &[usize], weight: [usize; 2], lag: [usize; 2], lags: usize| {
            let tracer = Tracer::new(DType::F32);
            let x = tracer.input("x", DType::F32, x);
            let weight = tracer.input("weight", DType::F32, weight);
            let lag = tracer.input("lag", DType::F32, lag);
            let y = x.delayed_matmul(&weight, &lag, lags);
            tracer.check().map(|()| y.shape().to_vec())
        };
        assert_eq!(made(&[9, 2, 3], [3, 4], [3, 4], 5).unwrap(), [4, 2, 4]);
        assert!(made(&[5, 2, 3], [3, 4], [3, 4], 5).is_err());
        assert!(made(&[9, 2, 3], [4, 3], [4, 3], 5).is_err());
        assert!(made(&[9, 2, 3], [3, 4], [4, 3], 5).is_err());
        assert!(made(&[9, 6], [3, 4], [3, 4], 5).is_err());
        let tracer = Tracer::new(DType::F32);
        let x = tracer.input("x", DType::BF16, [9, 2, 3]);
        let weight = tracer.input("weight", DType::F32, [3, 4]);
        x.delayed_matmul(&weight, &weight, 5);
        assert!(tracer.check().is_err());
    }
}
