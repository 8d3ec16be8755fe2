//! Users' own operations.

use crate::harness::{Loaded, check_forward, check_gradients, compute, tensor};
use insta::assert_snapshot;
use spikelet_graph::op::{BackwardOperand, Custom, CustomOp, HostCall, HostTensor, HostTensorMut};
use spikelet_graph::{DType, InvalidOp, Location, Tensor, TensorType, Tracer, Var};
use std::sync::Arc;

/// (x, y) → (x·y, x + y), and what belongs to it backwards.
#[derive(Debug)]
struct ProductAndSum;

#[derive(Debug)]
struct Backward;

fn each<const N: usize, const M: usize>(
    HostCall {
        inputs, outputs, ..
    }: &mut HostCall<'_>,
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
    fn outputs(&self) -> usize {
        2
    }
    fn infer(&self, inputs: &[TensorType]) -> Result<Vec<TensorType>, InvalidOp> {
        if inputs.len() != 2 || inputs[0] != inputs[1] {
            return Err(InvalidOp::new(
                "two tensors alike are needed",
                "pass two tensors of one type",
            ));
        }
        Ok(inputs.to_vec())
    }
    fn run(&self, call: &mut HostCall<'_>) -> Result<(), InvalidOp> {
        each(call, |[x, y]| [x * y, x + y]);
        Ok(())
    }
    fn backward(&self) -> Option<Arc<dyn CustomOp>> {
        Some(Arc::new(Backward))
    }
}

impl CustomOp for Backward {
    fn name(&self) -> String {
        "product_and_sum_grad".to_string()
    }
    fn outputs(&self) -> usize {
        2
    }
    fn infer(&self, inputs: &[TensorType]) -> Result<Vec<TensorType>, InvalidOp> {
        Ok(inputs[..2].to_vec())
    }
    fn run(&self, call: &mut HostCall<'_>) -> Result<(), InvalidOp> {
        each(call, |[x, y, g, h]| [g * y + h, g * x + h]);
        Ok(())
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

/// A backward that makes something else than the input.
#[derive(Debug)]
struct Careless;

impl CustomOp for Careless {
    fn name(&self) -> String {
        "careless".to_string()
    }
    fn infer(&self, inputs: &[TensorType]) -> Result<Vec<TensorType>, InvalidOp> {
        Ok(vec![TensorType::new(inputs[0].dtype, [1])])
    }
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

/// x → (x³, 3·x²), the second only for the backward pass, which reads nothing else of the forward
/// one.
#[derive(Debug)]
struct Cube;

#[derive(Debug)]
struct CubeGrad;

impl CustomOp for Cube {
    fn name(&self) -> String {
        "cube".to_string()
    }
    fn outputs(&self) -> usize {
        2
    }
    fn infer(&self, inputs: &[TensorType]) -> Result<Vec<TensorType>, InvalidOp> {
        Ok(vec![inputs[0].clone(); 2])
    }
    fn run(&self, call: &mut HostCall<'_>) -> Result<(), InvalidOp> {
        let (HostTensor::F64(x), [HostTensorMut::F64(y), HostTensorMut::F64(slope)]) =
            (&call.inputs[0], &mut call.outputs[..])
        else {
            return Err(InvalidOp::new("f64 is needed", "trace in f64"));
        };
        y.iter_mut().zip(*x).for_each(|(y, x)| *y = x * x * x);
        let wanted = slope.iter_mut().zip(*x);
        wanted.for_each(|(slope, x)| *slope = 3.0 * x * x);
        Ok(())
    }
    fn backward(&self) -> Option<Arc<dyn CustomOp>> {
        Some(Arc::new(CubeGrad))
    }
    fn backward_operands(&self, _: usize, _: usize) -> Vec<BackwardOperand> {
        vec![BackwardOperand::Gradient(0), BackwardOperand::Output(1)]
    }
    fn may_skip(&self, output: usize) -> bool {
        output == 1
    }
}

impl CustomOp for CubeGrad {
    fn name(&self) -> String {
        "cube_grad".to_string()
    }
    fn infer(&self, inputs: &[TensorType]) -> Result<Vec<TensorType>, InvalidOp> {
        Ok(inputs[..1].to_vec())
    }
    fn run(&self, call: &mut HostCall<'_>) -> Result<(), InvalidOp> {
        each(call, |[g, slope]| [g * slope]);
        Ok(())
    }
}

#[test]
fn an_output_for_the_backward_pass_is_kept_there_and_left_out_elsewhere() {
    let x = tensor(&[3, 5], 1);
    let cube = |x: &Var| Var::custom(Arc::new(Cube), &[x]).swap_remove(0);
    check_gradients(std::slice::from_ref(&x), |_, x| cube(&x[0]));
    let tracer = Tracer::new(DType::F64);
    let y = cube(&tracer.input("x", DType::F64, [3, 5]));
    tracer.output("y", &y);
    let mut loaded = Loaded::new(tracer.finish().unwrap(), 1);
    let kernel = &loaded.plan.kernels[0];
    assert_eq!(kernel.writes, [Location::Output(0), Location::Unused]);
    assert_eq!(loaded.plan.arena_bytes, 0);
    loaded.set("x", &x);
    loaded.run();
    let want: Vec<f64> = x.to_f64().iter().map(|x| x * x * x).collect();
    assert_eq!(loaded.get("y"), Tensor::f64([3, 5], want));
}

/// x → −x for every type that a tensor can have.
#[derive(Debug)]
struct Negate;

impl CustomOp for Negate {
    fn name(&self) -> String {
        "negate".to_string()
    }
    fn infer(&self, inputs: &[TensorType]) -> Result<Vec<TensorType>, InvalidOp> {
        Ok(inputs.to_vec())
    }
    fn run(&self, call: &mut HostCall<'_>) -> Result<(), InvalidOp> {
        macro_rules! negate {
            ($($type:ident),*) => {
                match (&call.inputs[0], &mut call.outputs[0]) {
                    $((HostTensor::$type(x), HostTensorMut::$type(y)) => {
                        y.iter_mut().zip(*x).for_each(|(y, x)| *y = -*x);
                        Ok(())
                    })*
                    _ => Err(InvalidOp::new("two types", "make them one")),
                }
            };
        }
        negate!(F32, F64, F16, BF16, I64)
    }
}

#[test]
fn operands_of_every_type_come_as_they_are() {
    let halves = [DType::F32, DType::F64, DType::F16, DType::BF16];
    let numbers = halves.map(|dtype| tensor(&[7], 1).cast(dtype));
    for x in numbers.into_iter().chain([Tensor::i64([3], [1, -2, 3])]) {
        let negate = |x: &Var| Var::custom(Arc::new(Negate), &[x]).swap_remove(0);
        let y = compute(std::slice::from_ref(&x), |_, x| negate(&x[0]));
        assert_eq!(y.ty(), x.ty());
        let want: Vec<f64> = x.to_f64().iter().map(|x| -x).collect();
        assert_eq!(y.to_f64(), want);
    }
}

#[test]
fn an_operation_without_code_for_the_cpu_is_an_error_that_names_the_layer() {
    #[derive(Debug)]
    struct Elsewhere;
    impl CustomOp for Elsewhere {
        fn name(&self) -> String {
            "elsewhere".to_string()
        }
        fn infer(&self, inputs: &[TensorType]) -> Result<Vec<TensorType>, InvalidOp> {
            Ok(inputs.to_vec())
        }
    }
    let run = |op: Arc<dyn CustomOp>, dtype: DType| {
        let tracer = Tracer::new(DType::F32);
        let x = tracer.input("x", dtype, [4]);
        let made = tracer.scope("fc", || Var::custom(op, &[&x]));
        tracer.output("y", &made[0]);
        Loaded::new(tracer.finish().unwrap(), 1).executor.run()
    };
    assert_snapshot!(run(Arc::new(Elsewhere), DType::F32).unwrap_err(), @"cpu: elsewhere in `fc`: it has no code for the CPU; run this network with --device cuda, or implement `run`");
    assert_snapshot!(run(Arc::new(Cube), DType::F32).unwrap_err(), @"cpu: cube in `fc`: f64 is needed; trace in f64");
}
