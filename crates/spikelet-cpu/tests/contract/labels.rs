//! Class numbers and scores.

use crate::harness::{check_gradients, compute, tensor};
use spikelet_graph::{DType, Tensor};

#[test]
fn one_hot_rows_have_a_one_at_the_label_and_none_for_a_label_outside() {
    let labels = Tensor::i64([2, 3], [0, 2, 1, -1, 3, 2]);
    let got = compute(&[labels, tensor(&[1], 1)], |_, x| x[0].one_hot(3));
    let rows = [
        [1, 0, 0],
        [0, 0, 1],
        [0, 1, 0],
        [0, 0, 0],
        [0, 0, 0],
        [0, 0, 1],
    ];
    let want: Vec<f64> = rows.concat().into_iter().map(f64::from).collect();
    assert_eq!(got, Tensor::f64([2, 3, 3], want));
}

#[test]
fn one_hot_rows_of_an_ignored_label_are_zeros() {
    let labels = Tensor::i64([4], [0, 2, 1, 255]);
    for (ignored, rows) in [
        (2, [[1, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 0]]),
        (255, [[1, 0, 0], [0, 0, 1], [0, 1, 0], [0, 0, 0]]),
    ] {
        let given = [labels.clone(), tensor(&[1], 1)];
        let got = compute(&given, |_, x| x[0].one_hot_ignoring(3, Some(ignored)));
        let want: Vec<f64> = rows.concat().into_iter().map(f64::from).collect();
        assert_eq!(got, Tensor::f64([4, 3], want));
    }
}

#[test]
fn argmax_and_argmin_run_along_any_axis() {
    // [2, 3, 2], with equal elements.
    let values = [1., 5., 3., 5., 3., 0., -1., 2., 4., 2., -1., 7.];
    let x = Tensor::f32([2, 3, 2], values);
    for (axis, shape, largest, smallest) in [
        (
            0,
            &[3, 2][..],
            vec![0, 0, 1, 0, 0, 1],
            vec![1, 1, 0, 1, 1, 0],
        ),
        (1, &[2, 2], vec![1, 0, 1, 2], vec![0, 2, 0, 0]),
        (2, &[2, 3], vec![1, 1, 0, 1, 0, 1], vec![0, 0, 1, 0, 1, 0]),
    ] {
        let inputs = [x.clone()];
        let expected = |values: Vec<i64>| Tensor::i64(shape, values);
        let got = compute(&inputs, |_, x| x[0].argmax_along(axis));
        assert_eq!(got, expected(largest), "axis {axis}");
        let got = compute(&inputs, |_, x| x[0].argmin_along(axis));
        assert_eq!(got, expected(smallest), "axis {axis}");
    }
}

#[test]
fn argmax_is_the_first_of_the_largest() {
    for dtype in [DType::F32, DType::F64] {
        let scores = Tensor::f64(
            [4, 3],
            [
                1.0, 3.0, 2.0, 5.0, 5.0, 1.0, -3.0, -2.0, -2.0, 0.0, 0.0, 0.0,
            ],
        );
        let got = compute(&[scores.cast(dtype)], |_, x| x[0].argmax());
        assert_eq!(got, Tensor::i64([4], [1, 0, 1, 0]));
    }
    let row = compute(&[tensor(&[1], 1)], |_, x| x[0].argmax());
    assert_eq!(row, Tensor::i64([], [0]));
}

#[test]
fn equality_counts_what_was_right() {
    let (a, b) = (
        Tensor::i64([4], [1, 2, 3, 4]),
        Tensor::i64([4], [1, 0, 3, 5]),
    );
    let got = compute(&[a.clone(), b.clone()], |_, x| x[0].equals(&x[1]));
    assert_eq!(got, Tensor::f64([4], [1.0, 0.0, 1.0, 0.0]));
    let count = compute(&[a, b], |_, x| x[0].equals(&x[1]).sum_all());
    assert_eq!(count, Tensor::f64([], [2.0]));
}

#[test]
fn cross_entropy_has_its_gradient() {
    let labels = Tensor::i64([4], [2, 0, 1, 1]);
    check_gradients(&[tensor(&[4, 3], 1), labels], |_, x| {
        let picked = (x[0].log_softmax() * x[1].one_hot(3)).sum(&[1]);
        -picked.mean_all()
    });
}
