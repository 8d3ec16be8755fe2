//! Minima, variances, norms, logarithms of sums, running sums.

use crate::harness::{
    check_forward, check_gradients, compute, for_any_number_of_threads, index, tensor,
};
use spikelet_graph::{DType, Tensor, Var};

/// The elements of each group that a reduction over `axes` folds, in order.
fn groups(x: &Tensor, axes: &[usize]) -> (Vec<usize>, Vec<Vec<f64>>) {
    let kept: Vec<usize> = (0..x.shape.len()).filter(|k| !axes.contains(k)).collect();
    let shape: Vec<usize> = kept.iter().map(|&k| x.shape[k]).collect();
    let mut groups = vec![vec![]; shape.iter().product()];
    for (i, value) in x.to_f64().into_iter().enumerate() {
        let at = index(i, &x.shape);
        let to = kept.iter().fold(0, |to, &k| to * x.shape[k] + at[k]);
        groups[to].push(value);
    }
    (shape, groups)
}

fn check(axes: &[usize], function: impl Fn(&Var) -> Var, reference: impl Fn(&[f64]) -> f64) {
    let x = tensor(&[3, 4, 5], 8);
    let (shape, groups) = groups(&x, axes);
    let want: Vec<f64> = groups.iter().map(|group| reference(group)).collect();
    let inputs = std::slice::from_ref(&x);
    check_forward(inputs, &shape, &want, |_, x| function(&x[0]));
    check_gradients(inputs, |_, x| function(&x[0]));
}

fn variance(x: &[f64], correction: f64) -> f64 {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    let squares = x.iter().map(|x| (x - mean) * (x - mean));
    squares.sum::<f64>() / (x.len() as f64 - correction)
}

#[test]
fn statistics_over_axes_have_their_values_and_gradients() {
    for axes in [&[0][..], &[1], &[2], &[0, 2], &[1, 2], &[0, 1, 2]] {
        check(
            axes,
            |x| x.min(axes),
            |x| x.iter().fold(f64::INFINITY, |a, b| a.min(*b)),
        );
        check(axes, |x| x.var(axes, 0), |x| variance(x, 0.0));
        check(axes, |x| x.std(axes, 1), |x| variance(x, 1.0).sqrt());
        check(
            axes,
            |x| x.norm(axes),
            |x| x.iter().map(|x| x * x).sum::<f64>().sqrt(),
        );
        check(
            axes,
            |x| x.log_sum_exp(axes),
            |x| x.iter().map(|x| x.exp()).sum::<f64>().ln(),
        );
    }
    check(&[0, 1, 2], Var::max_all, |x| {
        x.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b))
    });
    check(&[0, 1, 2], Var::min_all, |x| {
        x.iter().fold(f64::INFINITY, |a, b| a.min(*b))
    });
}

#[test]
fn norms_and_deviations_of_constants_have_the_gradient_zero() {
    let zero = Tensor::f64([2, 3], [0.0, 0.0, 0.0, 5.0, 5.0, 5.0]);
    let functions: [fn(&Var) -> Var; 2] = [|x| x.norm(&[1]).slice(0, 0..1), |x| x.std(&[1], 1)];
    for function in functions {
        let gradient = compute(std::slice::from_ref(&zero), |tracer, x| {
            tracer
                .gradients(&function(&x[0]).sum_all(), &[&x[0]])
                .remove(0)
        });
        assert_eq!(gradient.to_f64(), [0.0; 6]);
    }
}

#[test]
fn a_large_or_infinite_element_does_not_overflow_in_a_logarithm_of_a_sum() {
    let (inf, minus) = (f32::INFINITY, f32::NEG_INFINITY);
    let x = Tensor::f32([4, 2], [1000.0, 1000.0, minus, minus, minus, 3.0, inf, 1.0]);
    let y = compute(&[x], |_, x| x[0].log_sum_exp(&[1])).to_f64();
    assert!((y[0] - 1000.0 - 2.0_f64.ln()).abs() < 1e-4, "{y:?}");
    assert_eq!(y[1..], [f64::NEG_INFINITY, 3.0, f64::INFINITY]);
}

fn running(x: &Tensor, axis: usize) -> Vec<f64> {
    let inner: usize = x.shape[axis + 1..].iter().product();
    let mut sums = x.to_f64();
    for i in inner..sums.len() {
        if !(i / inner).is_multiple_of(x.shape[axis]) {
            sums[i] += sums[i - inner];
        }
    }
    sums
}

#[test]
fn running_sums_along_any_axis() {
    for shape in [&[7][..], &[5, 3], &[1, 4], &[3, 4, 5], &[2, 3, 2, 3]] {
        for axis in 0..shape.len() {
            let x = tensor(shape, 4);
            let inputs = std::slice::from_ref(&x);
            check_forward(inputs, shape, &running(&x, axis), |_, x| x[0].cumsum(axis));
            check_gradients(inputs, |_, x| x[0].cumsum(axis).square());
        }
    }
    check_forward(&[tensor(&[0, 3], 1)], &[0, 3], &[], |_, x| x[0].cumsum(0));
    for_any_number_of_threads(&[tensor(&[9, 6000], 2).cast(DType::F32)], |_, x| {
        vec![x[0].cumsum(0), x[0].cumsum(1)]
    });
}
