//! Products over time with a lag for each weight, against plain loops.

use crate::harness::{
    check_forward, check_gradients, compute, for_any_number_of_threads, numbers, tensor,
};
use spikelet_graph::{DType, Tensor};

/// Whole numbers from 0 to `most`.
fn lags(shape: [usize; 2], most: usize, seed: u64) -> Tensor {
    let all = numbers(shape[0] * shape[1], seed);
    let lag = all.iter().map(|x| ((x + 1.0) / 2.0 * most as f64).round());
    Tensor::f64(shape, lag.collect::<Vec<_>>())
}

/// A sequence with zeros, and inputs that are silent.
fn spikes([rows, batch, inputs]: [usize; 3], seed: u64) -> Tensor {
    let all = numbers(rows * batch * inputs, seed);
    let value = |(k, x): (usize, f64)| {
        if x < 0.3 || k % inputs % 7 == 3 {
            0.0
        } else {
            x
        }
    };
    let all: Vec<f64> = all.into_iter().enumerate().map(value).collect();
    Tensor::f64([rows, batch, inputs], all)
}

/// Spikes, of which a few time steps have many and the others few.
fn binary([rows, batch, inputs]: [usize; 3], seed: u64) -> Tensor {
    let all = numbers(rows * batch * inputs, seed);
    let value = |(k, x): (usize, f64)| {
        let least = if k / inputs / batch % 40 < 5 {
            0.2
        } else {
            0.97
        };
        f64::from(u8::from(x > least))
    };
    let all: Vec<f64> = all.into_iter().enumerate().map(value).collect();
    Tensor::f64([rows, batch, inputs], all)
}

/// Lags, time steps, batch, inputs, outputs.
const SIZES: [[usize; 5]; 9] = [
    [0, 1, 1, 1, 1],
    [3, 5, 2, 4, 3],
    [24, 1, 3, 20, 17],
    [24, 130, 2, 60, 33],
    [7, 64, 1, 100, 5],
    [1, 65, 2, 3, 70],
    [200, 20, 1, 9, 4],
    [5, 16, 2, 49, 2],
    [300, 30, 1, 7, 5],
];

#[test]
fn products_with_a_lag_for_each_weight_are_those_of_plain_loops() {
    for ([most, steps, batch, inputs, outputs], make) in (SIZES.into_iter()).flat_map(|sizes| {
        [spikes, binary].map(|make| (sizes, make as fn([usize; 3], u64) -> Tensor))
    }) {
        let x = make([most + steps, batch, inputs], 1);
        let (weight, lag) = (
            tensor(&[inputs, outputs], 2),
            lags([inputs, outputs], most, 3),
        );
        let (xs, ws, ls) = (x.to_f64(), weight.to_f64(), lag.to_f64());
        let mut y = vec![];
        for at in 0..steps * batch * outputs {
            let (t, n, o) = (at / outputs / batch, at / outputs % batch, at % outputs);
            let term = |i: usize| {
                let row = t + most - ls[i * outputs + o] as usize;
                ws[i * outputs + o] * xs[(row * batch + n) * inputs + i]
            };
            y.push((0..inputs).map(term).sum());
        }
        let given = [x, weight, lag];
        check_forward(&given, &[steps, batch, outputs], &y, |_, v| {
            v[0].delayed_matmul(&v[1], &v[2], most)
        });
    }
}

#[test]
fn their_gradients_are_those_of_finite_differences() {
    for [most, steps, batch, inputs, outputs] in [[0, 2, 1, 2, 1], [3, 5, 2, 4, 3], [6, 1, 2, 2, 3]]
    {
        let x = tensor(&[most + steps, batch, inputs], 1);
        let (weight, lag) = (
            tensor(&[inputs, outputs], 2),
            lags([inputs, outputs], most, 3),
        );
        check_gradients(&[x, weight, lag], |_, v| {
            v[0].delayed_matmul(&v[1], &v[2], most)
        });
    }
}

#[test]
fn their_bits_depend_neither_on_threads_nor_on_the_number_of_steps() {
    let [most, steps, batch, inputs, outputs] = [24, 90, 3, 60, 33];
    for make in [spikes, binary] {
        let x = make([most + steps, batch, inputs], 1);
        let (weight, lag) = (
            tensor(&[inputs, outputs], 2),
            lags([inputs, outputs], most, 3),
        );
        let given = [x, weight, lag].map(|t| t.cast(DType::F32));
        for_any_number_of_threads(&given, |_, v| vec![v[0].delayed_matmul(&v[1], &v[2], most)]);
        let whole = compute(&given, |_, v| v[0].delayed_matmul(&v[1], &v[2], most));
        for part in [1, 7, 64] {
            for first in (0..steps).step_by(part) {
                let last = (first + part).min(steps);
                let found = compute(&given, |_, v| {
                    let window = v[0].slice(0, first..last + most);
                    window.delayed_matmul(&v[1], &v[2], most)
                });
                let row = batch * outputs;
                let expected = &whole.to_f64()[first * row..last * row];
                assert_eq!(found.to_f64(), expected, "steps {first} to {last}");
            }
        }
    }
}

#[test]
fn lags_outside_the_window_are_clamped() {
    let x = tensor(&[5, 1, 3], 1);
    let weight = Tensor::f64([3, 1], [1.0, 10.0, 100.0]);
    let lag = Tensor::f64([3, 1], [-7.0, 1e30, f64::NAN]);
    let xs = x.to_f64();
    let y = compute(&[x, weight, lag], |_, v| {
        v[0].delayed_matmul(&v[1], &v[2], 3)
    });
    let expected = |t: usize| xs[(t + 3) * 3] + 10.0 * xs[t * 3 + 1] + 100.0 * xs[(t + 3) * 3 + 2];
    for (t, y) in y.to_f64().iter().enumerate() {
        assert!((y - expected(t)).abs() < 1e-12);
    }
}
