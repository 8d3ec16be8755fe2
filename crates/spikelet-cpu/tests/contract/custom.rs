//! Users' own operations.

use crate::harness::{check_forward, check_gradients, tensor};
use spikelet_graph::op::{Custom, CustomOp, HostTensor, HostTensorMut};
use spikelet_graph::{DType, Refusal, TensorType, Tracer};
use std::sync::Arc;

/// (x, y) → (x·y, x + y), and what belongs to it backwards.
#[derive(Debug)]
struct ProductAndSum;

#[derive(Debug)]
struct Backward;

fn each<const N: usize, const M: usize>(
    inputs: &[HostTensor<'_>],
    outputs: &mut [HostTensorMut<'_>],
    f: impl Fn([f64; N]) -> [f64; M],
) {
    let read = |k: usize, i: usize| match &inputs[k] {
        HostTensor::F64(x) => x[i],
        HostTensor::F32(x) => f64::from(x[i]),
        HostTensor::I64(x) => x[i] as f64,
        HostTensor::F16(x) => x[i].to_f64(),
        HostTensor::BF16(x) => x[i].to_f64(),
    };
    let count = match &inputs[0] {
        HostTensor::F64(x) => x.len(),
        HostTensor::F32(x) => x.len(),
        HostTensor::I64(x) => x.len(),
        HostTensor::F16(x) => x.len(),
        HostTensor::BF16(x) => x.len(),
    };
    for i in 0..count {
        let made = f(std::array::from_fn(|k| read(k, i)));
        for (output, value) in outputs.iter_mut().zip(made) {
            match output {
                HostTensorMut::F64(y) => y[i] = value,
                HostTensorMut::F32(y) => y[i] = value as f32,
                HostTensorMut::I64(y) => y[i] = value as i64,
                HostTensorMut::F16(_) | HostTensorMut::BF16(_) => {
                    unreachable!("the operation makes results of its operands' type")
                }
            }
        }
    }
}

impl CustomOp for ProductAndSum {
    fn name(&self) -> String {
        "product_and_sum".to_string()
    }
    fn infer(&self, inputs: &[TensorType]) -> Result<Vec<TensorType>, Refusal> {
        if inputs.len() != 2 || inputs[0] != inputs[1] {
            return Err(Refusal::new(
                "two tensors alike are needed",
                "pass two tensors of one type",
            ));
        }
        Ok(inputs.to_vec())
    }
    fn run(&self, inputs: &[HostTensor<'_>], outputs: &mut [HostTensorMut<'_>]) {
        each(inputs, outputs, |[x, y]| [x * y, x + y]);
    }
    fn backward(&self) -> Option<Arc<dyn CustomOp>> {
        Some(Arc::new(Backward))
    }
}

impl CustomOp for Backward {
    fn name(&self) -> String {
        "product_and_sum_grad".to_string()
    }
    fn infer(&self, inputs: &[TensorType]) -> Result<Vec<TensorType>, Refusal> {
        Ok(inputs[..2].to_vec())
    }
    fn run(&self, inputs: &[HostTensor<'_>], outputs: &mut [HostTensorMut<'_>]) {
        each(inputs, outputs, |[x, y, g, h]| [g * y + h, g * x + h]);
    }
}

#[test]
fn a_custom_operation_runs_and_passes_gradients() {
    let inputs = [tensor(&[2, 3], 1), tensor(&[2, 3], 2)];
    let (x, y) = (inputs[0].to_f64(), inputs[1].to_f64());
    let want: Vec<f64> = x.iter().zip(&y).map(|(x, y)| x * y - (x + y)).collect();
    let op = || Custom(Arc::new(ProductAndSum));
    check_forward(&inputs, &[2, 3], &want, |tracer, x| {
        let parts = tracer.apply(op(), &[&x[0], &x[1]]);
        &parts[0] - &parts[1]
    });
    check_gradients(&inputs, |tracer, x| {
        let parts = tracer.apply(op(), &[&x[0], &x[1]]);
        &parts[0] * &parts[1]
    });
    // One result alone: the other one's gradient is zero.
    check_gradients(&inputs, |tracer, x| {
        tracer.apply(op(), &[&x[0], &x[1]]).swap_remove(1).tanh()
    });
}

trait Tanh {
    fn tanh(&self) -> Self;
}

impl Tanh for spikelet_graph::Var {
    fn tanh(&self) -> Self {
        self.map1(spikelet_expr::Expr::tanh)
    }
}

/// A backward that makes something else than the input.
#[derive(Debug)]
struct Careless;

impl CustomOp for Careless {
    fn name(&self) -> String {
        "careless".to_string()
    }
    fn infer(&self, inputs: &[TensorType]) -> Result<Vec<TensorType>, Refusal> {
        Ok(vec![TensorType::new(inputs[0].dtype, [1])])
    }
    fn run(&self, _: &[HostTensor<'_>], _: &mut [HostTensorMut<'_>]) {}
    fn backward(&self) -> Option<Arc<dyn CustomOp>> {
        Some(Arc::new(Careless))
    }
}

#[test]
fn a_backward_of_another_shape_and_a_missing_one_are_errors() {
    for (op, text) in [
        (Arc::new(Careless) as Arc<dyn CustomOp>, "careless"),
        (Arc::new(Backward), "product_and_sum_grad"),
    ] {
        let tracer = Tracer::new(DType::F32);
        let x = tracer.input("x", DType::F32, [3]);
        let y = tracer.apply1(Custom(op), &[&x, &x, &x, &x]);
        tracer.gradients(&y.sum_all(), &[&x]);
        let error = tracer.finish().unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("no gradient of `{text}`")),
            "{error}"
        );
    }
}
