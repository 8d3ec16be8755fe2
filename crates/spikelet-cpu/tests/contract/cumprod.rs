//! Running products.

use crate::harness::{check_forward, check_gradients, for_any_number_of_threads, tensor};
use spikelet_graph::{DType, Tensor};

/// The products along an axis, by a plain loop.
fn products(x: &Tensor, axis: usize) -> Vec<f64> {
    let mut y = x.to_f64();
    let inner: usize = x.shape[axis + 1..].iter().product();
    for at in 0..y.len() {
        if !(at / inner).is_multiple_of(x.shape[axis]) {
            y[at] *= y[at - inner];
        }
    }
    y
}

/// Elements near ±1, of which those at `zeros` are 0.
fn factors(shape: &[usize], zeros: &[usize]) -> Tensor {
    let mut values = tensor(shape, 5).to_f64();
    for x in &mut values {
        *x = x.signum() * (0.75 + 0.5 * x.abs());
    }
    for at in zeros {
        values[*at] = 0.0;
    }
    Tensor::f64(shape.to_vec(), values)
}

#[test]
fn products_run_along_any_axis() {
    for shape in [vec![6], vec![1, 4], vec![3, 4, 5], vec![2, 5, 1300]] {
        for axis in 0..shape.len() {
            let x = factors(&shape, &[3]);
            let want = products(&x, axis);
            check_forward(&[x], &shape, &want, |_, x| x[0].cumprod(axis));
        }
    }
    check_forward(&[tensor(&[2, 0, 3], 1)], &[2, 0, 3], &[], |_, x| {
        x[0].cumprod(1)
    });
}

#[test]
fn the_derivative_is_exact_with_zeros() {
    for axis in 0..3 {
        // No zero; one; two in one product; all.
        for zeros in [vec![], vec![7], vec![0, 1, 4, 12, 16], (0..24).collect()] {
            let x = factors(&[3, 4, 2], &zeros);
            check_gradients(&[x], |_, x| x[0].cumprod(axis));
        }
    }
    check_gradients(&[factors(&[5], &[2])], |_, x| x[0].cumprod(0));
    check_gradients(&[factors(&[4, 1], &[1])], |_, x| x[0].cumprod(1));
}

#[test]
fn it_has_a_second_derivative() {
    check_gradients(&[factors(&[4, 2], &[3])], |tracer, x| {
        let y = x[0].cumprod(0).square();
        tracer.gradients(&y.sum_all(), &[&x[0]]).remove(0)
    });
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    for dtype in [DType::F64, DType::F32, DType::F16, DType::BF16] {
        let x = factors(&[3, 7, 1500], &[40]).cast(dtype);
        for_any_number_of_threads(&[x], |_, x| vec![x[0].cumprod(1)]);
    }
}

#[test]
fn elements_of_16_bits_are_multiplied_in_f32() {
    for half in [DType::F16, DType::BF16] {
        let x = factors(&[20, 3], &[]).cast(half);
        let want = products(&x.cast(DType::F32), 0);
        let got = crate::harness::compute(&[x], |_, x| x[0].cumprod(0));
        let ulp = if half == DType::F16 { 1e-3 } else { 8e-3 };
        for (got, want) in got.to_f64().iter().zip(want) {
            assert!((got - want).abs() <= ulp * want.abs(), "{got}, not {want}");
        }
    }
}
