//! Loops in recorded runs: as many nodes for any number of steps, and the bits of the first run, which repeats the
//! steps one by one. A loop is recorded from two turns on; a turn has at most 128 steps, and at least 8.

use crate::harness::{
    Loaded, Near, SUMS, compare, data, gpu, on_cpu, run_twice, scaled, sums_of, tensor, traced,
};
use spikelet_cuda::Cuda;
use spikelet_graph::op::Conv;
use spikelet_graph::{DType, RandomAxes, Tensor, Tracer, Var};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

type Inputs = [(&'static str, Tensor)];

/// A leaky integrator over `x` from `h`, in both directions of time, with the gradient of one.
fn integrate(tracer: &Tracer, inputs: &Inputs) {
    let v: Vec<Var> = inputs.iter().map(|(n, t)| data(tracer, n, t)).collect();
    let step = |h: &[Var], x: &[Var]| {
        let next = Var::map(&[&h[0], &x[0]], |v| (&v[0] * 0.5 + &v[1]).tanh());
        Ok((vec![next.clone()], vec![next]))
    };
    let made = tracer.scan_loop(v[0].dim(0), &[&v[1]], &[&v[0]], step);
    let made = made.expect("a loop");
    let back = tracer.begin_loop(v[0].dim(0)).reversed();
    let (h, x) = (back.carried(&v[1]), back.sequence(&v[0]));
    let next = &h * 0.25 + &x;
    let back = back.finish(&[(&h, &next)], &[&h]).expect("a loop");
    let grads = tracer.gradients(&made.stacked[0].sum_all(), &[&v[0]]);
    tracer.output("dx", &grads[0]);
    for (k, value) in [made, back].iter().enumerate() {
        tracer.output(&format!("last{k}"), &value.carried[0]);
        tracer.output(&format!("y{k}"), &value.stacked[0]);
    }
}

fn numbers(time: usize, seed: u64) -> Vec<(&'static str, Tensor)> {
    vec![
        ("x", tensor(&[time, 2, 3], seed)),
        ("h", tensor(&[1, 2, 3], seed + 1)),
    ]
}

/// Runs a graph as in [`run_twice`], then twice more with other inputs, and compares with the CPU.
fn replay<'a>(
    gpu: &'a Cuda,
    near: impl Fn(&str) -> Near,
    inputs: impl Fn(u64) -> Vec<(&'static str, Tensor)>,
    trace: impl Fn(&Tracer, &Inputs),
) -> Loaded<'a> {
    let graph = || traced(|tracer| trace(tracer, &inputs(0)));
    let mut loaded = Loaded::new(graph(), gpu);
    run_twice(&mut loaded, &inputs(0));
    for seed in [0, 10, 20] {
        let inputs = inputs(seed);
        loaded.set_all(&inputs);
        loaded.run();
        let expected = on_cpu(graph(), &inputs).unwrap_or_else(|error| panic!("{error}"));
        compare(
            &loaded.results(),
            &expected,
            &near,
            &format!("inputs {seed}\n{}", loaded.plan),
        );
    }
    loaded
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_recorded_run_has_as_many_nodes_for_any_number_of_steps() {
    let gpu = gpu();
    let nodes = |time| {
        let mut loaded = Loaded::new(traced(|tracer| integrate(tracer, &numbers(time, 0))), &gpu);
        run_twice(&mut loaded, &numbers(time, 0));
        loaded.recorded_nodes()
    };
    // Kernels outside of the loops share a launch if they have few elements: short sequences are compared with
    // short ones, long ones with long ones.
    for (long, longer) in [(256, 1_280), (3_840, 12_800)] {
        assert_eq!(nodes(long), nodes(longer), "{long} and {longer} steps");
    }
    let (repeated, recorded, remainder) = (nodes(255), nodes(256), nodes(257));
    assert!(
        recorded < remainder && remainder < repeated,
        "255, 256, 257 steps: {repeated}, {recorded}, {remainder} nodes"
    );
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn recorded_loops_of_every_length_have_the_bits_of_the_cpu() {
    let gpu = gpu();
    for time in [1, 2, 127, 128, 255, 256, 257, 383, 384, 1003] {
        replay(&gpu, |_| Near::Bits, |seed| numbers(time, seed), integrate);
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn recorded_nested_loops_have_the_bits_of_the_cpu() {
    let gpu = gpu();
    let mut nodes = vec![];
    for (outer, inner) in [
        (24, 256),
        (48, 384),
        (20, 300),
        (300, 3),
        (3, 300),
        (10, 12),
    ] {
        let inputs = |seed: u64| {
            vec![
                ("g", Tensor::i64([4], [seed as i64, 7, 11, 0])),
                ("x", tensor(&[outer * inner, 3, 5], seed)),
            ]
        };
        let loaded = replay(
            &gpu,
            |_| Near::Bits,
            inputs,
            |tracer, inputs| {
                let g = tracer.input("g", DType::I64, [4]);
                let x = data(tracer, "x", &inputs[1].1);
                let zero = tracer.fill(DType::F32, [1, 3, 5], 0.0);
                let made = tracer.scan_loop(outer, &[&zero], &[&x], |h, piece| {
                    let noise = g.uniform([1, 3, 5], RandomAxes::TimeAndBatch);
                    let made = tracer.scan_loop(inner, &[&h[0]], &[&piece[0]], |h, x| {
                        let next = &h[0] * 0.5 + &x[0] + &noise;
                        Ok((vec![next.clone()], vec![next]))
                    })?;
                    Ok((made.carried, made.stacked))
                });
                let made = made.expect("a loop");
                tracer.output("y", &made.stacked[0]);
                tracer.output("last", &made.carried[0]);
            },
        );
        nodes.push(loaded.recorded_nodes());
    }
    assert_eq!(nodes[0], nodes[1]);
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn recorded_loops_with_products_and_convolutions_are_those_of_the_cpu() {
    let gpu = gpu();
    let inputs = |seed| {
        vec![
            ("x", tensor(&[1000, 1, 6, 6, 16], seed)),
            ("w", scaled(&[16, 3, 3, 16], seed + 1, 0.02, 0.0)),
            ("m", scaled(&[16, 16], seed + 2, 0.1, 0.0)),
        ]
    };
    let same_size = Conv {
        padding: vec![1; 2],
        ..Conv::new(2)
    };
    // The gradients of the weights are sums over 1000 steps of 36 positions.
    let near = |name: &str| match name {
        "dw" | "dm" => sums_of(1000 * 36),
        _ => SUMS,
    };
    let loaded = replay(&gpu, near, inputs, |tracer, inputs| {
        let v: Vec<Var> = inputs.iter().map(|(n, t)| data(tracer, n, t)).collect();
        let zero = tracer.fill(DType::F32, [1, 1, 6, 6, 16], 0.0);
        let made = tracer.scan_loop(1000, &[&zero], &[&v[0]], |h, x| {
            let next = h[0].conv(&v[1], same_size.clone()).linear(&v[2]) + &x[0];
            Ok((vec![next.clone()], vec![next]))
        });
        let made = made.expect("a loop");
        let loss = made.stacked[0].square().sum_all();
        let grads = tracer.gradients(&loss, &[&v[0], &v[1], &v[2]]);
        tracer.output("y", &made.stacked[0]);
        for (grad, name) in grads.iter().zip(["dx", "dw", "dm"]) {
            tracer.output(name, grad);
        }
    });
    let nodes = loaded.recorded_nodes();
    assert!(nodes < 3_000, "{nodes} nodes: the loops were repeated");
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn recorded_loops_of_long_steps_have_short_turns() {
    let gpu = gpu();
    let nodes = |time| {
        let inputs = |seed| {
            vec![
                ("x", tensor(&[time, 8, 64], seed)),
                ("m", scaled(&[64, 64], seed + 1, 0.05, 0.0)),
            ]
        };
        let loaded = replay(
            &gpu,
            |_| SUMS,
            inputs,
            |tracer, inputs| {
                let v: Vec<Var> = inputs.iter().map(|(n, t)| data(tracer, n, t)).collect();
                let zero = tracer.fill(DType::F32, [1, 8, 64], 0.0);
                let made = tracer.scan_loop(time, &[&zero], &[&v[0]], |h, x| {
                    let next = (0..64).fold(h[0].clone(), |h, _| h.linear(&v[1]) + &x[0]);
                    Ok((vec![next.clone()], vec![next]))
                });
                tracer.output("y", &made.expect("a loop").stacked[0]);
            },
        );
        loaded.recorded_nodes()
    };
    let (repeated, recorded, remainder) = (nodes(15), nodes(16), nodes(20));
    assert!(
        recorded < remainder && remainder < repeated,
        "15, 16, 20 steps: {repeated}, {recorded}, {remainder} nodes"
    );
    assert_eq!(recorded, nodes(24));
}

/// Backends create and destroy the handles of libraries, which waits for the whole GPU and would break a capture.
#[test]
#[ignore = "needs an NVIDIA GPU"]
fn runs_are_recorded_while_other_backends_open_and_close_libraries() {
    let gpu = gpu();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let other = Cuda::new(0).expect("the first GPU");
                let product = |tracer: &Tracer| {
                    let a = tracer.input("a", DType::F32, [4, 4]);
                    tracer.output("y", &a.matmul(&a));
                };
                Loaded::new(traced(product), &other).run();
            }
        });
        let record = || {
            for time in [300, 1003].repeat(8) {
                replay(&gpu, |_| Near::Bits, |seed| numbers(time, seed), integrate);
            }
        };
        let result = catch_unwind(AssertUnwindSafe(record));
        done.store(true, Ordering::Relaxed);
        result.unwrap_or_else(|panic| resume_unwind(panic));
    });
}
