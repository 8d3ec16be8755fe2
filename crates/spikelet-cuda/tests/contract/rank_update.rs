//! Updates of a matrix by sums of outer products: as on the CPU.

use crate::harness::{SUMS, data, numbers, same, tensor};
use spikelet_graph::Tensor;
use spikelet_graph::op::MatMul;

fn sparse(shape: &[usize], seed: u64) -> Tensor {
    let values = numbers(shape.iter().product(), seed);
    let kept = values.iter().map(|x| if *x > 0.8 { *x } else { 0.0 });
    Tensor::f32(shape, kept.collect::<Vec<_>>())
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn updates_by_outer_products_agree_with_the_cpu() {
    for [rows, out, inputs] in [[1, 1, 1], [1, 400, 784], [16, 100, 300], [70, 33, 65]] {
        let all = [
            ("w", tensor(&[out, inputs], 1)),
            ("a", sparse(&[rows, out], 2)),
            ("b", tensor(&[rows, inputs], 3)),
            ("c", tensor(&[1, rows, out], 4)),
            ("d", sparse(&[1, rows, inputs], 5)),
        ];
        for bounds in [None, Some([-0.5, 0.4])] {
            same(&all, SUMS, |tracer| {
                let [w, a, b, c, d] = all.each_ref().map(|(name, t)| data(tracer, name, t));
                tracer.output("y", &w.rank_update(&[[&a, &b], [&c, &d]], bounds));
                tracer.output("unchanged", &w.rank_update(&[[&(a * 0.0), &b]], bounds));
            });
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_weight_in_a_loop_that_learns_agrees_with_the_cpu() {
    let all = [
        ("w", tensor(&[40, 60], 1)),
        ("post", sparse(&[30, 4, 40], 2)),
        ("pre", sparse(&[30, 4, 60], 3)),
    ];
    same(&all, SUMS, |tracer| {
        let [w, post, pre] = all.each_ref().map(|(name, t)| data(tracer, name, t));
        let made = tracer.scan_loop(30, &[&w], &[&post, &pre], |w, now| {
            let op = MatMul {
                sparse: true,
                ..MatMul::new(false, true)
            };
            let y = tracer.apply1(op, &[&now[1], &w[0]]);
            let next = w[0].rank_update(&[[&now[0], &now[1]]], Some([-0.5, 0.5]));
            Ok((vec![next], vec![y]))
        });
        let made = made.expect("a loop");
        tracer.output("w", &made.carried[0]);
        tracer.output("y", &made.stacked[0]);
    });
}
