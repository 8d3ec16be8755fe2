//! Loops against their bodies written out once for each step.

use crate::harness::{Loaded, check_gradients, tensor};
use spikelet_cpu::Cpu;
use spikelet_expr::Expr;
use spikelet_graph::op::{Operation, Recurrence};
use spikelet_graph::{
    DType, Error, Graph, Kernel, Plan, RandomAxes, Result, SchedulingPolicy, Tensor, Tracer, Var,
    pass,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// A step: the next carried values and the stacked values, from the carried values and a piece of each sequence.
type Step<'a> = dyn Fn(&[Var], &[Var]) -> Result<(Vec<Var>, Vec<Var>)> + 'a;

/// The last carried values and the stacked values.
type Made = (Vec<Var>, Vec<Var>);

fn looped(tracer: &Tracer, length: usize, initial: &[&Var], xs: &[&Var], step: &Step<'_>) -> Made {
    let made = tracer
        .scan_loop(length, initial, xs, |h, x| step(h, x))
        .unwrap();
    (made.carried, made.stacked)
}

/// The reference: a copy of the body for each step.
fn written_out(_: &Tracer, length: usize, initial: &[&Var], xs: &[&Var], step: &Step<'_>) -> Made {
    let mut carried: Vec<Var> = initial.iter().map(|v| (*v).clone()).collect();
    let mut stacked: Vec<Vec<Var>> = vec![];
    for t in 0..length {
        let piece = |x: &&Var| {
            let size = x.dim(0) / length;
            x.slice(0, t * size..(t + 1) * size)
        };
        let pieces: Vec<Var> = xs.iter().map(piece).collect();
        let (next, made) = step(&carried, &pieces).unwrap();
        carried = next;
        stacked.resize(made.len(), vec![]);
        for (all, one) in stacked.iter_mut().zip(made) {
            all.push(one);
        }
    }
    let join = |parts: &Vec<Var>| Var::concat(&parts.iter().collect::<Vec<_>>(), 0);
    (carried, stacked.iter().map(join).collect())
}

type Trace = fn(&Tracer, usize, &[&Var], &[&Var], &Step<'_>) -> Made;

const T: usize = 7;
const N: usize = 3;
const IN: usize = 5;
const H: usize = 4;

/// The inputs of the recurrent network of these tests.
fn tensors() -> Vec<(&'static str, Tensor)> {
    vec![
        ("x", tensor(&[T, N, IN], 1)),
        ("h", tensor(&[1, N, H], 2)),
        ("w", tensor(&[H, IN], 3)),
        ("u", tensor(&[H, H], 4)),
        ("b", tensor(&[H], 5)),
        ("c", tensor(&[T, N, H], 6)),
    ]
}

/// A recurrent network, its loss, and all gradients; by `trace`.
fn network(dtype: DType, trace: Trace, hoist: bool) -> Loaded {
    run(Loaded::new(traced(dtype, trace, hoist), 2), dtype)
}

/// Runs a program of the network of these tests.
fn run(mut loaded: Loaded, dtype: DType) -> Loaded {
    for (name, tensor) in &tensors() {
        loaded.set(name, &tensor.cast(dtype));
    }
    loaded.run();
    loaded
}

fn traced(dtype: DType, trace: Trace, hoist: bool) -> Graph {
    let tracer = Tracer::new(dtype);
    tracer.hoist_from_loops(hoist);
    let tensors = tensors();
    let input = |name: &str| {
        let (_, tensor) = tensors.iter().find(|(n, _)| *n == name).unwrap();
        tracer.input(name, dtype, tensor.shape.clone())
    };
    let [x, h, w, u, b, c] = ["x", "h", "w", "u", "b", "c"].map(input);
    let (last, made) = trace(&tracer, T, &[&h], &[&x], &|h, x| {
        let charge = x[0].linear(&w) + h[0].linear(&u) + &b;
        let next = charge.tanh();
        Ok((vec![next.clone()], vec![next.square(), next]))
    });
    let loss = (&made[0] * &c).sum_all() + (&made[1] * &c).sum_all() + last[0].sum_all();
    let wrt = [&x, &h, &w, &u, &b];
    let grads = tracer.gradients(&loss, &wrt);
    tracer.output("y", &made[0]);
    tracer.output("last", &last[0]);
    tracer.output("loss", &loss);
    for (name, grad) in ["dx", "dh", "dw", "du", "db"].iter().zip(&grads) {
        tracer.output(name, grad);
    }
    tracer.finish().unwrap()
}

fn assert_same(a: &BTreeMap<String, Tensor>, b: &BTreeMap<String, Tensor>) {
    for (name, tensor) in a {
        assert_eq!(tensor.to_f64(), b[name].to_f64(), "{name}");
    }
}

#[test]
fn a_loop_has_the_bits_of_its_body_written_out() {
    for dtype in [DType::F64, DType::F32] {
        let reference = network(dtype, written_out, false);
        let made = network(dtype, looped, false);
        assert_same(&reference.results(), &made.results());
    }
}

/// Writes out every loop.
struct WrittenOut;

impl SchedulingPolicy for WrittenOut {
    fn unrolls(&self, _: usize, _: usize, _: usize) -> bool {
        true
    }
}

/// The graph with its loops written out by the planner.
fn unrolled(mut graph: Graph) -> Graph {
    pass::prune_loops::run(&mut graph);
    pass::unroll::run(&mut graph, &WrittenOut);
    assert!(!graph.to_string().contains("loop["), "{graph}");
    graph
}

#[test]
fn loops_that_the_planner_writes_out_keep_their_bits() {
    for dtype in [DType::F64, DType::F32] {
        let graph = || traced(dtype, looped, true);
        let made = run(Loaded::new(unrolled(graph()), 2), dtype);
        let expected = run(Loaded::new(graph(), 2), dtype);
        assert_same(&expected.results(), &made.results());
        let nodes = made.plan.graph.nodes.iter().filter(|n| !n.backward);
        let tanh = nodes.filter(|n| n.op.describe().contains("tanh")).count();
        assert_eq!(
            tanh, T,
            "the backward pass recomputes a step\n{}",
            made.plan
        );
    }
}

/// Swapped values, pieces, invariants and one value twice as results, in both directions; of pieces whose memory is
/// aligned and of others.
fn mixed(shape: [usize; 3], reverse: bool) -> Graph {
    let tracer = Tracer::new(DType::F32);
    let x = tracer.input("x", DType::F32, shape);
    let start = tracer.input("h", DType::F32, [1, shape[1], shape[2]]);
    let mut open = tracer.begin_loop(shape[0]);
    if reverse {
        open = open.reversed();
    }
    let (h, old, piece) = (
        open.carried(&start),
        open.carried(&start),
        open.sequence(&x),
    );
    let next = Var::map(&[&h, &piece, &old], |v| {
        (&v[0] * 0.5 + &v[1]).tanh() - &v[2] * 0.25
    });
    let flat = next.reshape([shape[1], shape[2]]);
    let made = open.finish(
        &[(&h, &next), (&old, &h)],
        &[
            &next,
            &h,
            &piece,
            &start,
            &next,
            &old,
            &flat.reshape([1, shape[1], shape[2]]),
        ],
    );
    let made = made.unwrap();
    let loss = (&made.stacked[0] * &made.stacked[6]).sum_all();
    let grads = tracer.gradients(&loss, &[&x, &start]);
    tracer.output("dx", &grads[0]);
    tracer.output("dh", &grads[1]);
    for (k, value) in made.carried.iter().chain(&made.stacked).enumerate() {
        tracer.output(&format!("y{k}"), value);
    }
    tracer.finish().unwrap()
}

#[test]
fn pieces_of_written_out_loops_are_in_their_place() {
    for shape in [[1, 2, 64], [4, 2, 64], [5, 1, 128], [3, 3, 7]] {
        for reverse in [false, true] {
            let run = |graph: Graph| {
                let mut loaded = Loaded::new(graph, 2);
                loaded.set("x", &tensor(&shape, 1).cast(DType::F32));
                loaded.set("h", &tensor(&[1, shape[1], shape[2]], 2).cast(DType::F32));
                loaded.run();
                loaded
            };
            let made = run(unrolled(mixed(shape, reverse)));
            assert_same(&run(mixed(shape, reverse)).results(), &made.results());
            if (shape[1] * shape[2]).is_multiple_of(64) {
                let copies = ["slice", "concat"];
                let kernels = made.plan.kernels.iter();
                let name = |k: &Kernel| made.plan.graph.nodes[k.node].op.name();
                let copied = kernels.filter(|k| copies.contains(&name(k).as_str()));
                assert_eq!(copied.count(), 0, "{}", made.plan);
            }
        }
    }
}

#[test]
fn permutations_between_written_out_steps_cancel() {
    let (x, v) = (Expr::symbol("x"), Expr::symbol("v"));
    let h = &v * 0.5 + &x;
    let u = &h - 0.2;
    let spike = Expr::with_gradient_of(u.ge(0.0), &u, 1.0 / (1.0 + &u * &u));
    let neuron = Recurrence::new("lif", ["x"], ["v"]).output("s", spike.clone(), true);
    let neuron = Arc::new(neuron.next(vec![&h * (1.0 - &spike)]));
    let graph = || {
        let tracer = Tracer::new(DType::F32);
        let x = tracer.input("x", DType::F32, [3, 2, 8, 8, 4]);
        let start = tracer.fill(DType::F32, [2, 4, 8, 8], 0.0);
        let made = tracer.scan_loop(3, &[&start], &[&x], |v, x| {
            let x = x[0].permute(&[0, 1, 4, 2, 3]);
            let made = Var::scan(&neuron, 1, &[&x], &[&v[0]], &[]);
            let y = made[0].permute(&[0, 1, 3, 4, 2]);
            Ok((vec![made[1].clone()], vec![y]))
        });
        let y = made.unwrap().stacked.remove(0);
        let grads = tracer.gradients(&y.square().sum_all(), &[&x]);
        tracer.output("y", &y);
        tracer.output("dx", &grads[0]);
        tracer.finish().unwrap()
    };
    let run = |graph: Graph| {
        let mut loaded = Loaded::new(graph, 2);
        loaded.set("x", &tensor(&[3, 2, 8, 8, 4], 1).cast(DType::F32));
        loaded.run();
        loaded
    };
    let made = run(unrolled(graph()));
    assert_same(&run(graph()).results(), &made.results());
    let kernels = made.plan.kernels.iter();
    let names = kernels.map(|k| made.plan.graph.nodes[k.node].op.name());
    assert_eq!(
        names.filter(|name| name == "permute").count(),
        0,
        "{}",
        made.plan
    );
}

#[test]
fn what_leaves_a_loop_changes_gradients_in_the_last_digits_only() {
    let reference = network(DType::F64, written_out, false).results();
    let made = network(DType::F64, looped, true).results();
    for (name, tensor) in &made {
        for (a, b) in tensor.to_f64().iter().zip(reference[name].to_f64()) {
            assert!((a - b).abs() <= 1e-12 * (1.0 + b.abs()), "{name}: {a} {b}");
        }
    }
    assert_eq!(made["y"], reference["y"]);
}

#[test]
fn products_of_sequences_and_gradients_of_weights_leave_a_loop() {
    let plan = network(DType::F32, looped, true).plan;
    let products = |plan: &Plan| {
        let nodes = plan.kernels.iter().map(|k| &plan.graph.nodes[k.node]);
        nodes.filter(|node| node.op.name() == "matmul").count()
    };
    let bodies = plan.kernels.iter().filter_map(|k| k.body.as_deref());
    // Inside: h·u, and the gradient of h. Outside: x·w, h·u recomputed at all steps, and the gradients of x, w, u.
    assert_eq!(bodies.map(products).collect::<Vec<_>>(), [1, 1], "{plan}");
    assert_eq!(products(&plan), 5, "{plan}");
}

#[test]
fn a_memory_budget_keeps_the_bits() {
    let expected = network(DType::F32, looped, true);
    let peak = expected.plan.peak_bytes();
    for share in [100, 95, 90, 80, 60] {
        let cpu = Cpu::new(2).unwrap();
        let graph = traced(DType::F32, looped, true);
        match Plan::within(graph, &cpu, peak * share / 100) {
            Ok(plan) => {
                let made = run(Loaded::with_plan(plan, cpu), DType::F32);
                assert_same(&expected.results(), &made.results());
            }
            Err(Error::Budget { .. }) => assert!(share < 100),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn the_gradient_of_a_loop_is_that_of_finite_differences() {
    let inputs: Vec<Tensor> = tensors().into_iter().take(5).map(|(_, t)| t).collect();
    for hoist in [false, true] {
        check_gradients(&inputs, |tracer, v| {
            tracer.hoist_from_loops(hoist);
            let (last, made) = looped(tracer, T, &[&v[1]], &[&v[0]], &|h, x| {
                let next = (x[0].linear(&v[2]) + h[0].linear(&v[3]) * &v[4]).tanh();
                Ok((vec![next.clone()], vec![next.linear(&v[3])]))
            });
            Var::concat(&[&made[0], &last[0]], 0)
        });
    }
}

#[test]
fn the_gradient_of_a_gradient_of_a_loop_is_that_of_finite_differences() {
    let inputs = [
        tensor(&[4, 2, 2], 1),
        tensor(&[1, 2, 2], 2),
        tensor(&[2, 2], 3),
    ];
    check_gradients(&inputs, |tracer, v| {
        let (_, made) = looped(tracer, 4, &[&v[1]], &[&v[0]], &|h, x| {
            let next = (&x[0] + h[0].linear(&v[2])).tanh();
            Ok((vec![next.clone()], vec![next]))
        });
        let loss = made[0].square().sum_all();
        let grads = tracer.gradients(&loss, &[&v[2], &v[0]]);
        Var::concat(&[&grads[0].reshape([4]), &grads[1].reshape([16])], 0)
    });
}

#[test]
fn values_may_be_scalars_swap_stay_or_come_from_outside() {
    let run = |trace: Trace| {
        let tracer = Tracer::new(DType::F64);
        let x = tracer.input("x", DType::F64, [T, 2]);
        let [a, b] = ["a", "b"].map(|name| tracer.input(name, DType::F64, [1, 2]));
        let s = tracer.input("s", DType::F64, []);
        let (last, made) = trace(&tracer, T, &[&a, &b, &s, &s], &[&x], &|h, x| {
            let grown = &h[2] * 1.1;
            let next = vec![h[1].clone(), &h[0] * &x[0] + &grown, grown, h[3].clone()];
            // Stacked: an old value, an invariant, one value twice.
            let stacked = vec![h[0].clone(), a.clone(), next[1].clone(), next[1].clone()];
            Ok((next, stacked))
        });
        let all = last.iter().chain(&made).map(Var::sum_all);
        let loss = all.reduce(|x, y| x + y).unwrap().square();
        let grads = tracer.gradients(&loss, &[&a, &b, &s, &x]);
        for (k, value) in last.iter().chain(&made).chain(&grads).enumerate() {
            tracer.output(&format!("y{k}"), value);
        }
        let mut loaded = Loaded::new(tracer.finish().unwrap(), 1);
        loaded.set("x", &tensor(&[T, 2], 1));
        loaded.set("a", &tensor(&[1, 2], 2));
        loaded.set("b", &tensor(&[1, 2], 3));
        loaded.set("s", &Tensor::f64([], [0.3]));
        loaded.run();
        loaded.results()
    };
    // Gradients of values with several readers are summed in another order.
    let (reference, made) = (run(written_out), run(looped));
    for (name, tensor) in &made {
        for (a, b) in tensor.to_f64().iter().zip(reference[name].to_f64()) {
            assert!((a - b).abs() <= 1e-14 * b.abs(), "{name}: {a} {b}");
        }
    }
}

#[test]
fn draws_in_a_body_are_those_of_its_steps() {
    let tracer = Tracer::new(DType::F32);
    let generator = tracer.input("generator", DType::I64, [4]);
    let p = tracer.input("p", DType::F32, [T, N, IN]);
    let whole = p.bernoulli(&generator, RandomAxes::TimeAndBatch);
    let noise = generator.normal([T, N], RandomAxes::TimeAndBatch);
    tracer.output("spikes", &whole);
    tracer.output("noise", &noise);
    let second = Tracer::new(DType::F32);
    let generator = second.input("generator", DType::I64, [4]);
    let p = second.input("p", DType::F32, [T, N, IN]);
    let made = second.scan_loop(T, &[], &[&p], |_, p| {
        let spikes = p[0].bernoulli(&generator, RandomAxes::TimeAndBatch);
        let noise = generator.normal([1, N], RandomAxes::TimeAndBatch);
        Ok((vec![], vec![spikes, noise]))
    });
    let made = made.unwrap();
    second.output("spikes", &made.stacked[0]);
    second.output("noise", &made.stacked[1]);
    let results = [tracer, second].map(|tracer| {
        let mut loaded = Loaded::new(tracer.finish().unwrap(), 2);
        loaded.set("generator", &Tensor::i64([4], [5, 6, 11, 0]));
        loaded.set("p", &Tensor::f32([T, N, IN], vec![0.4; T * N * IN]));
        loaded.run();
        loaded.results()
    });
    assert_same(&results[0], &results[1]);
}

#[test]
fn a_loop_may_run_backwards_and_inside_another() {
    let tracer = Tracer::new(DType::F64);
    let x = tracer.input("x", DType::F64, [4, 3]);
    let zero = tracer.fill(DType::F64, [1, 3], 0.0);
    // Suffix sums, last first.
    let open = tracer.begin_loop(4).reversed();
    let (sum, piece) = (open.carried(&zero), open.sequence(&x));
    let next = &sum + &piece;
    let made = open.finish(&[(&sum, &next)], &[&next]).unwrap();
    tracer.output("suffix", &made.stacked[0]);
    // A loop over the rows of each piece of two rows.
    let nested = tracer.scan_loop(2, &[&zero], &[&x], |outer, pair| {
        let inner = tracer.scan_loop(2, &[&outer[0]], &[&pair[0]], |h, row| {
            let next = &h[0] + &row[0];
            Ok((vec![next.clone()], vec![next]))
        })?;
        Ok((inner.carried, inner.stacked))
    });
    let nested = nested.unwrap();
    tracer.output("prefix", &nested.stacked[0]);
    let loss = (&nested.stacked[0] * &made.stacked[0]).sum_all();
    let grad = tracer.gradients(&loss, &[&x]).remove(0);
    tracer.output("dx", &grad);
    let reference = {
        let (suffix, prefix) = (x.flip(0).cumsum(0).flip(0), x.cumsum(0));
        let loss = (&suffix * &prefix).sum_all();
        tracer.output("suffix 2", &suffix);
        tracer.output("prefix 2", &prefix);
        tracer.gradients(&loss, &[&x]).remove(0)
    };
    tracer.output("dx 2", &reference);
    let mut loaded = Loaded::new(tracer.finish().unwrap(), 1);
    loaded.set("x", &tensor(&[4, 3], 9));
    loaded.run();
    for name in ["suffix", "prefix", "dx"] {
        let (a, b) = (
            loaded.get(name).to_f64(),
            loaded.get(&format!("{name} 2")).to_f64(),
        );
        for (a, b) in a.iter().zip(&b) {
            assert!((a - b).abs() < 1e-12, "{name}: {a} {b}");
        }
    }
}

#[test]
fn a_value_traced_outside_a_body_is_that_of_its_first_step() {
    let tracer = Tracer::new(DType::F64);
    let x = tracer.input("x", DType::F64, [T, 2]);
    let made = tracer.scan_loop(T, &[], &[&x], |_, x| {
        let twice = &x[0] * 2.0;
        let first = tracer.outside_loop(|| &twice + 1.0);
        Ok((vec![], vec![&x[0] - &first]))
    });
    tracer.output("y", &made.unwrap().stacked[0]);
    let mut loaded = Loaded::new(tracer.finish().unwrap(), 1);
    let given = tensor(&[T, 2], 3);
    loaded.set("x", &given);
    loaded.run();
    let x = given.to_f64();
    let expected: Vec<f64> = (0..2 * T).map(|i| x[i] - (2.0 * x[i % 2] + 1.0)).collect();
    assert_eq!(loaded.get("y").to_f64(), expected);
}

/// Plans a recurrent network of `length` steps with its gradients: kernels inside and outside of bodies, seconds.
fn size(length: usize) -> (usize, f64) {
    let started = Instant::now();
    let tracer = Tracer::new(DType::F32);
    let x = tracer.input("x", DType::F32, [length, 2, IN]);
    let [w, u] = [("w", IN), ("u", H)].map(|(name, n)| tracer.parameter(name, [H, n]));
    let start = tracer.fill(DType::F32, [1, 2, H], 0.0);
    let (_, made) = looped(&tracer, length, &[&start], &[&x], &|h, x| {
        let next = (x[0].linear(&w) + h[0].linear(&u)).tanh();
        Ok((vec![next.clone()], vec![next]))
    });
    let grads = tracer.gradients(&made[0].sum_all(), &[&w, &u]);
    tracer.output("dw", &grads[0]);
    tracer.output("du", &grads[1]);
    let cpu = Cpu::new(1).unwrap();
    let plan = Plan::new(tracer.finish().unwrap(), &cpu);
    let bodies = plan.kernels.iter().filter_map(|k| k.body.as_ref());
    let kernels = plan.kernels.len() + bodies.map(|b| b.kernels.len()).sum::<usize>();
    (kernels, started.elapsed().as_secs_f64())
}

#[test]
fn the_size_of_a_plan_does_not_depend_on_the_number_of_steps() {
    let (short, long) = (size(10), size(10_000));
    assert_eq!(short.0, long.0);
    assert!(long.1 < 10.0 * short.1 + 0.1, "{short:?} {long:?}");
}

#[test]
fn results_that_are_not_read_leave_a_loop() {
    let tracer = Tracer::new(DType::F32);
    let x = tracer.input("x", DType::F32, [T, 2]);
    let zero = tracer.fill(DType::F32, [1, 2], 0.0);
    let (_, made) = looped(&tracer, T, &[&zero, &zero], &[&x, &x], &|h, x| {
        let next = vec![&h[0] + &x[0], &h[1] - &x[1]];
        Ok((next.clone(), next))
    });
    tracer.output("y", &made[0]);
    let loaded = Loaded::new(tracer.finish().unwrap(), 1);
    let nodes = &loaded.plan.graph.nodes;
    let found = nodes.iter().find(|n| n.op.name() == "loop").unwrap();
    assert_eq!(
        (found.inputs.len(), found.outputs.len()),
        (2, 2),
        "{}",
        loaded.plan.graph
    );
}

fn refused(build: impl Fn(&Tracer) -> Result<Var>) -> String {
    let tracer = Tracer::new(DType::F32);
    let made = tracer.scope("rnn", || build(&tracer));
    let error: Error = made.and_then(|y| tracer.check().map(|()| y)).unwrap_err();
    error.to_string()
}

#[test]
fn a_body_that_does_not_fit_is_an_error_that_names_layer_and_types() {
    let changed = refused(|tracer| {
        let h = tracer.input("h", DType::F32, [1, 2]);
        let made = tracer.scan_loop(3, &[&h], &[], |h, _| Ok((vec![h[0].sum(&[0])], vec![])))?;
        Ok(made.carried[0].clone())
    });
    assert!(
        changed.contains("f32[1, 2] before a step and f32[2] after"),
        "{changed}"
    );
    assert!(changed.contains("`rnn`"), "{changed}");
    let pieces = refused(|tracer| {
        let x = tracer.input("x", DType::F32, [7, 2]);
        let made = tracer.scan_loop(3, &[], &[&x], |_, x| Ok((vec![], x.to_vec())))?;
        Ok(made.stacked[0].clone())
    });
    assert!(
        pieces.contains("f32[7, 2]") && pieces.contains("3 equal pieces"),
        "{pieces}"
    );
    let scalar = refused(|tracer| {
        let x = tracer.input("x", DType::F32, [3, 2]);
        let made = tracer.scan_loop(3, &[], &[&x], |_, x| Ok((vec![], vec![x[0].sum_all()])))?;
        Ok(made.stacked[0].clone())
    });
    assert!(scalar.contains("no axis"), "{scalar}");
    let leaked = refused(|tracer| {
        let x = tracer.input("x", DType::F32, [3, 2]);
        let mut inside = None;
        tracer.scan_loop(3, &[], &[&x], |_, x| {
            inside = Some(&x[0] * 2.0);
            Ok((vec![], vec![x[0].clone()]))
        })?;
        Ok(inside.unwrap() + 1.0)
    });
    assert!(leaked.contains("body of a loop"), "{leaked}");
    let early = refused(|tracer| {
        let x = tracer.input("x", DType::F32, [3, 2]);
        let made = tracer.scan_loop(3, &[], &[&x], |_, x| {
            let grads = tracer.gradients(&x[0].sum_all(), &[&x[0]]);
            Ok((vec![], grads))
        })?;
        Ok(made.stacked[0].clone())
    });
    assert!(early.contains("outside the loop"), "{early}");
}
