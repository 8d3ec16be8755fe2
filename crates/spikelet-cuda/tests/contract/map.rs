//! Elementwise regions: the same bits as on the CPU.

use crate::harness::{Near, data, gpu, numbers, same, same_on, scaled, special, tensor, thorough};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use spikelet_expr::{Binary, Expr, Unary};
use spikelet_graph::{Tensor, Var};

fn row(values: Vec<f32>) -> Tensor {
    Tensor::f32([values.len()], values)
}

/// Numbers of every magnitude.
fn of_all_sizes(count: usize, seed: u64) -> Vec<f32> {
    let pairs = numbers(2 * count, seed);
    let wide = |p: &[f32]| (f64::from(p[0]) * 2.0_f64.powf(f64::from(p[1]) * 140.0)) as f32;
    pairs.chunks(2).map(wide).collect()
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn every_function_of_one_argument_has_the_bits_of_the_cpu() {
    let mut values = special();
    values.extend(of_all_sizes(20_000, 1));
    values.extend(numbers(20_000, 2).iter().map(|x| x * 100.0));
    values.extend(numbers(20_001, 3));
    let x = row(values);
    same(&[("x", x.clone())], Near::Bits, |tracer| {
        let x = data(tracer, "x", &x);
        let made = Var::map_many(&[&x], |x| {
            Unary::ALL
                .iter()
                .map(|&op| Expr::unary(op, &x[0]))
                .collect()
        });
        for (op, y) in Unary::ALL.iter().zip(&made) {
            tracer.output(&format!("{op:?}"), y);
        }
    });
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn every_function_of_two_arguments_has_the_bits_of_the_cpu() {
    let special = special();
    let mut a: Vec<f32> = vec![];
    let mut b: Vec<f32> = vec![];
    for &x in &special {
        for &y in &special {
            a.push(x);
            b.push(y);
        }
    }
    a.extend(of_all_sizes(30_000, 4));
    b.extend(of_all_sizes(30_000, 5));
    a.extend(numbers(30_000, 6));
    b.extend(numbers(30_000, 7).iter().map(|x| x * 8.0));
    let (a, b) = (row(a), row(b));
    let inputs = [("a", a.clone()), ("b", b.clone())];
    same(&inputs, Near::Bits, |tracer| {
        let (a, b) = (data(tracer, "a", &a), data(tracer, "b", &b));
        let made = Var::map_many(&[&a, &b], |x| {
            let apply = |&op| Expr::binary(op, &x[0], &x[1]);
            Binary::ALL.iter().map(apply).collect()
        });
        for (op, y) in Binary::ALL.iter().zip(&made) {
            tracer.output(&format!("{op:?}"), y);
        }
    });
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn selections_grafts_and_constants_have_the_bits_of_the_cpu() {
    let mut values = special();
    values.extend(numbers(1000, 8));
    let x = row(values);
    same(&[("x", x.clone())], Near::Bits, |tracer| {
        let x = data(tracer, "x", &x);
        let made = Var::map_many(&[&x], |x| {
            let x = &x[0];
            vec![
                Expr::select(x.gt(0.0), x.ln(), x),
                Expr::select(x, 1.0 / x, f64::NAN),
                Expr::custom_gradient(x.ge(0.0), (x * 4.0).sigmoid()),
                x.clamp(-0.5, 0.5),
                x * 1e300 + 0.1,
                x * 1e-45 - f64::NEG_INFINITY,
                x / 3.0 + x * (1.0 / 3.0),
                x * x - x * 0.7,
            ]
        });
        for (k, y) in made.iter().enumerate() {
            tracer.output(&format!("y{k}"), y);
        }
    });
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn operands_broadcast_along_every_axis() {
    let gpu = gpu();
    let shapes: [&[usize]; 14] = [
        &[],
        &[1],
        &[8],
        &[4, 1],
        &[1, 8],
        &[4, 8],
        &[3, 1, 1],
        &[1, 4, 1],
        &[1, 1, 8],
        &[3, 1, 8],
        &[3, 4, 1],
        &[1, 4, 8],
        &[3, 4, 8],
        &[1, 1, 1],
    ];
    for shape in shapes {
        let (x, y) = (tensor(&[3, 4, 8], 1), tensor(shape, 2));
        let inputs = [("x", x.clone()), ("y", y.clone())];
        same_on(
            &gpu,
            &inputs,
            |_| Near::Bits,
            |tracer| {
                let (x, y) = (data(tracer, "x", &x), data(tracer, "y", &y));
                let z = Var::map(&[&x, &y], |x| (&x[0] * &x[1]).tanh() + &x[1]);
                tracer.output("z", &z);
            },
        );
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn packs_of_several_elements_meet_every_kind_of_operand() {
    let gpu = gpu();
    // Enough threads for packs of two and of four on any GPU, and last axes that no pack divides.
    let sizes: &[[usize; 2]] = if thorough() {
        &[[1024, 1024], [1026, 1030], [1500, 1021]]
    } else {
        &[[64, 64]]
    };
    for &[rows, columns] in sizes {
        let operands = [
            tensor(&[rows, columns], 1),
            tensor(&[columns], 2),
            tensor(&[rows, 1], 3),
            tensor(&[1], 4),
        ];
        let names = ["a", "b", "c", "d"];
        let inputs: Vec<(&str, Tensor)> = names.into_iter().zip(operands.clone()).collect();
        same_on(
            &gpu,
            &inputs,
            |_| Near::Bits,
            |tracer| {
                let x: Vec<Var> = (names.iter().zip(&operands))
                    .map(|(name, t)| data(tracer, name, t))
                    .collect();
                let all: Vec<&Var> = x.iter().collect();
                let y = Var::map(&all, |x| (&x[0] * &x[1] + &x[2]) * &x[3]);
                tracer.output("y", &y);
                // All operands dense or single: the rows need not be packed one by one.
                tracer.output("z", &(&x[0] * &x[3]));
                // Nothing is dense.
                tracer.output("outer", &(&x[1] + &x[2]));
            },
        );
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn scalars_empty_tensors_and_single_elements_are_tensors() {
    let gpu = gpu();
    for shape in [vec![], vec![1], vec![0, 3], vec![1, 1, 1], vec![3, 0]] {
        let x = tensor(&shape, 5);
        same_on(
            &gpu,
            &[("x", x.clone())],
            |_| Near::Bits,
            |tracer| {
                let x = data(tracer, "x", &x);
                tracer.output("y", &(x.exp() + 1.0));
            },
        );
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn many_small_regions_that_run_in_one_block_see_each_other() {
    let (x, w) = (tensor(&[7, 33], 6), tensor(&[33], 7));
    let inputs = [("x", x.clone()), ("w", w.clone())];
    same(&inputs, Near::Bits, |tracer| {
        tracer.disable_fusion(true);
        let (x, w) = (data(tracer, "x", &x), data(tracer, "w", &w));
        let mut y = &x + &w;
        for k in 0..300 {
            // A permutation between: each thread reads what another one wrote.
            y = (&y * 0.99 + &w).permute(&[1, 0]).reshape([7, 33]);
            if k % 50 == 0 {
                tracer.output(&format!("y{k}"), &y);
            }
        }
        tracer.output("y", &y);
    });
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_result_that_nobody_reads_does_no_harm() {
    let x = tensor(&[1000], 9);
    same(&[("x", x.clone())], Near::Bits, |tracer| {
        let x = data(tracer, "x", &x);
        let made = Var::map_many(&[&x], |x| vec![x[0].exp(), &x[0] * 2.0, x[0].tanh()]);
        tracer.output("y", &made[1]);
    });
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn gradients_of_regions_agree_to_rounding() {
    let (x, w) = (tensor(&[70, 130], 10), scaled(&[130], 11, 0.5, 1.0));
    let inputs = [("x", x.clone()), ("w", w.clone())];
    same(&inputs, crate::harness::SUMS, |tracer| {
        let (x, w) = (data(tracer, "x", &x), data(tracer, "w", &w));
        let y = Var::map(&[&x, &w], |x| (&x[0] * &x[1]).tanh() / (x[1].exp() + 1.0));
        let grads = tracer.gradients(&y.square().mean_all(), &[&x, &w]);
        tracer.output("dx", &grads[0]);
        tracer.output("dw", &grads[1]);
    });
}

/// An expression over `x0`, `x1` with every kind of node.
fn expression() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![
        Just(Expr::symbol("x0")),
        Just(Expr::symbol("x1")),
        (-3.0..3.0_f64).prop_map(Expr::constant),
    ];
    leaf.prop_recursive(5, 24, 3, |inner| {
        prop_oneof![
            (0..Unary::ALL.len(), inner.clone()).prop_map(|(k, a)| Expr::unary(Unary::ALL[k], &a)),
            (0..Binary::ALL.len(), inner.clone(), inner.clone())
                .prop_map(|(k, a, b)| Expr::binary(Binary::ALL[k], &a, &b)),
            (inner.clone(), inner.clone(), inner).prop_map(|(c, a, b)| Expr::select(
                c.gt(0.25),
                a,
                b
            )),
        ]
    })
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn any_expression_has_the_bits_of_the_cpu() {
    let gpu = gpu();
    let cases = if thorough() { 48 } else { 6 };
    let mut runner = TestRunner::new_with_rng(
        Config {
            cases,
            failure_persistence: None,
            ..Config::default()
        },
        proptest::test_runner::TestRng::deterministic_rng(
            proptest::test_runner::RngAlgorithm::ChaCha,
        ),
    );
    let mut values = special();
    values.extend(numbers(1000, 12).iter().map(|x| x * 4.0));
    let (a, b) = (row(values.clone()), row(values.into_iter().rev().collect()));
    // Several in one program: each program costs a compilation.
    let expressions = prop::collection::vec(expression(), 8);
    let run = runner.run(&expressions, |expressions| {
        let inputs = [("a", a.clone()), ("b", b.clone())];
        same_on(
            &gpu,
            &inputs,
            |_| Near::Bits,
            |tracer| {
                let (a, b) = (data(tracer, "a", &a), data(tracer, "b", &b));
                let made = Var::map_many(&[&a, &b], |_| expressions.clone());
                for (k, y) in made.iter().enumerate() {
                    tracer.output(&format!("y{k}"), y);
                }
            },
        );
        Ok(())
    });
    if let Err(error) = run {
        panic!("{error}");
    }
}
