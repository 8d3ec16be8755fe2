//! Forward scans: spikes, sequences, final states and checkpoints, bit for bit.

use crate::harness::{Near, data, gpu, same_on, scaled, tensor, thorough};
use spikelet_expr::Expr;
use spikelet_graph::op::{Recurrence, Scan};
use spikelet_graph::{Tensor, Tracer, Var};
use std::sync::Arc;

fn symbols<const N: usize>(names: [&str; N]) -> [Expr; N] {
    names.map(Expr::symbol)
}

/// Leaky integrate-and-fire: one sequence, one state.
pub fn lif() -> Arc<Recurrence> {
    let [x, v] = symbols(["x", "v"]);
    let h = &v + (x - &v) / 3.0;
    let u = &h - 0.4;
    let s = Expr::custom_gradient(u.ge(0.0), (&u * 4.0).sigmoid());
    let next = (1.0 - &s) * &h;
    Arc::new(
        Recurrence::new("lif", ["x"], ["v"])
            .output("s", s, true)
            .next(vec![next]),
    )
}

/// The same with a learned leak.
pub fn plif() -> Arc<Recurrence> {
    let [x, v, w] = symbols(["x", "v", "w"]);
    let h = &v + (x - &v) * w.sigmoid();
    let u = &h - 0.4;
    let s = Expr::with_gradient_of(u.ge(0.0), &u, 1.0 / (1.0 + &u * &u));
    let next = &h - &s * 0.4;
    Arc::new(
        Recurrence::new("plif", ["x"], ["v"])
            .params(["w"])
            .output("s", s, true)
            .next(vec![next]),
    )
}

/// Two sequences, three states, two parameters, two outputs.
pub fn adaptive() -> Arc<Recurrence> {
    let [x, m, v, i, b, tau, k] = symbols(["x", "m", "v", "i", "b", "tau", "k"]);
    let current = &i * 0.7 + x;
    let h = &v * (-1.0 / &tau).exp() + &current * m;
    let u = &h - (0.3 + &b * k);
    let s = Expr::custom_gradient(u.ge(0.0), u.atan() * 0.5);
    let rate = (&h + &current).tanh();
    let next_v = Expr::select(u.ge(0.0), (&h * 0.1).sin(), &h);
    let next_b = &b * 0.9 + &s * 0.2;
    Arc::new(
        Recurrence::new("adaptive", ["x", "m"], ["v", "i", "b"])
            .params(["tau", "k"])
            .output("s", s, true)
            .output("rate", rate, false)
            .next(vec![next_v, current, next_b]),
    )
}

/// Without a state: a function of each step.
fn stateless() -> Arc<Recurrence> {
    let x = Expr::symbol("x");
    Arc::new(Recurrence::new("ramp", ["x"], []).output("y", (&x * &x).sigmoid(), false))
}

/// A recurrence with its operands, over one shape of a time step.
pub struct Case {
    pub recurrence: Arc<Recurrence>,
    pub time: usize,
    /// By the names of the recurrence's symbols, in its order.
    pub operands: Vec<(String, Tensor)>,
}

impl Case {
    /// Sequences that vary over time, and states and parameters as large as a step.
    pub fn dense(recurrence: Arc<Recurrence>, time: usize, step: &[usize]) -> Self {
        Self::new(recurrence, time, step, &[], &[])
    }

    /// With a length of 1 instead of the time for some sequences, and other shapes for some
    /// states and parameters.
    pub fn new(
        recurrence: Arc<Recurrence>,
        time: usize,
        step: &[usize],
        constant: &[&str],
        shapes: &[(&str, &[usize])],
    ) -> Self {
        let r = &*recurrence;
        let mut operands = vec![];
        for (k, name) in r.inputs.iter().enumerate() {
            let steps = if constant.contains(&name.as_str()) {
                1
            } else {
                time
            };
            let shape = [&[steps], step].concat();
            operands.push((name.clone(), scaled(&shape, 1 + k as u64, 1.0, 0.3)));
        }
        for (k, name) in r.states.iter().chain(&r.params).enumerate() {
            let other = shapes.iter().find(|(n, _)| n == name);
            let shape = other.map_or(step, |(_, shape)| shape);
            // Time constants are not close to zero.
            let shift = if r.params.contains(name) { 2.0 } else { 0.0 };
            operands.push((name.clone(), scaled(shape, 20 + k as u64, 0.8, shift)));
        }
        Self {
            recurrence,
            time,
            operands,
        }
    }

    /// The operands as a program's inputs, with further ones.
    pub fn inputs<'a>(&'a self, more: &'a [(String, Tensor)]) -> Vec<(&'a str, Tensor)> {
        let all = self.operands.iter().chain(more);
        all.map(|(name, t)| (name.as_str(), t.clone())).collect()
    }

    pub fn trace(&self, tracer: &Tracer, checkpoint: Option<usize>) -> (Vec<Var>, Vec<Var>) {
        let operands: Vec<Var> = (self.operands.iter())
            .map(|(name, t)| data(tracer, name, t))
            .collect();
        let op = Scan {
            checkpoint,
            ..Scan::new(self.recurrence.clone(), self.time)
        };
        let all: Vec<&Var> = operands.iter().collect();
        (tracer.apply(op, &all), operands)
    }

    /// The names of the scan's results: outputs, last states, state sequences, kept states.
    pub fn results(&self) -> Vec<String> {
        let r = &self.recurrence;
        let outputs = r.outputs.iter().map(|o| o.name.clone());
        let states = |what: &'static str| r.states.iter().map(move |s| format!("{what} {s}"));
        let all = outputs.chain(states("last")).chain(states("seq"));
        all.chain(states("kept")).collect()
    }
}

fn check(gpu: &dyn spikelet_graph::Backend, case: &Case, wanted: impl Fn(&str) -> bool) {
    same_on(
        gpu,
        &case.inputs(&[]),
        |_| Near::Bits,
        |tracer| {
            let (made, _) = case.trace(tracer, None);
            for (name, value) in case.results().iter().zip(&made) {
                if wanted(name) {
                    tracer.output(&format!("result {name}"), value);
                }
            }
        },
    );
}

/// Numbers of neurons for every width of a pack: fewer than saturate the GPU, numbers for packs of 1, 2,
/// 4 and 8, and numbers that no pack divides.
pub fn crowds(gpu: &spikelet_cuda::Cuda) -> Vec<usize> {
    if !thorough() {
        return vec![70];
    }
    let full = gpu.properties().multiprocessors * 512;
    vec![
        70_000.max(full + 1),
        2 * full + 2,
        4 * full + 4,
        4 * full + 5,
    ]
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn few_neurons_over_any_number_of_steps_have_the_bits_of_the_cpu() {
    let gpu = gpu();
    for neurons in [1, 3, 40, 1000] {
        for time in [1, 2, 3, 7, 16, 17, 33, 130, 500] {
            check(&gpu, &Case::dense(lif(), time, &[neurons]), |_| true);
            if !thorough() && time > 16 {
                break;
            }
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn many_neurons_have_the_bits_of_the_cpu() {
    let gpu = gpu();
    for neurons in crowds(&gpu) {
        for time in [1, 2, 7, 8, 19] {
            check(&gpu, &Case::dense(lif(), time, &[neurons]), |_| true);
        }
        check(&gpu, &Case::dense(adaptive(), 5, &[neurons]), |_| true);
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn more_than_the_cache_holds_has_the_bits_of_the_cpu() {
    let gpu = gpu();
    if thorough() {
        let neurons = gpu.properties().multiprocessors * 512 * 4 + 4;
        let time = 2 * gpu.properties().l2_bytes / (8 * neurons) + 2;
        check(&gpu, &Case::dense(lif(), time, &[neurons]), |name| {
            name == "s"
        });
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn several_sequences_states_and_parameters_have_the_bits_of_the_cpu() {
    let gpu = gpu();
    for step in [vec![1], vec![5, 7], vec![16, 100]] {
        for time in [1, 4, 5, 20, 65] {
            check(&gpu, &Case::dense(adaptive(), time, &step), |_| true);
            check(&gpu, &Case::dense(plif(), time, &step), |_| true);
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn only_results_that_are_read_are_computed() {
    let gpu = gpu();
    let case = Case::dense(adaptive(), 9, &[50]);
    for wanted in case.results() {
        check(&gpu, &case, |name| {
            name == wanted && !name.starts_with("kept")
        });
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn sequences_may_be_constant_over_time_and_states_and_parameters_broadcast() {
    let gpu = gpu();
    let crowd = crowds(&gpu)[0];
    for (rows, columns) in [(6, 10), (4, crowd.next_multiple_of(4) / 2)] {
        let step = [rows, columns];
        let shapes: [&[(&str, &[usize])]; 4] = [
            &[("v", &[]), ("tau", &[1]), ("k", &[])],
            &[("v", &[columns]), ("b", &[rows, 1]), ("tau", &[1, columns])],
            &[("i", &[1, 1]), ("k", &[rows, 1])],
            &[],
        ];
        for shapes in shapes {
            for constant in [&["x"][..], &["m"], &["x", "m"], &[]] {
                for time in [1, 6, 21] {
                    let case = Case::new(adaptive(), time, &step, constant, shapes);
                    check(&gpu, &case, |_| true);
                    if !thorough() {
                        break;
                    }
                }
            }
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_step_without_a_state_is_supported() {
    let gpu = gpu();
    for time in [1, 5, 40] {
        check(&gpu, &Case::dense(stateless(), time, &[33]), |_| true);
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_scan_over_no_neurons_has_empty_results() {
    let gpu = gpu();
    check(&gpu, &Case::dense(lif(), 5, &[0]), |_| true);
    check(&gpu, &Case::dense(lif(), 5, &[3, 0]), |_| true);
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn checkpoints_are_written_after_any_number_of_steps() {
    let gpu = gpu();
    let crowd = crowds(&gpu)[0];
    let few = [
        (2, 1),
        (7, 1),
        (7, 3),
        (10, 5),
        (11, 5),
        (16, 4),
        (33, 12),
        (60, 24),
        (130, 7),
    ];
    for (recurrence, neurons) in [(lif(), 40), (adaptive(), 40), (lif(), crowd)] {
        for (time, every) in few {
            let case = Case::dense(recurrence.clone(), time, &[neurons]);
            same_on(
                &gpu,
                &case.inputs(&[]),
                |_| Near::Bits,
                |tracer| {
                    let (made, _) = case.trace(tracer, Some(every));
                    for (name, value) in case.results().iter().zip(&made) {
                        tracer.output(&format!("result {name}"), value);
                    }
                },
            );
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn nan_does_not_spread_to_other_neurons() {
    let gpu = gpu();
    let mut case = Case::dense(lif(), 12, &[9]);
    let mut values = case.operands[0].1.as_f32().expect("f32").to_vec();
    values[9 + 2] = f32::NAN;
    values[3] = f32::INFINITY;
    values[18 + 5] = f32::NEG_INFINITY;
    values[6] = 1e-42;
    case.operands[0].1 = Tensor::f32([12, 9], values);
    check(&gpu, &case, |_| true);
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_sequence_and_its_chunks_have_the_same_bits() {
    let gpu = gpu();
    // On the GPU only: the final state of a chunk is the initial state of the next.
    let (time, n) = (24, 300);
    let x = scaled(&[time, n], 1, 1.0, 0.3);
    let graph = crate::harness::traced(|tracer| {
        let x = data(tracer, "x", &x);
        let v = tracer.input("v", spikelet_graph::DType::F32, [n]);
        let whole = Var::scan(&lif(), time, &[&x], &[&v], &[]);
        tracer.output("whole", &whole[0]);
        tracer.output("whole v", &whole[1]);
        let (mut v, mut at) = (v, 0);
        for (k, steps) in [1, 2, 16, 5].into_iter().enumerate() {
            let piece = x.slice(0, at..at + steps);
            let made = Var::scan(&lif(), steps, &[&piece], &[&v], &[]);
            tracer.output(&format!("piece {k}"), &made[0]);
            (v, at) = (made[1].clone(), at + steps);
        }
        tracer.output("v", &v);
    });
    let mut loaded = crate::harness::Loaded::new(graph, &gpu);
    let inputs = [("x", x.clone()), ("v", tensor(&[n], 2))];
    let made = crate::harness::run_twice(&mut loaded, &inputs);
    let pieces: Vec<f64> = (0..4)
        .flat_map(|k| made[&format!("piece {k}")].to_f64())
        .collect();
    assert_eq!(made["whole"].to_f64(), pieces);
    assert_eq!(made["whole v"], made["v"]);
}
