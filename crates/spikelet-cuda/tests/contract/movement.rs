//! Permutations, slices, concatenations, repetitions and constants: the same bits as on the CPU.

use crate::harness::{Near, data, gpu, same, same_on, tensor};
use spikelet_graph::{DType, Tensor, Var};

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn axes_in_any_order() {
    let gpu = gpu();
    let x = tensor(&[3, 4, 5, 6], 1);
    let flat = tensor(&[7, 33], 2);
    let inputs = [("x", x.clone()), ("flat", flat.clone())];
    same_on(
        &gpu,
        &inputs,
        |_| Near::Bits,
        |tracer| {
            let (x, flat) = (data(tracer, "x", &x), data(tracer, "flat", &flat));
            for order in [
                [0, 1, 2, 3],
                [3, 2, 1, 0],
                [1, 0, 2, 3],
                [0, 1, 3, 2],
                [2, 3, 0, 1],
                [0, 2, 1, 3],
                [1, 2, 3, 0],
            ] {
                tracer.output(&format!("{order:?}"), &x.permute(&order));
            }
            tracer.output("flat", &flat.permute(&[1, 0]));
        },
    );
    let wide = tensor(&[1000, 1, 513], 3);
    same_on(
        &gpu,
        &[("x", wide.clone())],
        |_| Near::Bits,
        |tracer| {
            let x = data(tracer, "x", &wide);
            tracer.output("y", &x.permute(&[2, 1, 0]));
        },
    );
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn ranges_of_every_axis() {
    let x = tensor(&[5, 6, 7], 4);
    same(&[("x", x.clone())], Near::Bits, |tracer| {
        let x = data(tracer, "x", &x);
        for (axis, range) in [
            (0, 0..5),
            (0, 1..3),
            (1, 5..6),
            (2, 2..7),
            (2, 0..1),
            (1, 3..3),
        ] {
            let name = format!("axis {axis}, {range:?}");
            tracer.output(&name, &x.slice(axis, range));
        }
        let part = x.slice(1, 2..5).slice(2, 3..6);
        let dx = tracer.gradients(&part.square().sum_all(), &[&x]).remove(0);
        tracer.output("dx", &dx);
    });
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn tensors_behind_each_other_along_every_axis() {
    let gpu = gpu();
    for axis in 0..3 {
        let part = |n: usize, seed: u64| {
            let mut shape = [3, 4, 5];
            shape[axis] = n;
            tensor(&shape, seed)
        };
        let parts = [part(2, 1), part(0, 2), part(1, 3), part(9, 4)];
        let names = ["a", "b", "c", "d"];
        let inputs: Vec<(&str, Tensor)> = names.into_iter().zip(parts.clone()).collect();
        same_on(
            &gpu,
            &inputs,
            |_| Near::Bits,
            |tracer| {
                let x: Vec<Var> = (names.iter().zip(&parts))
                    .map(|(name, t)| data(tracer, name, t))
                    .collect();
                let y = Var::concat(&x.iter().collect::<Vec<_>>(), axis);
                tracer.output("y", &y);
                let dx = tracer.gradients(&y.square().sum_all(), &[&x[0], &x[3]]);
                tracer.output("da", &dx[0]);
                tracer.output("dd", &dx[1]);
            },
        );
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn repetitions_along_every_axis_in_memory() {
    let gpu = gpu();
    let shapes: [&[usize]; 9] = [
        &[],
        &[1],
        &[5],
        &[4, 1],
        &[4, 5],
        &[3, 1, 1],
        &[1, 4, 1],
        &[3, 1, 5],
        &[3, 4, 1],
    ];
    for shape in shapes {
        let x = tensor(shape, 5);
        same_on(
            &gpu,
            &[("x", x.clone())],
            |_| Near::Bits,
            |tracer| {
                let x = data(tracer, "x", &x);
                tracer.output("y", &x.expand([3, 4, 5]));
            },
        );
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn constants_of_every_kind_and_type() {
    let gpu = gpu();
    for value in [0.0, -0.0, 1.5, -3e38, 1e-45, f64::INFINITY, f64::NAN, 0.1] {
        let x = tensor(&[3], 6);
        same_on(
            &gpu,
            &[("x", x.clone())],
            |_| Near::Bits,
            |tracer| {
                let x = data(tracer, "x", &x);
                tracer.output("y", &tracer.fill(DType::F32, [1001], value));
                tracer.output("z", &tracer.fill(DType::F32, [], value));
                tracer.output(
                    "joined",
                    &Var::concat(&[&x, &tracer.fill(DType::F32, [2], value)], 0),
                );
            },
        );
    }
    same_on(
        &gpu,
        &[],
        |_| Near::Bits,
        |tracer| {
            tracer.output(
                "y",
                &tracer.fill(DType::I64, [70], -9_007_199_254_740_993.0),
            );
        },
    );
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn integers_are_moved_as_they_are() {
    let labels: Vec<i64> = (0..60).map(|k| k * 0x1_0000_0001 - 7).collect();
    let x = Tensor::i64([3, 4, 5], labels);
    same(&[("x", x.clone())], Near::Bits, |tracer| {
        let x = data(tracer, "x", &x);
        tracer.output("permuted", &x.permute(&[2, 0, 1]));
        tracer.output("slice", &x.slice(2, 1..4));
        tracer.output("joined", &Var::concat(&[&x, &x], 1));
        tracer.output("expanded", &x.slice(0, 1..2).expand([4, 4, 5]));
    });
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn shapes_change_without_a_kernel() {
    let x = tensor(&[6, 10], 7);
    same(&[("x", x.clone())], Near::Bits, |tracer| {
        let x = data(tracer, "x", &x);
        tracer.output("y", &x.reshape([3, 20]).exp().reshape([60]));
        tracer.output("flat", &x.flatten(0));
    });
}
