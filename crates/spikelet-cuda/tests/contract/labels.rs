//! One-hot, arg max, equality, and the logarithm of the softmax.

use crate::harness::{Near, SUMS, data, gpu, numbers, same, same_on, scaled, tensor};
use spikelet_graph::Tensor;

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn one_hot_rows_of_labels_outside_the_classes_are_zero() {
    let label = Tensor::i64(
        [2, 5],
        [0, 9, 3, -1, 10, 4_294_967_296, 7, i64::MIN, 1, i64::MAX],
    );
    same(&[("label", label.clone())], Near::Bits, |tracer| {
        let label = data(tracer, "label", &label);
        tracer.output("ten", &label.one_hot(10));
        tracer.output("one", &label.one_hot(1));
        tracer.output("many", &label.one_hot(300));
        for ignored in [3, 10, -1] {
            let hot = label.one_hot_ignoring(10, Some(ignored));
            tracer.output(&format!("without {ignored}"), &hot);
        }
    });
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn arg_max_is_the_first_of_the_largest_scores() {
    let gpu = gpu();
    for classes in [1, 2, 10, 31, 32, 33, 64, 100, 1000] {
        let rows = 37;
        // Few distinct values: many ties.
        let values = numbers(rows * classes, classes as u64);
        let mut values: Vec<f32> = values.iter().map(|x| (x * 3.0).round()).collect();
        for (row, special) in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY]
            .into_iter()
            .enumerate()
        {
            values[row * classes] = special;
            values[(row + 4) * classes + classes / 2] = special;
            values[(row + 8) * classes + classes - 1] = special;
            values[(row + 12) * classes..(row + 13) * classes].fill(special);
        }
        let x = Tensor::f32([rows, classes], values);
        same_on(
            &gpu,
            &[("x", x.clone())],
            |_| Near::Bits,
            |tracer| {
                tracer.output("at", &data(tracer, "x", &x).argmax());
            },
        );
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn arg_max_of_many_rows() {
    let x = tensor(&[70, 300, 10], 1);
    same(&[("x", x.clone())], Near::Bits, |tracer| {
        tracer.output("at", &data(tracer, "x", &x).argmax());
    });
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn equal_labels_are_one() {
    let a: Vec<i64> = (0..999).map(|k| k % 7).collect();
    let b: Vec<i64> = (0..999).map(|k| k % 5 + (k % 3) * 0x1_0000_0000).collect();
    let (a, b) = (Tensor::i64([999], a), Tensor::i64([999], b));
    let inputs = [("a", a.clone()), ("b", b.clone())];
    same(&inputs, Near::Bits, |tracer| {
        let (a, b) = (data(tracer, "a", &a), data(tracer, "b", &b));
        tracer.output("equal", &a.equals(&b));
        tracer.output("itself", &a.equals(&a));
    });
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn log_softmax_and_its_gradient_agree_for_every_number_of_classes() {
    let gpu = gpu();
    for classes in [1, 2, 10, 31, 32, 33, 100, 1000, 5000] {
        let x = scaled(&[3, 7, classes], classes as u64, 10.0, 3.0);
        let g = tensor(&[3, 7, classes], 9);
        let inputs = [("x", x.clone()), ("g", g.clone())];
        same_on(
            &gpu,
            &inputs,
            |_| SUMS,
            |tracer| {
                let (x, g) = (data(tracer, "x", &x), data(tracer, "g", &g));
                let y = x.log_softmax();
                let dx = tracer.gradients_given(&[(&y, &g)], &[&x]).remove(0);
                tracer.output("y", &y);
                tracer.output("dx", &dx);
            },
        );
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn nan_and_infinite_scores_have_the_log_softmax_of_the_cpu() {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let rows = [
        [1.0, 2.0, nan],
        [nan, 2.0, 1.0],
        [inf, 1.0, 0.0],
        [-inf, 1.0, 0.0],
        [-inf, -inf, -inf],
        [inf, inf, 0.0],
        [1e38, -1e38, 0.0],
        [0.0, -0.0, 1e-40],
    ];
    let x = Tensor::f32([8, 3], rows.concat());
    // The largest finite score is huge, so the rows are compared one by one.
    same(&[("x", x.clone())], SUMS, |tracer| {
        let x = data(tracer, "x", &x);
        for row in 0..8 {
            tracer.output(
                &format!("row {row}"),
                &x.slice(0, row..row + 1).log_softmax(),
            );
        }
    });
}
