//! Every pass on a small graph, before and after.

use crate::graphs::{F, channels_last, channels_second, live, neuron, traced};
use crate::targets::{Binary, Plain};
use insta::assert_snapshot;
use spikelet_graph::op::{Conv, Operation, Pooling, Window};
use spikelet_graph::{DType, Graph, RandomAxes, Tracer, Var, pass};

#[test]
fn dead_code_is_dropped() {
    let mut graph = traced(|t| {
        let x = t.input("x", F, [2, 3]);
        let unused = x.exp();
        let _also_unused = unused.sum_all();
        t.output("y", &x.sum(&[0]));
    });
    assert_snapshot!(graph, @"
    %0 = Data `x`  f32[2, 3]
    %1 = map[exp(x0)](%0)  f32[2, 3]
    %2 = sum[0, 1](%1)  f32[]
    %3 = sum[0](%0)  f32[3]
    `y` = %3
    ");
    let report = pass::dead_code::run(&mut graph);
    assert_snapshot!(graph, @"
    %0 = Data `x`  f32[2, 3]
    %3 = sum[0](%0)  f32[3]
    `y` = %3
    ");
    assert_snapshot!(report.summary, @"2 of 3 nodes removed");
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
    assert_snapshot!(graph, @"
    %0 = Data `image`  f32[8, 6]
    %1 = Parameter `w`  f32[4, 6]
    %6 = State `v`  f32[8, 4]
    %2 = reshape[1, 8, 6](%0)  f32[1, 8, 6]  fc
    %3 = expand[10, 8, 6](%2)  f32[10, 8, 6]  fc
    %4 = matmul[a·bᵀ](%3, %1)  f32[10, 8, 4]  fc
    %5 = map[x0 · 0.5](%4)  f32[10, 8, 4]  fc
    %7, %8, %9 = scan[if #0, T=10](%5, %6)  f32[10, 8, 4], f32[8, 4], f32[10, 8, 4]  if
        x; v; ; s spikes
        #0 = v + x
        s = #0 ≥ 1
        v ← #0
    %10 = sum[0](%5)  f32[8, 4]
    `s` = %7
    `total` = %10
    ");
    let report = pass::hoist_time::run(&mut graph);
    assert_snapshot!(graph, @"
    %0 = Data `image`  f32[8, 6]
    %1 = Parameter `w`  f32[4, 6]
    %6 = State `v`  f32[8, 4]
    %2 = reshape[1, 8, 6](%0)  f32[1, 8, 6]  fc
    %3 = expand[10, 8, 6](%2)  f32[10, 8, 6]  fc
    %11 = matmul[a·bᵀ](%2, %1)  f32[1, 8, 4]  fc
    %4 = expand[10, 8, 4](%11)  f32[10, 8, 4]  fc
    %12 = map[x0 · 0.5](%11)  f32[1, 8, 4]  fc
    %5 = expand[10, 8, 4](%12)  f32[10, 8, 4]  fc
    %7, %8, %9 = scan[if #0, T=10](%12, %6)  f32[10, 8, 4], f32[8, 4], f32[10, 8, 4]  if
        x; v; ; s spikes
        #0 = v + x
        s = #0 ≥ 1
        v ← #0
    %13 = sum[0](%12)  f32[8, 4]
    %10 = map[x0 · 10](%13)  f32[8, 4]
    `s` = %7
    `total` = %10
    ");
    assert_snapshot!(report.summary, @"4 operations run once instead of at every step");
    pass::dead_code::run(&mut graph);
    assert_snapshot!(graph, @"
    %0 = Data `image`  f32[8, 6]
    %1 = Parameter `w`  f32[4, 6]
    %6 = State `v`  f32[8, 4]
    %2 = reshape[1, 8, 6](%0)  f32[1, 8, 6]  fc
    %11 = matmul[a·bᵀ](%2, %1)  f32[1, 8, 4]  fc
    %12 = map[x0 · 0.5](%11)  f32[1, 8, 4]  fc
    %7, %8, %9 = scan[if #0, T=10](%12, %6)  f32[10, 8, 4], f32[8, 4], f32[10, 8, 4]  if
        x; v; ; s spikes
        #0 = v + x
        s = #0 ≥ 1
        v ← #0
    %13 = sum[0](%12)  f32[8, 4]
    %10 = map[x0 · 10](%13)  f32[8, 4]
    `s` = %7
    `total` = %10
    ");
}

#[test]
fn a_constant_image_passes_convolution_statistics_and_pooling_once() {
    let mut graph = traced(|t| {
        let (image, w) = (
            t.input("image", F, [8, 3, 6, 4]),
            t.parameter("w", [5, 3, 3, 3]),
        );
        let conv = Conv {
            padding: vec![1, 1],
            ..Conv::new(2)
        };
        let y = channels_last(&image.repeat_over_time(10)).conv(&w, conv);
        let [mean, variance] = y.mean_var();
        let y = Var::map(&[&y, &mean, &variance], |v| (&v[0] - &v[1]) / v[2].sqrt());
        let y = channels_second(&y.pool(Pooling::Max, [Window::blocks(2); 2]));
        let v = t.state("v", [8, 5, 3, 2]);
        let made = Var::scan(&neuron(), 10, &[&y], &[&v], &[]);
        t.output("s", &made[0]);
        t.output("second", &y.slice(0, 1..2));
        t.output("some", &y.slice(0, 2..5).sum(&[0]));
    });
    assert_snapshot!(graph, @"
    %0 = Data `image`  f32[8, 3, 6, 4]
    %1 = Parameter `w`  f32[5, 3, 3, 3]
    %11 = State `v`  f32[8, 5, 3, 2]
    %2 = reshape[1, 8, 3, 6, 4](%0)  f32[1, 8, 3, 6, 4]
    %3 = expand[10, 8, 3, 6, 4](%2)  f32[10, 8, 3, 6, 4]
    %4 = permute[0, 1, 3, 4, 2](%3)  f32[10, 8, 6, 4, 3]
    %5 = conv2d[stride [1, 1], padding [1, 1]](%4, %1)  f32[10, 8, 6, 4, 5]
    %6, %7 = mean_var(%5)  f32[5], f32[5]
    %8 = map[(x0 - x1) / sqrt(x2)](%5, %6, %7)  f32[10, 8, 6, 4, 5]
    %9 = max_pool2d[2 by 2, padding 0; 2 by 2, padding 0](%8)  f32[10, 8, 3, 2, 5]
    %10 = permute[0, 1, 4, 2, 3](%9)  f32[10, 8, 5, 3, 2]
    %12, %13, %14 = scan[if #0, T=10](%10, %11)  f32[10, 8, 5, 3, 2], f32[8, 5, 3, 2], f32[10, 8, 5, 3, 2]
        x; v; ; s spikes
        #0 = v + x
        s = #0 ≥ 1
        v ← #0
    %15 = slice[0: 1..2](%10)  f32[1, 8, 5, 3, 2]
    %16 = slice[0: 2..5](%10)  f32[3, 8, 5, 3, 2]
    %17 = sum[0](%16)  f32[8, 5, 3, 2]
    `s` = %12
    `second` = %15
    `some` = %17
    ");
    let report = pass::hoist_time::run(&mut graph);
    assert_snapshot!(live(graph), @"
    %0 = Data `image`  f32[8, 3, 6, 4]
    %1 = Parameter `w`  f32[5, 3, 3, 3]
    %11 = State `v`  f32[8, 5, 3, 2]
    %2 = reshape[1, 8, 3, 6, 4](%0)  f32[1, 8, 3, 6, 4]
    %18 = permute[0, 1, 3, 4, 2](%2)  f32[1, 8, 6, 4, 3]
    %19 = conv2d[stride [1, 1], padding [1, 1]](%18, %1)  f32[1, 8, 6, 4, 5]
    %6, %7 = mean_var(%19)  f32[5], f32[5]
    %20 = map[(x0 - x1) / sqrt(x2)](%19, %6, %7)  f32[1, 8, 6, 4, 5]
    %21 = max_pool2d[2 by 2, padding 0; 2 by 2, padding 0](%20)  f32[1, 8, 3, 2, 5]
    %22 = permute[0, 1, 4, 2, 3](%21)  f32[1, 8, 5, 3, 2]
    %12, %13, %14 = scan[if #0, T=10](%22, %11)  f32[10, 8, 5, 3, 2], f32[8, 5, 3, 2], f32[10, 8, 5, 3, 2]
        x; v; ; s spikes
        #0 = v + x
        s = #0 ≥ 1
        v ← #0
    %23 = sum[0](%22)  f32[8, 5, 3, 2]
    %17 = map[x0 · 3](%23)  f32[8, 5, 3, 2]
    `s` = %12
    `second` = %22
    `some` = %17
    ");
    assert_snapshot!(report.summary, @"10 operations run once instead of at every step");
}

#[test]
fn operations_are_computed_once_unless_they_mix_the_steps() {
    let moved = |build: fn(&Var, &Var) -> Var| {
        let mut graph = traced(|t| {
            let (image, w) = (
                t.input("image", F, [6, 4, 3]),
                t.parameter("w", [5, 3, 3, 3]),
            );
            t.output("y", &build(&image.repeat_over_time(10), &w));
        });
        pass::hoist_time::run(&mut graph).changes
    };
    assert_eq!(moved(|x, w| x.conv(w, Conv::new(2))), 1);
    assert_eq!(
        moved(|x, _| x.pool(Pooling::Max, [Window::blocks(2); 2])),
        1
    );
    assert_eq!(moved(|x, _| x.slice(1, 0..3)), 1);
    assert_eq!(moved(|x, _| x.sum(&[1])), 1);
    assert_eq!(moved(|x, _| x.permute(&[1, 0, 2, 3])), 0);
    assert_eq!(moved(|x, _| x.reshape([5, 12, 4, 3])), 0);
    assert_eq!(moved(|x, _| x.flip(0)), 0);
}

#[test]
fn what_varies_over_time_stays_where_it_is() {
    let mut graph = traced(|t| {
        let (x, bias) = (t.input("x", F, [10, 8, 4]), t.parameter("bias", [8, 4]));
        t.output("y", &(&x + &bias.repeat_over_time(10)));
        t.output("max", &bias.repeat_over_time(10).max(&[0]));
    });
    pass::hoist_time::run(&mut graph);
    assert_snapshot!(graph, @"
    %0 = Data `x`  f32[10, 8, 4]
    %1 = Parameter `bias`  f32[8, 4]
    %2 = reshape[1, 8, 4](%1)  f32[1, 8, 4]
    %3 = expand[10, 8, 4](%2)  f32[10, 8, 4]
    %4 = map[x0 + x1](%0, %2)  f32[10, 8, 4]
    %5 = reshape[1, 8, 4](%1)  f32[1, 8, 4]
    %6 = expand[10, 8, 4](%5)  f32[10, 8, 4]
    %7 = max[0](%5)  f32[8, 4]
    `y` = %4
    `max` = %7
    ");
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
    assert_snapshot!(graph, @"
    %0 = Data `a`  f32[4, 3]
    %1 = Data `b`  f32[3]
    %4 = Data `c`  f32[1, 3]
    %2 = map[x0 + x1](%0, %1)  f32[4, 3]
    %3 = fill[0.25]()  f32[4, 3]
    %5 = expand[4, 3](%4)  f32[4, 3]
    %6 = map[exp(x0)](%2)  f32[4, 3]
    %7 = map[x0 · x1](%6, %3)  f32[4, 3]
    %8 = map[x0 - x1](%7, %5)  f32[4, 3]
    `y` = %8
    ");
    let report = pass::fuse::run(&mut graph);
    assert_snapshot!(graph, @"
    %0 = Data `a`  f32[4, 3]
    %1 = Data `b`  f32[3]
    %4 = Data `c`  f32[1, 3]
    %8 = map[exp(x0 + x1) · 0.25 - x2](%0, %1, %4)  f32[4, 3]
    `y` = %8
    ");
    assert_snapshot!(report.summary, @"5 elementwise operations fused with their readers");
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
    assert_snapshot!(graph, @"
    %0 = Data `a`  f32[4, 3]
    %1 = Data `b`  f32[3]
    %2 = map[exp(x0)](%0)  f32[4, 3]
    %3 = map[x0 + 1](%2)  f32[4, 3]
    %4 = map[x0 · 2](%2)  f32[4, 3]
    %5 = map[exp(x0)](%1)  f32[3]
    %6 = map[x0 + x1](%0, %5)  f32[4, 3]
    `first` = %3
    `second` = %4
    `third` = %6
    ");
}

#[test]
fn cheap_values_are_made_again_in_the_backward_pass() {
    let mut graph = traced(|t| {
        let (x, w) = (t.input("x", F, [5, 3]), t.parameter("w", [4, 3]));
        let shifted = &x - 1.0;
        let scaled = &shifted * 2.0;
        let y = Var::map(&[&shifted.linear(&w), &scaled.linear(&w)], |x| {
            &x[0] * &x[1]
        });
        let loss = y.sum_all();
        t.output("dw", &t.gradients(&loss, &[&w])[0]);
    });
    pass::dead_code::run(&mut graph);
    assert_snapshot!(graph, @"
    %0 = Data `x`  f32[5, 3]
    %1 = Parameter `w`  f32[4, 3]
    %2 = map[x0 - 1](%0)  f32[5, 3]
    %3 = map[x0 · 2](%2)  f32[5, 3]
    %4 = matmul[a·bᵀ](%2, %1)  f32[5, 4]
    %5 = matmul[a·bᵀ](%3, %1)  f32[5, 4]
    %8 = fill[1]()  f32[]  ∂ loss
    %9 = reshape[1, 1](%8)  f32[1, 1]  ∂
    %10 = expand[5, 4](%9)  f32[5, 4]  ∂
    %11, %12 = map[x2 · x1 as f32; x2 · x0 as f32](%4, %5, %10)  f32[5, 4], f32[5, 4]  ∂
    %13 = matmul[aᵀ·b](%12, %3)  f32[4, 3]  ∂
    %14 = matmul[aᵀ·b](%11, %2)  f32[4, 3]  ∂
    %15 = map[x0 + x1](%13, %14)  f32[4, 3]  ∂
    `dw` = %15
    ");
    let report = pass::recompute_cheap::run(&mut graph);
    assert_snapshot!(graph, @"
    %0 = Data `x`  f32[5, 3]
    %1 = Parameter `w`  f32[4, 3]
    %2 = map[x0 - 1](%0)  f32[5, 3]
    %3 = map[x0 · 2](%2)  f32[5, 3]
    %4 = matmul[a·bᵀ](%2, %1)  f32[5, 4]
    %5 = matmul[a·bᵀ](%3, %1)  f32[5, 4]
    %8 = fill[1]()  f32[]  ∂ loss
    %9 = reshape[1, 1](%8)  f32[1, 1]  ∂
    %10 = expand[5, 4](%9)  f32[5, 4]  ∂
    %11, %12 = map[x2 · x1 as f32; x2 · x0 as f32](%4, %5, %10)  f32[5, 4], f32[5, 4]  ∂
    %16 = map[x0 - 1](%0)  f32[5, 3]  ∂
    %17 = map[x0 · 2](%16)  f32[5, 3]  ∂
    %13 = matmul[aᵀ·b](%12, %17)  f32[4, 3]  ∂
    %14 = matmul[aᵀ·b](%11, %16)  f32[4, 3]  ∂
    %15 = map[x0 + x1](%13, %14)  f32[4, 3]  ∂
    `dw` = %15
    ");
    assert_snapshot!(report.summary, @"2 tensors (160 bytes) saved, 2 recomputed");
}

fn spikes(flatten: bool) -> Graph {
    traced(|t| {
        let (p, g) = (
            t.input("p", F, [5, 8, 2, 4]),
            t.input("generator", DType::I64, [4]),
        );
        let w = t.parameter("w", [4, 8]);
        let spikes = p.bernoulli(&g, RandomAxes::Time);
        let spikes = if flatten {
            spikes.flatten(2)
        } else {
            spikes.reshape([40, 8])
        };
        t.output("y", &spikes.linear(&w));
    })
}

#[test]
fn spikes_travel_as_bits_where_their_readers_can_use_them() {
    let mut graph = spikes(true);
    assert_snapshot!(graph, @"
    %0 = Data `p`  f32[5, 8, 2, 4]
    %1 = Data `generator`  i64[4]
    %2 = Parameter `w`  f32[4, 8]
    %3 = bernoulli[stream 0, over time](%1, %0)  f32[5, 8, 2, 4]
    %4 = reshape[5, 8, 8](%3)  f32[5, 8, 8]
    %5 = matmul[a·bᵀ](%4, %2)  f32[5, 8, 4]
    `y` = %5
    ");
    let report = pass::bit_pack_spikes::run(&mut graph, &Binary);
    assert_snapshot!(graph, @"
    %0 = Data `p`  f32[5, 8, 2, 4]
    %1 = Data `generator`  i64[4]
    %2 = Parameter `w`  f32[4, 8]
    %6 = reshape[5, 8, 8](%0)  f32[5, 8, 8]
    %4 = bernoulli[stream 0, over time](%1, %6)  bits[5, 8, 8]
    %5 = matmul[a·bᵀ](%4, %2)  f32[5, 8, 4]
    `y` = %5
    ");
    assert_snapshot!(report.summary, @"1 spike tensors stored as bits, 1 reshapes moved before a draw");
}

#[test]
fn spikes_stay_floats_for_a_device_that_knows_no_bits_and_for_other_readers() {
    let mut graph = spikes(true);
    pass::bit_pack_spikes::run(&mut graph, &Plain);
    assert!(!graph.to_string().contains("bits["), "{graph}");

    // Axis 0 would no longer be the time that the draws are numbered by.
    let mut graph = spikes(false);
    pass::bit_pack_spikes::run(&mut graph, &Binary);
    assert!(!graph.to_string().contains("bits["), "{graph}");

    // A sum reads them too.
    let mut graph = traced(|t| {
        let (p, g) = (
            t.input("p", F, [5, 8]),
            t.input("generator", DType::I64, [4]),
        );
        let spikes = p.bernoulli(&g, RandomAxes::Time);
        t.output("y", &spikes.linear(&t.parameter("w", [4, 8])));
        t.output("rate", &spikes.mean_all());
    });
    pass::bit_pack_spikes::run(&mut graph, &Binary);
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
    pass::bit_pack_spikes::run(&mut graph, &Binary);
    assert_snapshot!(graph, @"
    %0 = Data `x`  f32[3, 8, 4]
    %1 = State `v`  f32[8, 4]
    %5 = Parameter `w`  f32[2, 4]
    %2, %3, %4 = scan[if #0, T=3](%0, %1)  bits[3, 8, 4], f32[8, 4], f32[3, 8, 4]
        x; v; ; s spikes
        #0 = v + x
        s = #0 ≥ 1
        v ← #0
    %6 = matmul[a·bᵀ](%2, %5)  f32[3, 8, 2]
    %7 = matmul[a·bᵀ](%4, %5)  f32[3, 8, 2]
    %8 = map[x0 + x1](%6, %7)  f32[3, 8, 2]
    `y` = %8
    `v`: %1 becomes %3
    ");
}

#[test]
fn equal_products_are_computed_once_in_loops_too() {
    let mut graph = traced(|t| {
        let (x, start) = (t.input("x", F, [5, 2, 4]), t.input("start", F, [2, 4]));
        let w = t.parameter("w", [4, 4]);
        let detached = w.detach();
        let made = t.scan_loop(5, &[&start], &[&x], |carried, pieces| {
            let h = &carried[0];
            let next = pieces[0].reshape([2, 4]) + h.linear(&w) * h.linear(&detached);
            Ok((vec![next], vec![]))
        });
        let made = made.expect("a loop");
        t.output("h", &made.carried[0]);
        t.output("twice", &(x.linear(&w) * x.linear(&detached)));
    });
    let reports = pass::run_all(&mut graph, &Plain);
    let products = reports.iter().find(|r| r.pass == "products");
    assert_eq!(products.map(|r| r.changes), Some(2));
    assert_snapshot!(graph, @"
    %0 = Data `x`  f32[5, 2, 4]
    %1 = Data `start`  f32[2, 4]
    %2 = Parameter `w`  f32[4, 4]
    %11 = loop[T=5, carries 1, reads 1 sequences](%1, %0, %2)  f32[2, 4]
        %0 = State `carried 0`  f32[2, 4]
        %1 = Data `sequence 0`  f32[1, 2, 4]
        %2 = Parameter `invariant 0`  f32[4, 4]
        %4 = reshape[2, 4](%1)  f32[2, 4]
        %5 = matmul[a·bᵀ](%0, %2)  f32[2, 4]
        %8 = map[x0 + x1 · x1](%4, %5)  f32[2, 4]
        `carried 0`: %0 becomes %8
    %12 = matmul[a·bᵀ](%0, %2)  f32[5, 2, 4]
    %14 = map[x0 · x1](%12, %12)  f32[5, 2, 4]
    `h` = %11
    `twice` = %14
    ");
}

#[test]
fn all_passes_run_in_order_and_say_what_they_did() {
    let mut graph = traced(|t| {
        let (image, g) = (
            t.input("image", F, [8, 12]),
            t.input("generator", DType::I64, [4]),
        );
        let (w, v) = (t.parameter("w", [4, 12]), t.state("v", [8, 4]));
        let spikes = image.repeat_over_time(6).bernoulli(&g, RandomAxes::Time);
        let made = Var::scan(&neuron(), 6, &[&spikes.linear(&w)], &[&v], &[]);
        t.output("rate", &(made[0].mean(&[0]) * 2.0));
        t.update(&v, &made[1]);
    });
    let reports = pass::run_all(&mut graph, &Binary);
    assert_snapshot!(graph, @"
    %0 = Data `image`  f32[8, 12]
    %1 = Data `generator`  i64[4]
    %2 = Parameter `w`  f32[4, 12]
    %3 = State `v`  f32[8, 4]
    %4 = reshape[1, 8, 12](%0)  f32[1, 8, 12]
    %6 = bernoulli[stream 0, over time](%1, %4)  bits[6, 8, 12]
    %7 = matmul[a·bᵀ](%6, %2)  f32[6, 8, 4]
    %8, %9, %10 = scan[if #0, T=6](%7, %3)  f32[6, 8, 4], f32[8, 4], f32[6, 8, 4]
        x; v; ; s spikes
        #0 = v + x
        s = #0 ≥ 1
        v ← #0
    %11 = sum[0](%8)  f32[8, 4]
    %13 = map[x0 / 6 · 2](%11)  f32[8, 4]
    `rate` = %13
    `v`: %3 becomes %9
    ");
    let text: Vec<String> = reports
        .iter()
        .map(|r| format!("{}: {}", r.pass, r.summary))
        .collect();
    assert_snapshot!(text.join("\n"), @"
    constant over time: 1 operations run once instead of at every step
    dead code: 1 of 8 nodes removed
    elementwise fusion: 1 elementwise operations fused with their readers
    saved for the backward pass: 0 tensors (0 bytes) saved, 0 recomputed
    spikes as bits: 1 spike tensors stored as bits, 0 reshapes moved before a draw
    ");
}

#[test]
fn an_operation_that_changes_nothing_is_the_value_itself() {
    let t = Tracer::new(F);
    let x = t.input("x", F, [4, 3]);
    let same = x.reshape([4, 3]).expand([4, 3]).permute(&[0, 1]);
    let same = same.slice(1, 0..3).transpose(0, 0).flatten(1);
    let loss = (&same * &same).sum_all();
    t.output("d_x", &t.gradients(&loss, &[&x])[0]);
    let graph = t.finish().unwrap();
    let mut nodes = graph.nodes.iter();
    assert!(
        nodes.all(|node| !node.op.changes_nothing(&graph.types(&node.inputs))),
        "{graph}"
    );
}
