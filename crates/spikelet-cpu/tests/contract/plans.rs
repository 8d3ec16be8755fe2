//! Random graphs: sound plans, and results that passes do not change.

use crate::harness::{Loaded, tensor};
use proptest::prelude::*;
use spikelet_cpu::Cpu;
use spikelet_expr::Expr;
use spikelet_graph::op::Recurrence;
use spikelet_graph::{DType, Plan, Tensor, Tracer, Var};
use std::sync::Arc;

fn recurrence() -> Arc<Recurrence> {
    let [x, v] = ["x", "v"].map(Expr::symbol);
    let h = &v * 0.5 + x;
    Arc::new(
        Recurrence::new("r", ["x"], ["v"])
            .output("y", h.tanh(), false)
            .next(vec![h]),
    )
}

/// One more value of shape [3, 4] from two others.
fn grow(tracer: &Tracer, kind: usize, a: &Var, b: &Var) -> Var {
    match kind {
        0 => Var::map(&[a, b], |x| (&x[0] * &x[1] + 0.5).tanh()),
        1 => a + &b.sum(&[0]),
        2 => a.linear(b).matmul(a) / 4.0,
        3 => (a.permute(&[1, 0]) * 0.5).permute(&[1, 0]) - b,
        4 => Var::concat(&[&a.slice(0, 1..3), &b.slice(0, 0..1)], 0),
        5 => a * &tracer.fill(DType::F64, [3, 4], 0.75),
        6 => a.slice(0, 1..2).expand([3, 4]),
        7 => a.log_softmax() * b,
        8 => b - &a.max(&[1]).reshape([3, 1]),
        9 => (a.reshape([12]) * 0.3).reshape([3, 4]),
        10 => Var::scan(
            &recurrence(),
            3,
            &[a],
            &[&b.slice(0, 0..1).reshape([4])],
            &[],
        )
        .swap_remove(0),
        11 => Var::map_many(&[a, b], |x| vec![&x[0] - &x[1], x[0].sin()]).swap_remove(1),
        _ => a.slice(0, 0..1).reshape([4]).repeat_over_time(3) + b,
    }
}

/// A program with its gradients; with `open`, every value on the way is an output as well, which
/// keeps passes from joining anything.
fn program(steps: &[(usize, usize, usize)], open: bool) -> spikelet_graph::Graph {
    let tracer = Tracer::new(DType::F64);
    let (x, w) = (
        tracer.input("x", DType::F64, [3, 4]),
        tracer.parameter("w", [3, 4]),
    );
    let mut values = vec![x.clone(), w.clone()];
    for &(kind, a, b) in steps {
        let (a, b) = (&values[a % values.len()], &values[b % values.len()]);
        let made = grow(&tracer, kind, a, b);
        values.push(made);
    }
    let loss = values.last().unwrap().square().mean_all();
    let grads = tracer.gradients(&loss, &[&x, &w]);
    tracer.output("loss", &loss);
    tracer.output("dx", &grads[0]);
    tracer.update(&w, &(&w - &grads[1] * 0.1));
    let mut graph = tracer.finish().unwrap();
    if open {
        let made: Vec<_> = graph.nodes.iter().flat_map(|n| n.outputs.clone()).collect();
        for value in made {
            let name = format!("open {}", value.index());
            graph.outputs.push(spikelet_graph::Output {
                name,
                value,
                updates: None,
            });
        }
    }
    graph
}

fn run(graph: spikelet_graph::Graph) -> [Tensor; 3] {
    let mut loaded = Loaded::new(graph, 2);
    loaded.set("x", &tensor(&[3, 4], 1));
    loaded.set("w", &tensor(&[3, 4], 2));
    loaded.run();
    ["loss", "dx", "w"].map(|name| loaded.get(name))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn passes_and_memory_plans_do_not_change_results(
        steps in prop::collection::vec((0..13_usize, 0..20_usize, 0..20_usize), 1..12),
    ) {
        let joined = run(program(&steps, false));
        let open = run(program(&steps, true));
        for (a, b) in joined.iter().zip(&open) {
            let bits = |t: &Tensor| t.to_f64().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(a), bits(b), "{:?} {:?}", a, b);
        }
    }

    #[test]
    fn a_plan_made_twice_is_the_same_plan(
        steps in prop::collection::vec((0..13_usize, 0..20_usize, 0..20_usize), 1..12),
    ) {
        let cpu = Cpu::new(2).unwrap();
        let text = || Plan::new(program(&steps, false), &cpu).to_string();
        prop_assert_eq!(text(), text());
    }
}

#[test]
fn what_is_constant_over_time_gives_what_its_repetition_would() {
    let build = |tracer: &Tracer, x: &Var, w: &Var, v: &Var| {
        let current = x.linear(w) + 0.1;
        let parts = Var::scan(&recurrence(), 5, &[&current], &[v], &[]);
        let loss = (parts[0].square().sum_all() + current.reshape([5, 6]).sum(&[0, 1])) / 7.0;
        tracer.output("loss", &loss);
        tracer.output("dw", &tracer.gradients(&loss, &[w])[0]);
        tracer.output("max", &current.max(&[0]));
        tracer.output("rows", &current.sum(&[2]));
    };
    let inputs = |tracer: &Tracer| {
        (
            tracer.parameter("w", [3, 4]),
            tracer.input("v", DType::F64, [2, 3]),
        )
    };
    let virtual_time = Tracer::new(DType::F64);
    let x = virtual_time.input("x", DType::F64, [2, 4]);
    let (w, v) = inputs(&virtual_time);
    build(&virtual_time, &x.repeat_over_time(5), &w, &v);
    let real_time = Tracer::new(DType::F64);
    let x = real_time.input("x", DType::F64, [5, 2, 4]);
    let (w, v) = inputs(&real_time);
    build(&real_time, &x, &w, &v);
    let image = tensor(&[2, 4], 1);
    let repeated = Tensor::f64([5, 2, 4], image.to_f64().repeat(5));
    let mut results = vec![];
    for (tracer, x) in [(virtual_time, image), (real_time, repeated)] {
        let mut loaded = Loaded::new(tracer.finish().unwrap(), 2);
        loaded.set("x", &x);
        loaded.set("w", &tensor(&[3, 4], 2));
        loaded.set("v", &tensor(&[2, 3], 3));
        loaded.run();
        results.push(
            ["loss", "dw", "max", "rows"]
                .map(|n| loaded.get(n).to_f64())
                .concat(),
        );
    }
    for (a, b) in results[0].iter().zip(&results[1]) {
        assert!((a - b).abs() < 1e-12 * (1.0 + b.abs()), "{a} {b}");
    }
}

#[test]
fn values_that_are_never_alive_together_share_memory() {
    let tracer = Tracer::new(DType::F32);
    let mut x = tracer.input("x", DType::F32, [100, 100]);
    let w = tracer.parameter("w", [100, 100]);
    for _ in 0..10 {
        x = x.linear(&w);
    }
    tracer.output("y", &x);
    let plan = Plan::new(tracer.finish().unwrap(), &Cpu::new(1).unwrap());
    // Two matrices.
    assert_eq!(plan.arena_bytes, 2 * 40_192, "{plan}");
    assert_eq!(plan.buffer_bytes(), 3 * 40_000);
    assert_eq!(plan.flops(), 10 * 2 * 100 * 100 * 100);
}

#[test]
fn a_profile_has_one_time_for_each_kernel() {
    let mut loaded = Loaded::new(program(&[(0, 0, 1), (2, 1, 2)], false), 2);
    let seconds = loaded.executor.profile().unwrap();
    assert_eq!(seconds.len(), loaded.plan.kernels.len());
    assert!(seconds.iter().all(|s| *s >= 0.0));
}

#[test]
fn a_program_without_any_kernel_runs() {
    let tracer = Tracer::new(DType::F32);
    let x = tracer.input("x", DType::F32, [2]);
    tracer.output("y", &x);
    let mut loaded = Loaded::new(tracer.finish().unwrap(), 1);
    loaded.set("x", &Tensor::f32([2], [1.0, 2.0]));
    loaded.run();
    assert_eq!(loaded.get("y"), Tensor::f32([2], [1.0, 2.0]));
}
