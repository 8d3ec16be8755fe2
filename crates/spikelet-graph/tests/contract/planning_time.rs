//! Planning takes about as long for each operation of a long program as for one of a short program.

use crate::long_program::{assert_about_linear, cpu_time, recurrent};
use crate::targets::Binary;
use spikelet_graph::{DType, Graph, Plan, Tracer};
use std::time::Duration;

/// The shortest of some runs from tracing to a checked plan, and the number of kernels.
fn time(time_steps: usize) -> (Duration, usize) {
    let one = || {
        let start = cpu_time();
        let graph = recurrent(time_steps);
        let traced = cpu_time() - start;
        let plan = Plan::new(graph, &Binary);
        let planned = cpu_time() - start;
        plan.check().unwrap();
        let all = cpu_time() - start;
        println!(
            "{} kernels: traced {traced:.1?}, planned {:.1?}, checked {:.1?}",
            plan.kernels.len(),
            planned - traced,
            all - planned
        );
        (all, plan.kernels.len())
    };
    (0..3).map(|_| one()).min().expect("three runs")
}

#[test]
fn planning_is_about_linear() {
    assert_about_linear(time);
}

/// A network of so many layers, with its gradients.
fn layered(layers: usize) -> Graph {
    let t = Tracer::new(DType::F32);
    let mut x = t.input("x", DType::F32, [64, 32]);
    let w = t.parameter("w", [32, 32]);
    for _ in 0..layers {
        x = x.linear(&w).square();
    }
    let grads = t.gradients(&x.mean_all(), &[&w]);
    t.output("d_w", &grads[0]);
    t.finish().unwrap()
}

/// The shortest of some times in which a plan within a share of the usual memory is found five times.
fn time_within(layers: usize) -> Duration {
    let natural = Plan::new(layered(layers), &Binary);
    let bytes = natural.buffer_bytes() + natural.arena_bytes * 7 / 10;
    let five = || {
        let graphs: Vec<Graph> = (0..5).map(|_| layered(layers)).collect();
        let start = cpu_time();
        for graph in graphs {
            Plan::within(graph, &Binary, bytes).unwrap();
        }
        cpu_time() - start
    };
    let shortest = (0..2).map(|_| five()).min().expect("two runs");
    println!("{layers} layers: {shortest:.1?}");
    shortest
}

/// Each step of the search looks at the whole program, and a program of eight times the layers takes
/// eight times the steps; a step must not look at the program once for each value.
#[test]
fn planning_within_a_budget_is_at_most_quadratic() {
    let (few, many) = (time_within(50), time_within(400));
    let times = many.as_secs_f64() / few.as_secs_f64();
    assert!(
        times < 40.0,
        "eight times the layers took {times:.0} times as long"
    );
}
