//! Custom operations with code of their own: as on the CPU, inside plans that are replayed.

use crate::harness::{Loaded, Near, SUMS, apart, data, gpu, same, same_by, scaled, tensor, traced};
use spikelet_cpu::Cpu;
use spikelet_graph::op::{
    BackwardOperand, CustomOp, DeviceCall, DeviceCode, DeviceKernel, HostTensor, HostTensorMut,
};
use spikelet_graph::{Backend, DType, Place, Refusal, Tensor, TensorType, Tracer, Var};
use std::collections::BTreeMap;
use std::sync::Arc;

const SOURCE: &str = include_str!("custom.cu");

type Types = Result<Vec<TensorType>, Refusal>;
type Code = Result<Option<DeviceCode>, Refusal>;

fn kernel(name: &str) -> DeviceKernel {
    DeviceKernel::new(name, SOURCE)
}

fn custom(op: impl CustomOp + 'static, operands: &[&Var]) -> Vec<Var> {
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
    fn run(&self, x: &[HostTensor<'_>], y: &mut [HostTensorMut<'_>]) -> Result<(), Refusal> {
        let one = |x: &f32| (x.abs() - self.limit).max(0.0).copysign(*x);
        let y = y[0].f32()?.iter_mut();
        y.zip(x[0].f32()?).for_each(|(y, x)| *y = one(x));
        Ok(())
    }
    fn device_code(&self, call: &DeviceCall<'_>) -> Code {
        let n = call.inputs[0].len();
        let kernel = kernel("shrink").threads(n).input(0).output(0);
        Ok(Some(kernel.value(n as u32).value(self.limit).into()))
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
    fn run(&self, x: &[HostTensor<'_>], y: &mut [HostTensorMut<'_>]) -> Result<(), Refusal> {
        let given = x[0].f32()?.iter().zip(x[1].f32()?);
        for (d, (x, g)) in y[0].f32()?.iter_mut().zip(given) {
            *d = if x.abs() > self.0.limit { *g } else { 0.0 };
        }
        Ok(())
    }
    fn device_code(&self, call: &DeviceCall<'_>) -> Code {
        let n = call.inputs[0].len();
        let kernel = kernel("shrink_grad").threads(n).input(0).input(1).output(0);
        Ok(Some(kernel.value(n as u32).value(self.0.limit).into()))
    }
}

fn shrink(x: &Var) -> Var {
    custom(Shrink { limit: 0.25 }, &[x]).swap_remove(0)
}

#[test]
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
fn same_three_times(
    inputs: &[(&str, Tensor)],
    near: impl Fn(&str) -> Near,
    trace: impl Fn(&Tracer),
) {
    let Some(gpu) = gpu() else { return };
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
fn it_learns_inside_a_larger_plan_that_is_replayed() {
    let inputs = [
        ("x", tensor(&[64, 40], 1)),
        ("w1", scaled(&[50, 40], 2, 0.3, 0.0)),
        ("w2", scaled(&[10, 50], 3, 0.3, 0.0)),
    ];
    same_three_times(
        &inputs,
        |_| Near::Share(1e-4),
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
    fn run(&self, x: &[HostTensor<'_>], y: &mut [HostTensorMut<'_>]) -> Result<(), Refusal> {
        y[0].f32()?[0] = x[0].f32()?.iter().map(|x| x * x).sum();
        Ok(())
    }
    fn device_code(&self, call: &DeviceCall<'_>) -> Code {
        let n = call.inputs[0].len();
        let squares = kernel("squares").threads(n).input(0).scratch(512);
        let squares = squares.value(n as u32);
        let (blocks, bytes) = (squares.grid[0], 4 * squares.grid[0]);
        let total = kernel("total").block(64).shared(bytes).scratch(512);
        let total = total.value(blocks).output(0);
        Ok(Some(
            DeviceCode::new([squares, total]).scratch(512 + bytes as usize),
        ))
    }
}

/// Whole numbers between −3 and 3, whose sums are exact in any order.
fn whole(shape: &[usize], seed: u64) -> Tensor {
    let values = tensor(shape, seed).to_f64();
    let values: Vec<f32> = values.iter().map(|x| (3.0 * x).round() as f32).collect();
    Tensor::f32(shape, values)
}

#[test]
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
    fn run(&self, x: &[HostTensor<'_>], y: &mut [HostTensorMut<'_>]) -> Result<(), Refusal> {
        let table = [1.0, 2.0, 4.0];
        let given = x[0].f32()?.iter().zip(table.iter().cycle());
        for (y, (x, entry)) in y[0].f32()?.iter_mut().zip(given) {
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
        Ok(Some(kernel.into()))
    }
}

#[test]
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
    fn run(&self, x: &[HostTensor<'_>], y: &mut [HostTensorMut<'_>]) -> Result<(), Refusal> {
        macro_rules! negate {
            ($($type:ident),*) => {
                match (&x[0], &mut y[0]) {
                    $((HostTensor::$type(x), HostTensorMut::$type(y)) => {
                        y.iter_mut().zip(*x).for_each(|(y, x)| *y = -*x);
                        Ok(())
                    })*
                    _ => Err(Refusal::new("it is of 32 or 64 bits", "cast it")),
                }
            };
        }
        negate!(F16, BF16, I64)
    }
    fn device_code(&self, call: &DeviceCall<'_>) -> Code {
        let name = match call.inputs[0].dtype {
            DType::F16 | DType::BF16 => "negate_half",
            DType::I64 => "negate_whole",
            other => return Err(Refusal::new(format!("no kernel for {other}"), "cast it")),
        };
        let n = call.inputs[0].len();
        let kernel = kernel(name).threads(n).input(0).output(0);
        Ok(Some(kernel.value(n as u32).into()))
    }
}

#[test]
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

/// `x_seq [T, N], v_init [N] → spike_seq, v_seq, h_seq`; the last is for the backward pass.
#[derive(Debug)]
struct IfForward;

/// `grad_spike_seq, grad_v_seq, h_seq → grad_x_seq, grad_v_init`
#[derive(Debug)]
struct IfBackward;

const V_TH: f32 = 1.0;

impl CustomOp for IfForward {
    fn name(&self) -> String {
        "if_forward".to_string()
    }
    fn infer(&self, inputs: &[TensorType]) -> Types {
        Ok(vec![inputs[0].clone(); 3])
    }
    fn run(&self, x: &[HostTensor<'_>], y: &mut [HostTensorMut<'_>]) -> Result<(), Refusal> {
        let (x_seq, v_init) = (x[0].f32()?, x[1].f32()?);
        let n = v_init.len();
        let mut v = v_init.to_vec();
        for (t, x) in x_seq.iter().enumerate() {
            let h = v[t % n] + x;
            let spike = if h - V_TH >= 0.0 { 1.0 } else { 0.0 };
            v[t % n] = h * (1.0 - spike);
            y[0].f32()?[t] = spike;
            y[1].f32()?[t] = v[t % n];
            if let Some(h_seq) = y[2].f32()?.get_mut(t) {
                *h_seq = h;
            }
        }
        Ok(())
    }
    fn device_code(&self, call: &DeviceCall<'_>) -> Code {
        let (numel, n) = (call.inputs[0].len(), call.inputs[1].len());
        let kernel = kernel("if_forward")
            .threads(n)
            .constant(numel as i32)
            .constant(n as i32)
            .input(0)
            .input(1)
            .output(1);
        // The kernel wants room for h in any case.
        let (kernel, scratch) = match call.wanted[2] {
            true => (kernel.output(2), 0),
            false => (kernel.scratch(0), call.outputs[2].bytes()),
        };
        let kernel = kernel.output(0).constant(V_TH);
        Ok(Some(DeviceCode::from(kernel).scratch(scratch)))
    }
    fn backward(&self) -> Option<Arc<dyn CustomOp>> {
        Some(Arc::new(IfBackward))
    }
    fn backward_operands(&self, _: usize, _: usize) -> Vec<BackwardOperand> {
        use BackwardOperand::{Gradient, Output};
        vec![Gradient(0), Gradient(1), Output(2)]
    }
    fn may_skip(&self, output: usize) -> bool {
        output == 2
    }
}

impl CustomOp for IfBackward {
    fn name(&self) -> String {
        "if_backward".to_string()
    }
    fn infer(&self, inputs: &[TensorType]) -> Types {
        let x_seq = inputs[0].clone();
        let v_init = TensorType::new(x_seq.dtype, &x_seq.shape[1..]);
        Ok(vec![x_seq, v_init])
    }
    fn run(&self, x: &[HostTensor<'_>], y: &mut [HostTensorMut<'_>]) -> Result<(), Refusal> {
        let (grad_s, grad_v, h) = (x[0].f32()?, x[1].f32()?, x[2].f32()?);
        let (x_seq, v_init) = y.split_at_mut(1);
        let (grad_x, grad_init) = (x_seq[0].f32()?, v_init[0].f32()?);
        let n = N;
        let mut grad = vec![0.0_f32; n];
        for t in (0..h.len()).rev() {
            let u = h[t] - V_TH;
            let slope = 1.0 / (1.0 + u * u);
            let spike = if u >= 0.0 { 1.0 } else { 0.0 };
            let through = (1.0 - spike) - h[t] * slope;
            let g = (grad[t % n] + grad_v[t]) * through + grad_s[t] * slope;
            (grad[t % n], grad_x[t]) = (g, g);
        }
        grad_init.iter_mut().zip(&grad).for_each(|(to, g)| *to = *g);
        Ok(())
    }
    fn device_code(&self, call: &DeviceCall<'_>) -> Code {
        let (numel, n) = (call.outputs[0].len(), call.outputs[1].len());
        let kernel = kernel("if_backward")
            .threads(n)
            .block(128)
            .grid([n.div_ceil(128) as u32, 1, 1])
            .constant(numel as i32)
            .constant(n as i32)
            .input(0)
            .input(1)
            .input(2)
            .output(0)
            .output(1)
            .constant(V_TH);
        Ok(Some(kernel.into()))
    }
    fn may_skip(&self, output: usize) -> bool {
        output == 1
    }
}

const TIME: usize = 6;
const N: usize = 8 * 48;

/// Multiples of 1/64, whose sums are exact in any order.
fn exact(shape: &[usize], seed: u64) -> Tensor {
    let values = tensor(shape, seed).to_f64();
    let values: Vec<f32> = values
        .iter()
        .map(|x| (64.0 * x).round() as f32 / 64.0)
        .collect();
    Tensor::f32(shape, values)
}

fn neurons(x_seq: &Var, v: &Var) -> Vec<Var> {
    custom(IfForward, &[&x_seq.reshape([TIME, N]), v])
}

#[test]
fn a_neurons_own_kernels_carry_its_state_and_train_what_feeds_it() {
    let inputs = [
        ("x", exact(&[TIME, 8, 20], 1)),
        ("w", exact(&[48, 20], 2)),
        ("v", exact(&[N], 3)),
    ];
    let near = |name: &str| match name {
        "spikes" | "v" | "fired" => Near::Bits,
        _ => SUMS,
    };
    same_three_times(&inputs, near, |tracer| {
        let x = data(tracer, "x", &inputs[0].1);
        let w = tracer.parameter("w", [48, 20]);
        let v = tracer.state("v", [N]);
        let made = neurons(&x.linear(&w), &v);
        let loss = (made[0].square() + made[1].square() * 0.1).mean_all();
        let grads = tracer.gradients(&loss, &[&w, &v]);
        tracer.output("spikes", &made[0]);
        tracer.output("fired", &made[0].sum_all());
        tracer.output("grad_w", &grads[0]);
        tracer.output("grad_v", &grads[1]);
        tracer.update(&v, &made[1].slice(0, TIME - 1..TIME).reshape([N]));
    });
}

#[test]
fn what_only_the_backward_pass_reads_is_scratch_memory_without_one() {
    let inputs = [("x", exact(&[TIME, N], 1)), ("v", exact(&[N], 3))];
    let trace = |tracer: &Tracer| {
        let x = data(tracer, "x", &inputs[0].1);
        let made = neurons(&x, &tracer.state("v", [N]));
        tracer.output("spikes", &made[0]);
        tracer.output("v_seq", &made[1]);
    };
    same(&inputs, Near::Bits, trace);
    // A gradient that nobody asked for has no memory, and the kernel sees that.
    same_by(
        &inputs,
        |_| SUMS,
        |tracer| {
            let x = data(tracer, "x", &inputs[0].1);
            let made = neurons(&x, &tracer.state("v", [N]));
            let grads = tracer.gradients(&made[0].sum_all(), &[&x]);
            tracer.output("grad", &grads[0]);
        },
    );
    let Some(gpu) = gpu() else { return };
    let loaded = Loaded::new(traced(trace), &gpu);
    let kernel = &loaded.plan.kernels[0];
    assert_eq!(kernel.writes[2], Place::Unused);
    assert_eq!(kernel.workspace, Some((0, 4 * TIME * N)));
}

#[test]
fn without_elements_nothing_is_launched() {
    let x = Tensor::f32([0, 5], []);
    same(&[("x", x.clone())], Near::Bits, |tracer| {
        let x = data(tracer, "x", &x);
        tracer.output("y", &shrink(&x));
    });
}
