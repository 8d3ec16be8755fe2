//! Loops on a GPU: the same bits as on the CPU where there are no sums, and those of the body written out.

use crate::harness::{
    Loaded, Near, SUMS, compare, data, gpu, on_cpu, run_twice, same_on, tensor, traced,
};
use spikelet_cuda::{OfflineTarget, Properties};
use spikelet_expr::Expr;
use spikelet_graph::op::{Conv, Operation, Recurrence};
use spikelet_graph::{DType, Plan, RandomAxes, Tensor, Tracer, Var};
use std::sync::Arc;

/// A leaky integrator with a spike.
fn lif() -> Arc<Recurrence> {
    let (x, v) = (Expr::symbol("x"), Expr::symbol("v"));
    let h = &v + (&x - &v) * 0.5;
    let u = &h - 0.2;
    let spike = Expr::with_gradient_of(u.ge(0.0), &u, 1.0 / (1.0 + &u * &u));
    let next = &h * (1.0 - &spike);
    let lif = Recurrence::new("lif", ["x"], ["v"]).output("s", spike, true);
    Arc::new(lif.next(vec![next]))
}

/// Numbers in steps of 1/16, whose sums are exact: spikes do not depend on the order of a sum.
fn coarse(shape: &[usize], seed: u64) -> Tensor {
    let values = tensor(shape, seed).to_f64();
    let values: Vec<f32> = values
        .iter()
        .map(|x| (x * 16.0).round() as f32 / 16.0)
        .collect();
    Tensor::f32(shape, values)
}

/// Spikes that are fed back through a weight, and their gradients.
fn recurrent(tracer: &Tracer, inputs: &[(&str, Tensor)]) {
    let v: Vec<Var> = inputs
        .iter()
        .map(|(name, t)| data(tracer, name, t))
        .collect();
    let (time, shape) = (v[0].dim(0), v[0].shape()[1..].to_vec());
    let start = tracer.fill(DType::F32, &shape[..], 0.0);
    let spikes = tracer.fill(DType::F32, [&[1], &shape[..]].concat(), 0.0);
    let neuron = lif();
    let made = tracer
        .scan_loop(time, &[&start, &spikes], &[&v[0]], |h, x| {
            let charge = &x[0] + h[1].linear(&v[1]);
            let made = Var::scan(&neuron, 1, &[&charge], &[&h[0]], &[]);
            Ok((
                vec![made[1].clone(), made[0].clone()],
                vec![made[0].clone(), h[0].reshape([&[1], &shape[..]].concat())],
            ))
        })
        .expect("a loop");
    let loss = made.stacked[0].square().sum_all() + made.carried[0].sum_all();
    let grads = tracer.gradients(&loss, &[&v[0], &v[1]]);
    tracer.output("spikes", &made.stacked[0]);
    tracer.output("v_seq", &made.stacked[1]);
    tracer.output("last", &made.carried[0]);
    tracer.output("dx", &grads[0]);
    tracer.output("dw", &grads[1]);
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn recurrent_spikes_and_their_gradients_are_those_of_the_cpu() {
    let gpu = gpu();
    for (time, batch, features) in [
        (1, 1, 1),
        (3, 2, 5),
        (7, 3, 35),
        (20, 16, 64),
        (50, 33, 140),
    ] {
        let inputs = [
            ("x", coarse(&[time, batch, features], 1)),
            ("w", coarse(&[features, features], 2)),
        ];
        same_on(&gpu, &inputs, |_| SUMS, |tracer| recurrent(tracer, &inputs));
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn elementwise_loops_have_the_bits_of_the_cpu_at_every_size() {
    let gpu = gpu();
    for shape in [[5, 1, 1], [5, 1, 3], [4, 3, 7], [9, 2, 64], [3, 100, 1001]] {
        let inputs = [
            ("x", tensor(&shape, 1)),
            ("h", tensor(&[1, shape[1], shape[2]], 2)),
        ];
        for reverse in [false, true] {
            same_on(
                &gpu,
                &inputs,
                |_| Near::Bits,
                |tracer| {
                    let v: Vec<Var> = inputs.iter().map(|(n, t)| data(tracer, n, t)).collect();
                    let mut open = tracer.begin_loop(shape[0]);
                    if reverse {
                        open = open.reversed();
                    }
                    let (h, old, x) = (
                        open.carried(&v[1]),
                        open.carried(&v[1]),
                        open.sequence(&v[0]),
                    );
                    let next = Var::map(&[&h, &x, &old], |v| {
                        (&v[0] * 0.5 + &v[1]).tanh() - &v[2] * 0.25
                    });
                    // Swapped values, a piece of a sequence, an invariant and one value twice.
                    let made = open.finish(
                        &[(&h, &next), (&old, &h)],
                        &[&next, &h, &x, &v[1], &next, &old],
                    );
                    let made = made.expect("a loop");
                    let loss = made.stacked[0].sum_all();
                    let grad = tracer.gradients(&loss, &[&v[0]]).remove(0);
                    tracer.output("dx", &grad);
                    for (k, value) in made.carried.iter().chain(&made.stacked).enumerate() {
                        tracer.output(&format!("y{k}"), value);
                    }
                },
            );
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn draws_in_nested_loops_have_the_bits_of_the_cpu() {
    let gpu = gpu();
    let inputs = [
        ("g", Tensor::i64([4], [0x1234_5678_9abc, 7, 11, 0])),
        ("x", tensor(&[6, 3, 5], 1)),
    ];
    same_on(
        &gpu,
        &inputs,
        |_| Near::Bits,
        |tracer| {
            let g = tracer.input("g", DType::I64, [4]);
            let x = data(tracer, "x", &inputs[1].1);
            let zero = tracer.fill(DType::F32, [1, 3, 5], 0.0);
            let made = tracer.scan_loop(3, &[&zero], &[&x], |outer, pair| {
                let noise = g.uniform([1, 3, 5], RandomAxes::TimeAndBatch);
                let inner = tracer.scan_loop(2, &[&outer[0]], &[&pair[0]], |h, x| {
                    let next = &h[0] * 0.5 + &x[0] + &noise;
                    Ok((vec![next.clone()], vec![next]))
                })?;
                Ok((inner.carried, inner.stacked))
            });
            let made = made.expect("a loop");
            tracer.output("y", &made.stacked[0]);
            tracer.output("last", &made.carried[0]);
        },
    );
}

/// A neuron layer step by step, as networks are traced; with the gradient of its input from that of its spikes.
fn step_by_step(tracer: &Tracer, [time, neurons]: [usize; 2], backward: bool) {
    let x = tracer.input("x", DType::F32, [time, neurons]);
    let start = tracer.fill(DType::F32, [neurons], 0.0);
    let neuron = lif();
    let made = tracer.scan_loop(time, &[&start], &[&x], |v, x| {
        let made = Var::scan(&neuron, 1, &[&x[0]], &[&v[0]], &[]);
        Ok((vec![made[1].clone()], vec![made[0].clone()]))
    });
    let spikes = made.expect("a loop").stacked.remove(0);
    tracer.output("spikes", &spikes);
    if backward {
        let given = tracer.input("given", DType::F32, [time, neurons]);
        let grads = tracer.gradients_given(&[(&spikes, &given)], &[&x]);
        tracer.output("dx", &grads[0]);
    }
}

#[test]
fn a_step_of_a_short_loop_is_one_kernel_that_copies_nothing() {
    let target = OfflineTarget::new(Properties::large((9, 0)));
    let (time, neurons) = (128, 1 << 20);
    let planned = |time, neurons, backward| {
        let plan = Plan::new(
            traced(|t| step_by_step(t, [time, neurons], backward)),
            &target,
        );
        plan.check().unwrap();
        plan.check_target(&target).unwrap();
        plan
    };
    let count = |plan: &Plan, name: &str| {
        let kernels = plan.kernels.iter().map(|k| &plan.graph.nodes[k.node]);
        kernels.filter(|node| node.op.name() == name).count()
    };
    // Reads x and the state, writes spikes and the state; a few more fill states.
    let plan = |backward| planned(time, neurons, backward);
    let forward = plan(false);
    assert_eq!((count(&forward, "lif"), count(&forward, "loop")), (time, 0));
    assert!(forward.kernels.len() <= time + 2, "{forward}");
    assert!(forward.moved_bytes() <= (16 * time * neurons + 8 * neurons) as u64);
    // Reads x, the state, two gradients, writes two.
    let both = plan(true);
    assert_eq!(
        (count(&both, "lif"), count(&both, "lif_grad")),
        (time, time)
    );
    assert!(both.kernels.len() <= 2 * time + 4, "{both}");
    assert!(both.moved_bytes() <= (40 * time * neurons + 16 * neurons) as u64);
    // The states of all steps, and no more.
    assert!(both.arena_bytes <= 4 * (time + 4) * neurons, "{both}");
    let long = planned(50_000, 40_000, false);
    assert_eq!(count(&long, "loop"), 1);
    assert!(long.kernels.len() < 8, "{long}");
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn written_out_loops_have_the_bits_of_the_cpu() {
    let gpu = gpu();
    for [time, neurons] in [[1, 1 << 18], [5, 1 << 18], [7, 70_001], [6, 300_000]] {
        let inputs = [
            ("x", tensor(&[time, neurons], 1)),
            ("given", tensor(&[time, neurons], 2)),
        ];
        let graph = || traced(|t| step_by_step(t, [time, neurons], true));
        let mut loaded = Loaded::new(graph(), &gpu);
        // Pieces that do not begin at a multiple of 256 bytes are copied, and the loop needs less memory.
        let is_loop = loaded.plan.graph.to_string().contains("loop[");
        assert_eq!(is_loop, neurons % 64 != 0, "{neurons} neurons");
        let found = run_twice(&mut loaded, &inputs);
        let expected = on_cpu(graph(), &inputs).unwrap();
        // A sum with zero may lose the sign of a zero.
        compare(&found, &expected, |_| SUMS, &format!("{time} steps"));
        assert_eq!(found["spikes"].to_f64(), expected["spikes"].to_f64());
    }
}

/// Two convolutions with spikes between them, step by step, in the order of axes of the layers; and gradients.
fn convolved(tracer: &Tracer, inputs: &[(&str, Tensor)]) {
    let v: Vec<Var> = inputs
        .iter()
        .map(|(name, t)| data(tracer, name, t))
        .collect();
    let (time, neuron) = (v[0].dim(0), lif());
    let same_size = Conv {
        padding: vec![1; 2],
        ..Conv::new(2)
    };
    let start = tracer.fill(DType::F32, [16, 16, 16, 16], 0.0);
    let zero = tracer.fill(DType::F32, [1, 16, 16, 16, 16], 0.0);
    let made = tracer.scan_loop(time, &[&start, &zero], &[&v[0]], |h, x| {
        let charge = x[0].conv(&v[1], same_size.clone());
        let charge = charge.permute(&[0, 1, 4, 2, 3]);
        let made = Var::scan(&neuron, 1, &[&charge], &[&h[0]], &[]);
        let spikes = made[0].permute(&[0, 1, 3, 4, 2]);
        let sum = &h[1] + spikes.conv(&v[2], same_size.clone());
        Ok((vec![made[1].clone(), sum], vec![spikes]))
    });
    let made = made.expect("a loop");
    let loss = made.carried[1].square().mean_all();
    let grads = tracer.gradients(&loss, &[&v[0], &v[1], &v[2]]);
    tracer.output("spikes", &made.stacked[0]);
    tracer.output("sum", &made.carried[1]);
    for (grad, name) in grads.iter().zip(["dx", "dw", "du"]) {
        tracer.output(name, grad);
    }
}

fn images() -> [(&'static str, Tensor); 3] {
    [
        ("x", coarse(&[6, 16, 16, 16, 16], 1)),
        ("w", coarse(&[16, 3, 3, 16], 2)),
        ("u", coarse(&[16, 3, 3, 16], 3)),
    ]
}

#[test]
fn written_out_loops_permute_nothing_and_compute_no_product_again() {
    let target = OfflineTarget::new(Properties::large((9, 0)));
    let plan = Plan::new(traced(|tracer| convolved(tracer, &images())), &target);
    let nodes = || plan.kernels.iter().map(|k| &plan.graph.nodes[k.node]);
    for name in ["loop", "permute", "slice", "concat"] {
        assert!(nodes().all(|node| node.op.name() != name), "{plan}");
    }
    // The first convolution runs over all steps.
    let forward = nodes().filter(|node| !node.backward && node.op.name() == "conv2d");
    assert_eq!(forward.count(), 1 + 6, "{plan}");
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn written_out_loops_with_convolutions_are_those_of_the_cpu() {
    let gpu = gpu();
    let inputs = [
        ("x", coarse(&[6, 16, 16, 16, 16], 1)),
        ("w", coarse(&[16, 3, 3, 16], 2)),
        ("u", coarse(&[16, 3, 3, 16], 3)),
    ];
    let graph = || traced(|tracer| convolved(tracer, &inputs));
    let mut loaded = Loaded::new(graph(), &gpu);
    let text = loaded.plan.graph.to_string();
    assert!(
        !text.contains("loop[") && !text.contains("permute["),
        "{text}"
    );
    let found = run_twice(&mut loaded, &inputs);
    let expected = on_cpu(graph(), &inputs).unwrap();
    compare(&found, &expected, |_| SUMS, &loaded.plan.to_string());
    assert_eq!(found["spikes"].to_f64(), expected["spikes"].to_f64());
}
