//! The kernels of neurons, every combination, against their equations in f64: on the host, on a
//! GPU, and through the compiler.

use crate::machine::{Job, Value, Values, numbers};
use crate::on_both;
use spikelet_auto_cuda::neuron_kernel::{
    IFNodeBPTTKernel, IFNodeFPTTKernel, LIFNodeBPTTKernel, LIFNodeFPTTKernel,
    ParametricLIFNodeBPTTKernel, ParametricLIFNodeFPTTKernel,
};
use spikelet_auto_cuda::{Dtype, Kernel, SurrogateCodes, cfunction};
use spikelet_graph::f16;
use std::f64::consts::PI;

const STEPS: usize = 5;
const THREADS: usize = 4;
const V_TH: f64 = 1.0;
const V_RESET: f64 = -0.25;
const DECAY: f64 = 0.375;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Neuron {
    If,
    Lif { decay_input: bool },
    Plif { decay_input: bool },
}

#[derive(Clone, Copy, Debug)]
pub struct Variant {
    pub neuron: Neuron,
    pub hard_reset: bool,
    /// None forward.
    pub detach_reset: Option<bool>,
    pub dtype: Dtype,
}

pub fn variants(backward: bool) -> Vec<Variant> {
    let mut all = vec![];
    let [yes, no] = [true, false];
    for neuron in [
        Neuron::If,
        Neuron::Lif { decay_input: yes },
        Neuron::Lif { decay_input: no },
        Neuron::Plif { decay_input: yes },
        Neuron::Plif { decay_input: no },
    ] {
        for hard_reset in [yes, no] {
            for dtype in Dtype::ALL {
                let detaches: &[Option<bool>] = match backward {
                    true => &[Some(true), Some(false)],
                    false => &[None],
                };
                all.extend(detaches.iter().map(|detach_reset| Variant {
                    neuron,
                    hard_reset,
                    detach_reset: *detach_reset,
                    dtype,
                }));
            }
        }
    }
    all
}

impl Variant {
    fn surrogate(self) -> impl SurrogateCodes + 'static {
        let sigmoid = self.uses_sigmoid();
        move |y: &str, x: &str, dtype: Dtype| match sigmoid {
            true => cfunction::sigmoid_backward(y, x, 4.0, dtype),
            false => cfunction::atan_backward(y, x, 2.0, dtype),
        }
    }

    fn uses_sigmoid(self) -> bool {
        self.detach_reset == Some(false)
    }

    /// The surrogate's derivative.
    fn slope(self, x: f64) -> f64 {
        if self.uses_sigmoid() {
            let s = 1.0 / (1.0 + (-4.0 * x).exp());
            4.0 * s * (1.0 - s)
        } else {
            1.0 / (1.0 + (PI * x).powi(2))
        }
    }

    pub fn kernel(self) -> Box<dyn Kernel> {
        let Variant {
            neuron,
            hard_reset: hard,
            detach_reset,
            dtype,
        } = self;
        let s = self.surrogate();
        match (neuron, detach_reset) {
            (Neuron::If, None) => Box::new(IFNodeFPTTKernel::new(hard, dtype)),
            (Neuron::If, Some(detach)) => Box::new(IFNodeBPTTKernel::new(s, hard, detach, dtype)),
            (Neuron::Lif { decay_input }, None) => {
                Box::new(LIFNodeFPTTKernel::new(decay_input, hard, dtype))
            }
            (Neuron::Lif { decay_input }, Some(detach)) => {
                Box::new(LIFNodeBPTTKernel::new(decay_input, s, hard, detach, dtype))
            }
            (Neuron::Plif { decay_input }, None) => {
                Box::new(ParametricLIFNodeFPTTKernel::new(decay_input, hard, dtype))
            }
            (Neuron::Plif { decay_input }, Some(detach)) => Box::new(
                ParametricLIFNodeBPTTKernel::new(decay_input, s, hard, detach, dtype),
            ),
        }
    }

    fn decay_input(self) -> Option<bool> {
        match self.neuron {
            Neuron::If => None,
            Neuron::Lif { decay_input } | Neuron::Plif { decay_input } => Some(decay_input),
        }
    }

    /// What the potential is drawn to.
    fn rest(self) -> f64 {
        if self.hard_reset { V_RESET } else { 0.0 }
    }

    /// H from V and X.
    fn charge(self, v: f64, x: f64) -> f64 {
        match self.decay_input() {
            None => v + x,
            Some(true) => v + (x - (v - self.rest())) * DECAY,
            Some(false) => v - (v - self.rest()) * DECAY + x,
        }
    }

    /// dH/dV, dH/dX and dH/d decay.
    fn charge_slopes(self, v: f64, x: f64) -> [f64; 3] {
        match self.decay_input() {
            None => [1.0, 1.0, 0.0],
            Some(true) => [1.0 - DECAY, DECAY, x - (v - self.rest())],
            Some(false) => [1.0 - DECAY, 1.0, -(v - self.rest())],
        }
    }

    fn lanes(self) -> usize {
        match self.dtype {
            Dtype::Float => 1,
            Dtype::Half2 => 2,
        }
    }

    pub fn tensor(self, shape: &[usize], values: &[f64]) -> Value {
        let shape = shape.to_vec();
        match self.dtype {
            Dtype::Float => Value::F32(shape, values.iter().map(|x| *x as f32).collect()),
            Dtype::Half2 => Value::F16(shape, values.iter().map(|x| f16::from_f64(*x)).collect()),
        }
    }

    /// The arguments of n neurons: of the sizes that people give, which may be odd.
    pub fn values(self, n: usize) -> Values {
        let seed = 7;
        let draw = |rows: usize, seed: u64, factor: f64, shift: f64| {
            let all = numbers(rows * n, seed);
            let all: Vec<f64> = all.iter().map(|x| x * factor + shift).collect();
            self.tensor(&[rows, n], &all)
        };
        let zeros = |rows: usize| self.tensor(&[rows, n], &vec![0.0; rows * n]);
        let columns = n.div_ceil(self.lanes());
        let mut values = Values::from([
            ("numel", Value::Int((STEPS * columns) as i32)),
            ("N", Value::Int(columns as i32)),
            ("v_th", Value::Float(V_TH as f32)),
        ]);
        if self.hard_reset {
            values.insert("v_reset", Value::Float(V_RESET as f32));
        }
        match self.neuron {
            Neuron::If => {}
            Neuron::Lif { .. } => {
                values.insert("decay", Value::Float(DECAY as f32));
            }
            Neuron::Plif { .. } => {
                let lanes = self.lanes();
                values.insert("decay", self.tensor(&[lanes], &vec![DECAY; lanes]));
            }
        }
        if self.detach_reset.is_none() {
            let start = numbers(n, seed + 1);
            let mut potentials: Vec<f64> = start.iter().map(|v| v * 0.5).collect();
            potentials.resize((STEPS + 1) * n, 0.0);
            values.insert("x_seq", draw(STEPS, seed, 2.0, 1.2));
            values.insert("v_v_seq", self.tensor(&[STEPS + 1, n], &potentials));
            values.insert("h_seq", zeros(STEPS));
            values.insert("spike_seq", zeros(STEPS));
            return values;
        }
        values.insert("h_seq", draw(STEPS, seed + 2, 1.0, 0.9));
        values.insert("grad_spike_seq", draw(STEPS, seed + 3, 1.0, 0.0));
        values.insert("grad_v_seq", draw(STEPS, seed + 4, 1.0, 0.0));
        values.insert("grad_x_seq", zeros(STEPS));
        values.insert("grad_v_init", self.tensor(&[n], &vec![0.0; n]));
        if let Neuron::Plif { decay_input } = self.neuron {
            let blocks = columns.div_ceil(THREADS);
            values.insert("v_v_seq", draw(STEPS + 1, seed + 5, 1.0, 0.0));
            values.insert("grad_decay", Value::F32(vec![blocks], vec![0.0; blocks]));
            if decay_input {
                values.insert("x_seq", draw(STEPS, seed + 6, 1.0, 0.0));
            }
        }
        values
    }

    pub fn job(self, n: usize) -> Job {
        let columns = n.div_ceil(self.lanes());
        Job {
            name: format!("{self:?}, {n} neurons"),
            kernel: self.kernel(),
            blocks: columns.div_ceil(THREADS) as u32,
            threads: THREADS as u32,
            values: self.values(n),
        }
    }

    /// How far results may be off, in shares of the largest.
    fn share(self) -> f64 {
        match self.dtype {
            Dtype::Float => 4e-6,
            Dtype::Half2 => 6e-3,
        }
    }

    #[track_caller]
    fn near(self, what: &str, given: &[f64], expected: &[f64]) {
        assert_eq!(given.len(), expected.len(), "{self:?} {what}");
        let largest = expected.iter().fold(1.0_f64, |most, x| most.max(x.abs()));
        for (k, (a, b)) in given.iter().zip(expected).enumerate() {
            assert!(
                (a - b).abs() <= self.share() * largest,
                "{self:?}: `{what}` at {k} is {a}, not {b}"
            );
        }
    }

    /// Each step follows from the step before.
    pub fn check_forward(self, n: usize, before: &Values, after: &Values) {
        let of = |name: &str| after[name].numbers();
        let (x, v, h, s) = (of("x_seq"), of("v_v_seq"), of("h_seq"), of("spike_seq"));
        assert_eq!(v[..n], before["v_v_seq"].numbers()[..n]);
        assert_eq!(x, before["x_seq"].numbers());
        let charged: Vec<f64> = (0..STEPS * n).map(|i| self.charge(v[i], x[i])).collect();
        self.near("h_seq", &h, &charged);
        let fired: Vec<f64> = h.iter().map(|h| f64::from(u8::from(*h >= V_TH))).collect();
        assert_eq!(s, fired, "{self:?}");
        assert!(fired.contains(&0.0) && fired.contains(&1.0), "{self:?}");
        let reset = |(h, s): (&f64, &f64)| match self.hard_reset {
            true => h * (1.0 - s) + V_RESET * s,
            false => h - V_TH * s,
        };
        let next: Vec<f64> = h.iter().zip(&s).map(reset).collect();
        self.near("v_v_seq", &v[n..], &next);
    }

    /// The chain rule, last step first.
    pub fn check_backward(self, n: usize, before: &Values, after: &Values) {
        let of = |name: &str| before[name].numbers();
        let (h, grad_s, grad_v) = (of("h_seq"), of("grad_spike_seq"), of("grad_v_seq"));
        let optional = |name: &str| match before.contains_key(name) {
            true => of(name),
            false => vec![0.0; (STEPS + 1) * n],
        };
        let (v, x) = (optional("v_v_seq"), optional("x_seq"));
        let mut grad_x = vec![0.0; STEPS * n];
        let mut grad_v_init = vec![0.0; n];
        let mut grad_decay = 0.0;
        let mut terms = 0.0;
        for (j, of_start) in grad_v_init.iter_mut().enumerate() {
            let mut grad_h = 0.0;
            for t in (0..STEPS).rev() {
                let i = t * n + j;
                let over = h[i] - V_TH;
                let s = if over >= 0.0 { 1.0 } else { 0.0 };
                let slope = self.slope(over);
                let attached = if self.detach_reset == Some(true) {
                    0.0
                } else {
                    1.0
                };
                let through = match self.hard_reset {
                    true => 1.0 - s + (V_RESET - h[i]) * slope * attached,
                    false => 1.0 - V_TH * slope * attached,
                };
                let [to_v, to_x, to_decay] = self.charge_slopes(v[i], x[i]);
                grad_h = grad_s[i] * slope + (grad_v[i] + grad_h * to_v) * through;
                grad_x[i] = grad_h * to_x;
                grad_decay += grad_h * to_decay;
                terms += f64::abs(grad_h * to_decay);
            }
            let [to_v, ..] = self.charge_slopes(0.0, 0.0);
            *of_start = grad_h * to_v;
        }
        self.near("grad_x_seq", &after["grad_x_seq"].numbers(), &grad_x);
        self.near("grad_v_init", &after["grad_v_init"].numbers(), &grad_v_init);
        if let Some(partial) = after.get("grad_decay") {
            let sum: f64 = partial.numbers().iter().sum();
            let off = (sum - grad_decay).abs();
            assert!(
                off <= self.share() * terms,
                "{self:?}: dL/d decay is {sum}, not {grad_decay}"
            );
        }
    }
}

/// Ten neurons: an even number, and more than two blocks have.
const NEURONS: usize = 10;

fn jobs(backward: bool) -> Vec<Job> {
    variants(backward).iter().map(|v| v.job(NEURONS)).collect()
}

fn check_forward(jobs: &[Job], results: &[Values]) {
    for ((variant, job), result) in variants(false).iter().zip(jobs).zip(results) {
        variant.check_forward(NEURONS, &job.values, result);
    }
}

fn check_backward(jobs: &[Job], results: &[Values]) {
    for ((variant, job), result) in variants(true).iter().zip(jobs).zip(results) {
        variant.check_backward(NEURONS, &job.values, result);
    }
}

on_both!(
    forward_kernels_charge_fire_and_reset,
    jobs(false),
    check_forward
);
on_both!(
    backward_kernels_follow_the_chain_rule,
    jobs(true),
    check_backward
);
