//! Selection by indices, the largest elements, and products of many matrices: as on the CPU.

use crate::harness::{Near, SUMS, data, gpu, numbers, same, same_by, same_on, scaled, tensor};
use spikelet_graph::{Precision, Tensor};

/// Indices below `n`, many of them equal.
fn indices(shape: &[usize], n: usize, seed: u64) -> Tensor {
    let values = numbers(shape.iter().product(), seed);
    let one = |x: f32| ((x + 1.0) / 2.0 * n as f32) as i64;
    let values: Vec<i64> = values
        .into_iter()
        .map(|x| one(x).min(n as i64 - 1))
        .collect();
    Tensor::i64(shape, values)
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn selected_slices_and_their_gradients_have_the_bits_of_the_cpu() {
    let gpu = gpu();
    // A row of a table of 1; rows that fill a lane's registers and more; blocks with few rows; one
    // row that gets most of the gradient.
    for (n, inner, count) in [
        (1, 3, 700),
        (7, 1, 1000),
        (300, 64, 513),
        (9, 1000, 40),
        (1000, 129, 3),
    ] {
        let table = tensor(&[n, inner], 1);
        let at = indices(&[count], n, 2);
        let inputs = [("table", table.clone()), ("at", at.clone())];
        same_on(
            &gpu,
            &inputs,
            |_| Near::Bits,
            |tracer| {
                let (table, at) = (data(tracer, "table", &table), data(tracer, "at", &at));
                let y = at.embedding(&table);
                let scale = tracer.fill(table.ty().dtype, [], 0.5);
                let loss = (y.square() * scale).sum_all();
                tracer.output("y", &y);
                let grad = tracer.gradients(&loss, &[&table]).remove(0);
                tracer.output("grad", &grad);
            },
        );
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn slices_and_elements_along_every_axis_have_the_bits_of_the_cpu() {
    let gpu = gpu();
    let dims = [6, 11, 9];
    let x = tensor(&dims, 3);
    for axis in 0..3 {
        for count in [0, 1, 5, 20] {
            let mut shape = dims;
            shape[axis] = count;
            let slices = indices(&[count, 2], dims[axis], 4);
            let elements = indices(&shape, dims[axis], 5);
            let inputs = [
                ("x", x.clone()),
                ("slices", slices.clone()),
                ("elements", elements.clone()),
            ];
            same_on(
                &gpu,
                &inputs,
                |_| Near::Bits,
                |tracer| {
                    let x = data(tracer, "x", &x);
                    let slices = x.index_select(axis, &data(tracer, "slices", &slices));
                    let elements = x.gather(axis, &data(tracer, "elements", &elements));
                    for (name, y) in [("slices", slices), ("elements", elements)] {
                        let name = format!("y {name}");
                        tracer.output(&name, &y);
                        let dx = tracer.gradients(&y.square().sum_all(), &[&x]).remove(0);
                        tracer.output(&format!("d {name}"), &dx);
                    }
                },
            );
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn indices_outside_the_axis_are_limited_to_it() {
    let wrong = Tensor::i64([6], [-1, i64::MIN, 3, i64::MAX, 4_294_967_297, 1]);
    let (table, labels) = (tensor(&[3, 2], 1), Tensor::i64([3], [5, 1 << 40, -7]));
    let inputs = [
        ("wrong", wrong.clone()),
        ("table", table.clone()),
        ("labels", labels.clone()),
    ];
    same(&inputs, Near::Bits, |tracer| {
        let (wrong, table) = (data(tracer, "wrong", &wrong), data(tracer, "table", &table));
        let rows = wrong.embedding(&table);
        let at = wrong.unsqueeze(1).expand([6, 2]);
        let picked = table.gather(0, &at);
        let loss = rows.square().sum_all() + picked.square().sum_all();
        tracer.output("rows", &rows);
        tracer.output("picked", &picked);
        tracer.output(
            "labels",
            &data(tracer, "labels", &labels).index_select(0, &wrong),
        );
        let grad = tracer.gradients(&loss, &[&table]).remove(0);
        tracer.output("grad", &grad);
    });
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn the_largest_elements_and_their_gradients_have_the_bits_of_the_cpu() {
    let gpu = gpu();
    for (rows, columns) in [(1, 1), (37, 10), (5, 33), (3, 1000)] {
        let values = numbers(rows * columns, columns as u64);
        // Few distinct values: many are equal.
        let mut values: Vec<f32> = values.iter().map(|x| (x * 3.0).round()).collect();
        values[columns / 2] = f32::NAN;
        values[rows * columns - 1] = f32::NAN;
        values[0] = f32::NEG_INFINITY;
        let x = Tensor::f32([rows, columns], values);
        for k in [1, columns.min(5), columns] {
            same_on(
                &gpu,
                &[("x", x.clone())],
                |_| Near::Bits,
                |tracer| {
                    let x = data(tracer, "x", &x);
                    let [values, at] = x.topk(k);
                    tracer.output("values", &values);
                    tracer.output("at", &at);
                    let weights = values.relu();
                    let dx = tracer.gradients(&weights.sum_all(), &[&x]).remove(0);
                    tracer.output("dx", &dx);
                },
            );
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn products_of_many_matrices_agree_with_the_cpu() {
    let gpu = gpu();
    for (m, k, n) in [(2, 3, 4), (64, 32, 64), (1, 5, 1), (33, 20, 17), (4, 0, 3)] {
        let (a, b) = (tensor(&[2, 3, m, k], 1), tensor(&[3, k, n], 2));
        let inputs = [("a", a.clone()), ("b", b.clone())];
        for precision in [Precision::F32, Precision::Bf16] {
            let near = match precision {
                Precision::F32 => SUMS,
                _ => Near::OfLargest(1.0 / 64.0),
            };
            same_on(
                &gpu,
                &inputs,
                |_| near,
                |tracer| {
                    tracer.set_precision(precision);
                    let (a, b) = (data(tracer, "a", &a), data(tracer, "b", &b));
                    let y = a.bmm(&b);
                    let grads = tracer.gradients(&y.square().sum_all(), &[&a, &b]);
                    tracer.output("y", &y);
                    tracer.output("da", &grads[0]);
                    tracer.output("db", &grads[1]);
                },
            );
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_step_with_embedding_attention_and_a_choice_of_the_largest_agrees_with_the_cpu() {
    let table = scaled(&[50, 32], 1, 0.3, 0.0);
    let tokens = indices(&[6, 4, 12], 50, 2);
    let labels = indices(&[4], 32, 3);
    let inputs = [
        ("table", table.clone()),
        ("tokens", tokens.clone()),
        ("labels", labels.clone()),
    ];
    let near = |name: &str| match name {
        "best" => Near::Bits,
        _ => SUMS,
    };
    same_by(&inputs, near, |tracer| {
        let table = data(tracer, "table", &table);
        let (tokens, labels) = (
            data(tracer, "tokens", &tokens),
            data(tracer, "labels", &labels),
        );
        let x = tokens.embedding(&table).cumsum(0);
        let scores = x.bmm(&x.transpose(2, 3)) / 6.0;
        let y = scores.softmax().bmm(&x).mean(&[0, 2]);
        let picked = y.log_softmax().gather(1, &labels.unsqueeze(1));
        let [most, best] = y.topk(3);
        let loss = most.square().mean_all() - picked.mean_all();
        let grad = tracer.gradients(&loss, &[&table]).remove(0);
        tracer.output("loss", &loss);
        tracer.output("best", &best);
        tracer.output("grad", &grad);
    });
}
