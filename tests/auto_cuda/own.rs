//! A neuron of one's own: its kernels, its parameters, its code for the CPU.

use crate::auto_cuda::nodes::{compile, gpu, run};
use spikelet::auto_cuda::neuron_kernel::{
    BPTTKernel, FPTTKernel, Form, NeuronATGF, NeuronBackward, NeuronForward, OwnParameter,
};
use spikelet::auto_cuda::{CodeTyper, Dtype, Kernel, cfunction};
use spikelet::device;
use spikelet::neuron::{self, Inputs, Param};
use spikelet::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// H = V − rate·V·|V|·leak + gain·X: the derivative for V depends on V, and `leak` is learned.
#[derive(Clone, Debug)]
struct Squared;

const RATE: f64 = 0.125;
const GAIN: f64 = 1.5;

impl Squared {
    fn numbers(form: Form) -> Vec<(String, String)> {
        let dtype = form.dtype;
        vec![
            (format!("{dtype} &"), "rate".to_string()),
            (format!("const {dtype} *"), "leak".to_string()),
            (format!("const {dtype} &"), "gain".to_string()),
        ]
    }

    /// Declares `dragged` = rate·|v|·leak.
    fn dragged(form: Form, v: &str) -> String {
        let dtype = form.dtype;
        let size = cfunction::abs(None, v, dtype);
        let size = cfunction::mul(None, "rate", &size, dtype);
        cfunction::mul(
            format!("const {dtype} dragged").as_str(),
            &size,
            "leak[0]",
            dtype,
        )
    }
}

impl NeuronForward for Squared {
    fn class_name(&self) -> &str {
        "SquaredFPTTKernel"
    }

    fn params(&self, form: Form) -> Vec<(String, String)> {
        Self::numbers(form)
    }

    fn neuronal_charge(&self, form: Form) -> String {
        let dtype = form.dtype;
        let mut typer = CodeTyper::new(0);
        typer.append(&Self::dragged(form, "v_v_seq[t]"));
        let lost = cfunction::mul(None, "v_v_seq[t]", "dragged", dtype);
        let kept = cfunction::sub(None, "v_v_seq[t]", &lost, dtype);
        let gained = cfunction::mul(None, "gain", "x_seq[t]", dtype);
        typer.append(&cfunction::add("h_seq[t]", &kept, &gained, dtype));
        typer.codes().to_string()
    }

    fn equation(&self, _form: Form) -> Option<Expr> {
        let [v, x, rate, leak, gain] = ["v", "x", "rate", "leak", "gain"].map(Expr::symbol);
        Some(&v - &v * (rate * v.abs() * leak) + gain * x)
    }
}

impl NeuronBackward for Squared {
    fn class_name(&self) -> &str {
        "SquaredBPTTKernel"
    }

    fn params(&self, form: Form) -> Vec<(String, String)> {
        let mut params = Self::numbers(form);
        params.push((format!("const {} *", form.dtype), "v_v_seq".to_string()));
        params.push(("float *".to_string(), "grad_leak".to_string()));
        params
    }

    /// 1 − 2·rate·|V|·leak
    fn grad_h_next_to_v(&self, form: Form, after: &str) -> String {
        let dtype = form.dtype;
        let mut typer = CodeTyper::new(0);
        typer.append(&Self::dragged(form, &format!("v_v_seq[{after}]")));
        let twice = cfunction::add(None, "dragged", "dragged", dtype);
        let one = cfunction::constant(None, 1.0, dtype);
        let target = format!("const {dtype} grad_h_next_to_v");
        typer.append(&cfunction::sub(target.as_str(), &one, &twice, dtype));
        typer.codes().to_string()
    }

    fn grad_h_to_x(&self, form: Form) -> String {
        format!("const {} grad_h_to_x = gain;", form.dtype)
    }

    fn prologue(&self, _form: Form) -> String {
        "__shared__ float shares[1024];\nfloat share = 0.0f;".to_string()
    }

    /// −rate·V·|V| by dL/dH
    fn step_end(&self, form: Form) -> String {
        let one = |rate: &str, v: &str, grad: &str| {
            format!("share -= {grad} * ({rate} * {v} * fabsf({v}));")
        };
        match form.dtype {
            Dtype::Float => one("rate", "v_v_seq[t]", "grad_h"),
            Dtype::Half2 => ["low", "high"]
                .map(|lane| {
                    let of = |what: &str| format!("__{lane}2float({what})");
                    one(&of("rate"), &of("v_v_seq[t]"), &of("grad_h"))
                })
                .join("\n"),
        }
    }

    fn epilogue(&self, _form: Form) -> String {
        "shares[threadIdx.x] = share;
         __syncthreads();
         if (threadIdx.x == 0)
         {
             float sum = 0.0f;
             for (int k = 0; k < blockDim.x; ++k)
             {
                 sum += shares[k];
             }
             grad_leak[blockIdx.x] = sum;
         }"
        .to_string()
    }
}

/// The same neuron as an equation.
#[derive(Clone, Debug, Schema)]
#[schema(name = "squared")]
struct BuiltIn {
    #[schema(flatten)]
    common: Common,
}

impl Neuron for BuiltIn {
    fn params(&self) -> Vec<Param> {
        vec![Param::new("w", 0.5, Granularity::Layer)]
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let (v, leak) = (n.state("v"), n.param("w"));
        &v - &v * (RATE * v.abs() * leak) + GAIN * x
    }
}

fn sequences(common: &Common, cx: &Context, x: &Var) -> (Var, Var) {
    let dtype = match x.ty().dtype {
        DType::F16 => Dtype::Half2,
        _ => Dtype::Float,
    };
    let hard = common.v_reset.is_some();
    let surrogate = spikelet::auto_cuda::surrogate(&*common.surrogate).expect("an expression of x");
    let forward = FPTTKernel::with(Squared, hard, dtype).expect("its parameters are fine");
    let backward = BPTTKernel::with(Squared, surrogate, hard, false, dtype).expect("and these");
    let step = &x.shape()[1..];
    apply!(
        NeuronATGF,
        x,
        &cx.state("v", step, 0.0),
        common.v_threshold,
        common.v_reset,
        &[
            ("rate", OwnParameter::Number(RATE)),
            ("gain", OwnParameter::Number(GAIN)),
            (
                "leak",
                OwnParameter::Tensor(&cx.parameter("w", [], Init::Constant(0.5))),
            ),
        ],
        forward,
        backward,
    )
}

/// Far from the threshold whatever is rounded.
fn inputs(n: usize, dtype: DType) -> Inputs {
    let draw = |rows: usize, seed: usize, values: &[f32]| {
        let picked = (0..rows * n).map(|k| values[(k * 7 + k / n * 3 + seed) % values.len()]);
        Tensor::f32([rows, n], picked.collect::<Vec<f32>>())
    };
    let sequence = |seed, values: &[f32]| Some(draw(4, seed, values).cast(dtype));
    Inputs {
        x_seq: sequence(0, &[0.25, -0.5, 0.9, 0.1, 1.25]),
        grad_spike_seq: sequence(1, &[1.0, -0.5, 0.25]),
        grad_v_seq: sequence(2, &[0.5, -1.0, 0.75, 0.125]),
        states: BTreeMap::from([(
            "v".to_string(),
            Tensor::f32(
                [n],
                draw(1, 3, &[0.5, -0.25, 0.0])
                    .to_f64()
                    .iter()
                    .map(|v| *v as f32)
                    .collect::<Vec<_>>(),
            ),
        )]),
        ..Inputs::default()
    }
}

fn check(backend: &Arc<dyn Backend>, dtype: DType, n: usize) -> Result<()> {
    for v_reset in [Some(-0.25), None] {
        let common = Common {
            v_reset,
            ..Common::default()
        };
        let inputs = inputs(n, dtype);
        let given = run(&|cx, x| sequences(&common, cx, x), &inputs, backend.clone())?;
        let expected = neuron::run(&BuiltIn { common }, &inputs, device::cpu()?)?;
        let share = if dtype == DType::F16 { 3e-2 } else { 2e-5 };
        for (name, expected) in &expected {
            let (given, expected) = (given[name].to_f64(), expected.to_f64());
            let largest = expected.iter().fold(1.0_f64, |most, x| most.max(x.abs()));
            // A sum over all neurons and steps, in which terms cancel.
            let largest = match name.as_str() {
                "grad_w" => largest.max(4.0 * n as f64 / 50.0),
                _ => largest,
            };
            for (k, (a, b)) in given.iter().zip(&expected).enumerate() {
                let apart = (a - b).abs();
                assert!(
                    apart <= share * largest,
                    "{name} at {k} of {dtype}: {a}, not {b}"
                );
            }
        }
    }
    Ok(())
}

#[test]
fn its_equation_runs_on_the_cpu() -> Result<()> {
    check(&device::cpu()?, DType::F32, 30)?;
    check(&device::cpu()?, DType::F16, 15)
}

#[test]
#[ignore = "needs NVRTC"]
fn its_kernels_compile() {
    let sigmoid = spikelet::auto_cuda::surrogate(&Sigmoid::default()).expect("an expression of x");
    for dtype in Dtype::ALL {
        for hard in [true, false] {
            let forward = FPTTKernel::with(Squared, hard, dtype).expect("its parameters are fine");
            let backward = BPTTKernel::with(Squared, sigmoid.clone(), hard, false, dtype);
            let backward = backward.expect("and these");
            for kernel in [&forward as &dyn Kernel, &backward] {
                compile(kernel);
            }
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn its_kernels_agree_with_its_equation_on_a_gpu() -> Result<()> {
    let gpu = gpu();
    check(&gpu, DType::F32, 30)?;
    check(&gpu, DType::F32, 1500)?;
    check(&gpu, DType::F16, 30)?;
    check(&gpu, DType::F16, 1501)
}
