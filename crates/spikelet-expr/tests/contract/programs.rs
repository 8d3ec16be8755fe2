//! Compiled programs against the naive evaluator.

use crate::dag::{Dag, dags};
use crate::naive::{evaluate, same};
use proptest::prelude::*;
use spikelet_expr::{Evaluate, Expr, Program, Unary};

/// Runs `outputs` over blocks of the given lengths and compares every element.
fn check<R: Evaluate>(outputs: &[Expr], uniform_each: bool, lengths: &[usize]) {
    let program = Program::compile(outputs, &["w"], &["x", "y", "v"]).unwrap();
    let most = lengths.iter().copied().max().unwrap();
    let mut work = program.workspace::<R>(most);
    for (round, &n) in lengths.iter().enumerate() {
        let column = |k: usize| -> Vec<R> {
            let value = |i: usize| ((i * 7 + k * 5 + round * 3) % 23) as f64 * 0.27 - 2.9;
            (0..n).map(|i| R::from_f64(value(i))).collect()
        };
        let (x, y, v) = (column(0), column(1), column(2));
        let w = if uniform_each {
            column(3)
        } else {
            vec![R::from_f64(0.7)]
        };
        program.set_uniform(&mut work, &[&w]);
        let mut results = vec![vec![R::ONE; n]; outputs.len()];
        let mut slices: Vec<&mut [R]> = results.iter_mut().map(Vec::as_mut_slice).collect();
        program.step(&mut work, &[&x, &y, &v], &mut slices);
        for (expr, result) in outputs.iter().zip(&results) {
            for (i, got) in result.iter().enumerate() {
                let symbol = |name: &str| match name {
                    "x" => x[i],
                    "y" => y[i],
                    "v" => v[i],
                    _ => w[i % w.len()],
                };
                let expected = evaluate(expr, &symbol);
                assert!(
                    same(*got, expected),
                    "{expr} at {i} of {n}: {got:?}, not {expected:?}"
                );
            }
        }
    }
}

fn pick(dag: &Dag, picks: &[prop::sample::Index]) -> Vec<Expr> {
    let all = dag.expressions();
    picks.iter().map(|i| i.get(&all).clone()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_program_has_the_bits_of_the_naive_evaluator(
        dag in dags(16),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 1..5),
        uniform_each: bool,
        lengths in prop::collection::vec(1..40_usize, 1..3),
    ) {
        let outputs = pick(&dag, &picks);
        check::<f64>(&outputs, uniform_each, &lengths);
        check::<f32>(&outputs, uniform_each, &lengths);
    }
}

#[test]
fn every_operation_gives_the_same_bits_over_a_long_odd_block() {
    let (x, y) = (Expr::symbol("x"), Expr::symbol("y"));
    let mut outputs: Vec<Expr> = Unary::ALL.map(|op| Expr::unary(op, &x)).into();
    outputs.extend([x.pow(&y), x.min(&y), x.max(&y), &x / &y]);
    check::<f32>(&outputs, true, &[511, 1, 37]);
    check::<f64>(&outputs, false, &[511, 1, 37]);
}

#[test]
fn fused_operations_keep_their_order() {
    let [x, y, v] = ["x", "y", "v"].map(Expr::symbol);
    let mut outputs = vec![];
    for inner in [&x + &y, &x - &y, &x * &y] {
        outputs.extend([&inner + &v, &inner - &v, &inner * &v]);
        outputs.extend([&v + &inner, &v - &inner, &v * &inner]);
    }
    for output in &outputs {
        check::<f32>(std::slice::from_ref(output), false, &[33]);
    }
    check::<f32>(&outputs, false, &[33]);
}

#[test]
fn an_output_may_be_an_input_a_constant_a_uniform_value_or_another_output() {
    let [x, w] = ["x", "w"].map(Expr::symbol);
    let sum = &x + &w;
    let outputs = [
        x.clone(),
        Expr::constant(0.1),
        w.exp(),
        sum.clone(),
        sum.clone(),
        &sum * &sum,
        w,
    ];
    check::<f32>(&outputs, true, &[5, 17]);
    check::<f64>(&outputs, false, &[17, 5]);
}

#[test]
fn common_subexpressions_are_computed_once() {
    let [x, y] = ["x", "y"].map(Expr::symbol);
    let twice = (&x * &y).exp() + (&x * &y).exp();
    let program = Program::compile(&[twice], &[], &["x", "y"]).unwrap();
    assert_eq!(program.operations(), 3);
}

#[test]
fn values_of_uniform_inputs_alone_cost_nothing_in_a_step() {
    let [x, w] = ["x", "w"].map(Expr::symbol);
    let program = Program::compile(&[x * w.sigmoid().exp()], &["w"], &["x"]).unwrap();
    assert_eq!(program.operations(), 1);
}
