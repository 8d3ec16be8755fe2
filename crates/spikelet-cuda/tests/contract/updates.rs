//! Parameters and states that are updated at the end of a run, over several runs.

use crate::harness::{Loaded, Near, SUMS, apart, gpu, scaled, tensor, traced};
use spikelet_cpu::Cpu;
use spikelet_graph::{DType, Tensor, Tracer, Var};

/// Runs a program several times on both devices from the same first values, and compares all
/// outputs after every run.
fn same_run_by_run(runs: usize, near: Near, inputs: &[(&str, Tensor)], trace: impl Fn(&Tracer)) {
    let gpu = gpu();
    let cpu = Cpu::new(0).expect("the CPU");
    let mut a = Loaded::new(traced(&trace), &gpu);
    let mut b = Loaded::new(traced(&trace), &cpu);
    a.set_all(inputs);
    b.set_all(inputs);
    for run in 0..runs {
        a.run();
        b.run();
        for (name, expected) in b.results() {
            let apart = apart(&a.get(&name), &expected, near);
            assert_eq!(apart, None, "`{name}` after run {run}\n{}", a.plan);
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn an_optimizer_updates_parameters_and_moments_in_place() {
    for n in [5, 1000, 300_000] {
        let inputs = [
            ("w", tensor(&[n], 1)),
            ("m", scaled(&[n], 2, 0.1, 0.0)),
            ("u", scaled(&[n], 3, 0.01, 0.02)),
            ("g", tensor(&[n], 4)),
        ];
        same_run_by_run(5, Near::Bits, &inputs, |tracer| {
            let [w, m, u] = ["w", "m", "u"].map(|name| tracer.state(name, [n]));
            let g = tracer.input("g", DType::F32, [n]);
            let next = Var::map_many(&[&w, &m, &u, &g], |x| {
                let m = &x[1] * 0.9 + &x[3] * 0.1;
                let u = &x[2] * 0.999 + &x[3] * &x[3] * 0.001;
                vec![&x[0] - &m / (u.sqrt() + 1e-8) * 0.01, m, u]
            });
            for (state, next) in [&w, &m, &u].into_iter().zip(&next) {
                tracer.update(state, next);
            }
        });
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_step_of_training_changes_the_weights_as_on_the_cpu() {
    let inputs = [("x", tensor(&[32, 20], 5)), ("w", tensor(&[10, 20], 6))];
    same_run_by_run(5, SUMS, &inputs, |tracer| {
        let (x, w) = (
            tracer.input("x", DType::F32, [32, 20]),
            tracer.parameter("w", [10, 20]),
        );
        let loss = (x.linear(&w) - 1.0).square().mean_all();
        let g = tracer.gradients(&loss, &[&w]).remove(0);
        tracer.update(&w, &(&w - &g * 0.5));
        tracer.output("loss", &loss);
    });
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn an_update_in_place_needs_no_additional_memory() {
    let gpu = gpu();
    let loaded = Loaded::new(
        traced(|tracer| {
            let w = tracer.parameter("w", [1000]);
            tracer.update(&w, &(&w * 0.5));
        }),
        &gpu,
    );
    assert!(loaded.is_in_place("w"));
    assert_eq!(loaded.plan.arena_bytes, 0);
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn an_old_value_can_be_read_after_the_new_one_is_computed() {
    let inputs = [
        ("v", tensor(&[30], 7)),
        ("w", scaled(&[30, 30], 8, 0.3, 0.0)),
    ];
    same_run_by_run(5, SUMS, &inputs, |tracer| {
        let (v, w) = (tracer.state("v", [30]), tracer.parameter("w", [30, 30]));
        let new = v.reshape([1, 30]).linear(&w).reshape([30]);
        tracer.update(&v, &new);
        tracer.output("change", &(&new - &v).reshape([1, 30]).linear(&w));
        tracer.output("old", &v);
    });
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_delay_line_and_swapped_states_pass_their_values_on() {
    let names = ["a", "b", "c", "d", "e"];
    let given: Vec<(&str, Tensor)> = names
        .into_iter()
        .enumerate()
        .map(|(k, name)| (name, tensor(&[700], 10 + k as u64)))
        .chain([("x", tensor(&[700], 9))])
        .collect();
    for order in [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 4, 1, 3]] {
        same_run_by_run(5, Near::Bits, &given, |tracer| {
            let x = tracer.input("x", DType::F32, [700]);
            let [a, b, c, d, e] = names.map(|name| tracer.state(name, [700]));
            let pairs = [(&a, &x), (&b, &a), (&c, &b), (&d, &e), (&e, &d)];
            for k in order {
                tracer.update(pairs[k].0, pairs[k].1);
            }
        });
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn outputs_may_be_inputs_repeated_and_updated_elsewhere() {
    let inputs = [("x", tensor(&[3, 40], 20)), ("v", tensor(&[3, 40], 21))];
    same_run_by_run(5, Near::Bits, &inputs, |tracer| {
        let (x, v) = (
            tracer.input("x", DType::F32, [3, 40]),
            tracer.state("v", [3, 40]),
        );
        let y = Var::map(&[&x, &v], |x| (&x[0] * 0.3 + &x[1]).tanh());
        tracer.output("first", &y);
        tracer.output("second", &y);
        tracer.output("flat", &y.reshape([120]));
        tracer.output("later", &(&y * 2.0));
        tracer.output("input", &x);
        tracer.output("input again", &x.reshape([120]));
        tracer.output("old", &v);
        tracer.update(&v, &y);
    });
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_state_can_be_updated_to_itself_or_a_constant() {
    let inputs = [("v", tensor(&[100], 22)), ("w", tensor(&[100], 23))];
    same_run_by_run(5, Near::Bits, &inputs, |tracer| {
        let (v, w) = (tracer.state("v", [100]), tracer.state("w", [100]));
        tracer.update(&v, &v);
        tracer.output("y", &v);
        tracer.output("before", &w);
        tracer.update(&w, &tracer.fill(DType::F32, [100], 5.0));
    });
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn integer_states_are_updated() {
    let numbers = |from: i64| Tensor::i64([9], (0..9).map(|k| k * from).collect::<Vec<i64>>());
    let inputs = [("a", numbers(3)), ("b", numbers(1 << 40))];
    same_run_by_run(5, Near::Bits, &inputs, |tracer| {
        let (a, b) = (
            tracer.state_of("a", DType::I64, [9]),
            tracer.state_of("b", DType::I64, [9]),
        );
        tracer.update(&a, &b);
        tracer.update(&b, &a);
    });
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn membrane_potentials_are_carried_from_run_to_run() {
    let inputs = [
        ("x", scaled(&[6, 500], 24, 1.0, 0.3)),
        ("v", tensor(&[500], 25)),
    ];
    same_run_by_run(5, Near::Bits, &inputs, |tracer| {
        let (x, v) = (
            tracer.input("x", DType::F32, [6, 500]),
            tracer.state("v", [500]),
        );
        let made = Var::scan(&crate::scan::lif(), 6, &[&x], &[&v], &[]);
        tracer.output("spikes", &made[0]);
        tracer.update(&v, &made[1]);
    });
}
