//! SpikingJelly's tutorial on CuPy neurons: the kernels of an integrate-and-fire neuron are written,
//! wrapped, compared with the built-in neuron, and timed.
//!
//! `cargo run --release --features auto-cuda --example auto_cuda_if_node`

use spikelet::auto_cuda::neuron_kernel::{
    BPTTKernel, FPTTKernel, Form, NeuronATGF, NeuronBackward, NeuronForward,
};
use spikelet::auto_cuda::{AutoCudaError, Dtype, Kernel, cfunction};
use spikelet::device;
use spikelet::graph::RandomAxes;
use spikelet::prelude::*;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// H[t] = V[t−1] + X[t]: the only part that is specific to this neuron.
#[derive(Clone, Copy, Debug)]
struct IFNode;

impl NeuronForward for IFNode {
    fn class_name(&self) -> &str {
        "IFNodeFPTTKernel"
    }

    fn neuronal_charge(&self, form: Form) -> String {
        // v_v_seq[t] is the potential after the previous step.
        cfunction::add("h_seq[t]", "x_seq[t]", "v_v_seq[t]", form.dtype)
    }

    /// The same for the CPU, so that networks with this neuron also run without a GPU.
    fn equation(&self, _: Form) -> Option<Expr> {
        Some(Expr::symbol("x") + Expr::symbol("v"))
    }
}

impl NeuronBackward for IFNode {
    fn class_name(&self) -> &str {
        "IFNodeBPTTKernel"
    }

    fn grad_h_next_to_v(&self, form: Form, _after: &str) -> String {
        let target = format!("const {} grad_h_next_to_v", form.dtype);
        cfunction::constant(target.as_str(), 1.0, form.dtype)
    }

    fn grad_h_to_x(&self, form: Form) -> String {
        let target = format!("const {} grad_h_to_x", form.dtype);
        cfunction::constant(target.as_str(), 1.0, form.dtype)
    }
}

/// The neuron as a layer: `x_seq [T, N, …] → spike_seq [T, N, …]`.
#[derive(Clone, Debug)]
struct CupyIfNode {
    v_threshold: f64,
    v_reset: Option<f64>,
    surrogate_function: Arc<dyn Surrogate>,
    detach_reset: bool,
}

impl Default for CupyIfNode {
    fn default() -> Self {
        Self {
            v_threshold: 1.0,
            v_reset: Some(0.0),
            surrogate_function: Arc::new(Sigmoid::default()),
            detach_reset: false,
        }
    }
}

impl CupyIfNode {
    fn kernels(
        &self,
        dtype: Dtype,
    ) -> Result<(FPTTKernel<IFNode>, BPTTKernel<IFNode>), AutoCudaError> {
        let hard_reset = self.v_reset.is_some();
        let surrogate = spikelet::auto_cuda::surrogate(&*self.surrogate_function)?;
        Ok((
            FPTTKernel::with(IFNode, hard_reset, dtype)?,
            BPTTKernel::with(IFNode, surrogate, hard_reset, self.detach_reset, dtype)?,
        ))
    }
}

impl Module for CupyIfNode {
    fn forward(&self, cx: &Context, x_seq: &Var) -> Result<Var> {
        let dtype = match x_seq.ty().dtype {
            DType::F16 => Dtype::Half2,
            _ => Dtype::Float,
        };
        let (forward_kernel, backward_kernel) = self.kernels(dtype)?;
        let (steps, step) = (x_seq.dim(0), &x_seq.shape()[1..]);
        let v = cx.state("v", step, self.v_reset.unwrap_or(0.0));
        // SAFETY: the neuron's statements read and write only at `t`, as the kernels do.
        let (spike_seq, v_seq) = unsafe {
            NeuronATGF::apply(
                x_seq,
                &v,
                self.v_threshold,
                self.v_reset,
                &[],
                forward_kernel,
                backward_kernel,
            )
        };
        let last = v_seq.slice(0, steps.saturating_sub(1)..steps).reshape(step);
        cx.set_state(&v, &last.cast(v.ty().dtype));
        cx.tracer().check()?;
        Ok(spike_seq)
    }
}

/// The spikes, and the gradient of their sum with respect to the input.
fn forward_backward(
    net: &dyn Module,
    backend: &Arc<dyn Backend>,
    x_seq: &Tensor,
) -> Result<[Vec<f64>; 2]> {
    let cx = Context::new(Mode::TRAIN, DType::F32);
    let tracer = cx.tracer();
    let x = tracer.input("x_seq", DType::F32, x_seq.shape.clone());
    let y = cx.trace(net, x.clone())?;
    let grads = tracer.gradients(&y.sum_all(), &[&x]);
    tracer.output("y_seq", &y);
    tracer.output("x_seq.grad", &grads[0]);
    let mut program = Program::new(tracer.finish()?, &mut VarStore::new(backend.clone()))?;
    program.set("x_seq", x_seq)?;
    program.run()?;
    Ok([
        program.get("y_seq")?.to_f64(),
        program.get("x_seq.grad")?.to_f64(),
    ])
}

fn compare(backend: &Arc<dyn Backend>, shape: [usize; 3]) -> Result<()> {
    // Pseudo-random values in (0, 1), the same in every run.
    let drawn = (0..shape.iter().product::<usize>() as u32).map(|k| k.wrapping_mul(2_654_435_761));
    let values: Vec<f32> = drawn
        .map(|bits| (bits >> 8) as f32 / (1 << 24) as f32)
        .collect();
    let x_seq = Tensor::f32(shape, values);
    let [y_cupy, grad_cupy] = forward_backward(&CupyIfNode::default(), backend, &x_seq)?;
    let [y_own, grad_own] = forward_backward(&If::new(), backend, &x_seq)?;
    let max_error = |a: &[f64], b: &[f64]| {
        let apart = a.iter().zip(b).map(|(a, b)| (a - b).abs());
        apart.fold(0.0, f64::max)
    };
    println!("T, N, C = {shape:?} on {}", backend.name());
    println!("max error of y_seq {:.4e}", max_error(&y_cupy, &y_own));
    println!(
        "max error of x_seq.grad {:.4e}",
        max_error(&grad_cupy, &grad_own)
    );
    Ok(())
}

/// Forward and backward pass from given output gradients, as inside a network. All sequences are on the
/// device; a network that runs step by step reads and writes its steps one by one.
fn passes(
    net: &dyn Module,
    propagation: Propagation,
    dtype: DType,
    [steps, neurons]: [usize; 2],
    backend: &Arc<dyn Backend>,
) -> Result<Program> {
    let mut store = VarStore::new(backend.clone());
    let cx = Context::new(Mode::TRAIN, DType::F32).propagation(propagation);
    let tracer = cx.tracer();
    let names = std::cell::RefCell::new(vec![]);
    let sequence = |what: &str, start: usize, steps: usize| {
        let (name, shape) = (format!("{what}.{start}"), [steps, neurons]);
        names.borrow_mut().push((name.clone(), shape));
        tracer.state_of(&name, dtype, shape)
    };
    let inputs = std::cell::RefCell::new(vec![]);
    let made = cx.trace_steps(net, steps, |steps| {
        let x = sequence("x_seq", steps.start, steps.len());
        inputs.borrow_mut().push(x.clone());
        x
    })?;
    let inputs = inputs.into_inner();
    let mut start = 0;
    let mut given = vec![];
    for part in made.parts() {
        given.push(sequence("grad_spike_seq", start, part.dim(0)));
        start += part.dim(0);
    }
    let pairs: Vec<(&Var, &Var)> = made.parts().iter().zip(&given).collect();
    let grads = tracer.gradients_given(&pairs, &inputs.iter().collect::<Vec<_>>());
    for (k, (y, grad)) in made.parts().iter().zip(&grads).enumerate() {
        tracer.output(&format!("y_seq.{k}"), y);
        tracer.output(&format!("x_seq.grad.{k}"), grad);
    }
    for (k, (name, shape)) in names.into_inner().into_iter().enumerate() {
        let draw = Context::new(Mode::TRAIN, DType::F32);
        let tensor = draw.tracer().state_of(&name, dtype, shape);
        let drawn = draw
            .generator()
            .uniform(shape, RandomAxes::Nothing)
            .cast(dtype);
        draw.tracer().update(&tensor, &drawn);
        let mut program = Program::new(draw.tracer().finish()?, &mut store)?;
        program.set("generator", &[k as i64, 0, 0, 0])?;
        program.run()?;
        program.synchronize()?;
    }
    Program::new(tracer.finish()?, &mut store)
}

/// Milliseconds per run: the median over groups of runs that are long enough to be timed.
fn time(mut program: Program) -> Result<f64> {
    let mut group = |runs: u32| -> Result<Duration> {
        let begun = Instant::now();
        for _ in 0..runs {
            program.run()?;
        }
        program.synchronize()?;
        Ok(begun.elapsed())
    };
    for _ in 0..3 {
        group(1)?;
    }
    let mut runs = 1;
    while group(runs)? < Duration::from_millis(10) {
        runs *= 2;
    }
    let mut times = vec![];
    for _ in 0..15 {
        times.push(1e3 * group(runs)?.as_secs_f64() / f64::from(runs));
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

fn speed(backend: &Arc<dyn Backend>) -> Result<()> {
    println!("\nforward and backward, N = 64, C = 32·32·32, ms");
    println!(
        "{:<8}{:>4}{:>12}{:>13}{:>10}{:>24}{:>22}",
        "dtype",
        "T",
        "t_unfused",
        "t_auto_cuda",
        "t_fused",
        "t_unfused/t_auto_cuda",
        "t_auto_cuda/t_fused"
    );
    for dtype in [DType::F32, DType::F16] {
        for steps in [2, 4, 8, 16, 32] {
            // Two dimensions, as the kernels expect: no reshape is needed.
            let shape = [steps, 64 * 32 * 32 * 32];
            let measure = |net: &dyn Module, propagation| {
                time(passes(net, propagation, dtype, shape, backend)?)
            };
            let unfused = measure(&If::new(), Propagation::StepByStepUnfused)?;
            let auto_cuda = measure(&CupyIfNode::default(), Propagation::LayerByLayer)?;
            let fused = measure(&If::new(), Propagation::LayerByLayer)?;
            println!(
                "{:<8}{steps:>4}{unfused:>12.3}{auto_cuda:>13.3}{fused:>10.3}{:>24.2}{:>22.2}",
                dtype.to_string(),
                unfused / auto_cuda,
                auto_cuda / fused
            );
        }
    }
    Ok(())
}

fn main() -> Result<()> {
    let (forward_kernel, backward_kernel) = CupyIfNode::default().kernels(Dtype::Float)?;
    for (cname, ctype) in forward_kernel.cparams() {
        println!("key=\"{cname}\", value=\"{ctype}\"");
    }
    println!("\n{}", forward_kernel.full_codes());
    println!("{}", backward_kernel.full_codes());
    match device::cuda(0) {
        Ok(gpu) => {
            let gpu: Arc<dyn Backend> = gpu;
            compare(&gpu, [8, 64, 32 * 32 * 32])?;
            speed(&gpu)
        }
        Err(error) => {
            println!("There is no GPU, so nothing is measured: {error}");
            compare(&device::cpu()?, [8, 8, 64])
        }
    }
}
