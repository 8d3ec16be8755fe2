//! Updates of a matrix by sums of outer products, and products of rows that are mostly zeros, against plain loops.

use crate::harness::{Loaded, check_forward, compute, for_any_number_of_threads, numbers, tensor};
use spikelet_graph::op::MatMul;
use spikelet_graph::{DType, Location, Tensor, Tracer, Var};

/// A tensor of which this share of elements is not 0.
fn sparse(shape: &[usize], share: f64, seed: u64) -> Tensor {
    let values = numbers(shape.iter().product(), seed);
    let chosen = numbers(values.len(), seed + 100);
    let kept = values.iter().zip(chosen);
    let kept = kept.map(|(x, c)| if c < 2.0 * share - 1.0 { *x } else { 0.0 });
    Tensor::f64(shape, kept.collect::<Vec<_>>())
}

const BOUNDS: [f64; 2] = [-0.6, 0.5];

/// The definition, for pairs of factors with rows of `out` and `inputs` elements.
fn expected(w: &Tensor, factors: &[[Tensor; 2]], bounds: Option<[f64; 2]>) -> Vec<f64> {
    let inputs = w.shape[1];
    let mut y = w.to_f64();
    for (i, row) in y.chunks_mut(inputs).enumerate() {
        let mut active = false;
        for [a, b] in factors {
            let out = w.shape[0];
            for (a, b) in a.to_f64().chunks(out).zip(b.to_f64().chunks(inputs)) {
                active |= a[i] != 0.0;
                row.iter_mut().zip(b).for_each(|(w, b)| *w += a[i] * b);
            }
        }
        if let Some([low, high]) = bounds.filter(|_| active) {
            row.iter_mut().for_each(|w| *w = w.clamp(low, high));
        }
    }
    y
}

fn update(x: &[Var], bounds: Option<[f64; 2]>) -> Var {
    let pairs: Vec<[&Var; 2]> = x[1..].chunks(2).map(|pair| [&pair[0], &pair[1]]).collect();
    x[0].rank_update(&pairs, bounds)
}

#[test]
fn updates_of_rows_and_columns_are_those_of_plain_loops() {
    // One row and many, more than are listed at once, sparse and dense factors, a matrix that is divided among threads.
    for (rows, out, inputs) in [
        (1, 1, 1),
        (1, 3, 100),
        (6, 40, 33),
        (2, 300, 700),
        (150, 9, 700),
    ] {
        for share in [0.0, 0.03, 0.6, 1.0] {
            let w = tensor(&[out, inputs], 1);
            let factors = [
                [
                    sparse(&[rows, out], 0.1, 2),
                    sparse(&[rows, inputs], share, 3),
                ],
                [
                    sparse(&[1, rows, out], share, 4),
                    sparse(&[1, rows, inputs], 0.05, 5),
                ],
            ];
            let all: Vec<Tensor> = (std::iter::once(&w).chain(factors.iter().flatten()))
                .cloned()
                .collect();
            for bounds in [None, Some(BOUNDS)] {
                let want = expected(&w, &factors, bounds);
                check_forward(&all, &[out, inputs], &want, |_, x| update(x, bounds));
            }
        }
    }
    let all = [
        tensor(&[300, 700], 1),
        sparse(&[4, 300], 0.9, 2),
        sparse(&[4, 700], 0.5, 3),
    ];
    for_any_number_of_threads(&all, |_, x| vec![update(x, Some(BOUNDS))]);
}

#[test]
fn a_state_is_updated_in_place_and_other_readers_see_its_old_value() {
    for old in [false, true] {
        let tracer = Tracer::new(DType::F64);
        let w = tracer.state("w", [5, 5]);
        let factor = tracer.input("f", DType::F64, [5, 5]);
        let next = w.rank_update(&[[&factor, &factor], [&factor, &w]], None);
        let next = match old {
            true => next,
            false => w.rank_update(&[[&factor, &factor]], None),
        };
        tracer.update(&w, &next);
        let mut loaded = Loaded::new(tracer.finish().unwrap(), 1);
        let (start, f) = (tensor(&[5, 5], 1), sparse(&[5, 5], 0.3, 2));
        loaded.set("w", &start);
        loaded.set("f", &f);
        let (mut want, mut factors) = (start, vec![[f.clone(), f.clone()]]);
        for _ in 0..3 {
            loaded.run();
            if old {
                factors = vec![[f.clone(), f.clone()], [f.clone(), want.clone()]];
            }
            want = Tensor::f64([5, 5], expected(&want, &factors, None));
        }
        for (got, want) in loaded.get("w").to_f64().iter().zip(want.to_f64()) {
            assert!((got - want).abs() < 1e-12, "{got} {want}");
        }
        let output = &loaded.plan.graph.outputs[0];
        let in_place = matches!(loaded.plan.place(output.value), Location::Input(_));
        assert_eq!(in_place, !old, "{}", loaded.plan);
    }
}

#[test]
fn a_weight_that_a_loop_carries_is_updated_in_its_memory() {
    let tracer = Tracer::new(DType::F64);
    let w = tracer.state("w", [7, 9]);
    let [post, pre] =
        [("post", 7), ("pre", 9)].map(|(name, n)| tracer.input(name, DType::F64, [6, 2, n]));
    let made = tracer.scan_loop(6, &[&w], &[&post, &pre], |w, now| {
        let y = now[1].linear(&w[0]);
        let next = w[0].rank_update(&[[&now[0], &now[1]]], Some(BOUNDS));
        Ok((vec![next], vec![y]))
    });
    let made = made.unwrap();
    tracer.update(&w, &made.carried[0]);
    tracer.output("y", &made.stacked[0]);
    let mut loaded = Loaded::new(tracer.finish().unwrap(), 1);
    let body = loaded
        .plan
        .kernels
        .iter()
        .find_map(|kernel| kernel.body.as_ref());
    assert!(body.expect("a loop").copies.is_empty(), "{}", loaded.plan);
    let [w, post, pre] = [
        tensor(&[7, 9], 1),
        sparse(&[6, 2, 7], 0.2, 2),
        sparse(&[6, 2, 9], 0.2, 3),
    ];
    for (name, value) in [("w", &w), ("post", &post), ("pre", &pre)] {
        loaded.set(name, value);
    }
    loaded.run();
    let mut want = w;
    for (post, pre) in post.to_f64().chunks(14).zip(pre.to_f64().chunks(18)) {
        let factors = [[Tensor::f64([2, 7], post), Tensor::f64([2, 9], pre)]];
        want = Tensor::f64([7, 9], expected(&want, &factors, Some(BOUNDS)));
    }
    for (got, want) in loaded.get("w").to_f64().iter().zip(want.to_f64()) {
        assert!((got - want).abs() < 1e-13, "{got} {want}");
    }
}

#[test]
fn sparse_products_are_dense_products_and_rows_do_not_depend_on_each_other() {
    // The last ones have more rows than are listed at once; every third row from `first` on is dense.
    for (rows, inputs, outputs, first) in [
        (1, 1, 1, 0),
        (1, 784, 400, 0),
        (5, 300, 100, 0),
        (40, 600, 129, 0),
        (250, 600, 20, 200),
        (250, 600, 20, 250),
    ] {
        for transpose_b in [false, true] {
            let shape = if transpose_b {
                [outputs, inputs]
            } else {
                [inputs, outputs]
            };
            let mut values = sparse(&[rows, inputs], 0.03, 1).to_f64();
            for (row, dense) in values
                .chunks_mut(inputs)
                .zip(numbers(rows * inputs, 7).chunks(inputs))
                .skip(first)
                .step_by(3)
            {
                row.copy_from_slice(dense);
            }
            let [x, w] = [Tensor::f64([rows, inputs], values), tensor(&shape, 2)];
            let op = MatMul {
                sparse: true,
                ..MatMul::new(false, transpose_b)
            };
            let product = |op: MatMul, x: &Tensor| {
                compute(&[x.clone(), w.clone()], |tracer, v| {
                    tracer.apply1(op, &[&v[0], &v[1]])
                })
            };
            let want = product(MatMul::new(false, transpose_b), &x).to_f64();
            check_forward(
                &[x.clone(), w.clone()],
                &[rows, outputs],
                &want,
                |tracer, v| tracer.apply1(op, &[&v[0], &v[1]]),
            );
            // The last row alone, which is sparse where there are several.
            let last = Tensor::f64([1, inputs], &x.to_f64()[(rows - 1) * inputs..]);
            if rows <= first || (rows - 1 - first) % 3 != 0 {
                let all = product(op, &x).to_f64();
                assert_eq!(product(op, &last).to_f64(), all[(rows - 1) * outputs..]);
            }
        }
    }
}
