//! Means and variances of channels.

use crate::harness::{check_forward, check_gradients, compute, for_any_number_of_threads, tensor};
use spikelet_graph::{DType, Tensor, Var};

/// Mean and variance of each channel, the straightforward way.
fn expected(x: &Tensor) -> Vec<f64> {
    let channels = *x.shape.last().unwrap();
    let values = x.to_f64();
    let rows = (values.len() / channels) as f64;
    let column = |c: usize| values[c..].iter().step_by(channels).copied();
    let means: Vec<f64> = (0..channels)
        .map(|c| column(c).sum::<f64>() / rows)
        .collect();
    let variance = |c: usize| column(c).map(|x| (x - means[c]).powi(2)).sum::<f64>() / rows;
    let variances: Vec<f64> = (0..channels).map(variance).collect();
    [means, variances].concat()
}

fn both(x: &Var) -> Var {
    let [mean, variance] = x.mean_var();
    Var::concat(&[&mean, &variance], 0)
}

#[test]
fn means_and_variances_are_those_of_all_axes_but_the_last() {
    for shape in [
        vec![1, 3],
        vec![5, 1],
        vec![2, 3, 4],
        vec![7, 5, 5, 17],
        vec![3, 5000],
        vec![2001, 3],
        vec![300, 70],
    ] {
        let x = tensor(&shape, 1);
        let channels = *shape.last().unwrap();
        check_forward(
            std::slice::from_ref(&x),
            &[2 * channels],
            &expected(&x),
            |_, v| both(&v[0]),
        );
    }
}

#[test]
fn long_columns_far_from_zero_are_summed_accurately() {
    let (rows, channels) = (100_000, 3);
    let values: Vec<f32> = tensor(&[rows, channels], 1)
        .to_f64()
        .iter()
        .enumerate()
        .map(|(k, x)| (x * 0.5 + [0.1, 30.0, -1000.0][k % channels]) as f32)
        .collect();
    let x = Tensor::f32([rows, channels], values);
    let want = expected(&x);
    let got = compute(&[x], |_, v| both(&v[0])).to_f64();
    for (got, want) in got.iter().zip(want) {
        assert!((got - want).abs() <= 1e-6 * want.abs(), "{got}, not {want}");
    }
}

#[test]
fn a_constant_channel_has_no_variance() {
    let x = Tensor::f32([5000, 1], vec![0.1_f32; 5000]);
    let got = compute(&[x], |_, v| both(&v[0])).to_f64();
    assert_eq!(got[0], f64::from(0.1_f32));
    assert!(got[1].abs() < 1e-15, "{got:?}");
}

#[test]
fn mean_var_have_gradients() {
    let x = [tensor(&[3, 4, 2], 1)];
    check_gradients(&x, |_, v| both(&v[0]));
    check_gradients(&x, |_, v| v[0].mean_var()[0].square());
    check_gradients(&x, |_, v| v[0].mean_var()[1].square());
    check_gradients(&x, |_, v| {
        let [mean, variance] = v[0].mean_var();
        (&v[0] - mean) / (variance + 1e-3).sqrt()
    });
}

#[test]
fn mean_var_give_the_same_bits_for_any_number_of_threads() {
    let x = [tensor(&[64, 14, 14, 33], 1).cast(DType::F32)];
    for_any_number_of_threads(&x, |_, v| v[0].mean_var().to_vec());
}
