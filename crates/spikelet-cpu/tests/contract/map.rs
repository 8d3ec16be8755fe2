//! Elementwise regions.

use crate::harness::{broadcast_at, check_forward, check_gradients, compute, index, tensor};
use spikelet_expr::Expr;
use spikelet_graph::{Tensor, Var};

fn expected(operands: &[Tensor], shape: &[usize], f: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    let values: Vec<Vec<f64>> = operands.iter().map(Tensor::to_f64).collect();
    let count: usize = shape.iter().product();
    let one = |i: usize| {
        let at = index(i, shape);
        let pick = |(v, t): (&Vec<f64>, &Tensor)| broadcast_at(v, &t.shape, &at);
        f(&values.iter().zip(operands).map(pick).collect::<Vec<f64>>())
    };
    (0..count).map(one).collect()
}

#[test]
fn operands_broadcast_along_every_axis() {
    let target = [3, 4, 5];
    for shape in [
        vec![],
        vec![1],
        vec![5],
        vec![4, 1],
        vec![1, 5],
        vec![4, 5],
        vec![3, 1, 1],
        vec![1, 4, 1],
        vec![1, 1, 5],
        vec![3, 1, 5],
        vec![3, 4, 1],
        vec![1, 4, 5],
        vec![3, 4, 5],
        vec![1, 1, 1],
    ] {
        let operands = [tensor(&target, 1), tensor(&shape, 2)];
        let want = expected(&operands, &target, |x| x[0] * x[1] + x[1]);
        let build = |x: &[Var]| Var::map(&[&x[0], &x[1]], |x| &x[0] * &x[1] + &x[1]);
        check_forward(&operands, &target, &want, |_, x| build(x));
        check_gradients(&operands, |_, x| build(x));
    }
}

#[test]
fn two_operands_may_both_be_smaller_than_the_result() {
    let operands = [tensor(&[3, 1, 5], 1), tensor(&[4, 1], 2)];
    let want = expected(&operands, &[3, 4, 5], |x| x[0] - x[1]);
    check_forward(&operands, &[3, 4, 5], &want, |_, x| &x[0] - &x[1]);
    check_gradients(&operands, |_, x| &x[0] - &x[1]);
}

#[test]
fn regions_longer_than_a_piece_of_work_are_complete() {
    let operands = [tensor(&[40_003], 1), tensor(&[1], 2)];
    let want = expected(&operands, &[40_003], |x| x[0] * 0.5 + x[1]);
    check_forward(&operands, &[40_003], &want, |_, x| &x[0] * 0.5 + &x[1]);
    let wide = [
        tensor(&[3, 13_001], 1),
        tensor(&[3, 1], 2),
        tensor(&[13_001], 3),
    ];
    let want = expected(&wide, &[3, 13_001], |x| x[0] * x[1] - x[2]);
    check_forward(&wide, &[3, 13_001], &want, |_, x| &x[0] * &x[1] - &x[2]);
}

#[test]
fn scalars_and_empty_tensors_are_tensors() {
    check_forward(
        &[tensor(&[], 1)],
        &[],
        &[tensor(&[], 1).to_f64()[0] + 1.0],
        |_, x| &x[0] + 1.0,
    );
    check_forward(&[tensor(&[0, 3], 1)], &[0, 3], &[], |_, x| x[0].exp());
}

#[test]
fn several_results_of_one_region_are_differentiated_together() {
    let inputs = [tensor(&[2, 3], 1), tensor(&[3], 2)];
    check_gradients(&inputs, |_, x| {
        let parts = Var::map_many(&[&x[0], &x[1]], |x| {
            vec![
                (&x[0] * &x[1]).tanh(),
                x[0].exp() - &x[1],
                Expr::constant(2.0) * &x[1],
            ]
        });
        &parts[0] * &parts[1] + &parts[2]
    });
}

#[test]
fn a_result_that_nobody_reads_does_no_harm() {
    let x = tensor(&[7], 1);
    let got = compute(std::slice::from_ref(&x), |_, x| {
        Var::map_many(&[&x[0]], |x| vec![x[0].exp(), &x[0] * 2.0, x[0].tanh()]).swap_remove(1)
    });
    let want: Vec<f64> = x.to_f64().iter().map(|x| x * 2.0).collect();
    assert_eq!(got.to_f64(), want);
}

#[test]
fn the_methods_of_a_var_compute_what_they_say() {
    let x = tensor(&[3, 3], 4);
    let of = |f: fn(f64) -> f64| x.to_f64().into_iter().map(f).collect::<Vec<f64>>();
    let inputs = std::slice::from_ref(&x);
    check_forward(inputs, &[3, 3], &of(|x| x * x), |_, x| x[0].square());
    check_forward(inputs, &[3, 3], &of(f64::exp), |_, x| x[0].exp());
    check_forward(inputs, &[3, 3], &of(|x| x.max(0.0)), |_, x| x[0].relu());
    check_forward(inputs, &[3, 3], &of(|x| -x), |_, x| -&x[0]);
    check_forward(inputs, &[3, 3], &of(|x| (x * x + 1.0).sqrt()), |_, x| {
        (x[0].square() + 1.0).sqrt()
    });
    check_forward(inputs, &[3, 3], &of(|x| 2.0 / (3.0 - x)), |_, x| {
        2.0 / (3.0 - &x[0])
    });
    check_gradients(inputs, |_, x| {
        2.0 / (3.0 - &x[0]) + (x[0].square() + 1.0).sqrt()
    });
}

#[test]
fn more_operands_than_a_kernel_takes_are_not_joined_into_one() {
    // Three regions of twelve operands each feed a fourth.
    let inputs: Vec<Tensor> = (0..36).map(|k| tensor(&[5], k)).collect();
    let want = expected(&inputs, &[5], |x| {
        let part = |k: usize| (0..12).map(|i| x[12 * k + i]).fold(0.0, |a, b| a * 0.5 + b);
        part(0) * part(1) + part(2)
    });
    check_forward(&inputs, &[5], &want, |_, x| {
        let part = |k: usize| {
            let operands: Vec<&Var> = x[12 * k..12 * k + 12].iter().collect();
            Var::map(&operands, |x| {
                x.iter().fold(Expr::constant(0.0), |a, b| a * 0.5 + b)
            })
        };
        Var::map(&[&part(0), &part(1), &part(2)], |x| &x[0] * &x[1] + &x[2])
    });
}

#[test]
fn a_detached_value_passes_no_gradient() {
    let x = tensor(&[4], 1);
    let got = compute(std::slice::from_ref(&x), |tracer, x| {
        let loss = (x[0].detach() * &x[0]).sum_all();
        tracer.gradients(&loss, &[&x[0]]).remove(0)
    });
    assert_eq!(got, x);
}
