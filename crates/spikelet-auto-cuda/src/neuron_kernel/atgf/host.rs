//! The same steps on the CPU, for networks that run where there is no GPU.
//!
//! Forward in f32 the operations and their order are those of the kernels, so the bits are the
//! same. Sequences of f16 are computed in f32 and rounded where a kernel stores them; a kernel of
//! `half2` rounds after each operation.

use crate::neuron_kernel::{BPTTKernel, FPTTKernel, Form};
use crate::neuron_kernel::{NeuronBackward, NeuronForward};
use crate::{Dtype, Kernel};
use spikelet_expr::{Expr, Program};
use spikelet_graph::op::{BackwardOperand, HostCall, HostTensor, HostTensorMut};
use spikelet_graph::{InvalidOp, f16};
use std::borrow::Cow;

/// Neurons that are computed together.
const BLOCK: usize = 512;

/// The steps as programs; where there are none, why.
pub(super) struct Host {
    dtype: Dtype,
    numbers: Vec<f32>,
    forward: Result<Forward, String>,
    backward: Result<Backward, String>,
}

/// Both hold the numbers, then own tensors.
struct Forward {
    /// V, X → H
    charge: Program,
    /// H → S, V
    fire: Program,
}

struct Backward {
    /// H, dL/dS, dL/dV, what comes from the next step, V or X where they are read → dL/dX, what
    /// goes to the step before, terms of the gradients of own tensors
    step: Program,
    /// Sequences behind the first four, by the names of parameters.
    charged: Vec<&'static str>,
    /// The own tensors that were kept.
    own: Vec<String>,
}

impl Host {
    pub(super) fn new<F: NeuronForward, B: NeuronBackward>(
        forward: &FPTTKernel<F>,
        backward: &BPTTKernel<B>,
        numbers: &[(String, f32)],
        own: &[String],
        kept: &dyn Fn(&str) -> bool,
    ) -> Self {
        let form = forward.form();
        let given: Vec<&str> = numbers.iter().map(|(name, _)| name.as_str()).collect();
        let equation = forward.neuron().equation(form).ok_or_else(|| {
            format!(
                "the neuron of `{}` has no `equation`",
                forward.kernel_name()
            )
        });
        Self {
            dtype: form.dtype,
            numbers: numbers.iter().map(|(_, value)| *value).collect(),
            forward: (equation.clone()).and_then(|h| Forward::new(&h, form, &given, own)),
            backward: equation.and_then(|h| Backward::new(&h, backward, &given, own, kept)),
        }
    }

    /// Rounds what a kernel stores.
    fn stored(&self, values: &mut [f32]) {
        if self.dtype == Dtype::Half2 {
            let round = |x: &mut f32| *x = f16::from_f32(*x).to_f32();
            values.iter_mut().for_each(round);
        }
    }

    /// The numbers, then own tensors, as a kernel has them.
    fn held<'a>(
        &self,
        own: impl Iterator<Item = &'a HostTensor<'a>>,
    ) -> Result<Vec<f32>, InvalidOp> {
        let mut held = self.numbers.clone();
        for number in own {
            held.extend(number.f32()?.first());
        }
        self.stored(&mut held);
        Ok(held)
    }

    pub(super) fn forward(&self, call: &mut HostCall<'_>) -> Result<(), InvalidOp> {
        let Forward { charge, fire } = available(&self.forward)?;
        let n = call.input_types[1].len();
        let x_seq = read(&call.inputs[0])?;
        let held = self.held(call.inputs[2..].iter())?;
        let held: Vec<&[f32]> = held.iter().map(std::slice::from_ref).collect();
        let [mut charging, mut firing] = [charge, fire].map(|p| p.workspace::<f32>(BLOCK));
        charge.set_uniform(&mut charging, &held);
        fire.set_uniform(&mut firing, &held);

        let mut v_v_seq = vec![0.0; x_seq.len() + n];
        v_v_seq[..n].copy_from_slice(&read(&call.inputs[1])?);
        let mut h_seq = vec![0.0; x_seq.len()];
        let mut spike_seq = vec![0.0; x_seq.len()];
        for (at, len) in blocks(x_seq.len(), n) {
            let (before, after) = v_v_seq.split_at_mut(at + n);
            let (v, next) = (&before[at..at + len], &mut after[..len]);
            let (h, s) = (&mut h_seq[at..at + len], &mut spike_seq[at..at + len]);
            charge.step(&mut charging, &[v, &x_seq[at..at + len]], &mut [&mut *h]);
            self.stored(h);
            fire.step(&mut firing, &[h], &mut [s, &mut *next]);
            self.stored(next);
        }
        let made = [spike_seq, v_v_seq, h_seq];
        let mut outputs = call.outputs.iter_mut().zip(&made);
        outputs.try_for_each(|(to, values)| write(to, values))
    }

    pub(super) fn backward(
        &self,
        saved: &[(String, BackwardOperand)],
        call: &mut HostCall<'_>,
    ) -> Result<(), InvalidOp> {
        let Backward { step, charged, own } = available(&self.backward)?;
        let n = call.output_types[1].len();
        let inputs = &call.inputs;
        let tensor = |name: &str| {
            let k = saved.iter().position(|(known, _)| known == name);
            &inputs[k.expect("what is read was kept")]
        };
        let held = self.held(own.iter().map(|name| tensor(name)))?;
        let held: Vec<&[f32]> = held.iter().map(std::slice::from_ref).collect();
        let mut work = step.workspace::<f32>(BLOCK);
        step.set_uniform(&mut work, &held);

        let [h_seq, grad_s, grad_v] =
            ["h_seq", "grad_spike_seq", "grad_v_seq"].map(|name| read(tensor(name)));
        let (h_seq, grad_s, grad_v) = (h_seq?, grad_s?, grad_v?);
        let charged = charged.iter().map(|name| read(tensor(name)));
        let charged: Vec<Cow<'_, [f32]>> = charged.collect::<Result<_, _>>()?;
        let mut grad_x = vec![0.0; h_seq.len()];
        let mut carry = vec![0.0; n];
        let own = call.output_types.len() - 2;
        let mut sums = vec![0.0_f64; own];
        let mut terms = vec![[0.0; BLOCK]; own];
        let mut from_next = [0.0; BLOCK];
        for (at, len) in blocks(h_seq.len(), n).rev() {
            let here = at..at + len;
            let carried = &mut carry[at % n..at % n + len];
            from_next[..len].copy_from_slice(carried);
            // The gradient of v_v_seq begins with that of v_init.
            let after = &grad_v[at + n..at + n + len];
            let mut inputs = vec![&h_seq[here.clone()], &grad_s[here.clone()], after];
            inputs.push(&from_next[..len]);
            inputs.extend(charged.iter().map(|sequence| &sequence[here.clone()]));
            let mut outputs = vec![&mut grad_x[here.clone()], carried];
            outputs.extend(terms.iter_mut().map(|terms| &mut terms[..len]));
            step.step(&mut work, &inputs, &mut outputs);
            for (sum, terms) in sums.iter_mut().zip(&terms) {
                *sum += terms[..len].iter().copied().map(f64::from).sum::<f64>();
            }
        }
        write(&mut call.outputs[0], &grad_x)?;
        write(&mut call.outputs[1], &carry)?;
        let mut outputs = call.outputs[2..].iter_mut().zip(sums);
        outputs.try_for_each(|(to, sum)| write(to, &[sum as f32]))
    }
}

/// The symbols of what is no parameter of a kernel; no parameter can have these names.
const H: &str = "h[t]";
const GRAD_S: &str = "grad_spike_seq[t]";
const GRAD_V: &str = "grad_v_seq[t]";
const FROM_NEXT: &str = "grad_h * grad_h_next_to_v";

impl Forward {
    fn new(h: &Expr, form: Form, numbers: &[&str], own: &[String]) -> Result<Self, String> {
        let held: Vec<&str> = numbers
            .iter()
            .copied()
            .chain(own.iter().map(String::as_str))
            .collect();
        let (s, v) = fire(form);
        Ok(Self {
            charge: compile(std::slice::from_ref(h), &held, &["v", "x"])?,
            fire: compile(&[s, v], &held, &[H])?,
        })
    }
}

/// S and V of H, as the kernels compute them.
fn fire(form: Form) -> (Expr, Expr) {
    let [h, v_th, v_reset] = [H, "v_th", "v_reset"].map(Expr::symbol);
    let over = &h - &v_th;
    let s = match form.dtype {
        Dtype::Float => over.ge(0.0),
        // A NaN fires.
        Dtype::Half2 => 1.0 - over.lt(0.0),
    };
    let v = if form.hard_reset {
        h * (1.0 - &s) + v_reset * &s
    } else {
        h - v_th * &s
    };
    (s, v)
}

impl Backward {
    fn new<B: NeuronBackward>(
        equation: &Expr,
        kernel: &BPTTKernel<B>,
        numbers: &[&str],
        own: &[String],
        kept: &dyn Fn(&str) -> bool,
    ) -> Result<Self, String> {
        let surrogate = kernel.surrogate_function().expression().ok_or_else(|| {
            format!(
                "the surrogate of `{}` is a text without an `expression`",
                kernel.kernel_name()
            )
        })?;
        let form = kernel.form();
        let [h, v_th, v_reset] = [H, "v_th", "v_reset"].map(Expr::symbol);
        let [grad_s, grad_v, from_next] = [GRAD_S, GRAD_V, FROM_NEXT].map(Expr::symbol);
        let over = &h - &v_th;
        let slope = surrogate.substitute(&|name| (name == "x").then(|| over.clone()));
        let (s, _) = fire(form);
        let through = match (form.hard_reset, kernel.detach_reset()) {
            (true, true) => 1.0 - s,
            (true, false) => (v_reset - h) * &slope + (1.0 - s),
            (false, true) => Expr::constant(1.0),
            (false, false) => 1.0 - v_th * &slope,
        };
        let grad_h = (grad_v + from_next) * through + grad_s * slope;
        let slopes = ["x", "v"].into_iter().chain(own.iter().map(String::as_str));
        let made: Vec<Expr> = slopes
            .map(|name| &grad_h * equation.derivative(name))
            .collect();

        let read: Vec<String> = made.iter().flat_map(Expr::symbols).collect();
        let mut step = vec![H, GRAD_S, GRAD_V, FROM_NEXT];
        let mut charged = vec![];
        for (symbol, sequence) in [("v", "v_v_seq"), ("x", "x_seq")] {
            if !read.iter().any(|name| name == symbol) {
                continue;
            }
            if !kept(sequence) {
                return Err(format!(
                    "a derivative of its equation reads {symbol}, but `{}` has no parameter \
                     `{sequence}`",
                    kernel.kernel_name()
                ));
            }
            step.push(symbol);
            charged.push(sequence);
        }
        let own: Vec<String> = own.iter().filter(|name| kept(name)).cloned().collect();
        let held: Vec<&str> = numbers
            .iter()
            .copied()
            .chain(own.iter().map(String::as_str))
            .collect();
        Ok(Self {
            step: compile(&made, &held, &step)?,
            charged,
            own,
        })
    }
}

fn compile(expressions: &[Expr], held: &[&str], step: &[&str]) -> Result<Program, String> {
    Program::compile(expressions, held, step).map_err(|error| error.to_string())
}

fn available<T>(code: &Result<T, String>) -> Result<&T, InvalidOp> {
    code.as_ref().map_err(|why| {
        InvalidOp::new(
            format!("it has no code for the CPU: {why}"),
            "run this network with --device cuda",
        )
    })
}

/// Places and lengths of the blocks of a sequence with rows of `n`, first step first.
fn blocks(elements: usize, n: usize) -> impl DoubleEndedIterator<Item = (usize, usize)> {
    let steps = elements.checked_div(n).unwrap_or(0);
    let row = move |t: usize| {
        let starts = (0..n).step_by(BLOCK);
        starts.map(move |at| (t * n + at, BLOCK.min(n - at)))
    };
    (0..steps).flat_map(row)
}

fn read<'a>(tensor: &'a HostTensor<'_>) -> Result<Cow<'a, [f32]>, InvalidOp> {
    match tensor {
        HostTensor::F16(values) => Ok(values.iter().map(|x| x.to_f32()).collect()),
        other => other.f32().map(Cow::Borrowed),
    }
}

fn write(tensor: &mut HostTensorMut<'_>, values: &[f32]) -> Result<(), InvalidOp> {
    match tensor {
        HostTensorMut::F16(to) => {
            let pairs = to.iter_mut().zip(values);
            pairs.for_each(|(to, value)| *to = f16::from_f32(*value));
        }
        other => other.f32()?.copy_from_slice(values),
    }
    Ok(())
}
