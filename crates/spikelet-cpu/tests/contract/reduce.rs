//! Sums, maxima, log-softmax.

use crate::harness::{check_forward, check_gradients, compute, index, tensor};
use spikelet_graph::{Tensor, Var};

fn reduced(
    x: &Tensor,
    axes: &[usize],
    start: f64,
    join: fn(f64, f64) -> f64,
) -> (Vec<usize>, Vec<f64>) {
    let kept: Vec<usize> = (0..x.shape.len()).filter(|k| !axes.contains(k)).collect();
    let shape: Vec<usize> = kept.iter().map(|&k| x.shape[k]).collect();
    let mut result = vec![start; shape.iter().product()];
    for (i, &value) in x.to_f64().iter().enumerate() {
        let at = index(i, &x.shape);
        let to = kept.iter().fold(0, |to, &k| to * x.shape[k] + at[k]);
        result[to] = join(result[to], value);
    }
    (shape, result)
}

fn subsets(rank: usize) -> Vec<Vec<usize>> {
    (0..1_usize << rank)
        .map(|bits| (0..rank).filter(|k| bits >> k & 1 == 1).collect())
        .collect()
}

fn check(shape: &[usize], axes: &[usize], gradients: bool) {
    let x = tensor(shape, 5);
    let inputs = std::slice::from_ref(&x);
    let (shape, sum) = reduced(&x, axes, 0.0, |a, b| a + b);
    check_forward(inputs, &shape, &sum, |_, x| x[0].sum(axes));
    let (shape, max) = reduced(&x, axes, f64::NEG_INFINITY, f64::max);
    check_forward(inputs, &shape, &max, |_, x| x[0].max(axes));
    if gradients {
        check_gradients(inputs, |_, x| x[0].sum(axes).square());
        check_gradients(inputs, |_, x| x[0].max(axes).square());
    }
}

#[test]
fn any_axes_can_be_reduced() {
    for axes in subsets(3) {
        check(&[3, 4, 5], &axes, true);
        check(&[1, 4, 1], &axes, true);
    }
    for axes in subsets(4) {
        check(&[2, 3, 2, 3], &axes, false);
    }
}

#[test]
fn reductions_larger_than_a_piece_of_work_are_complete() {
    check(&[40_003], &[0], false);
    check(&[3, 40_003], &[1], false);
    check(&[40_003, 3], &[0], false);
    check(&[7, 5_001], &[0], false);
    check(&[4, 129, 67], &[0, 2], false);
    check(&[129, 4, 67], &[1], false);
    check(&[20_000, 3], &[1], false);
    check(&[17_000, 2], &[0, 1], false);
}

#[test]
fn a_sum_over_an_empty_axis_is_zero() {
    for (shape, axes) in [
        (vec![0], vec![0]),
        (vec![3, 0], vec![1]),
        (vec![0, 5_001], vec![0]),
        (vec![0, 4], vec![1]),
    ] {
        let x = tensor(&shape, 1);
        let (shape, want) = reduced(&x, &axes, 0.0, |a, b| a + b);
        check_forward(&[x], &shape, &want, |_, x| x[0].sum(&axes));
    }
}

#[test]
fn equal_maxima_share_the_gradient() {
    let x = Tensor::f64([2, 3], [1.0, 4.0, 4.0, 2.0, 0.0, -1.0]);
    let got = compute(&[x], |tracer, x| {
        let loss = x[0].max(&[1]).sum_all();
        tracer.gradients(&loss, &[&x[0]]).remove(0)
    });
    assert_eq!(got.to_f64(), [0.0, 0.5, 0.5, 1.0, 0.0, 0.0]);
}

#[test]
fn a_maximum_of_nan_is_nan() {
    let x = Tensor::f64([3, 2], [1.0, 2.0, f64::NAN, 5.0, 0.0, 1.0]);
    let got = compute(&[x], |_, x| x[0].max(&[0])).to_f64();
    assert!(got[0].is_nan() && got[1] == 5.0);
}

#[test]
fn means_divide_by_the_number_of_elements() {
    let x = tensor(&[3, 4, 5], 2);
    let (shape, sum) = reduced(&x, &[0, 2], 0.0, |a, b| a + b);
    let want: Vec<f64> = sum.iter().map(|s| s / 15.0).collect();
    check_forward(std::slice::from_ref(&x), &shape, &want, |_, x| {
        x[0].mean(&[0, 2])
    });
    check_gradients(&[x], |_, x| x[0].mean(&[0, 2]) * x[0].mean_all());
}

fn log_softmax(x: &Tensor) -> Vec<f64> {
    let classes = *x.shape.last().unwrap();
    let row = |row: &[f64]| {
        let sum: f64 = row.iter().map(|x| x.exp()).sum();
        row.iter().map(|x| x - sum.ln()).collect::<Vec<f64>>()
    };
    x.to_f64().chunks(classes).flat_map(row).collect()
}

#[test]
fn softmax_and_its_logarithm_run_over_the_last_axis() {
    for shape in [vec![5], vec![4, 1], vec![2, 3, 10], vec![4_001, 10]] {
        let x = tensor(&shape, 3);
        let log = log_softmax(&x);
        let plain: Vec<f64> = log.iter().map(|x| x.exp()).collect();
        let inputs = std::slice::from_ref(&x);
        check_forward(inputs, &shape, &log, |_, x| x[0].log_softmax());
        check_forward(inputs, &shape, &plain, |_, x| x[0].softmax());
        if x.len() < 100 {
            check_gradients(inputs, |_, x| x[0].log_softmax());
            check_gradients(inputs, |_, x| x[0].softmax());
        }
    }
}

#[test]
fn softmax_and_its_logarithm_run_along_any_axis() {
    let shape = [2, 3, 4];
    let x = tensor(&shape, 21);
    let values = x.to_f64();
    for axis in 0..3 {
        let stride: usize = shape[axis + 1..].iter().product();
        let log: Vec<f64> = (0..values.len())
            .map(|at| {
                let first = at - at / stride % shape[axis] * stride;
                let along = (0..shape[axis]).map(|k| values[first + k * stride].exp());
                values[at] - along.sum::<f64>().ln()
            })
            .collect();
        let plain: Vec<f64> = log.iter().map(|x| x.exp()).collect();
        let inputs = std::slice::from_ref(&x);
        check_forward(inputs, &shape, &log, |_, x| x[0].log_softmax_along(axis));
        check_forward(inputs, &shape, &plain, |_, x| x[0].softmax_along(axis));
        check_gradients(inputs, |_, x| x[0].log_softmax_along(axis));
        check_gradients(inputs, |_, x| x[0].softmax_along(axis));
    }
}

#[test]
fn large_scores_do_not_overflow_in_a_softmax() {
    let x = Tensor::f32([1, 3], [1000.0, 999.0, -1000.0]);
    let got = compute(&[x], |_, x: &[Var]| x[0].softmax()).to_f64();
    assert!(
        (got[0] - 0.731_058_6).abs() < 1e-6 && got[2] == 0.0,
        "{got:?}"
    );
}
