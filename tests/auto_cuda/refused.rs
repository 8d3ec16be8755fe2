//! Kernels and operands that do not fit together are refused where the network is traced.

use spikelet::auto_cuda::neuron_kernel::{
    FPTTKernel, Form, IFNode, IFNodeATGF, IFNodeBPTTKernel, IFNodeFPTTKernel, LIFNodeBPTTKernel,
    LIFNodeFPTTKernel, NeuronATGF, NeuronForward, OwnParameter, ParametricLIFNodeATGF,
    ParametricLIFNodeBPTTKernel, ParametricLIFNodeFPTTKernel,
};
use spikelet::auto_cuda::{Dtype, cfunction};
use spikelet::device;
use spikelet::prelude::*;

fn surrogate() -> spikelet::auto_cuda::ExprSurrogate {
    spikelet::auto_cuda::surrogate(&Sigmoid::default()).expect("an expression of x")
}

fn forward(hard_reset: bool, dtype: Dtype) -> IFNodeFPTTKernel {
    IFNodeFPTTKernel::new(hard_reset, dtype)
}

fn backward(hard_reset: bool, dtype: Dtype) -> IFNodeBPTTKernel {
    IFNodeBPTTKernel::new(surrogate(), hard_reset, false, dtype)
}

/// The error of a trace with a sequence and a potential.
fn refusal(dtype: DType, apply: impl FnOnce(&Var, &Var)) -> String {
    let tracer = Tracer::new(DType::F32);
    let x = tracer.input("x", dtype, [4, 6]);
    let v = tracer.fill(DType::F32, [], 0.0);
    tracer.scope("node", || apply(&x, &v));
    tracer.check().expect_err("it does not fit").to_string()
}

fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}

const FLOAT: Dtype = Dtype::Float;

#[test]
fn kernels_of_another_number_type_or_reset_are_refused_with_the_layers_name() {
    let text = refusal(DType::F16, |x, v| {
        apply!(
            IFNodeATGF,
            x,
            v,
            1.0,
            Some(0.0),
            forward(true, FLOAT),
            backward(true, FLOAT),
        );
    });
    says(
        &text,
        &["in `node`", "are written for float", "needs half2"],
    );
    let text = refusal(DType::F32, |x, v| {
        apply!(
            IFNodeATGF,
            x,
            v,
            1.0,
            None,
            forward(true, FLOAT),
            backward(true, FLOAT)
        );
    });
    says(
        &text,
        &["IFNodeFPTTKernel_float_hard_reset", "v_reset is none"],
    );
    let text = refusal(DType::F32, |x, v| {
        apply!(
            IFNodeATGF,
            x,
            v,
            1.0,
            Some(0.0),
            forward(false, FLOAT),
            backward(false, FLOAT),
        );
    });
    says(&text, &["has a soft reset, but v_reset is a number"]);
    let text = refusal(DType::F32, |x, v| {
        apply!(
            IFNodeATGF,
            x,
            v,
            1.0,
            Some(0.0),
            forward(true, FLOAT),
            backward(false, FLOAT),
        );
    });
    says(&text, &["are no pair"]);
    let text = refusal(DType::BF16, |x, v| {
        apply!(
            IFNodeATGF,
            x,
            v,
            1.0,
            Some(0.0),
            forward(true, FLOAT),
            backward(true, FLOAT),
        );
    });
    says(&text, &["x_seq is bf16", "cast it"]);
}

#[test]
fn a_potential_that_does_not_fit_is_refused() {
    let text = refusal(DType::F32, |x, _| {
        let v = x.tracer().fill(DType::F32, [5], 0.0);
        apply!(
            IFNodeATGF,
            x,
            &v,
            1.0,
            Some(0.0),
            forward(true, FLOAT),
            backward(true, FLOAT),
        );
    });
    says(&text, &["expand", "in `node`"]);
}

#[test]
fn parameters_that_are_missing_unknown_or_given_twice_are_named() {
    let lif = |own: &[(&str, OwnParameter<'_>)]| {
        refusal(DType::F32, |x, v| {
            let forward = LIFNodeFPTTKernel::new(true, true, FLOAT);
            let backward = LIFNodeBPTTKernel::new(true, surrogate(), true, false, FLOAT);
            apply!(NeuronATGF, x, v, 1.0, Some(0.0), own, forward, backward);
        })
    };
    let number = OwnParameter::Number(0.5);
    says(
        &lif(&[]),
        &["LIFNodeFPTTKernel_float_hard_reset", "missing: decay"],
    );
    says(
        &lif(&[("decay", number), ("rate", number)]),
        &["has the parameter `rate`"],
    );
    says(
        &lif(&[("decay", number), ("v_th", number)]),
        &["`v_th` is given twice"],
    );
}

#[test]
fn a_tensor_needs_one_number_and_a_place_for_its_gradient() {
    let text = refusal(DType::F32, |x, v| {
        let forward = ParametricLIFNodeFPTTKernel::new(true, true, FLOAT);
        let backward = ParametricLIFNodeBPTTKernel::new(true, surrogate(), true, false, FLOAT);
        let decay = x.tracer().parameter("decay", [6]);
        apply!(
            ParametricLIFNodeATGF,
            x,
            v,
            1.0,
            Some(0.0),
            &decay,
            forward,
            backward
        );
    });
    says(&text, &["`decay` is f32[6]", "one number"]);
    let text = refusal(DType::F32, |x, v| {
        let forward = ParametricLIFNodeFPTTKernel::new(true, true, FLOAT);
        let own = [("decay", OwnParameter::Tensor(v))];
        apply!(
            NeuronATGF,
            x,
            v,
            1.0,
            Some(0.0),
            &own,
            forward,
            backward(true, FLOAT)
        );
    });
    says(&text, &["has no parameter `float * grad_decay`"]);
}

/// The charge as a text, without an equation for the CPU.
#[derive(Debug)]
struct TextOnly;

impl NeuronForward for TextOnly {
    fn neuronal_charge(&self, form: Form) -> String {
        cfunction::add("h_seq[t]", "x_seq[t]", "v_v_seq[t]", form.dtype)
    }
}

/// The CPU's error for a network with these kernels, run forward and backward.
fn on_the_cpu<F: NeuronForward + Send + Sync + 'static>(
    forward: FPTTKernel<F>,
    backward: IFNodeBPTTKernel,
    trains: bool,
) -> Result<()> {
    let tracer = Tracer::new(DType::F32);
    let x = tracer.input("x", DType::F32, [2, 3]);
    let v = tracer.state("v", [3]);
    let (spikes, _) = tracer.scope("node", || {
        apply!(NeuronATGF, &x, &v, 1.0, Some(0.0), &[], forward, backward)
    });
    tracer.output("spikes", &spikes);
    if trains {
        let grads = tracer.gradients(&spikes.mean_all(), &[&x]);
        tracer.output("grad", &grads[0]);
    }
    let mut store = VarStore::new(device::cpu()?);
    let mut program = Program::new(tracer.finish()?, &mut store)?;
    program.set("x", &[0.5; 6])?;
    program.run()
}

#[test]
fn what_is_text_only_runs_on_gpus_only() -> Result<()> {
    let refused = |made: Result<()>| made.expect_err("a text does not run here").to_string();
    let kernel = FPTTKernel::with(TextOnly, true, FLOAT).expect("a kernel");
    let text = refused(on_the_cpu(kernel, backward(true, FLOAT), false));
    says(&text, &["in `node`", "has no `equation`", "--device cuda"]);

    let closure = |y: &str, x: &str, dtype: Dtype| cfunction::sigmoid_backward(y, x, 4.0, dtype);
    let backward = || IFNodeBPTTKernel::new(closure, true, false, FLOAT);
    let forward = || FPTTKernel::with(IFNode, true, FLOAT).expect("a kernel");
    on_the_cpu(forward(), backward(), false)?;
    let text = refused(on_the_cpu(forward(), backward(), true));
    says(&text, &["is a text without an `expression`"]);
    Ok(())
}
