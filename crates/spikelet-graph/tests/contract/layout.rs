//! Images stay channels-last between the operations that want them so.

use crate::graphs::{F, channels_last, channels_second, live, spikes, traced};
use insta::assert_snapshot;
use spikelet_expr::Expr;
use spikelet_graph::op::{Conv, Permute, Pooling, Recurrence, Window};
use spikelet_graph::{Graph, Var, pass};
use std::sync::Arc;

/// The graph after the pass, and the report of the pass.
fn laid_out(graph: &Graph) -> String {
    let mut graph = graph.clone();
    let report = pass::layout::run(&mut graph);
    format!("{}{}", live(graph), report.summary)
}

fn pad() -> Conv {
    Conv {
        padding: vec![1, 1],
        ..Conv::new(2)
    }
}

#[test]
fn permutations_between_convolutions_and_a_neuron_cancel() {
    let graph = traced(|t| {
        let x = t.input("x", F, [4, 2, 3, 8, 6]);
        let [w1, w2] = [("w1", [5, 3, 3, 3]), ("w2", [7, 3, 3, 5])].map(|(n, s)| t.parameter(n, s));
        let current = channels_second(&channels_last(&x).conv(&w1, pad()));
        let s = t.scope("if", || spikes(&current));
        t.output("y", &channels_second(&channels_last(&s).conv(&w2, pad())));
    });
    assert_snapshot!(graph, @"
    %0 = Data `x`  f32[4, 2, 3, 8, 6]
    %1 = Parameter `w1`  f32[5, 3, 3, 3]
    %2 = Parameter `w2`  f32[7, 3, 3, 5]
    %3 = permute[0, 1, 3, 4, 2](%0)  f32[4, 2, 8, 6, 3]
    %4 = conv2d[stride [1, 1], padding [1, 1]](%3, %1)  f32[4, 2, 8, 6, 5]
    %5 = permute[0, 1, 4, 2, 3](%4)  f32[4, 2, 5, 8, 6]
    %6 = fill[0]()  f32[]  if
    %7, %8, %9 = scan[if #0, T=4](%5, %6)  f32[4, 2, 5, 8, 6], f32[2, 5, 8, 6], f32[4, 2, 5, 8, 6]  if
        x; v; ; s spikes
        #0 = v + x
        s = #0 ≥ 1
        v ← #0
    %10 = permute[0, 1, 3, 4, 2](%7)  f32[4, 2, 8, 6, 5]
    %11 = conv2d[stride [1, 1], padding [1, 1]](%10, %2)  f32[4, 2, 8, 6, 7]
    %12 = permute[0, 1, 4, 2, 3](%11)  f32[4, 2, 7, 8, 6]
    `y` = %12
    ");
    assert_snapshot!(laid_out(&graph), @"
    %0 = Data `x`  f32[4, 2, 3, 8, 6]
    %1 = Parameter `w1`  f32[5, 3, 3, 3]
    %2 = Parameter `w2`  f32[7, 3, 3, 5]
    %3 = permute[0, 1, 3, 4, 2](%0)  f32[4, 2, 8, 6, 3]
    %4 = conv2d[stride [1, 1], padding [1, 1]](%3, %1)  f32[4, 2, 8, 6, 5]
    %6 = fill[0]()  f32[]  if
    %13, %14, %15 = scan[if #0, T=4](%4, %6)  f32[4, 2, 8, 6, 5], f32[2, 8, 6, 5], f32[4, 2, 8, 6, 5]  if
        x; v; ; s spikes
        #0 = v + x
        s = #0 ≥ 1
        v ← #0
    %11 = conv2d[stride [1, 1], padding [1, 1]](%13, %2)  f32[4, 2, 8, 6, 7]
    %12 = permute[0, 1, 4, 2, 3](%11)  f32[4, 2, 7, 8, 6]
    `y` = %12
    2 permutations moved or cancelled
    ");
}

#[test]
fn states_and_parameters_of_a_neuron_are_turned_with_its_sequence() {
    let [x, v, k, b] = ["x", "v", "k", "b"].map(Expr::symbol);
    let h = v * k + x + b;
    let leaky = Arc::new(
        Recurrence::new("li", ["x"], ["v"])
            .params(["k", "b"])
            .output("s", h.ge(1.0), true)
            .next(vec![h]),
    );
    let graph = traced(|t| {
        let x = t.input("x", F, [4, 2, 8, 6, 3]);
        let v = t.state("v", [2, 3, 8, 6]);
        let (k, b) = (t.parameter("k", [3, 1, 1]), t.parameter("b", [3, 8, 6]));
        let made = Var::scan(&leaky, 4, &[&channels_second(&x)], &[&v], &[&k, &b]);
        let windows = [Window::blocks(2); 2];
        t.output("y", &channels_last(&made[0]).pool(Pooling::Max, windows));
        t.update(&v, &made[1]);
    });
    assert_snapshot!(graph, @"
    %0 = Data `x`  f32[4, 2, 8, 6, 3]
    %1 = State `v`  f32[2, 3, 8, 6]
    %2 = Parameter `k`  f32[3, 1, 1]
    %3 = Parameter `b`  f32[3, 8, 6]
    %4 = permute[0, 1, 4, 2, 3](%0)  f32[4, 2, 3, 8, 6]
    %5, %6, %7 = scan[li #0, T=4](%4, %1, %2, %3)  f32[4, 2, 3, 8, 6], f32[2, 3, 8, 6], f32[4, 2, 3, 8, 6]
        x; v; k, b; s spikes
        #0 = v · k + x + b
        s = #0 ≥ 1
        v ← #0
    %8 = permute[0, 1, 3, 4, 2](%5)  f32[4, 2, 8, 6, 3]
    %9 = max_pool2d[2 by 2, padding 0; 2 by 2, padding 0](%8)  f32[4, 2, 4, 3, 3]
    `y` = %9
    `v`: %1 becomes %6
    ");
    assert_snapshot!(laid_out(&graph), @"
    %0 = Data `x`  f32[4, 2, 8, 6, 3]
    %1 = State `v`  f32[2, 3, 8, 6]
    %2 = Parameter `k`  f32[3, 1, 1]
    %3 = Parameter `b`  f32[3, 8, 6]
    %10 = permute[0, 2, 3, 1](%1)  f32[2, 8, 6, 3]
    %11 = reshape[3](%2)  f32[3]
    %12 = reshape[1, 3, 8, 6](%3)  f32[1, 3, 8, 6]
    %13 = permute[0, 2, 3, 1](%12)  f32[1, 8, 6, 3]
    %14, %15, %16 = scan[li #0, T=4](%0, %10, %11, %13)  f32[4, 2, 8, 6, 3], f32[2, 8, 6, 3], f32[4, 2, 8, 6, 3]
        x; v; k, b; s spikes
        #0 = v · k + x + b
        s = #0 ≥ 1
        v ← #0
    %6 = permute[0, 3, 1, 2](%15)  f32[2, 3, 8, 6]
    %9 = max_pool2d[2 by 2, padding 0; 2 by 2, padding 0](%14)  f32[4, 2, 4, 3, 3]
    `y` = %9
    `v`: %1 becomes %6
    2 permutations moved or cancelled
    ");
}

#[test]
fn both_paths_of_a_residual_sum_are_read_channels_last() {
    let graph = traced(|t| {
        let x = t.input("x", F, [4, 2, 8, 6, 3]);
        let w = t.parameter("w", [3, 3, 3, 3]);
        let a = spikes(&channels_second(&x));
        let b = channels_second(&channels_last(&a).conv(&w, pad()));
        t.output("y", &channels_last(&(a + b)).conv(&w, pad()));
    });
    assert_snapshot!(graph, @"
    %0 = Data `x`  f32[4, 2, 8, 6, 3]
    %1 = Parameter `w`  f32[3, 3, 3, 3]
    %2 = permute[0, 1, 4, 2, 3](%0)  f32[4, 2, 3, 8, 6]
    %3 = fill[0]()  f32[]
    %4, %5, %6 = scan[if #0, T=4](%2, %3)  f32[4, 2, 3, 8, 6], f32[2, 3, 8, 6], f32[4, 2, 3, 8, 6]
        x; v; ; s spikes
        #0 = v + x
        s = #0 ≥ 1
        v ← #0
    %7 = permute[0, 1, 3, 4, 2](%4)  f32[4, 2, 8, 6, 3]
    %8 = conv2d[stride [1, 1], padding [1, 1]](%7, %1)  f32[4, 2, 8, 6, 3]
    %9 = permute[0, 1, 4, 2, 3](%8)  f32[4, 2, 3, 8, 6]
    %10 = map[x0 + x1](%4, %9)  f32[4, 2, 3, 8, 6]
    %11 = permute[0, 1, 3, 4, 2](%10)  f32[4, 2, 8, 6, 3]
    %12 = conv2d[stride [1, 1], padding [1, 1]](%11, %1)  f32[4, 2, 8, 6, 3]
    `y` = %12
    ");
    assert_snapshot!(laid_out(&graph), @"
    %0 = Data `x`  f32[4, 2, 8, 6, 3]
    %1 = Parameter `w`  f32[3, 3, 3, 3]
    %3 = fill[0]()  f32[]
    %13, %14, %15 = scan[if #0, T=4](%0, %3)  f32[4, 2, 8, 6, 3], f32[2, 8, 6, 3], f32[4, 2, 8, 6, 3]
        x; v; ; s spikes
        #0 = v + x
        s = #0 ≥ 1
        v ← #0
    %8 = conv2d[stride [1, 1], padding [1, 1]](%13, %1)  f32[4, 2, 8, 6, 3]
    %16 = map[x0 + x1](%13, %8)  f32[4, 2, 8, 6, 3]
    %12 = conv2d[stride [1, 1], padding [1, 1]](%16, %1)  f32[4, 2, 8, 6, 3]
    `y` = %12
    4 permutations moved or cancelled
    ");
}

#[test]
fn a_dropout_mask_of_channels_is_viewed_not_turned() {
    let graph = traced(|t| {
        let (x, mask) = (
            t.input("x", F, [4, 2, 8, 6, 3]),
            t.input("mask", F, [1, 2, 3, 1, 1]),
        );
        let scale = t.parameter("scale", [3, 1, 1]);
        let y = Var::map(&[&channels_second(&x), &mask, &scale], |v| {
            &v[0] * &v[1] * &v[2]
        });
        t.output("y", &channels_last(&y));
    });
    assert_snapshot!(graph, @"
    %0 = Data `x`  f32[4, 2, 8, 6, 3]
    %1 = Data `mask`  f32[1, 2, 3, 1, 1]
    %2 = Parameter `scale`  f32[3, 1, 1]
    %3 = permute[0, 1, 4, 2, 3](%0)  f32[4, 2, 3, 8, 6]
    %4 = map[x0 · x1 · x2](%3, %1, %2)  f32[4, 2, 3, 8, 6]
    %5 = permute[0, 1, 3, 4, 2](%4)  f32[4, 2, 8, 6, 3]
    `y` = %5
    ");
    assert_snapshot!(laid_out(&graph), @"
    %0 = Data `x`  f32[4, 2, 8, 6, 3]
    %1 = Data `mask`  f32[1, 2, 3, 1, 1]
    %2 = Parameter `scale`  f32[3, 1, 1]
    %6 = reshape[2, 1, 1, 3](%1)  f32[2, 1, 1, 3]
    %7 = reshape[3](%2)  f32[3]
    %8 = map[x0 · x1 · x2](%0, %6, %7)  f32[4, 2, 8, 6, 3]
    `y` = %8
    2 permutations moved or cancelled
    ");
}

#[test]
fn a_permutation_that_only_moves_axes_of_length_1_is_a_view() {
    let graph = traced(|t| {
        let (grey, pooled, square) = (
            t.input("grey", F, [4, 2, 1, 8, 6]),
            t.input("pooled", F, [4, 2, 1, 1, 5]),
            t.input("square", F, [4, 2, 1, 6]),
        );
        t.output("a", &channels_last(&grey));
        t.output("b", &channels_second(&pooled));
        t.output("c", &square.permute(&[1, 0, 2, 3]));
    });
    assert_snapshot!(laid_out(&graph), @"
    %0 = Data `grey`  f32[4, 2, 1, 8, 6]
    %1 = Data `pooled`  f32[4, 2, 1, 1, 5]
    %2 = Data `square`  f32[4, 2, 1, 6]
    %3 = reshape[4, 2, 8, 6, 1](%0)  f32[4, 2, 8, 6, 1]
    %4 = reshape[4, 2, 5, 1, 1](%1)  f32[4, 2, 5, 1, 1]
    %5 = permute[1, 0, 2, 3](%2)  f32[2, 4, 1, 6]
    `a` = %3
    `b` = %4
    `c` = %5
    0 permutations moved or cancelled
    ");
}

#[test]
fn slices_and_joins_move_along_the_turned_axis() {
    let graph = traced(|t| {
        let (a, b) = (
            t.input("a", F, [4, 2, 8, 6, 3]),
            t.input("b", F, [4, 2, 8, 6, 5]),
        );
        let (a, b) = (channels_second(&a), channels_second(&b));
        let joined = Var::concat(&[&a, &b], 2);
        t.output("channels", &channels_last(&joined.slice(2, 1..7)));
        t.output("rows", &channels_last(&joined.slice(3, 0..4)));
        t.output("steps", &channels_last(&joined.slice(0, 1..2)));
    });
    assert_snapshot!(graph, @"
    %0 = Data `a`  f32[4, 2, 8, 6, 3]
    %1 = Data `b`  f32[4, 2, 8, 6, 5]
    %2 = permute[0, 1, 4, 2, 3](%0)  f32[4, 2, 3, 8, 6]
    %3 = permute[0, 1, 4, 2, 3](%1)  f32[4, 2, 5, 8, 6]
    %4 = concat[2](%2, %3)  f32[4, 2, 8, 8, 6]
    %5 = slice[2: 1..7](%4)  f32[4, 2, 6, 8, 6]
    %6 = permute[0, 1, 3, 4, 2](%5)  f32[4, 2, 8, 6, 6]
    %7 = slice[3: 0..4](%4)  f32[4, 2, 8, 4, 6]
    %8 = permute[0, 1, 3, 4, 2](%7)  f32[4, 2, 4, 6, 8]
    %9 = slice[0: 1..2](%4)  f32[1, 2, 8, 8, 6]
    %10 = permute[0, 1, 3, 4, 2](%9)  f32[1, 2, 8, 6, 8]
    `channels` = %6
    `rows` = %8
    `steps` = %10
    ");
    assert_snapshot!(laid_out(&graph), @"
    %0 = Data `a`  f32[4, 2, 8, 6, 3]
    %1 = Data `b`  f32[4, 2, 8, 6, 5]
    %11 = concat[4](%0, %1)  f32[4, 2, 8, 6, 8]
    %12 = slice[4: 1..7](%11)  f32[4, 2, 8, 6, 6]
    %13 = slice[2: 0..4](%11)  f32[4, 2, 4, 6, 8]
    %14 = slice[0: 1..2](%11)  f32[1, 2, 8, 6, 8]
    `channels` = %12
    `rows` = %13
    `steps` = %14
    7 permutations moved or cancelled
    ");
}

#[test]
fn a_join_of_tensors_in_different_orders_stays() {
    let graph = traced(|t| {
        let (a, b) = (
            t.input("a", F, [4, 2, 8, 6, 3]),
            t.input("b", F, [4, 2, 3, 8, 6]),
        );
        let joined = Var::concat(&[&channels_second(&a), &b], 2);
        t.output("y", &joined);
    });
    let mut after = graph.clone();
    assert_eq!(pass::layout::run(&mut after).changes, 0);
    assert_eq!(after.to_string(), graph.to_string());
}

#[test]
fn who_still_reads_the_old_order_finds_it() {
    let graph = traced(|t| {
        let (x, w) = (
            t.input("x", F, [4, 2, 8, 6, 3]),
            t.parameter("w", [5, 3, 3, 3]),
        );
        let s = spikes(&channels_second(&x));
        t.output("spikes", &s);
        t.output("rows", &s.flatten(2));
        t.output("y", &channels_last(&s).conv(&w, pad()));
    });
    assert_snapshot!(graph, @"
    %0 = Data `x`  f32[4, 2, 8, 6, 3]
    %1 = Parameter `w`  f32[5, 3, 3, 3]
    %2 = permute[0, 1, 4, 2, 3](%0)  f32[4, 2, 3, 8, 6]
    %3 = fill[0]()  f32[]
    %4, %5, %6 = scan[if #0, T=4](%2, %3)  f32[4, 2, 3, 8, 6], f32[2, 3, 8, 6], f32[4, 2, 3, 8, 6]
        x; v; ; s spikes
        #0 = v + x
        s = #0 ≥ 1
        v ← #0
    %7 = reshape[4, 2, 144](%4)  f32[4, 2, 144]
    %8 = permute[0, 1, 3, 4, 2](%4)  f32[4, 2, 8, 6, 3]
    %9 = conv2d[stride [1, 1], padding [1, 1]](%8, %1)  f32[4, 2, 8, 6, 5]
    `spikes` = %4
    `rows` = %7
    `y` = %9
    ");
    assert_snapshot!(laid_out(&graph), @"
    %0 = Data `x`  f32[4, 2, 8, 6, 3]
    %1 = Parameter `w`  f32[5, 3, 3, 3]
    %3 = fill[0]()  f32[]
    %10, %11, %12 = scan[if #0, T=4](%0, %3)  f32[4, 2, 8, 6, 3], f32[2, 8, 6, 3], f32[4, 2, 8, 6, 3]
        x; v; ; s spikes
        #0 = v + x
        s = #0 ≥ 1
        v ← #0
    %4 = permute[0, 1, 4, 2, 3](%10)  f32[4, 2, 3, 8, 6]
    %7 = reshape[4, 2, 144](%4)  f32[4, 2, 144]
    %9 = conv2d[stride [1, 1], padding [1, 1]](%10, %1)  f32[4, 2, 8, 6, 5]
    `spikes` = %4
    `rows` = %7
    `y` = %9
    2 permutations moved or cancelled
    ");
}

#[test]
fn a_neuron_whose_time_is_turned_away_stays() {
    let graph = traced(|t| {
        let x = t.input("x", F, [2, 4, 3]);
        t.output("s", &spikes(&x.permute(&[1, 0, 2])));
    });
    assert_snapshot!(laid_out(&graph), @"
    %0 = Data `x`  f32[2, 4, 3]
    %1 = permute[1, 0, 2](%0)  f32[4, 2, 3]
    %2 = fill[0]()  f32[]
    %3, %4, %5 = scan[if #0, T=4](%1, %2)  f32[4, 2, 3], f32[2, 3], f32[4, 2, 3]
        x; v; ; s spikes
        #0 = v + x
        s = #0 ≥ 1
        v ← #0
    `s` = %3
    0 permutations moved or cancelled
    ");
}

#[test]
fn permutations_in_a_row_are_one() {
    let graph = traced(|t| {
        let x = t.input("x", F, [2, 3, 4]);
        t.output("turned", &x.permute(&[1, 2, 0]).permute(&[1, 2, 0]));
        let order = vec![1, 2, 0];
        let whole = (0..3).fold(x, |x, _| {
            t.apply1(
                Permute {
                    order: order.clone(),
                },
                &[&x],
            )
        });
        t.output("whole", &whole.exp());
    });
    assert_snapshot!(graph, @"
    %0 = Data `x`  f32[2, 3, 4]
    %1 = permute[1, 2, 0](%0)  f32[3, 4, 2]
    %2 = permute[1, 2, 0](%1)  f32[4, 2, 3]
    %3 = permute[1, 2, 0](%0)  f32[3, 4, 2]
    %4 = permute[1, 2, 0](%3)  f32[4, 2, 3]
    %5 = permute[1, 2, 0](%4)  f32[2, 3, 4]
    %6 = map[exp(x0)](%5)  f32[2, 3, 4]
    `turned` = %2
    `whole` = %6
    ");
    assert_snapshot!(laid_out(&graph), @"
    %0 = Data `x`  f32[2, 3, 4]
    %2 = permute[2, 0, 1](%0)  f32[4, 2, 3]
    %6 = map[exp(x0)](%0)  f32[2, 3, 4]
    `turned` = %2
    `whole` = %6
    3 permutations moved or cancelled
    ");
}

#[test]
fn a_sequence_of_another_length_in_time_is_turned_with_the_first() {
    let [x, z, v] = ["x", "z", "v"].map(Expr::symbol);
    let h = v + x * z;
    let two = Arc::new(
        Recurrence::new("two", ["x", "z"], ["v"])
            .output("s", h.ge(1.0), true)
            .next(vec![h]),
    );
    let graph = traced(|t| {
        let (x, z) = (
            t.input("x", F, [4, 2, 8, 6, 3]),
            t.input("z", F, [1, 2, 3, 8, 6]),
        );
        let zero = t.fill(F, [], 0.0);
        let made = Var::scan(&two, 4, &[&channels_second(&x), &z], &[&zero], &[]);
        t.output("y", &channels_last(&made[0]));
    });
    assert_snapshot!(laid_out(&graph), @"
    %0 = Data `x`  f32[4, 2, 8, 6, 3]
    %1 = Data `z`  f32[1, 2, 3, 8, 6]
    %2 = fill[0]()  f32[]
    %8 = permute[0, 1, 3, 4, 2](%1)  f32[1, 2, 8, 6, 3]
    %9, %10, %11 = scan[two #0, T=4](%0, %8, %2)  f32[4, 2, 8, 6, 3], f32[2, 8, 6, 3], f32[4, 2, 8, 6, 3]
        x, z; v; ; s spikes
        #0 = v + x · z
        s = #0 ≥ 1
        v ← #0
    `y` = %9
    2 permutations moved or cancelled
    ");
}
