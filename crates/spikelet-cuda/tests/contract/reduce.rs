//! Sums and maxima.

use crate::harness::{
    Near, SUMS, data, gpu, numbers, same, same_by, same_on, scaled, tensor, thorough,
};
use spikelet_graph::Tensor;

/// A maximum has one right result, a sum many.
fn near(name: &str) -> Near {
    match name.split(' ').next() {
        Some("max") => Near::OfLargest(0.0),
        _ => SUMS,
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn every_choice_of_axes_of_a_tensor_with_four_agrees() {
    let gpu = gpu();
    for shape in [[3, 4, 5, 6], [1, 4, 1, 6], [3, 1, 5, 1], [7, 2, 40, 33]] {
        let x = scaled(&shape, 1, 1.0, 0.25);
        same_on(&gpu, &[("x", x.clone())], near, |tracer| {
            let x = data(tracer, "x", &x);
            for chosen in 0..16_usize {
                let axes: Vec<usize> = (0..4).filter(|k| chosen >> k & 1 == 1).collect();
                tracer.output(&format!("sum {axes:?}"), &x.sum(&axes));
                tracer.output(&format!("max {axes:?}"), &x.max(&axes));
            }
        });
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn long_rows_and_columns_go_in_two_rounds() {
    let gpu = gpu();
    let shapes: &[[usize; 2]] = &[
        [1, 100_000],
        [3, 100_000],
        [100_000, 3],
        [100_000, 1],
        [2047, 129],
        [129, 2049],
        [64, 4096],
        [1, 65],
    ];
    for &shape in shapes {
        let x = scaled(&shape, 2, 1.0, 0.1);
        same_on(&gpu, &[("x", x.clone())], near, |tracer| {
            let x = data(tracer, "x", &x);
            tracer.output("sum rows", &x.sum(&[1]));
            tracer.output("sum columns", &x.sum(&[0]));
            tracer.output("sum all", &x.sum_all());
            tracer.output("max rows", &x.max(&[1]));
            tracer.output("max columns", &x.max(&[0]));
            tracer.output("max all", &x.max(&[0, 1]));
        });
        if !thorough() {
            break;
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_batch_and_time_are_summed_for_a_bias() {
    let (time, batch, features) = if thorough() {
        (50, 256, 196)
    } else {
        (5, 16, 20)
    };
    let x = scaled(&[time, batch, features], 3, 1.0, 0.05);
    same_by(&[("x", x.clone())], near, |tracer| {
        let x = data(tracer, "x", &x);
        tracer.output("sum bias", &x.sum(&[0, 1]));
        tracer.output("sum rate", &x.mean(&[0]));
        tracer.output("sum image", &x.sum(&[0, 2]));
    });
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn what_is_no_number_or_without_end_goes_through_a_maximum_as_on_the_cpu() {
    let special = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 1e-45];
    let (rows, columns) = (40, 100);
    let mut values = numbers(rows * columns, 4);
    for (k, &x) in special.iter().enumerate() {
        values[k * columns] = x;
        values[(k + 8) * columns + columns - 1] = x;
        values[(k + 16) * columns + 50] = x;
        values[(k + 24) * columns..(k + 25) * columns].fill(x);
    }
    let x = Tensor::f32([rows, columns], values);
    same(&[("x", x.clone())], Near::OfLargest(0.0), |tracer| {
        let x = data(tracer, "x", &x);
        tracer.output("rows", &x.max(&[1]));
        tracer.output("columns", &x.max(&[0]));
        tracer.output("all", &x.max(&[0, 1]));
        // What runs in two rounds has its own way through NaN.
        tracer.output("finite", &x.slice(0, 33..40).max(&[0, 1]));
    });
    let mut long = numbers(100_000, 5);
    long[77_777] = f32::NAN;
    let long = Tensor::f32([100_000], long);
    same(&[("x", long.clone())], Near::Bits, |tracer| {
        tracer.output("all", &data(tracer, "x", &long).max(&[0]));
    });
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_sum_over_an_empty_axis_is_zero() {
    let x = tensor(&[3, 0, 4], 6);
    same(&[("x", x.clone())], Near::Bits, |tracer| {
        let x = data(tracer, "x", &x);
        tracer.output("axis", &x.sum(&[1]));
        tracer.output("all", &x.sum_all());
        tracer.output("none", &x.sum(&[0]));
    });
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn gradients_of_sums_and_maxima_agree() {
    // Equal largest elements share the gradient.
    let values: Vec<f32> = numbers(9 * 40 * 11, 7)
        .iter()
        .map(|x| (x * 4.0).round())
        .collect();
    let x = Tensor::f32([9, 40, 11], values);
    same(&[("x", x.clone())], SUMS, |tracer| {
        let x = data(tracer, "x", &x);
        let of_max = tracer.gradients(&x.max(&[1]).square().sum_all(), &[&x]);
        let of_sum = tracer.gradients(&x.sum(&[0, 2]).square().sum_all(), &[&x]);
        tracer.output("of max", &of_max[0]);
        tracer.output("of sum", &of_sum[0]);
    });
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn products_along_any_axis_and_their_gradients_agree() {
    for shape in [[3, 7, 33], [20, 64, 100]] {
        let x = scaled(&shape, 4, 1.0, 0.5);
        same_by(&[("x", x.clone())], near, |tracer| {
            let x = data(tracer, "x", &x);
            for axis in 0..3 {
                let y = x.cumprod(axis);
                let grads = tracer.gradients(&y.square().sum_all(), &[&x]);
                tracer.output(&format!("product {axis}"), &y);
                tracer.output(&format!("gradient {axis}"), &grads[0]);
            }
        });
    }
}
