//! 16-bit operands and results: the f32 result of the same numbers, rounded once.

use crate::harness::{Loaded, tensor};
use spikelet_expr::Expr;
use spikelet_graph::op::{
    Conv, Feedback, MatMul, Pool, Pooling, Port, Ports, Recurrence, Reduce, Scan, Window,
};
use spikelet_graph::{DType, Tensor, Tracer, Var};
use std::sync::Arc;

const F: DType = DType::F32;

/// Runs the same program over operands of the type and over the same numbers in f32. The first
/// results must be the second ones, rounded.
fn check(shapes: &[&[usize]], held: &[&[usize]], build: impl Fn(&Tracer, &[Var]) -> Vec<Var>) {
    for half in [DType::F16, DType::BF16] {
        let run = |dtype: DType| {
            let tracer = Tracer::new(F);
            let given = |shape: &&[usize], k: usize, dtype| {
                let values = tensor(shape, k as u64).cast(half).cast(dtype);
                (tracer.input(&format!("x{k}"), dtype, *shape), values)
            };
            let mut inputs: Vec<(Var, Tensor)> = vec![];
            for shape in shapes {
                inputs.push(given(shape, inputs.len(), dtype));
            }
            for shape in held {
                inputs.push(given(shape, inputs.len(), F));
            }
            let vars: Vec<Var> = inputs.iter().map(|(v, _)| v.clone()).collect();
            let made = build(&tracer, &vars);
            for (k, y) in made.iter().enumerate() {
                tracer.output(&format!("y{k}"), y);
            }
            let mut loaded = Loaded::new(tracer.finish().unwrap(), 2);
            for (k, (_, values)) in inputs.iter().enumerate() {
                loaded.set(&format!("x{k}"), values);
            }
            loaded.run();
            let results = (0..made.len()).map(|k| loaded.get(&format!("y{k}")));
            results.collect::<Vec<Tensor>>()
        };
        for (k, (got, wide)) in run(half).iter().zip(run(F)).enumerate() {
            let want = wide.cast(got.ty().dtype);
            assert_eq!(*got, want, "result {k} in {half}");
            assert!(got.to_f64().iter().any(|x| *x != 0.0), "result {k}");
        }
    }
}

fn neuron() -> Arc<Recurrence> {
    let [x, v, w] = ["x", "v", "w"].map(Expr::symbol);
    let h = &v + (x - &v) * w;
    let s = Expr::custom_gradient((&h - 0.2).ge(0.0), (&h * 2.0).sigmoid());
    let next = (1.0 - &s) * &h;
    Arc::new(
        Recurrence::new("plif", ["x"], ["v"])
            .params(["w"])
            .output("s", s, true)
            .next(vec![next]),
    )
}

#[test]
fn maps_and_reductions_round_what_they_store() {
    check(&[&[37, 50], &[50]], &[&[37, 1]], |_, x| {
        let many = Var::map_many(&[&x[0], &x[1], &x[2]], |x| {
            vec![(&x[0] * &x[1]).exp() + &x[2], &x[0] / 3.0]
        });
        let sums = [vec![1], vec![0], vec![0, 1]].map(|axes| {
            let wide = Reduce {
                out: Some(F),
                ..Reduce::sum(axes.clone())
            };
            let tracer = x[0].tracer();
            [x[0].sum(&axes), tracer.apply1(wide, &[&x[0]])]
        });
        [many, sums.concat(), vec![x[0].max(&[1]), x[0].exp()]].concat()
    });
}

#[test]
fn products_are_added_in_f32() {
    check(&[&[5, 9, 40], &[30, 40]], &[], |tracer, x| {
        let wide = MatMul {
            out: Some(F),
            ..MatMul::new(false, true)
        };
        vec![x[0].linear(&x[1]), tracer.apply1(wide, &[&x[0], &x[1]])]
    });
}

#[test]
fn a_scan_keeps_its_states_in_f32() {
    check(&[&[12, 90]], &[&[90], &[90]], |_, x| {
        Var::scan(&neuron(), 12, &[&x[0]], &[&x[1]], &[&x[2]])
    });
}

#[test]
fn gradients_of_a_scan_have_the_types_of_their_operands() {
    check(&[&[12, 90]], &[&[90], &[90]], |tracer, x| {
        let made = Var::scan(&neuron(), 12, &[&x[0]], &[&x[1]], &[&x[2]]);
        // Every gradient that flows in is a power of two: no rounding on the way.
        let loss = made[0].sum_all() + made[1].sum_all() * 0.5;
        tracer.gradients(&loss, &[&x[0], &x[1], &x[2]])
    });
}

#[test]
fn a_scan_with_feedback_keeps_its_states_in_f32() {
    let [x, v, z, w] = ["x", "v", "z", "w"].map(Expr::symbol);
    let h = &v + (x - &v - z * 0.25) * w;
    let s = Expr::custom_gradient((&h - 0.2).ge(0.0), (&h * 2.0).sigmoid());
    let r = Recurrence::new("fed", ["x"], ["v", "z"])
        .params(["w"])
        .output("s", s.clone(), true)
        .next(vec![(1.0 - &s) * &h, s]);
    let op = Scan::new(r.into(), 5).feed_back(Feedback::of(1));
    let (step, feedback) = (&[6, 20][..], &[20, 20][..]);
    let (shapes, held) = ([&[5, 6, 20], feedback], [step, step, &[20], step]);
    let scan = |tracer: &Tracer, x: &[Var]| {
        tracer.apply(op.clone(), &[&x[0], &x[2], &x[3], &x[4], &x[5], &x[1]])
    };
    // With fewer results the spikes before each step are stored as bits.
    for results in [op.results().len(), op.writes(Port::Driven)] {
        check(&shapes, &held, |tracer, x| {
            let made = scan(tracer, x);
            let wide = made[0].ty().dtype;
            let loss = made[0].sum_all().cast(wide) + (&made[1] * 0.5).sum_all().cast(wide);
            let grads = tracer.gradients(&loss, &[&x[0], &x[2], &x[3], &x[4], &x[5]]);
            [&made[..results], &grads].concat()
        });
    }
    // Spikes for another layer are stored as bits.
    check(&shapes, &held, |tracer, x| {
        vec![scan(tracer, x)[0].linear(&x[1])]
    });
}

#[test]
fn elements_are_moved_as_they_are() {
    check(&[&[6, 7], &[6, 7]], &[], |t, x| {
        let dtype = x[0].ty().dtype;
        let filled = t.fill(dtype, [6, 7], 0.1);
        vec![
            x[0].permute(&[1, 0]),
            x[0].slice(0, 2..3).expand([5, 7]),
            Var::concat(&[&x[0], &x[1], &filled], 1),
            x[0].reshape([7, 6]).slice(1, 1..4),
        ]
    });
}

#[test]
fn scores_are_ranked_and_their_logarithms_are_f32() {
    check(&[&[9, 10]], &[], |_, x| {
        let scores = &x[0];
        let labels = scores.argmax();
        vec![scores.log_softmax(), labels.one_hot(10)]
    });
}

#[test]
fn a_16_bit_state_is_updated_in_place() {
    let tracer = Tracer::new(F);
    let v = tracer.input("v", DType::BF16, [1000]);
    let x = tracer.input("x", F, [1000]);
    let next = Var::map(&[&v, &x], |x| &x[0] * 0.75 + &x[1]).cast(DType::BF16);
    tracer.update(&v, &next);
    let mut loaded = Loaded::new(tracer.finish().unwrap(), 2);
    assert!(loaded.plan.copies.is_empty(), "{}", loaded.plan);
    let (mut expected, x) = (
        tensor(&[1000], 1).cast(DType::BF16),
        tensor(&[1000], 2).cast(F),
    );
    loaded.set("v", &expected);
    loaded.set("x", &x);
    for _ in 0..3 {
        loaded.run();
        let old = expected.cast(F);
        let next = old.as_f32().unwrap().iter().zip(x.as_f32().unwrap());
        let next: Vec<f32> = next.map(|(v, x)| v * 0.75 + x).collect();
        expected = Tensor::f32([1000], next).cast(DType::BF16);
        assert_eq!(loaded.get("v"), expected);
    }
}

#[test]
fn large_batches_go_through_in_pieces_with_the_same_results() {
    // One state for all, a state of each image, a parameter a channel; images that do not divide.
    check(
        &[&[6, 1001, 500], &[1, 1001, 500]],
        &[&[1001, 500], &[500]],
        |_, x| {
            let two = Arc::new(
                Recurrence::new("two", ["x", "y"], ["v"])
                    .params(["w"])
                    .output("s", Expr::symbol("v") * 0.5 + Expr::symbol("x"), false)
                    .next(vec![
                        (Expr::symbol("v") + Expr::symbol("y")) * Expr::symbol("w"),
                    ]),
            );
            Var::scan(&two, 6, &[&x[0], &x[1]], &[&x[2]], &[&x[3]])
        },
    );
    check(&[&[3, 67, 16, 16, 32], &[24, 3, 3, 32]], &[], |_, x| {
        let blocks = Pool {
            pooling: Pooling::Max,
            windows: vec![Window::blocks(2); 2],
        };
        let pooled = x[0].tracer().apply1(blocks, &[&x[0]]);
        let x: Vec<&Var> = x.iter().collect();
        vec![x[0].tracer().apply1(Conv::new(2), &x), pooled]
    });
}
