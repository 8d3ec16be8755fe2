//! Matrix products.

use crate::harness::{SUMS, data, gpu, same, same_on, tensor, thorough};
use spikelet_graph::Tensor;
use spikelet_graph::op::{MatMul, MatmulPrecision};

const TRANSPOSES: [(bool, bool); 4] = [(false, false), (false, true), (true, false), (true, true)];

fn operands(m: usize, n: usize, k: usize, (ta, tb): (bool, bool)) -> [Tensor; 2] {
    let a = if ta { [k, m] } else { [m, k] };
    let b = if tb { [n, k] } else { [k, n] };
    [
        tensor(&a, (m + 7 * k) as u64),
        tensor(&b, (n + 5 * k) as u64),
    ]
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn products_of_all_sizes_and_transposes_agree() {
    let gpu = gpu();
    let mut sizes = vec![
        [1, 1, 1],
        [1, 1, 1000],
        [1, 17, 3],
        [3, 1, 17],
        [17, 3, 1],
        [3, 17, 64],
        [64, 64, 64],
        [129, 3, 17],
        [17, 129, 1000],
        [64, 1000, 129],
        [129, 129, 129],
        [1000, 1, 1000],
    ];
    if thorough() {
        sizes.extend([
            [1000, 64, 17],
            [1000, 129, 1000],
            [1000, 1000, 1000],
            [3, 5, 70_000],
        ]);
    }
    for [m, n, k] in sizes {
        for transposes in TRANSPOSES {
            let [a, b] = operands(m, n, k, transposes);
            let inputs = [("a", a.clone()), ("b", b.clone())];
            same_on(
                &gpu,
                &inputs,
                |_| SUMS,
                |tracer| {
                    let (a, b) = (data(tracer, "a", &a), data(tracer, "b", &b));
                    let op = MatMul::new(transposes.0, transposes.1);
                    tracer.output("y", &tracer.apply1(op, &[&a, &b]));
                },
            );
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_linear_layer_over_time_and_its_gradients_agree() {
    let gpu = gpu();
    for [time, batch, inputs, outputs] in [[1, 1, 3, 1], [7, 3, 17, 10], [20, 16, 129, 64]] {
        let x = tensor(&[time, batch, inputs], 1);
        let w = tensor(&[outputs, inputs], 2);
        let g = tensor(&[time, batch, outputs], 3);
        let given = [("x", x.clone()), ("w", w.clone()), ("g", g.clone())];
        same_on(
            &gpu,
            &given,
            |_| SUMS,
            |tracer| {
                let [x, w, g] = [("x", &x), ("w", &w), ("g", &g)].map(|(n, t)| data(tracer, n, t));
                let y = x.linear(&w);
                let grads = tracer.gradients_given(&[(&y, &g)], &[&x, &w]);
                tracer.output("y", &y);
                tracer.output("dx", &grads[0]);
                tracer.output("dw", &grads[1]);
            },
        );
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_product_over_no_features_is_zero_and_one_without_rows_is_empty() {
    let gpu = gpu();
    for [m, n, k] in [[3, 4, 0], [0, 4, 5], [3, 0, 5], [0, 0, 0]] {
        let [a, b] = operands(m, n, k, (false, true));
        let inputs = [("a", a.clone()), ("b", b.clone())];
        same_on(
            &gpu,
            &inputs,
            |_| SUMS,
            |tracer| {
                let (a, b) = (data(tracer, "a", &a), data(tracer, "b", &b));
                let y = a.linear(&b);
                tracer.output("y", &y);
                // Its memory is used again: zeros must be written at every run.
                tracer.output("z", &(y.exp().exp() - 1.0));
            },
        );
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn products_feed_products_and_share_their_scratch_memory() {
    let (x, w) = (tensor(&[65, 96], 4), tensor(&[96, 96], 5));
    let inputs = [("x", x.clone()), ("w", w.clone())];
    same(&inputs, SUMS, |tracer| {
        let (x, w) = (data(tracer, "x", &x), data(tracer, "w", &w));
        let mut y = x;
        for _ in 0..6 {
            y = y.linear(&w) * 0.1;
        }
        tracer.output("y", &y);
    });
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn fewer_digits_are_near_and_only_where_they_were_asked_for() {
    let [a, b] = operands(129, 65, 500, (false, true));
    let inputs = [("a", a.clone()), ("b", b.clone())];
    let near = |name: &str| match name {
        "tf32" => crate::harness::Near::OfLargest(2e-3),
        _ => SUMS,
    };
    crate::harness::same_by(&inputs, near, |tracer| {
        let (a, b) = (data(tracer, "a", &a), data(tracer, "b", &b));
        let op = MatMul::new(false, true);
        tracer.output("full", &tracer.apply1(op, &[&a, &b]));
        let precision = MatmulPrecision::Tf32;
        tracer.output(
            "tf32",
            &tracer.apply1(MatMul { precision, ..op }, &[&a, &b]),
        );
    });
}
