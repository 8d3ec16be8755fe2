//! Every pass on a small graph, before and after.

use crate::targets::{Binary, Plain};
use insta::assert_snapshot;
use spikelet_expr::Expr;
use spikelet_graph::op::Recurrence;
use spikelet_graph::{DType, Graph, Tracer, Var, pass};
use std::sync::Arc;

const F: DType = DType::F32;

fn traced(build: impl FnOnce(&Tracer)) -> Graph {
    let tracer = Tracer::new(F);
    build(&tracer);
    tracer.finish().unwrap()
}

fn neuron() -> Arc<Recurrence> {
    let [x, v] = ["x", "v"].map(Expr::symbol);
    let h = &v + x;
    Arc::new(Recurrence::new("if", ["x"], ["v"]).output("s", h.ge(1.0), true).next(vec![h]))
}

#[test]
fn dead_code_is_dropped() {
    let mut graph = traced(|t| {
        let x = t.input("x", F, [2, 3]);
        let unused = x.exp();
        let _also_unused = unused.sum_all();
        t.output("y", &x.sum(&[0]));
    });
    assert_snapshot!(graph, @"");
    let report = pass::dead_code::run(&mut graph);
    assert_snapshot!(graph, @"");
    assert_snapshot!(report.summary, @"");
}

#[test]
fn what_is_constant_over_time_is_computed_once() {
    let mut graph = traced(|t| {
        let (image, w) = (t.input("image", F, [8, 6]), t.parameter("w", [4, 6]));
        let current = t.scope("fc", || image.repeat_over_time(10).linear(&w) * 0.5);
        let v = t.state("v", [8, 4]);
        let made = t.scope("if", || Var::scan(&neuron(), 10, &[&current], &[&v], &[]));
        t.output("s", &made[0]);
        t.output("total", &current.sum(&[0]));
    });
    assert_snapshot!(graph, @"");
    let report = pass::hoist_time::run(&mut graph);
    assert_snapshot!(graph, @"");
    assert_snapshot!(report.summary, @"");
    pass::dead_code::run(&mut graph);
    assert_snapshot!(graph, @"");
}

#[test]
fn what_varies_over_time_stays_where_it_is() {
    let mut graph = traced(|t| {
        let (x, bias) = (t.input("x", F, [10, 8, 4]), t.parameter("bias", [8, 4]));
        t.output("y", &(&x + &bias.repeat_over_time(10)));
        t.output("max", &bias.repeat_over_time(10).max(&[0]));
    });
    pass::hoist_time::run(&mut graph);
    assert_snapshot!(graph, @"");
}

#[test]
fn elementwise_operations_are_joined() {
    let mut graph = traced(|t| {
        let (a, b) = (t.input("a", F, [4, 3]), t.input("b", F, [3]));
        let sum = &a + &b;
        let zero = t.fill(F, [4, 3], 0.25);
        let wide = t.input("c", F, [1, 3]).expand([4, 3]);
        t.output("y", &(sum.exp() * &zero - &wide));
    });
    assert_snapshot!(graph, @"");
    let report = pass::fuse::run(&mut graph);
    assert_snapshot!(graph, @"");
    assert_snapshot!(report.summary, @"");
}

#[test]
fn a_value_with_two_readers_and_one_of_another_shape_are_not_joined() {
    let mut graph = traced(|t| {
        let (a, b) = (t.input("a", F, [4, 3]), t.input("b", F, [3]));
        let shared = a.exp();
        t.output("first", &(&shared + 1.0));
        t.output("second", &(&shared * 2.0));
        t.output("third", &(&a + &b.exp()));
    });
    let before = graph.to_string();
    assert_eq!(pass::fuse::run(&mut graph).changes, 0);
    assert_eq!(graph.to_string(), before);
    assert_snapshot!(graph, @"");
}

#[test]
fn cheap_values_are_made_again_in_the_backward_pass() {
    let mut graph = traced(|t| {
        let (x, w) = (t.input("x", F, [5, 3]), t.parameter("w", [4, 3]));
        let shifted = &x - 1.0;
        let scaled = &shifted * 2.0;
        let y = Var::map(&[&shifted.linear(&w), &scaled.linear(&w)], |x| &x[0] * &x[1]);
        let loss = y.sum_all();
        t.output("dw", &t.gradients(&loss, &[&w])[0]);
    });
    pass::dead_code::run(&mut graph);
    assert_snapshot!(graph, @"");
    let report = pass::save::run(&mut graph);
    assert_snapshot!(graph, @"");
    assert_snapshot!(report.summary, @"");
}

fn spikes(flatten: bool) -> Graph {
    traced(|t| {
        let (p, g) = (t.input("p", F, [5, 8, 2, 4]), t.input("generator", DType::I64, [3]));
        let w = t.parameter("w", [4, 8]);
        let spikes = p.bernoulli(&g, true);
        let spikes = if flatten { spikes.flatten(2) } else { spikes.reshape([40, 8]) };
        t.output("y", &spikes.linear(&w));
    })
}

#[test]
fn spikes_travel_as_bits_where_their_readers_can_use_them() {
    let mut graph = spikes(true);
    assert_snapshot!(graph, @"");
    let report = pass::narrow::run(&mut graph, &Binary);
    assert_snapshot!(graph, @"");
    assert_snapshot!(report.summary, @"");
}

#[test]
fn spikes_stay_floats_for_a_device_that_knows_no_bits_and_for_other_readers() {
    let mut graph = spikes(true);
    pass::narrow::run(&mut graph, &Plain);
    assert!(!graph.to_string().contains("bits["), "{graph}");

    // Axis 0 would no longer be the time that the draws are numbered by.
    let mut graph = spikes(false);
    pass::narrow::run(&mut graph, &Binary);
    assert!(!graph.to_string().contains("bits["), "{graph}");

    // A sum reads them too.
    let mut graph = traced(|t| {
        let (p, g) = (t.input("p", F, [5, 8]), t.input("generator", DType::I64, [3]));
        let spikes = p.bernoulli(&g, true);
        t.output("y", &spikes.linear(&t.parameter("w", [4, 8])));
        t.output("rate", &spikes.mean_all());
    });
    pass::narrow::run(&mut graph, &Binary);
    assert!(!graph.to_string().contains("bits["), "{graph}");
}

#[test]
fn a_neurons_spikes_become_bits_and_other_outputs_do_not() {
    let mut graph = traced(|t| {
        let (x, v) = (t.input("x", F, [3, 8, 4]), t.state("v", [8, 4]));
        let made = Var::scan(&neuron(), 3, &[&x], &[&v], &[]);
        let w = t.parameter("w", [2, 4]);
        t.output("y", &(made[0].linear(&w) + made[2].linear(&w)));
        t.update(&v, &made[1]);
    });
    pass::narrow::run(&mut graph, &Binary);
    assert_snapshot!(graph, @"");
}

#[test]
fn all_passes_run_in_order_and_say_what_they_did() {
    let mut graph = traced(|t| {
        let (image, g) = (t.input("image", F, [8, 12]), t.input("generator", DType::I64, [3]));
        let (w, v) = (t.parameter("w", [4, 12]), t.state("v", [8, 4]));
        let spikes = image.repeat_over_time(6).bernoulli(&g, true);
        let made = Var::scan(&neuron(), 6, &[&spikes.linear(&w)], &[&v], &[]);
        t.output("rate", &(made[0].mean(&[0]) * 2.0));
        t.update(&v, &made[1]);
    });
    let reports = pass::run_all(&mut graph, &Binary);
    assert_snapshot!(graph, @"");
    let text: Vec<String> = reports.iter().map(|r| format!("{}: {}", r.pass, r.summary)).collect();
    assert_snapshot!(text.join("\n"), @"");
}
