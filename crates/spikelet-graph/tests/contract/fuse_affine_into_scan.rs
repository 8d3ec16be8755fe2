//! Normalization before a neuron and pooling behind it become part of its scan.

use crate::graphs::{F, live, neuron, spikes, traced};
use insta::assert_snapshot;
use spikelet_expr::Expr;
use spikelet_graph::op::{Op, Pooling, Recurrence, Scan, Window};
use spikelet_graph::{Graph, Tracer, Var, pass};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The graph after the pass, and the report of the pass.
fn absorbed(graph: &Graph) -> String {
    let mut graph = graph.clone();
    let report = pass::fuse_affine_into_scan::run(&mut graph);
    format!("{}{}", live(graph), report.summary)
}

fn changes(build: impl FnOnce(&Tracer)) -> usize {
    pass::fuse_affine_into_scan::run(&mut traced(build)).changes
}

/// The step of the only scan of a graph, as it is after the pass.
fn step(graph: &Graph) -> String {
    let mut graph = graph.clone();
    pass::fuse_affine_into_scan::run(&mut graph);
    let mut scans = graph.nodes.iter().filter_map(|node| match &node.op {
        Op::Scan(scan) => Some(scan.recurrence.clone()),
        _ => None,
    });
    let r = scans.next().expect("there is a scan");
    let outputs = r
        .outputs
        .iter()
        .map(|o| format!("{} = {}", o.name, o.value));
    let next = r.states.iter().zip(&r.next);
    let next = next.map(|(name, value)| format!("{name} ← {value}"));
    let lines: Vec<String> = outputs.chain(next).collect();
    format!("({})\n{}", r.params.join(", "), lines.join("\n"))
}

fn affine(x: &Var, scale: &Var, shift: &Var) -> Var {
    Var::map(&[x, scale, shift], |v| &v[0] * &v[1] + &v[2])
}

fn max(x: &Var, kernel: usize) -> Var {
    x.pool(Pooling::Max, [Window::blocks(kernel); 2])
}

const IMAGES: [usize; 5] = [4, 2, 8, 6, 3];

#[test]
fn scale_and_shift_become_parameters_of_the_neuron() {
    let graph = traced(|t| {
        let x = t.input("x", F, IMAGES);
        let [scale, shift] = ["scale", "shift"].map(|name| t.parameter(name, [3]));
        t.output("s", &spikes(&affine(&x, &scale, &shift)));
    });
    assert_snapshot!(graph, @"
    %0 = Data `x`  f32[4, 2, 8, 6, 3]
    %1 = Parameter `scale`  f32[3]
    %2 = Parameter `shift`  f32[3]
    %3 = map[x0 · x1 + x2](%0, %1, %2)  f32[4, 2, 8, 6, 3]
    %4 = fill[0]()  f32[]
    %5, %6, %7 = scan[if #0, T=4](%3, %4)  f32[4, 2, 8, 6, 3], f32[2, 8, 6, 3], f32[4, 2, 8, 6, 3]
        x; v; ; s spikes
        #0 = v + x
        s = #0 ≥ 1
        v ← #0
    `s` = %5
    ");
    assert_snapshot!(absorbed(&graph), @"
    %0 = Data `x`  f32[4, 2, 8, 6, 3]
    %1 = Parameter `scale`  f32[3]
    %2 = Parameter `shift`  f32[3]
    %4 = fill[0]()  f32[]
    %5, %6, %7 = scan[if #0, T=4](%0, %4, %1, %2)  f32[4, 2, 8, 6, 3], f32[2, 8, 6, 3], f32[4, 2, 8, 6, 3]
        x; v; x_in0, x_in1; s spikes
        #0 = x · x_in0 + x_in1
        s = v + #0 ≥ 1
        v ← v + #0
    `s` = %5
    1 elementwise operations and 0 poolings fused into neuron scans
    ");
    assert_snapshot!(step(&graph), @"
    (x_in0, x_in1)
    s = v + (x · x_in0 + x_in1) ≥ 1
    v ← v + (x · x_in0 + x_in1)
    ");
}

#[test]
fn operations_in_a_row_are_taken_in_from_the_last_to_the_first() {
    let graph = traced(|t| {
        let x = t.input("x", F, IMAGES);
        let [bias, scale, shift] = ["bias", "scale", "shift"].map(|name| t.parameter(name, [3]));
        t.output("s", &spikes(&affine(&(x + bias), &scale, &shift)));
    });
    assert_snapshot!(absorbed(&graph), @"
    %0 = Data `x`  f32[4, 2, 8, 6, 3]
    %1 = Parameter `bias`  f32[3]
    %2 = Parameter `scale`  f32[3]
    %3 = Parameter `shift`  f32[3]
    %6 = fill[0]()  f32[]
    %7, %8, %9 = scan[if #0, T=4](%0, %6, %2, %3, %1)  f32[4, 2, 8, 6, 3], f32[2, 8, 6, 3], f32[4, 2, 8, 6, 3]
        x; v; x_in0, x_in1, x_in2; s spikes
        #0 = x + x_in2
        s = v + (#0 · x_in0 + x_in1) ≥ 1
        v ← v + (#0 · x_in0 + x_in1)
    `s` = %7
    2 elementwise operations and 0 poolings fused into neuron scans
    ");
    assert_snapshot!(step(&graph), @"
    (x_in0, x_in1, x_in2)
    s = v + ((x + x_in2) · x_in0 + x_in1) ≥ 1
    v ← v + ((x + x_in2) · x_in0 + x_in1)
    ");
}

#[test]
fn a_learnt_neuron_keeps_its_own_parameters_first() {
    let [x, v, k] = ["x", "v", "k"].map(Expr::symbol);
    let h = v * k + x;
    let leaky = Arc::new(
        Recurrence::new("li", ["x"], ["v"])
            .params(["k"])
            .output("s", h.ge(1.0), true)
            .next(vec![h]),
    );
    let graph = traced(|t| {
        let (x, v, k) = (
            t.input("x", F, IMAGES),
            t.state("v", [2, 8, 6, 3]),
            t.parameter("k", []),
        );
        let current = x * t.parameter("scale", [3]);
        let made = Var::scan(&leaky, 4, &[&current], &[&v], &[&k]);
        t.output("s", &made[0]);
        t.update(&v, &made[1]);
    });
    assert_snapshot!(absorbed(&graph), @"
    %0 = Data `x`  f32[4, 2, 8, 6, 3]
    %1 = State `v`  f32[2, 8, 6, 3]
    %2 = Parameter `k`  f32[]
    %3 = Parameter `scale`  f32[3]
    %5, %6, %7 = scan[li #0, T=4](%0, %1, %2, %3)  f32[4, 2, 8, 6, 3], f32[2, 8, 6, 3], f32[4, 2, 8, 6, 3]
        x; v; k, x_in0; s spikes
        #0 = x · x_in0
        s = v · k + #0 ≥ 1
        v ← v · k + #0
    `s` = %5
    `v`: %1 becomes %6
    1 elementwise operations and 0 poolings fused into neuron scans
    ");
    assert_snapshot!(step(&graph), @"
    (k, x_in0)
    s = v · k + x · x_in0 ≥ 1
    v ← v · k + x · x_in0
    ");
}

#[test]
fn new_parameters_have_names_of_their_own() {
    let [x, v] = ["x", "v"].map(Expr::symbol);
    // A neuron whose parameter, or state, is called as a new parameter would be.
    for (taken, state) in [("x_in1", "v"), ("k", "x_in1")] {
        let h = if state == "v" {
            v.clone()
        } else {
            Expr::symbol(state)
        } * 0.5
            + &x;
        let neuron = Recurrence::new("li", ["x"], [state])
            .params([taken])
            .output("s", (h.clone() + Expr::symbol(taken)).ge(1.0), true)
            .next(vec![h]);
        let mut graph = traced(|t| {
            let current = t.input("x", F, IMAGES) * t.parameter("scale", [3]);
            let (zero, k) = (t.fill(F, [], 0.0), t.parameter("k", [3]));
            let made = Var::scan(&Arc::new(neuron), 4, &[&current], &[&zero], &[&k]);
            t.output("s", &made[0]);
        });
        pass::fuse_affine_into_scan::run(&mut graph);
        for node in &graph.nodes {
            if let Op::Scan(scan) = &node.op {
                let r = &scan.recurrence;
                let all = [&r.inputs[..], &r.states, &r.params].concat();
                let distinct: BTreeSet<&String> = all.iter().collect();
                assert_eq!(distinct.len(), all.len(), "{all:?}");
            }
        }
    }
}

#[test]
fn what_varies_over_time_stays_an_operation_of_its_own() {
    // A second sequence.
    let sequences = |t: &Tracer| {
        let [a, b] = ["a", "b"].map(|name| t.input(name, F, IMAGES));
        t.output("s", &spikes(&(a * b)));
    };
    assert_eq!(changes(sequences), 0);
    // A factor for each step.
    let factors = |t: &Tracer| {
        let (x, p) = (t.input("x", F, IMAGES), t.parameter("p", [4, 1, 1, 1, 1]));
        t.output("s", &spikes(&(x * p)));
    };
    assert_eq!(changes(factors), 0);
}

#[test]
fn an_operation_that_others_read_stays() {
    let named = |t: &Tracer| {
        let current = t.input("x", F, IMAGES) * 2.0;
        t.output("s", &spikes(&current));
        t.output("current", &current);
    };
    assert_eq!(changes(named), 0);
    let summed = |t: &Tracer| {
        let current = t.input("x", F, IMAGES) * 2.0;
        t.output("s", &spikes(&current));
        t.output("total", &current.sum_all());
    };
    assert_eq!(changes(summed), 0);
    // One that nobody else reads is taken.
    let alone = |t: &Tracer| t.output("s", &spikes(&(t.input("x", F, IMAGES) * 2.0)));
    assert_eq!(changes(alone), 1);
}

#[test]
fn an_image_that_is_constant_over_time_is_taken_in_as_well() {
    let graph = traced(|t| {
        let x = t.input("x", F, [1, 2, 8, 6, 3]);
        let current = x * t.parameter("scale", [3]);
        let zero = t.fill(F, [], 0.0);
        let made = Var::scan(&neuron(), 4, &[&current], &[&zero], &[]);
        t.output("s", &made[0]);
    });
    assert_snapshot!(absorbed(&graph), @"
    %0 = Data `x`  f32[1, 2, 8, 6, 3]
    %1 = Parameter `scale`  f32[3]
    %3 = fill[0]()  f32[]
    %4, %5, %6 = scan[if #0, T=4](%0, %3, %1)  f32[4, 2, 8, 6, 3], f32[2, 8, 6, 3], f32[4, 2, 8, 6, 3]
        x; v; x_in0; s spikes
        #0 = x · x_in0
        s = v + #0 ≥ 1
        v ← v + #0
    `s` = %4
    1 elementwise operations and 0 poolings fused into neuron scans
    ");
}

#[test]
fn more_parameters_than_a_neuron_holds_are_left_out() {
    let build = |maps: usize| {
        move |t: &Tracer| {
            let x = t.input("x", F, IMAGES);
            let scaled = (0..maps).fold(x, |x, k| x * t.parameter(&format!("w{k}"), [3]));
            t.output("s", &spikes(&scaled));
        }
    };
    assert_eq!(changes(build(12)), 12);
    assert_eq!(changes(build(15)), 12);
}

#[test]
fn a_bias_moves_behind_maxima_and_into_the_neuron() {
    let graph = traced(|t| {
        let (x, bias) = (t.input("x", F, IMAGES), t.parameter("bias", [3]));
        t.output("s", &spikes(&max(&(x + bias), 2)));
    });
    assert_snapshot!(graph, @"
    %0 = Data `x`  f32[4, 2, 8, 6, 3]
    %1 = Parameter `bias`  f32[3]
    %2 = map[x0 + x1](%0, %1)  f32[4, 2, 8, 6, 3]
    %3 = max_pool2d[2 by 2, padding 0; 2 by 2, padding 0](%2)  f32[4, 2, 4, 3, 3]
    %4 = fill[0]()  f32[]
    %5, %6, %7 = scan[if #0, T=4](%3, %4)  f32[4, 2, 4, 3, 3], f32[2, 4, 3, 3], f32[4, 2, 4, 3, 3]
        x; v; ; s spikes
        #0 = v + x
        s = #0 ≥ 1
        v ← #0
    `s` = %5
    ");
    assert_snapshot!(absorbed(&graph), @"
    %0 = Data `x`  f32[4, 2, 8, 6, 3]
    %1 = Parameter `bias`  f32[3]
    %8 = max_pool2d[2 by 2, padding 0; 2 by 2, padding 0](%0)  f32[4, 2, 4, 3, 3]
    %4 = fill[0]()  f32[]
    %5, %6, %7 = scan[if #0, T=4](%8, %4, %1)  f32[4, 2, 4, 3, 3], f32[2, 4, 3, 3], f32[4, 2, 4, 3, 3]
        x; v; x_in0; s spikes
        #0 = x + x_in0
        s = v + #0 ≥ 1
        v ← v + #0
    `s` = %5
    2 elementwise operations and 0 poolings fused into neuron scans
    ");
    // Means keep it, and so do maxima where the sum is read as it is.
    let means = |t: &Tracer| {
        let sum = t.input("x", F, IMAGES) + t.parameter("bias", [3]);
        let pooling = Pooling::Average {
            count_padding: true,
        };
        t.output("y", &sum.pool(pooling, [Window::blocks(2); 2]));
    };
    assert_eq!(changes(means), 0);
    let read = |t: &Tracer| {
        let sum = t.input("x", F, IMAGES) + t.parameter("bias", [3]);
        t.output("y", &max(&sum, 2));
        t.output("sum", &sum);
    };
    assert_eq!(changes(read), 0);
    // A value that is not one per channel stays before the maximum.
    let positions = |t: &Tracer| {
        let sum = t.input("x", F, IMAGES) + t.parameter("bias", [6, 3]);
        t.output("y", &max(&sum, 2));
    };
    assert_eq!(changes(positions), 0);
    let factor = |t: &Tracer| {
        let product = t.input("x", F, IMAGES) * t.parameter("scale", [3]);
        t.output("y", &max(&product, 2));
    };
    assert_eq!(changes(factor), 0);
}

#[test]
fn a_bias_moves_behind_mean_and_variance() {
    let graph = traced(|t| {
        let (x, bias) = (t.input("x", F, IMAGES), t.parameter("bias", [3]));
        let y = x + bias;
        let [mean, variance] = y.mean_var();
        t.output("mean", &mean);
        let y = Var::map(&[&y, &mean, &variance], |v| (&v[0] - &v[1]) / v[2].sqrt());
        t.output("s", &spikes(&y));
    });
    assert_snapshot!(graph, @"
    %0 = Data `x`  f32[4, 2, 8, 6, 3]
    %1 = Parameter `bias`  f32[3]
    %2 = map[x0 + x1](%0, %1)  f32[4, 2, 8, 6, 3]
    %3, %4 = mean_var(%2)  f32[3], f32[3]
    %5 = map[(x0 - x1) / sqrt(x2)](%2, %3, %4)  f32[4, 2, 8, 6, 3]
    %6 = fill[0]()  f32[]
    %7, %8, %9 = scan[if #0, T=4](%5, %6)  f32[4, 2, 8, 6, 3], f32[2, 8, 6, 3], f32[4, 2, 8, 6, 3]
        x; v; ; s spikes
        #0 = v + x
        s = #0 ≥ 1
        v ← #0
    `mean` = %3
    `s` = %7
    ");
    assert_snapshot!(absorbed(&graph), @"
    %0 = Data `x`  f32[4, 2, 8, 6, 3]
    %1 = Parameter `bias`  f32[3]
    %10, %4 = mean_var(%0)  f32[3], f32[3]
    %3 = map[x0 + x1](%10, %1)  f32[3]
    %6 = fill[0]()  f32[]
    %7, %8, %9 = scan[if #0, T=4](%0, %6, %3, %4, %1)  f32[4, 2, 8, 6, 3], f32[2, 8, 6, 3], f32[4, 2, 8, 6, 3]
        x; v; x_in0, x_in1, x_in2; s spikes
        #0 = x + x_in2
        s = v + (#0 - x_in0) / sqrt(x_in1) ≥ 1
        v ← v + (#0 - x_in0) / sqrt(x_in1)
    `mean` = %3
    `s` = %7
    3 elementwise operations and 0 poolings fused into neuron scans
    ");
}

/// A neuron over `[T, 2, 8, 6, 3]` and maxima of its spikes.
fn pooled(time_steps: usize, kernel: usize) -> impl Fn(&Tracer) {
    move |t: &Tracer| {
        let x = t.input("x", F, [time_steps, 2, 8, 6, 3]);
        t.output("y", &max(&spikes(&x), kernel));
    }
}

#[test]
fn maxima_of_blocks_leave_the_neuron_instead_of_spikes() {
    let graph = traced(|t| {
        let x = t.input("x", F, IMAGES);
        let scale = t.parameter("scale", [3]);
        t.output("y", &max(&spikes(&(x * scale)), 2));
    });
    assert_snapshot!(graph, @"
    %0 = Data `x`  f32[4, 2, 8, 6, 3]
    %1 = Parameter `scale`  f32[3]
    %2 = map[x0 · x1](%0, %1)  f32[4, 2, 8, 6, 3]
    %3 = fill[0]()  f32[]
    %4, %5, %6 = scan[if #0, T=4](%2, %3)  f32[4, 2, 8, 6, 3], f32[2, 8, 6, 3], f32[4, 2, 8, 6, 3]
        x; v; ; s spikes
        #0 = v + x
        s = #0 ≥ 1
        v ← #0
    %7 = max_pool2d[2 by 2, padding 0; 2 by 2, padding 0](%4)  f32[4, 2, 4, 3, 3]
    `y` = %7
    ");
    assert_snapshot!(absorbed(&graph), @"
    %0 = Data `x`  f32[4, 2, 8, 6, 3]
    %1 = Parameter `scale`  f32[3]
    %3 = fill[0]()  f32[]
    %7, %8, %9 = scan[if #0, T=4, pooled 2×2](%0, %3, %1)  f32[4, 2, 4, 3, 3], f32[2, 8, 6, 3], f32[4, 2, 8, 6, 3]
        x; v; x_in0; s spikes
        #0 = x · x_in0
        s = v + #0 ≥ 1
        v ← v + #0
    `y` = %7
    1 elementwise operations and 1 poolings fused into neuron scans
    ");
}

#[test]
fn only_blocks_that_cover_the_image_for_few_steps_are_pooled_in_the_neuron() {
    assert_eq!(changes(pooled(4, 2)), 1);
    assert_eq!(changes(pooled(16, 2)), 1);
    assert_eq!(changes(pooled(17, 2)), 0);
    // Eight rows are no multiple of three.
    assert_eq!(changes(pooled(4, 3)), 0);
    let windows = |window: Window, pooling: Pooling| {
        changes(|t| {
            let s = spikes(&t.input("x", F, IMAGES));
            t.output("y", &s.pool(pooling, [window; 2]));
        })
    };
    let sliding = |kernel, stride, padding| Window::Sliding {
        kernel,
        stride,
        padding,
        dilation: 1,
        ceil: false,
    };
    assert_eq!(windows(sliding(2, 2, 0), Pooling::Max), 1);
    assert_eq!(windows(sliding(3, 2, 1), Pooling::Max), 0);
    assert_eq!(windows(sliding(2, 1, 0), Pooling::Max), 0);
    assert_eq!(windows(sliding(2, 2, 1), Pooling::Max), 0);
    assert_eq!(windows(Window::Adaptive { outputs: 2 }, Pooling::Max), 0);
    let count_padding = true;
    let mean = Pooling::Average { count_padding };
    assert_eq!(windows(sliding(2, 2, 0), mean), 0);
    // Neither one axis nor three.
    let line = |t: &Tracer| {
        let s = spikes(&t.input("x", F, [4, 2, 8, 3]));
        t.output("y", &s.pool(Pooling::Max, [Window::blocks(2)]));
    };
    assert_eq!(changes(line), 0);
}

#[test]
fn a_neuron_that_shows_more_than_pooled_spikes_stays_whole() {
    let read = |what: fn(&Tracer, &Var, &[Var])| {
        changes(|t| {
            let x = t.input("x", F, IMAGES);
            let v = t.state("v", [2, 8, 6, 3]);
            let made = Var::scan(&neuron(), 4, &[&x], &[&v], &[]);
            t.output("y", &max(&made[0], 2));
            what(t, &v, &made);
        })
    };
    assert_eq!(read(|_, _, _| {}), 1);
    assert_eq!(read(|t, _, made| t.output("spikes", &made[0])), 0);
    assert_eq!(read(|t, _, made| t.output("rate", &made[0].mean_all())), 0);
    assert_eq!(read(|t, _, made| t.output("potential", &made[2])), 0);
    assert_eq!(read(|t, v, made| t.update(v, &made[1])), 0);
    assert_eq!(read(|t, _, made| t.output("again", &max(&made[0], 2))), 0);
}

#[test]
fn a_neuron_of_analog_outputs_or_of_parameters_by_position_stays_whole() {
    let [x, v, k] = ["x", "v", "k"].map(Expr::symbol);
    let h = v * k + x;
    let recurrence = |binary| {
        let r = Recurrence::new("li", ["x"], ["v"]).params(["k"]);
        let value = if binary { h.ge(1.0) } else { h.tanh() };
        Arc::new(r.output("s", value, binary).next(vec![h.clone()]))
    };
    let run = |binary: bool, param: &[usize]| {
        changes(|t| {
            let x = t.input("x", F, IMAGES);
            let (zero, k) = (t.fill(F, [], 0.0), t.parameter("k", param));
            let made = t.apply(Scan::new(recurrence(binary), 4), &[&x, &zero, &k]);
            t.output("y", &max(&made[0], 2));
        })
    };
    for shared in [&[][..], &[1], &[3], &[1, 1, 3]] {
        assert_eq!(run(true, shared), 1, "{shared:?}");
        assert_eq!(run(false, shared), 0, "{shared:?}");
    }
    for own in [&[6, 3][..], &[8, 1, 1], &[8, 6, 3], &[2, 1, 1, 1]] {
        assert_eq!(run(true, own), 0, "{own:?}");
    }
}

#[test]
fn a_graph_that_keeps_its_operations_apart_is_left_alone() {
    let graph = traced(|t| {
        t.disable_fusion(true);
        let x = t.input("x", F, IMAGES);
        t.output("y", &max(&spikes(&(x * 2.0)), 2));
    });
    let mut after = graph.clone();
    assert_eq!(pass::fuse_affine_into_scan::run(&mut after).changes, 0);
    assert_eq!(after.to_string(), graph.to_string());
}

#[test]
fn the_backward_pass_is_that_of_what_was_taken_in() {
    let t = Tracer::new(F);
    let x = t.input("x", F, IMAGES);
    let [scale, shift] = ["scale", "shift"].map(|name| t.parameter(name, [3]));
    let y = max(&spikes(&affine(&x, &scale, &shift)), 2);
    let grads = t.gradients(&y.square().sum_all(), &[&scale, &shift, &x]);
    for (name, grad) in ["d_scale", "d_shift", "d_x"].iter().zip(&grads) {
        t.output(name, grad);
    }
    assert_snapshot!(live(t.finish().unwrap()), @"
    %0 = Data `x`  f32[4, 2, 8, 6, 3]
    %1 = Parameter `scale`  f32[3]
    %2 = Parameter `shift`  f32[3]
    %4 = fill[0]()  f32[]
    %8, %11, %12 = scan[if #0, T=4, pooled 2×2](%0, %4, %1, %2)  f32[4, 2, 4, 3, 3], f32[2, 8, 6, 3], f32[4, 2, 8, 6, 3]
        x; v; x_in0, x_in1; s spikes
        #0 = x · x_in0 + x_in1
        s = v + #0 ≥ 1
        v ← v + #0
    %13 = fill[1]()  f32[]  ∂ loss
    %14 = reshape[1, 1, 1, 1, 1](%13)  f32[1, 1, 1, 1, 1]  ∂
    %15 = expand[4, 2, 4, 3, 3](%14)  f32[4, 2, 4, 3, 3]  ∂
    %16 = map[x1 · x0 + x1 · x0 as f32](%8, %15)  f32[4, 2, 4, 3, 3]  ∂
    %17, %18, %19, %20 = scan_grad[if #0, T=4, pooled 2×2; of output 0](%0, %4, %1, %2, %16)  f32[4, 2, 8, 6, 3], f32[2, 8, 6, 3], f32[2, 8, 6, 3], f32[2, 8, 6, 3]  ∂
    %21 = sum[0, 1, 2](%19)  f32[3]  ∂
    %22 = sum[0, 1, 2](%20)  f32[3]  ∂
    `d_scale` = %21
    `d_shift` = %22
    `d_x` = %17
    ");
}
