//! A neuron with custom kernels: reads sequences and a state, writes several sequences, of which the
//! backward kernel reads one.

use crate::custom::{Code, Types, code, custom, kernel, same_three_times};
use crate::harness::{Loaded, Near, SUMS, data, gpu, same, same_by, tensor, traced};
use spikelet_graph::op::{BackwardOperand, CustomOp, DeviceCall, HostCall};
use spikelet_graph::{InvalidOp, Location, Tensor, TensorType, Tracer, Var};
use std::sync::Arc;

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
    fn outputs(&self) -> usize {
        3
    }
    fn infer(&self, inputs: &[TensorType]) -> Types {
        Ok(vec![inputs[0].clone(); 3])
    }
    fn run(&self, call: &mut HostCall<'_>) -> Result<(), InvalidOp> {
        let (x_seq, v_init) = (call.inputs[0].f32()?, call.inputs[1].f32()?);
        let n = v_init.len();
        let mut v = v_init.to_vec();
        for (t, x) in x_seq.iter().enumerate() {
            let h = v[t % n] + x;
            let spike = if h - V_TH >= 0.0 { 1.0 } else { 0.0 };
            v[t % n] = h * (1.0 - spike);
            call.outputs[0].f32()?[t] = spike;
            call.outputs[1].f32()?[t] = v[t % n];
            if let Some(h_seq) = call.outputs[2].f32()?.get_mut(t) {
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
        // The kernel needs memory for h in any case.
        let (kernel, scratch) = match call.wanted[2] {
            true => (kernel.output(2), 0),
            false => (kernel.scratch(0), call.outputs[2].bytes()),
        };
        let kernel = kernel.output(0).constant(V_TH);
        Ok(Some(code([kernel]).scratch(scratch)))
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
    fn outputs(&self) -> usize {
        2
    }
    fn infer(&self, inputs: &[TensorType]) -> Types {
        let x_seq = inputs[0].clone();
        let v_init = TensorType::new(x_seq.dtype, &x_seq.shape[1..]);
        Ok(vec![x_seq, v_init])
    }
    fn run(&self, call: &mut HostCall<'_>) -> Result<(), InvalidOp> {
        let (grad_s, grad_v, h) = (
            call.inputs[0].f32()?,
            call.inputs[1].f32()?,
            call.inputs[2].f32()?,
        );
        let (x_seq, v_init) = call.outputs.split_at_mut(1);
        let (grad_x, grad_init) = (x_seq[0].f32()?, v_init[0].f32()?);
        let n = call.output_types[1].len();
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
        Ok(Some(code([kernel])))
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
#[ignore = "needs an NVIDIA GPU"]
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
#[ignore = "needs an NVIDIA GPU"]
fn what_only_the_backward_pass_reads_is_scratch_memory_without_one() {
    let inputs = [("x", exact(&[TIME, N], 1)), ("v", exact(&[N], 3))];
    let trace = |tracer: &Tracer| {
        let x = data(tracer, "x", &inputs[0].1);
        let made = neurons(&x, &tracer.state("v", [N]));
        tracer.output("spikes", &made[0]);
        tracer.output("v_seq", &made[1]);
    };
    same(&inputs, Near::Bits, trace);
    // A gradient that is not requested has no memory, which the kernel checks.
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
    let gpu = gpu();
    let loaded = Loaded::new(traced(trace), &gpu);
    let kernel = &loaded.plan.kernels[0];
    assert_eq!(kernel.writes[2], Location::Unused);
    assert_eq!(kernel.workspace, Some((0, 4 * TIME * N)));
}
