//! Custom operations with device code: the results of the CPU, in captured plans too.

use crate::harness::{Loaded, Near, apart, data, gpu, same, scaled, tensor, traced};
use spikelet_cpu::Cpu;
use spikelet_graph::op::{
    CustomOp, DeviceCall, DeviceCode, DeviceKernel, HostCall, HostTensor, HostTensorMut,
};
use spikelet_graph::{Backend, DType, InvalidOp, Tensor, TensorType, Tracer, Var};
use std::collections::BTreeMap;
use std::sync::Arc;

const SOURCE: &str = include_str!("custom.cu");

pub type Types = Result<Vec<TensorType>, InvalidOp>;
pub type Code = Result<Option<DeviceCode>, InvalidOp>;

pub fn kernel(name: &str) -> DeviceKernel {
    DeviceKernel::new(name, SOURCE)
}

/// The code of these kernels.
pub fn code(kernels: impl IntoIterator<Item = DeviceKernel>) -> DeviceCode {
    // SAFETY: the kernels of `custom.cu` compare their threads with the sizes that they are given,
    // and are given those of their operands.
    unsafe { DeviceCode::new(kernels) }
}

pub fn custom(op: impl CustomOp + 'static, operands: &[&Var]) -> Vec<Var> {
    Var::custom(Arc::new(op), operands)
}

/// sign(x)·max(|x| − limit, 0)
#[derive(Clone, Debug)]
struct Shrink {
    limit: f32,
}

#[derive(Debug)]
struct ShrinkGrad(Shrink);

impl CustomOp for Shrink {
    fn name(&self) -> String {
        "shrink".to_string()
    }
    fn infer(&self, inputs: &[TensorType]) -> Types {
        Ok(inputs.to_vec())
    }
    fn run(&self, call: &mut HostCall<'_>) -> Result<(), InvalidOp> {
        let one = |x: &f32| (x.abs() - self.limit).max(0.0).copysign(*x);
        let y = call.outputs[0].f32()?.iter_mut();
        y.zip(call.inputs[0].f32()?).for_each(|(y, x)| *y = one(x));
        Ok(())
    }
    fn device_code(&self, call: &DeviceCall<'_>) -> Code {
        let n = call.inputs[0].len();
        let kernel = kernel("shrink").threads(n).input(0).output(0);
        Ok(Some(code([kernel.value(n as u32).value(self.limit)])))
    }
    fn backward(&self) -> Option<Arc<dyn CustomOp>> {
        Some(Arc::new(ShrinkGrad(self.clone())))
    }
}

impl CustomOp for ShrinkGrad {
    fn name(&self) -> String {
        "shrink_grad".to_string()
    }
    fn infer(&self, inputs: &[TensorType]) -> Types {
        Ok(inputs[..1].to_vec())
    }
    fn run(&self, call: &mut HostCall<'_>) -> Result<(), InvalidOp> {
        let given = call.inputs[0].f32()?.iter().zip(call.inputs[1].f32()?);
        for (d, (x, g)) in call.outputs[0].f32()?.iter_mut().zip(given) {
            *d = if x.abs() > self.0.limit { *g } else { 0.0 };
        }
        Ok(())
    }
    fn device_code(&self, call: &DeviceCall<'_>) -> Code {
        let n = call.inputs[0].len();
        let kernel = kernel("shrink_grad").threads(n).input(0).input(1).output(0);
        Ok(Some(code([kernel.value(n as u32).value(self.0.limit)])))
    }
}

fn shrink(x: &Var) -> Var {
    custom(Shrink { limit: 0.25 }, &[x]).swap_remove(0)
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn its_kernels_forward_and_backward_give_the_results_of_the_cpu() {
    for shape in [&[1][..], &[7, 33], &[4, 3, 1000]] {
        let inputs = [("x", tensor(shape, 1)), ("c", tensor(shape, 2))];
        same(&inputs, Near::Bits, |tracer| {
            let vars = inputs.each_ref().map(|(name, t)| data(tracer, name, t));
            let y = shrink(&vars[0]);
            let grads = tracer.gradients(&(&y * &vars[1]).sum_all(), &[&vars[0]]);
            tracer.output("y", &y);
            tracer.output("grad", &grads[0]);
        });
    }
}

/// What a program's outputs and updated inputs are after each of three runs.
fn three_runs(
    backend: &dyn Backend,
    inputs: &[(&str, Tensor)],
    trace: impl Fn(&Tracer),
) -> Vec<BTreeMap<String, Tensor>> {
    let mut loaded = Loaded::new(traced(trace), backend);
    loaded.set_all(inputs);
    let run = |_| {
        loaded.run();
        loaded.results()
    };
    (0..3).map(run).collect()
}

/// Three runs on the GPU, of which the last two replay a recording, and on the CPU.
pub fn same_three_times(
    inputs: &[(&str, Tensor)],
    near: impl Fn(&str) -> Near,
    trace: impl Fn(&Tracer),
) {
    let gpu = gpu();
    let cpu = Cpu::new(0).expect("the CPU");
    let made = three_runs(&gpu, inputs, &trace);
    let expected = three_runs(&cpu, inputs, &trace);
    for (k, (made, expected)) in made.iter().zip(&expected).enumerate() {
        for (name, value) in expected {
            let difference = apart(&made[name], value, near(name));
            assert_eq!(difference, None, "`{name}` after run {}", k + 1);
        }
    }
    assert_ne!(made[0], made[2], "something changes from run to run");
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn it_learns_inside_a_larger_plan_that_is_replayed() {
    let inputs = [
        ("x", tensor(&[64, 40], 1)),
        ("w1", scaled(&[50, 40], 2, 0.3, 0.0)),
        ("w2", scaled(&[10, 50], 3, 0.3, 0.0)),
    ];
    same_three_times(
        &inputs,
        |_| Near::OfLargest(1e-4),
        |tracer| {
            let x = data(tracer, "x", &inputs[0].1);
            let w1 = tracer.parameter("w1", [50, 40]);
            let w2 = tracer.parameter("w2", [10, 50]);
            let hidden = shrink(&x.linear(&w1)) * 1.5;
            let y = shrink(&(hidden.linear(&w2) + 0.1));
            let loss = (y - 0.5).square().mean_all();
            for (w, g) in [&w1, &w2].iter().zip(tracer.gradients(&loss, &[&w1, &w2])) {
                tracer.update(w, &(*w - g * 0.5));
            }
            tracer.output("loss", &loss);
        },
    );
}

/// Σ x², by partial sums of 256 elements.
#[derive(Debug)]
struct SumOfSquares;

impl CustomOp for SumOfSquares {
    fn name(&self) -> String {
        "sum_of_squares".to_string()
    }
    fn infer(&self, inputs: &[TensorType]) -> Types {
        Ok(vec![TensorType::new(inputs[0].dtype, [])])
    }
    fn run(&self, call: &mut HostCall<'_>) -> Result<(), InvalidOp> {
        call.outputs[0].f32()?[0] = call.inputs[0].f32()?.iter().map(|x| x * x).sum();
        Ok(())
    }
    fn device_code(&self, call: &DeviceCall<'_>) -> Code {
        let n = call.inputs[0].len();
        let squares = kernel("squares").threads(n).input(0).scratch(512);
        let squares = squares.value(n as u32);
        let (blocks, bytes) = (squares.grid[0], 4 * squares.grid[0]);
        let total = kernel("total").block(64).shared(bytes).scratch(512);
        let total = total.value(blocks).output(0);
        Ok(Some(code([squares, total]).scratch(512 + bytes as usize)))
    }
}

/// Whole numbers between −3 and 3, whose sums are exact in any order.
fn whole(shape: &[usize], seed: u64) -> Tensor {
    let values = tensor(shape, seed).to_f64();
    let values: Vec<f32> = values.iter().map(|x| (3.0 * x).round() as f32).collect();
    Tensor::f32(shape, values)
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn kernels_hand_on_what_they_found_in_scratch_memory() {
    // The last has more than 48 KiB of shared memory.
    for n in [1, 255, 1000, 256 * 13_000] {
        let x = whole(&[n], n as u64);
        same(&[("x", x.clone())], Near::Bits, |tracer| {
            let x = data(tracer, "x", &x);
            let sum = custom(SumOfSquares, &[&(&x + 0.0)]).swap_remove(0);
            let again = custom(SumOfSquares, &[&(&x * 2.0)]).swap_remove(0);
            tracer.output("y", &(sum + again));
        });
    }
}

/// Takes numbers in every way in which a kernel can.
#[derive(Debug)]
struct Numbers;

impl CustomOp for Numbers {
    fn name(&self) -> String {
        "numbers".to_string()
    }
    fn infer(&self, inputs: &[TensorType]) -> Types {
        Ok(inputs.to_vec())
    }
    fn run(&self, call: &mut HostCall<'_>) -> Result<(), InvalidOp> {
        let table = [1.0, 2.0, 4.0];
        let given = call.inputs[0].f32()?.iter().zip(table.iter().cycle());
        for (y, (x, entry)) in call.outputs[0].f32()?.iter_mut().zip(given) {
            *y = x * 0.5 + entry + 0.25 - 3.0 - 7.0 + 16.0 + 128.0;
        }
        Ok(())
    }
    fn device_code(&self, call: &DeviceCall<'_>) -> Code {
        let n = call.inputs[0].len();
        let kernel = kernel("numbers")
            .threads(n)
            .constant(n as i32)
            .constant([1.0_f32, 2.0, 4.0])
            .constant(0.25_f32)
            .input(0)
            .value(0.5_f32)
            .value(-3.0_f64)
            .value(-7_i16)
            .value([16.0_f32, 32.0, 64.0, 128.0])
            .output(0);
        Ok(Some(code([kernel])))
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn numbers_are_passed_by_reference_by_pointer_and_by_value() {
    let x = whole(&[5, 200], 1);
    same(&[("x", x.clone())], Near::Bits, |tracer| {
        let x = data(tracer, "x", &x);
        // Two of one kind do not share their constants with others by accident.
        let once = custom(Numbers, &[&x]).swap_remove(0);
        tracer.output("y", &custom(Numbers, &[&once]).swap_remove(0));
        tracer.output("z", &once);
    });
}

/// The rows of a tensor in reverse order, each shrunk by a kernel of its own.
#[derive(Debug)]
struct Rows;

impl CustomOp for Rows {
    fn name(&self) -> String {
        "rows".to_string()
    }
    fn infer(&self, inputs: &[TensorType]) -> Types {
        Ok(inputs.to_vec())
    }
    fn run(&self, call: &mut HostCall<'_>) -> Result<(), InvalidOp> {
        let (_, n) = call.input_types[0].rows_and_columns();
        let rows = call.inputs[0].f32()?.chunks(n).rev();
        for (to, row) in call.outputs[0].f32()?.chunks_mut(n).zip(rows) {
            for (y, x) in to.iter_mut().zip(row) {
                *y = (x.abs() - 1.0).max(0.0).copysign(*x);
            }
        }
        Ok(())
    }
    fn device_code(&self, call: &DeviceCall<'_>) -> Code {
        let (rows, n) = call.inputs[0].rows_and_columns();
        let row = |k: usize| {
            let kernel = kernel("shrink").threads(n);
            let kernel = kernel.input_at(0, 4 * n * (rows - 1 - k));
            kernel
                .output_at(0, 4 * n * k)
                .value(n as u32)
                .value(1.0_f32)
        };
        Ok(Some(code((0..rows).map(row))))
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn kernels_reach_the_rows_of_operands_and_results() {
    let x = whole(&[4, 33], 1);
    same(&[("x", x.clone())], Near::Bits, |tracer| {
        let x = data(tracer, "x", &x);
        tracer.output("y", &custom(Rows, &[&x]).swap_remove(0));
    });
}

/// −x of 16-bit floats and of integers.
#[derive(Debug)]
struct Negate;

impl CustomOp for Negate {
    fn name(&self) -> String {
        "negate".to_string()
    }
    fn infer(&self, inputs: &[TensorType]) -> Types {
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
                    _ => Err(InvalidOp::new("it is of 32 or 64 bits", "cast it")),
                }
            };
        }
        negate!(F16, BF16, I64)
    }
    fn device_code(&self, call: &DeviceCall<'_>) -> Code {
        let name = match call.inputs[0].dtype {
            DType::F16 | DType::BF16 => "negate_half",
            DType::I64 => "negate_whole",
            other => return Err(InvalidOp::new(format!("no kernel for {other}"), "cast it")),
        };
        let n = call.inputs[0].len();
        let kernel = kernel(name).threads(n).input(0).output(0);
        Ok(Some(code([kernel.value(n as u32)])))
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn operands_of_16_bits_and_integers_come_as_they_are() {
    let halves = [DType::F16, DType::BF16].map(|dtype| tensor(&[3, 77], 1).cast(dtype));
    let integers = Tensor::i64([5], [1, -2, 1 << 40, 0, i64::MAX]);
    for x in halves.into_iter().chain([integers]) {
        same(&[("x", x.clone())], Near::Bits, |tracer| {
            let x = data(tracer, "x", &x);
            tracer.output("y", &custom(Negate, &[&x]).swap_remove(0));
        });
    }
    let x = tensor(&[300], 2);
    same(&[("x", x.clone())], Near::Bits, |tracer| {
        let half = (data(tracer, "x", &x) * 2.0).cast(DType::BF16);
        let y = custom(Negate, &[&half]).swap_remove(0);
        tracer.output("y", &(y.cast(DType::F32) + 1.0));
    });
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn without_elements_nothing_is_launched() {
    let x = Tensor::f32([0, 5], []);
    same(&[("x", x.clone())], Near::Bits, |tracer| {
        let x = data(tracer, "x", &x);
        tracer.output("y", &shrink(&x));
    });
}
