//! Selection by indices, the largest elements, and products of many matrices.

use crate::harness::{
    check_forward, check_gradients, compute, for_any_number_of_threads, index, numbers, tensor,
};
use spikelet_graph::op::{BatchMatMul, Indexed, ScatterAdd};
use spikelet_graph::{DType, Tensor, Tracer, Var};

fn offset(at: &[usize], shape: &[usize]) -> usize {
    at.iter().zip(shape).fold(0, |o, (i, n)| o * n + i)
}

/// Indices into an axis of `n` elements, many of them equal.
fn indices(shape: &[usize], n: usize, seed: u64) -> Tensor {
    let values = numbers(shape.iter().product(), seed);
    let one = |x: f64| ((x + 1.0) / 2.0 * n as f64) as i64;
    let values: Vec<i64> = values
        .into_iter()
        .map(|x| one(x).min(n as i64 - 1))
        .collect();
    Tensor::i64(shape, values)
}

fn integers(t: &Tensor) -> Vec<usize> {
    t.to_f64().into_iter().map(|x| x as usize).collect()
}

#[test]
fn slices_are_selected_along_any_axis_by_an_index_of_any_shape() {
    let dims = [3, 5, 4];
    let x = tensor(&dims, 1);
    for axis in 0..3 {
        for shape in [&[][..], &[7], &[2, 3], &[0], &[1, 1, 2]] {
            let at = indices(shape, dims[axis], 5);
            let (values, chosen) = (x.to_f64(), integers(&at));
            let result = [&dims[..axis], shape, &dims[axis + 1..]].concat();
            let want: Vec<f64> = (0..result.iter().product())
                .map(|i| {
                    let place = index(i, &result);
                    let k = offset(&place[axis..axis + shape.len()], shape);
                    let rest = &place[axis + shape.len()..];
                    let from = [&place[..axis], &[chosen[k]], rest].concat();
                    values[offset(&from, &dims)]
                })
                .collect();
            let inputs = [x.clone(), at];
            check_forward(&inputs, &result, &want, |_, x| {
                x[0].index_select(axis, &x[1])
            });
            check_gradients(&inputs, |_, x| x[0].index_select(axis, &x[1]).square());
        }
    }
}

#[test]
fn elements_are_selected_along_any_axis() {
    let dims = [3, 5, 4];
    let x = tensor(&dims, 2);
    for axis in 0..3 {
        for count in [0, 1, 3, 9] {
            let mut shape = dims;
            shape[axis] = count;
            let at = indices(&shape, dims[axis], 6);
            let (values, chosen) = (x.to_f64(), integers(&at));
            let want: Vec<f64> = (0..chosen.len())
                .map(|i| {
                    let mut from = index(i, &shape);
                    from[axis] = chosen[i];
                    values[offset(&from, &dims)]
                })
                .collect();
            let inputs = [x.clone(), at];
            check_forward(&inputs, &shape, &want, |_, x| x[0].gather(axis, &x[1]));
            check_gradients(&inputs, |_, x| x[0].gather(axis, &x[1]).square());
        }
    }
}

#[test]
fn an_index_outside_the_axis_is_limited_to_it_forward_and_backward() {
    let table = Tensor::f64([3, 1], [1.0, 2.0, 3.0]);
    let wrong = Tensor::i64([5], [-1, i64::MIN, 3, i64::MAX, 1]);
    let inputs = [table, wrong];
    let got = compute(&inputs, |_, x| x[1].embedding(&x[0]));
    assert_eq!(got.to_f64(), [1.0, 1.0, 3.0, 3.0, 2.0]);
    for gradient in [
        compute(&inputs, |tracer, x| {
            let y = x[1].embedding(&x[0]).sum_all();
            tracer.gradients(&y, &[&x[0]]).remove(0)
        }),
        compute(&inputs, |tracer, x| {
            let y = x[0].gather(0, &x[1].unsqueeze(1)).sum_all();
            tracer.gradients(&y, &[&x[0]]).remove(0)
        }),
    ] {
        assert_eq!(gradient.to_f64(), [2.0, 1.0, 2.0]);
    }
}

#[test]
fn integers_and_16_bit_numbers_are_selected_as_they_are() {
    let labels = Tensor::i64([3], [10, 1 << 60, -7]);
    let at = Tensor::i64([2, 2], [2, 0, 1, 1]);
    let got = compute(&[labels, at.clone()], |_, x| x[0].index_select(0, &x[1]));
    assert_eq!(got, Tensor::i64([2, 2], [-7, 10, 1 << 60, 1 << 60]));
    let half = tensor(&[3], 1).cast(DType::BF16);
    let values = half.to_f64();
    let got = compute(&[half, at], |_, x| x[0].index_select(0, &x[1]));
    assert_eq!(got.ty().dtype, DType::BF16);
    assert_eq!(got.to_f64(), [values[2], values[0], values[1], values[1]]);
}

#[test]
fn sums_by_index_are_the_adjoint_of_selection_and_have_its_gradient() {
    let scatter = |x: &[Var], axis, length, indexed| {
        let op = ScatterAdd {
            axis,
            length,
            indexed,
        };
        x[0].tracer().apply1(op, &[&x[0], &x[1]])
    };
    let y = tensor(&[2, 6, 3], 3);
    let at = indices(&[6], 4, 7);
    check_gradients(&[y.clone(), at], |_, x| {
        scatter(x, 1, 4, Indexed::Slices).square()
    });
    let at = indices(&[2, 6, 3], 5, 8);
    let mut want = vec![0.0; 2 * 5 * 3];
    for (i, (value, k)) in y.to_f64().into_iter().zip(integers(&at)).enumerate() {
        let place = index(i, &y.shape);
        want[(place[0] * 5 + k) * 3 + place[2]] += value;
    }
    let inputs = [y, at];
    check_forward(&inputs, &[2, 5, 3], &want, |_, x| {
        scatter(x, 1, 5, Indexed::Elements)
    });
    check_gradients(&inputs, |_, x| scatter(x, 1, 5, Indexed::Elements).square());
}

#[test]
fn the_largest_elements_come_first_and_equal_ones_keep_their_order() {
    let nan = f64::NAN;
    let x = Tensor::f64(
        [3, 5],
        [
            3.0,
            1.0,
            3.0,
            2.0,
            3.0, // three equal
            nan,
            5.0,
            f64::INFINITY,
            nan,
            -1.0, // NaN first
            -0.0,
            0.0,
            -2.0,
            f64::NEG_INFINITY,
            0.0,
        ],
    );
    for dtype in [DType::F32, DType::F64, DType::BF16] {
        let x = x.cast(dtype);
        let at = |k| {
            compute(std::slice::from_ref(&x), move |_, x| {
                x[0].topk(k)[1].clone()
            })
        };
        let rows = [[0, 2, 4, 3, 1], [0, 3, 2, 1, 4], [0, 1, 4, 2, 3]];
        for k in 1..=5 {
            let want: Vec<i64> = rows.iter().flat_map(|row| &row[..k]).copied().collect();
            assert_eq!(at(k), Tensor::i64([3, k], want), "{dtype}, {k}");
        }
        let values = compute(std::slice::from_ref(&x), |_, x| x[0].topk(2)[0].clone());
        assert_eq!(values.to_f64()[..2], [3.0, 3.0]);
        assert!(values.to_f64()[2].is_nan() && values.to_f64()[4] == 0.0);
    }
    let x = tensor(&[2, 3, 7], 4);
    let mut want = x.to_f64();
    want.chunks_mut(7)
        .for_each(|row| row.sort_by(|a, b| b.total_cmp(a)));
    let inputs = std::slice::from_ref(&x);
    check_forward(inputs, &[2, 3, 7], &want, |_, x| x[0].topk(7)[0].clone());
    check_gradients(inputs, |_, x| x[0].topk(3)[0].square());
    check_gradients(inputs, |_, x| {
        let [values, at] = x[0].topk(4);
        values * x[0].gather(2, &at)
    });
    let least = compute(inputs, |_, x| x[0].argmin());
    let most = compute(inputs, |_, x| (-&x[0]).topk(1)[1].squeeze(2));
    assert_eq!(least, most);
}

#[test]
fn matrices_are_multiplied_pair_by_pair() {
    for (m, k, n) in [(2, 3, 4), (1, 5, 1), (7, 1, 3), (33, 20, 17)] {
        let (a, b) = (tensor(&[2, 3, m, k], 1), tensor(&[2, 3, k, n], 2));
        let (x, y) = (a.to_f64(), b.to_f64());
        let want: Vec<f64> = (0..6 * m * n)
            .map(|i| {
                let (p, row, column) = (i / (m * n), i / n % m, i % n);
                let term = |l: usize| x[(p * m + row) * k + l] * y[(p * k + l) * n + column];
                (0..k).map(term).sum()
            })
            .collect();
        let inputs = [a, b];
        let shape = [2, 3, m, n];
        check_forward(&inputs, &shape, &want, |_, x| x[0].bmm(&x[1]));
        for (ta, tb) in [(true, false), (false, true), (true, true)] {
            let product = |x: &[Var]| {
                let turned = |v: &Var, yes| if yes { v.transpose(2, 3) } else { v.clone() };
                let (a, b) = (turned(&x[0], ta), turned(&x[1], tb));
                a.tracer().apply1(BatchMatMul::new(ta, tb), &[&a, &b])
            };
            check_forward(&inputs, &shape, &want, |_, x| product(x));
            if m * n < 20 {
                check_gradients(&inputs, |_, x| product(x).square());
            }
        }
        if m * n < 20 {
            check_gradients(&inputs, |_, x| x[0].bmm(&x[1]).square());
        }
    }
}

#[test]
fn leading_axes_of_products_broadcast() {
    let cases: [(&[usize], &[usize], &[usize]); 5] = [
        (&[2, 3, 4, 5], &[5, 2], &[2, 3, 4, 2]),
        (&[4, 5], &[3, 5, 2], &[3, 4, 2]),
        (&[2, 1, 4, 5], &[3, 5, 2], &[2, 3, 4, 2]),
        (&[4, 5], &[5, 2], &[4, 2]),
        (&[3, 4, 5], &[1, 5, 2], &[3, 4, 2]),
    ];
    for (a, b, shape) in cases {
        let inputs = [tensor(a, 1), tensor(b, 2)];
        let product = compute(&inputs, |_, x| x[0].bmm(&x[1]));
        assert_eq!(product.shape, shape);
        let sums = compute(&inputs, |_, x| {
            let (a, b) = (x[0].unsqueeze(x[0].rank()), x[1].unsqueeze(x[1].rank() - 2));
            (a * b).sum(&[shape.len() - 1])
        });
        for (a, b) in product.to_f64().iter().zip(sums.to_f64()) {
            assert!((a - b).abs() < 1e-12, "{shape:?}");
        }
        check_gradients(&inputs, |_, x| x[0].bmm(&x[1]).square());
    }
    let empty = [tensor(&[2, 3, 0], 1), tensor(&[2, 0, 4], 1)];
    check_forward(&empty, &[2, 3, 4], &[0.0; 24], |_, x| x[0].bmm(&x[1]));
    let vectors = [tensor(&[3], 1), tensor(&[4], 2)];
    check_gradients(&vectors, |_, x| x[0].outer(&x[1]).square());
    check_gradients(&[tensor(&[3], 1), tensor(&[3], 2)], |_, x| x[0].dot(&x[1]));
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let table = tensor(&[50, 30], 1).cast(DType::F32);
    let (tokens, places) = (indices(&[4000], 50, 2), indices(&[300, 40], 30, 3));
    let scores = tensor(&[300, 30], 4).cast(DType::F32);
    let (a, b) = (
        tensor(&[9, 70, 80], 5).cast(DType::F32),
        tensor(&[9, 80, 60], 6).cast(DType::F32),
    );
    for_any_number_of_threads(&[table, tokens, scores, places, a, b], |tracer, x| {
        let rows = x[1].embedding(&x[0]);
        let picked = x[2].gather(1, &x[3]);
        let [best, at] = x[2].topk(7);
        let product = x[4].bmm(&x[5]);
        let loss = rows.square().sum_all()
            + picked.square().sum_all()
            + best.square().sum_all()
            + product.square().sum_all();
        let mut made = tracer.gradients(&loss, &[&x[0], &x[2], &x[4], &x[5]]);
        made.extend([rows, picked, best, at, product]);
        made
    });
}

#[test]
fn operands_that_do_not_fit_are_errors_with_their_shapes() {
    type Wrong = fn(&Var, &Var) -> Var;
    let cases: [(Wrong, &str); 11] = [
        (|x, at| x.index_select(2, at), "gather in `layer`: axis 2"),
        (|x, _| x.index_select(0, x), "expects class numbers"),
        (|x, at| x.gather(1, at), "the shape of the index differs"),
        (|x, at| x.gather(2, at), "gather in `layer`: axis 2"),
        (
            |x, at| x.slice(0, 0..0).index_select(0, at),
            "without elements",
        ),
        (|x, at| at.embedding(&x.sum_all()), "axis 0"),
        (
            |x, _| x.topk(5)[0].clone(),
            "topk in `layer`: the 5 largest of 4",
        ),
        (|x, _| x.sum_all().topk(0)[1].clone(), "needs a last axis"),
        (|_, at| at.topk(1)[0].clone(), "floating-point"),
        (|x, _| x.bmm(x), "matmul in `layer`"),
        (
            |x, _| x.unsqueeze(0).bmm(&Var::stack(&[x, x], 0)),
            "batch_matmul in `layer`",
        ),
    ];
    for (wrong, text) in cases {
        let tracer = Tracer::new(DType::F32);
        let x = tracer.input("x", DType::F32, [3, 4]);
        let at = tracer.input("at", DType::I64, [2]);
        tracer.scope("layer", || wrong(&x, &at));
        let error = tracer.finish().unwrap_err().to_string();
        assert!(error.contains(text) && error.contains("help: "), "{error}");
    }
}
