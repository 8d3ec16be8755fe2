//! Neuron scans whose spikes feed back through a weight matrix, against the same network with an
//! operation for each time step.

use crate::harness::{Loaded, for_any_number_of_threads, numbers, tensor};
use spikelet_cpu::Cpu;
use spikelet_expr::Expr;
use spikelet_graph::op::{Feedback, Recurrence, Scan};
use spikelet_graph::{DType, Graph, Plan, Precision, Tensor, Tracer, Var};
use std::collections::BTreeMap;
use std::sync::Arc;

fn symbols<const N: usize>(names: [&str; N]) -> [Expr; N] {
    names.map(Expr::symbol)
}

/// 1 from the threshold on, with the derivative of σ(4u).
fn fire(h: &Expr, threshold: impl Into<Expr>) -> Expr {
    let u = h - threshold.into();
    Expr::custom_gradient(u.ge(0.0), (&u * 4.0).sigmoid())
}

/// H = V/2 + X, S = H ≥ 1, V' = (1 − S)·H.
fn hard_reset() -> Arc<Recurrence> {
    let [x, v] = symbols(["x", "v"]);
    let h = v * 0.5 + x;
    let s = fire(&h, 1.0);
    Arc::new(
        Recurrence::new("hard", ["x"], ["v", "z"])
            .output("s", s.clone(), true)
            .next(vec![(1.0 - &s) * &h, s]),
    )
}

/// V' = H − S; the fed state comes first, and there is a second sequence and a dense output.
fn soft_reset() -> Arc<Recurrence> {
    let [x, b, v] = symbols(["x", "b", "v"]);
    let h = v * 0.75 + x + b * 0.25;
    let s = fire(&h, 1.0);
    Arc::new(
        Recurrence::new("soft", ["x", "b"], ["z", "v"])
            .output("h", h.clone(), false)
            .output("s", s.clone(), true)
            .next(vec![s.clone(), &h - &s]),
    )
}

/// U' = α(U − S₋) + (1 − α)(X − W₋), W' = βW₋ + aU₋ + bS₋, S = U' ≥ 1: the spikes before the step also
/// occur in the charge, and each neuron has its own parameters.
fn adaptive() -> Arc<Recurrence> {
    let [x, u, w, z, alpha, beta, a] = symbols(["x", "u", "w", "z", "alpha", "beta", "a"]);
    let next_w = &beta * &w + &a * &u + &z * 0.5;
    let next_u = &alpha * (&u - &z) + (1.0 - &alpha) * (x - &next_w);
    let s = fire(&next_u, 0.25);
    Arc::new(
        Recurrence::new("adaptive", ["x"], ["u", "z", "w"])
            .params(["alpha", "beta", "a"])
            .output("s", s.clone(), true)
            .next(vec![next_u, s, next_w]),
    )
}

fn refs(list: &[Var]) -> Vec<&Var> {
    list.iter().collect()
}

type Results = BTreeMap<String, Tensor>;

/// A scan, with the shapes of its operands.
#[derive(Clone)]
struct Case {
    recurrence: Arc<Recurrence>,
    fed: usize,
    time: usize,
    step: Vec<usize>,
    states: Vec<Vec<usize>>,
    params: Vec<Vec<usize>>,
}

impl Case {
    fn new(recurrence: Arc<Recurrence>, fed: usize, time: usize, step: &[usize]) -> Self {
        Self {
            states: vec![step.to_vec(); recurrence.states.len()],
            params: vec![vec![step[step.len() - 1]]; recurrence.params.len()],
            recurrence,
            fed,
            time,
            step: step.to_vec(),
        }
    }

    fn cases(time: usize, step: &[usize]) -> [Self; 3] {
        [
            Self::new(hard_reset(), 1, time, step),
            Self::new(soft_reset(), 0, time, step),
            Self::new(adaptive(), 1, time, step),
        ]
    }

    /// Sequences, states, parameters and weight. Elements are multiples of 1/64, so that products with
    /// spikes are exact. The initial spikes are no spikes.
    fn inputs(&self) -> Vec<Tensor> {
        let r = &self.recurrence;
        let features = self.step[self.step.len() - 1];
        let sequence = [&[self.time][..], &self.step].concat();
        let exact = |shape: &[usize], seed: u64, scale: f64, offset: f64| {
            let values = numbers(shape.iter().product(), seed);
            let values = values.iter().map(|x| x * scale + offset);
            let values: Vec<f64> = values.map(|x| (x * 64.0).round() / 64.0).collect();
            Tensor::f64(shape, values)
        };
        let mut seed = 0..;
        let mut next = || seed.next().unwrap_or(0);
        let mut inputs = vec![];
        for _ in &r.inputs {
            inputs.push(exact(&sequence, next(), 2.0, 0.25));
        }
        for shape in &self.states {
            inputs.push(exact(shape, next(), 1.0, 0.37));
        }
        for shape in &self.params {
            inputs.push(exact(shape, next(), 0.25, 0.5));
        }
        let scale = 3.0 / (features as f64).sqrt();
        inputs.push(exact(&[features, features], next(), scale, 0.0));
        inputs
    }

    /// All results but the driven input and the spikes before each step.
    fn fused(&self, x: &[Var]) -> Vec<Var> {
        let mut made = self.all(x);
        made.truncate(made.len() - 2);
        made
    }

    fn all(&self, x: &[Var]) -> Vec<Var> {
        let (sequences, rest) = x.split_at(self.recurrence.inputs.len());
        let (states, rest) = rest.split_at(self.recurrence.states.len());
        let (weight, params) = rest.split_last().expect("a weight");
        let op = Scan::new(self.recurrence.clone(), self.time).feed_back(Feedback::of(self.fed));
        let [sequences, states, params] = [sequences, states, params].map(refs);
        Var::recurrent_scan(op, &sequences, &states, &params, weight)
    }

    /// The same results, with a scan for every `length` steps, which continues the one before.
    fn in_parts(&self, x: &[Var], length: usize) -> Vec<Var> {
        let r = &self.recurrence;
        let (sequences, rest) = x.split_at(r.inputs.len());
        let (states, rest) = rest.split_at(r.states.len());
        let (weight, params) = rest.split_last().expect("a weight");
        let mut states = states.to_vec();
        let mut parts: Vec<Vec<Var>> = vec![];
        for start in (0..self.time).step_by(length) {
            let op = Scan::new(r.clone(), length).feed_back(Feedback {
                continues: start > 0,
                ..Feedback::of(self.fed)
            });
            let x: Vec<Var> = sequences
                .iter()
                .map(|x| x.slice(0, start..start + length))
                .collect();
            let made = Var::recurrent_scan(op, &refs(&x), &refs(&states), &refs(params), weight);
            states = made[r.outputs.len()..][..r.states.len()].to_vec();
            parts.push(made);
        }
        let last_states = r.outputs.len()..r.outputs.len() + r.states.len();
        (0..parts[0].len() - 2)
            .map(|k| match last_states.contains(&k) {
                true => states[k - r.outputs.len()].clone(),
                false => {
                    let steps: Vec<&Var> = parts.iter().map(|made| &made[k]).collect();
                    Var::concat(&steps, 0)
                }
            })
            .collect()
    }

    /// The same results, with an operation for each step.
    fn unrolled(&self, x: &[Var]) -> Vec<Var> {
        let r = &self.recurrence;
        let (sequences, rest) = x.split_at(r.inputs.len());
        let (states, rest) = rest.split_at(r.states.len());
        let (weight, params) = rest.split_last().expect("a weight");
        let mut states: Vec<Var> = states.iter().map(|s| s.expand(self.step.clone())).collect();
        let mut steps: Vec<Vec<Var>> = vec![vec![]; r.outputs.len() + r.states.len()];
        for t in 0..self.time {
            let mut x: Vec<Var> = sequences.iter().map(|x| x.slice(0, t..t + 1)).collect();
            x[0] = &x[0] + states[self.fed].linear(weight);
            let made = Var::scan(r, 1, &refs(&x), &refs(&states), &refs(params));
            let (outputs, rest) = made.split_at(r.outputs.len());
            let (last, sequences) = rest.split_at(r.states.len());
            states = last.to_vec();
            for (steps, made) in steps.iter_mut().zip(outputs.iter().chain(sequences)) {
                steps.push(made.clone());
            }
        }
        let joined = |steps: &Vec<Var>| Var::concat(&refs(steps), 0);
        let (outputs, sequences) = steps.split_at(r.outputs.len());
        let outputs = outputs.iter().map(joined).chain(states);
        outputs.chain(sequences.iter().map(joined)).collect()
    }

    /// The results, and the gradients of Σ c·result for all operands, c irregular. The results whose
    /// index `reads` names contribute.
    fn run(
        &self,
        dtype: DType,
        precision: Precision,
        reads: impl Fn(usize) -> bool,
        build: impl Fn(&[Var]) -> Vec<Var>,
    ) -> Results {
        let tracer = Tracer::new(dtype);
        tracer.set_precision(precision);
        let inputs: Vec<Tensor> = self.inputs().iter().map(|t| t.cast(dtype)).collect();
        let input = |(k, t): (usize, &Tensor)| {
            tracer.input(&format!("x{k}"), t.ty().dtype, t.shape.clone())
        };
        let vars: Vec<Var> = inputs.iter().enumerate().map(input).collect();
        let made = build(&vars);
        let mut factors = vec![];
        let mut loss: Option<Var> = None;
        for (k, y) in made.iter().enumerate().filter(|(k, _)| reads(*k)) {
            tracer.output(&format!("y{k}"), y);
            let c = tracer.input(&format!("c{k}"), dtype, y.shape());
            factors.push((
                format!("c{k}"),
                tensor(y.shape(), 90 + k as u64).cast(dtype),
            ));
            let term = (y * c).sum_all();
            loss = Some(match loss {
                Some(loss) => loss + term,
                None => term,
            });
        }
        let grads = tracer.gradients(&loss.expect("a result"), &refs(&vars));
        for (k, grad) in grads.iter().enumerate() {
            tracer.output(&format!("g{k}"), grad);
        }
        let mut loaded = Loaded::new(tracer.finish().expect("a graph"), 2);
        // Gradients read the spikes before each step as bits.
        let graph = loaded.plan.graph.to_string();
        let fused = graph.contains("recurrent_scan_grad[");
        assert_eq!(graph.contains("bits["), fused && dtype == DType::F32);
        for (k, input) in inputs.iter().enumerate() {
            loaded.set(&format!("x{k}"), input);
        }
        for (name, factor) in &factors {
            loaded.set(name, factor);
        }
        loaded.run();
        loaded.results()
    }

    fn name(&self) -> String {
        let Self { time, step, .. } = self;
        format!("{} of [{time}, {step:?}]", self.recurrence.name)
    }

    /// Compares results and gradients with those of the unrolled network.
    fn check(&self, dtype: DType, tolerance: f64, reads: impl Fn(usize) -> bool) {
        let fused = self.run(dtype, Precision::F32, &reads, |x| self.fused(x));
        let unrolled = self.run(dtype, Precision::F32, &reads, |x| self.unrolled(x));
        assert_eq!(fused.len(), unrolled.len());
        self.compare(&fused, &unrolled, tolerance);
    }

    /// Results must be equal, since sums of weights are exact; gradients may differ.
    fn compare(&self, got: &Results, want: &Results, tolerance: f64) {
        for (name, want) in want {
            let (dtype, got, want) = (want.ty().dtype, got[name].to_f64(), want.to_f64());
            let most = want.iter().fold(1.0_f64, |m, x| m.max(x.abs()));
            let tolerance = if name.starts_with('y') {
                0.0
            } else {
                tolerance
            };
            for (i, (got, want)) in got.iter().zip(&want).enumerate() {
                let near = (got - want).abs() <= tolerance * most;
                let case = self.name();
                assert!(near, "{case} in {dtype}: {name}[{i}] is {got}, not {want}");
            }
        }
    }

    /// The index of the fed spikes among the outputs.
    fn spikes(&self) -> usize {
        let outputs = self.recurrence.outputs.iter();
        outputs.take_while(|o| !o.binary).count()
    }

    fn rate(&self) -> f64 {
        let k = self.spikes();
        let all = self.run(
            DType::F64,
            Precision::F32,
            |result| result == k,
            |x| self.fused(x),
        );
        let spikes = all[&format!("y{k}")].to_f64();
        assert!(spikes.iter().all(|s| *s == 0.0 || *s == 1.0));
        spikes.iter().sum::<f64>() / spikes.len() as f64
    }
}

#[test]
fn neurons_fire_and_pause() {
    for case in Case::cases(7, &[3, 64]) {
        let rate = case.rate();
        assert!((0.1..0.7).contains(&rate), "{}: {rate}", case.name());
    }
}

#[test]
fn results_and_gradients_are_those_of_the_unrolled_network() {
    for features in [5, 64, 100] {
        for samples in [1, 3, 64] {
            for case in Case::cases(6, &[samples, features]) {
                case.check(DType::F64, 1e-12, |_| true);
                case.check(DType::F32, 2e-4, |_| true);
            }
        }
    }
}

#[test]
fn a_scan_in_parts_has_the_bits_of_the_whole() {
    for features in [20, 100] {
        for case in Case::cases(6, &[3, features]) {
            for dtype in [DType::F32, DType::F64] {
                let run = |build: &dyn Fn(&[Var]) -> Vec<Var>| {
                    case.run(dtype, Precision::F32, |_| true, build)
                };
                let whole = run(&|x| case.fused(x));
                for length in [1, 2, 3] {
                    let parts = run(&|x| case.in_parts(x, length));
                    let inputs = case.recurrence.inputs.len() + case.recurrence.states.len();
                    for (name, whole) in &whole {
                        // Gradients of parameters and of the weight are sums over the parts.
                        let is_sum = (name.strip_prefix('g'))
                            .is_some_and(|k| k.parse::<usize>().is_ok_and(|k| k >= inputs));
                        if !is_sum {
                            assert_eq!(&parts[name], whole, "{name}, {} in {length}s", case.name());
                        }
                    }
                    case.compare(
                        &parts,
                        &whole,
                        if dtype == DType::F64 { 1e-12 } else { 2e-4 },
                    );
                }
            }
        }
    }
}

#[test]
fn any_subset_of_results_can_be_read() {
    for case in Case::cases(5, &[3, 20]) {
        let results = case.recurrence.outputs.len() + 2 * case.recurrence.states.len();
        for only in 0..results {
            case.check(DType::F64, 1e-12, |k| k == only);
        }
    }
}

#[test]
fn one_step_has_no_feedback_but_that_of_the_initial_spikes() {
    for case in Case::cases(1, &[3, 20]) {
        case.check(DType::F64, 1e-12, |_| true);
    }
}

#[test]
fn rows_longer_than_a_block_are_complete() {
    for case in Case::cases(3, &[5, 600]) {
        case.check(DType::F64, 1e-12, |_| true);
    }
}

#[test]
fn steps_of_several_axes_feed_back_along_the_last() {
    for case in Case::cases(4, &[3, 2, 7]) {
        case.check(DType::F64, 1e-12, |_| true);
    }
}

#[test]
fn states_and_parameters_broadcast_to_the_elements_of_a_step() {
    for shape in [
        vec![],
        vec![1],
        vec![90],
        vec![7, 1],
        vec![1, 90],
        vec![7, 90],
    ] {
        let mut case = Case::new(adaptive(), 1, 4, &[7, 90]);
        case.params[0] = shape.clone();
        case.states[1] = shape.clone();
        case.states[2] = shape;
        case.check(DType::F64, 1e-12, |_| true);
    }
}

#[test]
fn the_kept_sequences_are_the_driven_input_and_the_spikes_before_each_step() {
    let case = Case::new(hard_reset(), 1, 6, &[3, 20]);
    let tracer = Tracer::new(DType::F64);
    let inputs = case.inputs();
    let vars: Vec<Var> = inputs
        .iter()
        .enumerate()
        .map(|(k, t)| tracer.input(&format!("x{k}"), DType::F64, t.shape.clone()))
        .collect();
    let made = case.all(&vars);
    for (name, k) in [("spikes", 0), ("driven", 5), ("before", 6)] {
        tracer.output(name, &made[k]);
    }
    let mut loaded = Loaded::new(tracer.finish().expect("a graph"), 2);
    for (k, input) in inputs.iter().enumerate() {
        loaded.set(&format!("x{k}"), input);
    }
    loaded.run();
    let [spikes, driven, before] =
        ["spikes", "driven", "before"].map(|name| loaded.get(name).to_f64());
    let elements = 60;
    assert!(before[..elements].iter().all(|s| *s == 0.0));
    assert_eq!(before[elements..], spikes[..spikes.len() - elements]);
    let [x, initial, weight] = [0, 2, 3].map(|k| inputs[k].to_f64());
    for (i, driven) in driven.iter().enumerate() {
        let (at, neuron) = (i / 20 * 20, i % 20);
        let spikes = match i / elements {
            0 => &initial[at..at + 20],
            _ => &before[at..at + 20],
        };
        let weights = &weight[neuron * 20..][..20];
        let product: f64 = weights.iter().zip(spikes).map(|(w, s)| w * s).sum();
        assert!((driven - x[i] - product).abs() < 1e-12, "element {i}");
    }
}

#[test]
fn the_number_of_threads_does_not_change_the_bits() {
    let case = Case::new(adaptive(), 1, 6, &[37, 70]);
    let inputs: Vec<Tensor> = case.inputs().iter().map(irregular).collect();
    for dtype in [DType::F32, DType::F64] {
        let inputs: Vec<Tensor> = inputs.iter().map(|t| t.cast(dtype)).collect();
        for_any_number_of_threads(&inputs, |tracer, x| {
            let made = case.all(x);
            let loss = (&made[0] * 0.5).sum_all() + (&made[2] * 0.3).sum_all();
            [made, tracer.gradients(&loss, &refs(x))].concat()
        });
    }
}

#[test]
fn a_layer_reads_the_spikes_as_bits() {
    for features in [5, 64, 100] {
        for case in Case::cases(6, &[3, features]) {
            let spikes = case.spikes();
            let layer = |x: &[Var], made: Vec<Var>| {
                let weight = x.last().expect("a weight");
                vec![made[spikes].linear(weight)]
            };
            let all = |_| true;
            let fused = |x: &[Var]| layer(x, case.fused(x));
            let got = case.run(DType::F32, Precision::F32, all, fused);
            let unrolled = |x: &[Var]| layer(x, case.unrolled(x));
            let want = case.run(DType::F32, Precision::F32, all, unrolled);
            case.compare(&got, &want, 2e-4);

            let tracer = Tracer::new(DType::F32);
            let inputs = case.inputs();
            let input = |(k, t): (usize, &Tensor)| tracer.parameter(&format!("x{k}"), &*t.shape);
            let vars: Vec<Var> = inputs.iter().enumerate().map(input).collect();
            tracer.output("y", &fused(&vars)[0]);
            let loaded = Loaded::new(tracer.finish().expect("a graph"), 1);
            assert!(loaded.plan.graph.to_string().contains("bits["));
        }
    }
}

#[test]
fn a_network_in_bf16_fires_as_in_f32() {
    // Sequences and weights are exact in bf16, and states stay in f32.
    for case in &Case::cases(6, &[3, 64])[..2] {
        let spikes = case.spikes();
        let run = |precision| {
            let reads = |k| k == spikes;
            case.run(DType::F32, precision, reads, |x| case.fused(x))
        };
        case.compare(&run(Precision::Bf16), &run(Precision::F32), 0.02);
    }
}

/// A training step of two layers with feedback, and the graph's inputs.
fn two_layers() -> (Graph, Vec<(String, Tensor)>) {
    let (time, samples, features) = (30, 8, 40);
    let tracer = Tracer::new(DType::F32);
    let mut inputs = vec![];
    let mut given = |name: &str, shape: &[usize], scale: f64| {
        let values = numbers(shape.iter().product(), inputs.len() as u64);
        let values: Vec<f32> = values.iter().map(|x| (x * scale) as f32).collect();
        inputs.push((name.to_string(), Tensor::f32(shape, values)));
        tracer.parameter(name, shape)
    };
    let x = given("x", &[time, samples, features], 3.0);
    let square = [features, features];
    let weights = ["w1", "u1", "w2", "u2"].map(|name| given(name, &square, 0.4));
    let zeros = given("zeros", &[samples, features], 0.0);
    let mut y = x;
    for pair in weights.chunks_exact(2) {
        let op = Scan::new(hard_reset(), time).feed_back(Feedback::of(1));
        let current = y.linear(&pair[0]) + 0.25;
        let states = [&zeros, &zeros];
        y = Var::recurrent_scan(op, &[&current], &states, &[], &pair[1]).swap_remove(0);
    }
    let loss = (y.mean(&[0]) - 0.1).pow(2.0).mean_all();
    tracer.output("loss", &loss);
    let grads = tracer.gradients(&loss, &weights.iter().collect::<Vec<_>>());
    for (k, grad) in grads.iter().enumerate() {
        tracer.output(&format!("g{k}"), grad);
    }
    (tracer.finish().expect("a graph"), inputs)
}

#[test]
fn a_memory_budget_changes_bits_of_gradients_at_most() {
    let run = |plan: Plan, cpu: Cpu| {
        let mut loaded = Loaded::with_plan(plan, cpu);
        for (name, tensor) in two_layers().1 {
            loaded.set(&name, &tensor);
        }
        loaded.run();
        loaded.results()
    };
    let cpu = || Cpu::new(2).expect("a device");
    let natural = Plan::new(two_layers().0, &cpu());
    let (peak, nodes) = (natural.peak_bytes(), natural.graph.nodes.len());
    let want = run(natural, cpu());
    assert!(want["g1"].to_f64().iter().any(|g| *g != 0.0));
    let mut divided = [0, 0];
    for share in 8..19 {
        let Ok(plan) = Plan::within(two_layers().0, &cpu(), peak * share / 20) else {
            continue;
        };
        assert!(plan.graph.nodes.len() > nodes && plan.peak_bytes() < peak * 19 / 20);
        let in_chunks = plan.to_string().contains("time chunks");
        divided[usize::from(in_chunks)] += 1;
        let got = run(plan, cpu());
        if !in_chunks {
            assert_eq!(got, want);
            continue;
        }
        // The sum of each weight's gradient is divided.
        assert_eq!(got["loss"], want["loss"]);
        for (name, want) in &want {
            let (got, want) = (got[name].to_f64(), want.to_f64());
            let most = want.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
            let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-6 * most;
            assert!(got.iter().zip(&want).all(near), "{name}");
        }
    }
    assert!(divided[0] > 0 && divided[1] > 0, "{divided:?}");
}

/// Numbers that are no multiples of a power of two.
fn irregular(t: &Tensor) -> Tensor {
    let values: Vec<f64> = t.to_f64().iter().map(|x| x * 1.013).collect();
    Tensor::f64(t.shape.clone(), values)
}

#[test]
fn a_single_sample_gives_the_bits_of_the_batch() {
    let case = Case::new(adaptive(), 1, 6, &[37, 70]);
    let potential = |samples: usize| {
        let inputs = case.inputs().iter().map(irregular).collect::<Vec<_>>();
        let cut = |t: &Tensor| -> Tensor {
            let rank = t.shape.len();
            let axis = match rank {
                3 => 1,
                2 if t.shape[0] == 37 => 0,
                _ => return t.cast(DType::F32),
            };
            let mut shape = t.shape.clone();
            shape[axis] = samples;
            let (rows, width) = (if rank == 3 { 6 } else { 1 }, 70);
            let values = t.to_f64();
            let rows =
                (0..rows).flat_map(|row| values[row * 37 * width..][..samples * width].to_vec());
            Tensor::f64(shape, rows.collect::<Vec<f64>>()).cast(DType::F32)
        };
        let inputs: Vec<Tensor> = inputs.iter().map(cut).collect();
        let case = Case::new(adaptive(), 1, 6, &[samples, 70]);
        let y = crate::harness::compute(&inputs, |_, x| case.all(x).swap_remove(4));
        y.to_f64()[5 * samples * 70..][..70].to_vec()
    };
    assert_eq!(potential(1), potential(37));
}
