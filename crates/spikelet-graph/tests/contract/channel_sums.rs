//! Backward scans sum the gradients that a channel shares, for a target that can.

use crate::graphs::{F, live, traced, weighted as neuron};
use crate::targets::{Plain, Sums};
use insta::assert_snapshot;
use spikelet_graph::op::{Port, Scan, ScanGrad};
use spikelet_graph::{Graph, Tracer, Var, pass};

/// Gradients through a neuron whose parameter has this shape, and through scale and shift before
/// it.
pub fn trained(param: &[usize]) -> Graph {
    let t = Tracer::new(F);
    let x = t.input("x", F, [4, 2, 6, 3]);
    let [scale, shift] = ["scale", "shift"].map(|name| t.parameter(name, [3]));
    let (k, zero) = (t.parameter("k", param), t.fill(F, [], 0.0));
    let current = Var::map(&[&x, &scale, &shift], |v| &v[0] * &v[1] + &v[2]);
    let made = Var::scan(&neuron(), 4, &[&current], &[&zero], &[&k]);
    let grads = t.gradients(&made[0].square().sum_all(), &[&x, &scale, &shift, &k]);
    for (name, grad) in ["d_x", "d_scale", "d_shift", "d_k"].iter().zip(&grads) {
        t.output(name, grad);
    }
    live(t.finish().unwrap())
}

#[test]
fn sums_over_everything_but_channels_are_taken_in() {
    let mut graph = trained(&[3]);
    assert_snapshot!(graph, @"
    %0 = Data `x`  f32[4, 2, 6, 3]
    %1 = Parameter `scale`  f32[3]
    %2 = Parameter `shift`  f32[3]
    %3 = Parameter `k`  f32[3]
    %4 = fill[0]()  f32[]
    %6, %7, %8 = scan[li #0, T=4](%0, %4, %3, %1, %2)  f32[4, 2, 6, 3], f32[2, 6, 3], f32[4, 2, 6, 3]
        x; v; k, x_in0, x_in1; y
        #0 = x · x_in0 + x_in1
        y = tanh(v · 0.5 + #0 · k)
        v ← v · 0.5 + #0 · k
    %11 = fill[1]()  f32[]  ∂ loss
    %12 = reshape[1, 1, 1, 1](%11)  f32[1, 1, 1, 1]  ∂
    %13 = expand[4, 2, 6, 3](%12)  f32[4, 2, 6, 3]  ∂
    %14 = map[x1 · x0 + x1 · x0 as f32](%6, %13)  f32[4, 2, 6, 3]  ∂
    %15, %16, %17, %18, %19 = scan_grad[li #0, T=4; of output 0](%0, %4, %3, %1, %2, %14)  f32[4, 2, 6, 3], f32[2, 6, 3], f32[2, 6, 3], f32[2, 6, 3], f32[2, 6, 3]  ∂
    %20 = sum[0, 1](%17)  f32[3]  ∂
    %21 = sum[0, 1](%18)  f32[3]  ∂
    %22 = sum[0, 1](%19)  f32[3]  ∂
    `d_x` = %15
    `d_scale` = %21
    `d_shift` = %22
    `d_k` = %20
    ");
    assert_eq!(
        pass::channel_sums::run(&mut graph.clone(), &Plain).changes,
        0
    );
    let report = pass::channel_sums::run(&mut graph, &Sums);
    assert_snapshot!(graph, @"
    %0 = Data `x`  f32[4, 2, 6, 3]
    %1 = Parameter `scale`  f32[3]
    %2 = Parameter `shift`  f32[3]
    %3 = Parameter `k`  f32[3]
    %4 = fill[0]()  f32[]
    %6, %7, %8 = scan[li #0, T=4](%0, %4, %3, %1, %2)  f32[4, 2, 6, 3], f32[2, 6, 3], f32[4, 2, 6, 3]
        x; v; k, x_in0, x_in1; y
        #0 = x · x_in0 + x_in1
        y = tanh(v · 0.5 + #0 · k)
        v ← v · 0.5 + #0 · k
    %11 = fill[1]()  f32[]  ∂ loss
    %12 = reshape[1, 1, 1, 1](%11)  f32[1, 1, 1, 1]  ∂
    %13 = expand[4, 2, 6, 3](%12)  f32[4, 2, 6, 3]  ∂
    %14 = map[x1 · x0 + x1 · x0 as f32](%6, %13)  f32[4, 2, 6, 3]  ∂
    %15, %16, %23, %24, %25 = scan_grad[li #0, T=4, channel sums; of output 0](%0, %4, %3, %1, %2, %14)  f32[4, 2, 6, 3], f32[2, 6, 3], f32[3], f32[3], f32[3]  ∂
    `d_x` = %15
    `d_scale` = %24
    `d_shift` = %25
    `d_k` = %23
    ");
    assert_snapshot!(report.summary, @"1 backward scans sum by channel");
    let before = graph.to_string();
    assert_eq!(pass::channel_sums::run(&mut graph, &Sums).changes, 0);
    assert_eq!(graph.to_string(), before);
}

#[test]
fn of_a_parameter_that_all_channels_share_the_sum_over_them_is_left() {
    let mut graph = trained(&[]);
    assert_eq!(pass::channel_sums::run(&mut graph, &Sums).changes, 1);
    let text = graph.to_string();
    assert!(
        text.contains("scan_grad[li #0, T=4, channel sums; of "),
        "{text}"
    );
    assert!(text.contains("sum[0](%23)  f32[]"), "{text}");
}

#[test]
fn one_parameter_that_no_channel_shares_keeps_all_as_they_are() {
    for param in [&[6, 3][..], &[6, 1], &[2, 6, 3]] {
        let mut graph = trained(param);
        let before = graph.to_string();
        assert_eq!(
            pass::channel_sums::run(&mut graph, &Sums).changes,
            0,
            "{param:?}"
        );
        assert_eq!(graph.to_string(), before);
    }
}

/// The backward pass of a neuron alone; `read` names what is read of the parameter's gradient.
fn backward(read: impl FnOnce(&Tracer, &Var)) -> Graph {
    traced(|t| {
        let [x, g] = ["x", "g"].map(|name| t.input(name, F, [4, 2, 6, 3]));
        let (k, zero) = (t.parameter("k", [3]), t.fill(F, [], 0.0));
        let grad = ScanGrad::new(Scan::new(neuron(), 4), vec![Port::OutputGrad(0)]);
        let made = t.apply(grad, &[&x, &zero, &k, &g]);
        t.output("d_x", &made[0]);
        read(t, &made[2]);
    })
}

#[test]
fn gradients_that_are_read_in_another_way_stay_whole() {
    let changes = |read: fn(&Tracer, &Var)| {
        let mut graph = backward(read);
        let before = graph.to_string();
        let changes = pass::channel_sums::run(&mut graph, &Sums).changes;
        assert_eq!(changes == 0, graph.to_string() == before, "{graph}");
        changes
    };
    let sum = |t: &Tracer, k: &Var| t.output("d_k", &k.sum(&[0, 1]));
    assert_eq!(changes(sum), 1);
    // As they are, beside their sum.
    assert_eq!(
        changes(|t, k| {
            t.output("d_k", &k.sum(&[0, 1]));
            t.output("each", k);
        }),
        0
    );
    assert_eq!(
        changes(|t, k| {
            t.output("d_k", &k.sum(&[0, 1]));
            t.output("squares", &k.square().sum_all());
        }),
        0
    );
    // As the sum of all channels.
    assert_eq!(changes(|t, k| t.output("d_k", &k.sum(&[0, 1, 2]))), 1);
    // As another sum, or as the largest.
    assert_eq!(changes(|t, k| t.output("d_k", &k.sum(&[0]))), 0);
    assert_eq!(changes(|t, k| t.output("d_k", &k.max(&[0, 1]))), 0);
    // Not at all.
    assert_eq!(changes(|_, _| {}), 0);
}

#[test]
fn a_parameters_gradient_that_nobody_reads_does_not_hinder_the_others() {
    let t = Tracer::new(F);
    let x = t.input("x", F, [4, 2, 6, 3]);
    let (scale, k, zero) = (
        t.parameter("scale", [3]),
        t.parameter("k", [6, 3]),
        t.fill(F, [], 0.0),
    );
    let made = Var::scan(&neuron(), 4, &[&(x * &scale)], &[&zero], &[&k]);
    let grad = t.gradients(&made[0].sum_all(), &[&scale]).remove(0);
    t.output("d_scale", &grad);
    let mut graph = live(t.finish().unwrap());
    assert_eq!(pass::channel_sums::run(&mut graph, &Sums).changes, 1);
    assert_snapshot!(graph, @"
    %0 = Data `x`  f32[4, 2, 6, 3]
    %1 = Parameter `scale`  f32[3]
    %2 = Parameter `k`  f32[6, 3]
    %3 = fill[0]()  f32[]
    %9 = fill[1]()  f32[]  ∂ loss
    %10 = reshape[1, 1, 1, 1](%9)  f32[1, 1, 1, 1]  ∂
    %11 = expand[4, 2, 6, 3](%10)  f32[4, 2, 6, 3]  ∂
    %12, %13, %18, %17 = scan_grad[li #0, T=4, channel sums; of output 0](%0, %3, %2, %1, %11)  f32[4, 2, 6, 3], f32[2, 6, 3], f32[3], f32[3]  ∂
        x; v; k, x_in0; y
        #0 = x · x_in0
        y = tanh(v · 0.5 + #0 · k)
        v ← v · 0.5 + #0 · k
    `d_scale` = %17
    ");
}
