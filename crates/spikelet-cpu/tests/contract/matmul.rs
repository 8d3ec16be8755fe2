//! Matrix products.

use crate::harness::{check_forward, check_gradients, tensor};
use spikelet_graph::Tensor;
use spikelet_graph::op::MatMul;

fn folded(t: &Tensor) -> (usize, usize) {
    let (columns, rows) = t.shape.split_last().unwrap();
    (rows.iter().product(), *columns)
}

fn product(op: MatMul, a: &Tensor, b: &Tensor) -> Vec<f64> {
    let ((ar, ac), (br, bc)) = (folded(a), folded(b));
    let (a, b) = (a.to_f64(), b.to_f64());
    let (m, k) = if op.transpose_a { (ac, ar) } else { (ar, ac) };
    let n = if op.transpose_b { br } else { bc };
    let at = |i: usize, l: usize| {
        if op.transpose_a {
            a[l * ac + i]
        } else {
            a[i * ac + l]
        }
    };
    let bt = |l: usize, j: usize| {
        if op.transpose_b {
            b[j * bc + l]
        } else {
            b[l * bc + j]
        }
    };
    let one = |i: usize, j: usize| (0..k).map(|l| at(i, l) * bt(l, j)).sum();
    (0..m * n).map(|e| one(e / n, e % n)).collect()
}

fn check(op: MatMul, a: &[usize], b: &[usize], shape: &[usize], gradients: bool) {
    let inputs = [tensor(a, 1), tensor(b, 2)];
    let want = product(op, &inputs[0], &inputs[1]);
    check_forward(&inputs, shape, &want, |tracer, x| {
        tracer.apply1(op, &[&x[0], &x[1]])
    });
    if gradients {
        check_gradients(&inputs, |tracer, x| tracer.apply1(op, &[&x[0], &x[1]]));
    }
}

fn op(transpose_a: bool, transpose_b: bool) -> MatMul {
    MatMul::new(transpose_a, transpose_b)
}

#[test]
fn all_four_transpositions_multiply_and_have_gradients() {
    check(op(false, false), &[3, 4], &[4, 5], &[3, 5], true);
    check(op(false, true), &[3, 4], &[5, 4], &[3, 5], true);
    check(op(true, false), &[4, 3], &[4, 5], &[3, 5], true);
    check(op(true, true), &[4, 3], &[5, 4], &[3, 5], true);
}

#[test]
fn leading_axes_are_folded_into_rows() {
    check(op(false, false), &[2, 3, 4], &[4, 5], &[2, 3, 5], true);
    check(op(false, true), &[2, 3, 4], &[5, 4], &[2, 3, 5], true);
    check(op(true, false), &[2, 3, 4], &[6, 5], &[4, 5], true);
    check(op(true, true), &[2, 3, 4], &[5, 6], &[4, 5], true);
    check(op(false, false), &[2, 6], &[2, 3, 5], &[2, 5], true);
    check(op(false, true), &[2, 5], &[2, 3, 5], &[2, 6], true);
    check(op(true, false), &[2, 3, 4], &[2, 3, 5], &[4, 5], true);
    check(op(true, true), &[2, 3, 4], &[1, 5, 6], &[4, 5], true);
}

#[test]
fn single_rows_and_columns_are_matrices() {
    check(op(false, false), &[1, 1], &[1, 1], &[1, 1], true);
    check(op(false, true), &[4], &[3, 4], &[3], true);
    check(op(true, false), &[4, 1], &[4, 1], &[1, 1], true);
    check(op(false, false), &[5, 1], &[1, 3], &[5, 3], true);
    check(op(true, true), &[1, 3], &[2, 1], &[3, 2], true);
}

#[test]
fn a_sum_over_nothing_is_zero() {
    check(op(false, false), &[3, 0], &[0, 2], &[3, 2], false);
    check(op(false, true), &[0, 4], &[2, 4], &[0, 2], false);
}

#[test]
fn products_larger_than_one_tile_are_complete() {
    for (ta, tb) in [(false, false), (false, true), (true, false), (true, true)] {
        let a: &[usize] = if ta { &[37, 301] } else { &[301, 37] };
        let b: &[usize] = if tb { &[131, 37] } else { &[37, 131] };
        check(op(ta, tb), a, b, &[301, 131], false);
    }
}
