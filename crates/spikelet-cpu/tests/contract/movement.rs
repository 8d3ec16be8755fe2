//! Operations that only move elements.

use crate::harness::{broadcast_at, check_forward, check_gradients, compute, index, tensor};
use spikelet_graph::{DType, Tensor, Var};

fn offset(at: &[usize], shape: &[usize]) -> usize {
    at.iter().zip(shape).fold(0, |o, (i, n)| o * n + i)
}

fn gathered(x: &Tensor, shape: &[usize], from: impl Fn(&[usize]) -> Vec<usize>) -> Vec<f64> {
    let values = x.to_f64();
    let one = |i| values[offset(&from(&index(i, shape)), &x.shape)];
    (0..shape.iter().product()).map(one).collect()
}

#[test]
fn permutations_put_every_element_in_its_place() {
    let orders = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ];
    for dims in [[3, 4, 5], [1, 4, 5], [3, 1, 5], [3, 4, 1], [61, 29, 31]] {
        let x = tensor(&dims, 1);
        for order in orders {
            let shape = order.map(|k| dims[k]);
            let want = gathered(&x, &shape, |at| {
                let mut from = vec![0; 3];
                for (k, &axis) in order.iter().enumerate() {
                    from[axis] = at[k];
                }
                from
            });
            check_forward(std::slice::from_ref(&x), &shape, &want, |_, x| {
                x[0].permute(&order)
            });
            if x.len() < 100 {
                check_gradients(std::slice::from_ref(&x), |_, x| {
                    x[0].permute(&order).square()
                });
            }
        }
    }
    check_forward(&[tensor(&[], 1)], &[], &tensor(&[], 1).to_f64(), |_, x| {
        x[0].permute(&[])
    });
}

#[test]
fn slices_take_a_range_of_any_axis() {
    let dims = [3, 4, 5];
    let x = tensor(&dims, 2);
    for axis in 0..3 {
        for (start, end) in [
            (0, 1),
            (1, 3),
            (0, dims[axis]),
            (dims[axis] - 1, dims[axis]),
            (2, 2),
        ] {
            let mut shape = dims;
            shape[axis] = end - start;
            let want = gathered(&x, &shape, |at| {
                let mut from = at.to_vec();
                from[axis] += start;
                from
            });
            let inputs = std::slice::from_ref(&x);
            check_forward(inputs, &shape, &want, |_, x| x[0].slice(axis, start..end));
            check_gradients(inputs, |_, x| x[0].slice(axis, start..end).square());
        }
    }
    let long = tensor(&[3, 40_001], 2);
    let want = gathered(&long, &[3, 20_000], |at| vec![at[0], at[1] + 7]);
    check_forward(&[long], &[3, 20_000], &want, |_, x| {
        x[0].slice(1, 7..20_007)
    });
}

#[test]
fn a_slice_of_an_empty_tensor_is_empty() {
    check_forward(&[tensor(&[0, 5], 1)], &[0, 2], &[], |_, x| {
        x[0].slice(1, 3..5)
    });
    check_forward(&[tensor(&[4, 0], 1)], &[2, 0], &[], |_, x| {
        x[0].slice(0, 2..4)
    });
}

#[test]
fn joined_tensors_lie_one_after_the_other() {
    for axis in 0..3 {
        let part = |n: usize, seed| {
            let mut shape = [2, 3, 4];
            shape[axis] = n;
            tensor(&shape, seed)
        };
        let parts = [part(1, 1), part(5, 2), part(0, 3), part(2, 4)];
        let mut shape = [2, 3, 4];
        shape[axis] = 8;
        let want: Vec<f64> = (0..shape.iter().product())
            .map(|i| {
                let mut at = index(i, &shape);
                let k = [0, 1, 1, 1, 1, 1, 3, 3][at[axis]];
                at[axis] -= [0, 1, 6, 6][k];
                parts[k].to_f64()[offset(&at, &parts[k].shape)]
            })
            .collect();
        let build = |x: &[Var]| Var::concat(&[&x[0], &x[1], &x[2], &x[3]], axis);
        check_forward(&parts, &shape, &want, |_, x| build(x));
        check_gradients(&parts, |_, x| build(x).square());
    }
    let whole = tensor(&[3, 2], 9);
    check_forward(
        std::slice::from_ref(&whole),
        &[3, 2],
        &whole.to_f64(),
        |_, x| Var::concat(&[&x[0]], 1),
    );
}

#[test]
fn expansions_repeat_along_unit_and_new_axes() {
    for from in [
        vec![],
        vec![1],
        vec![5],
        vec![4, 1],
        vec![3, 1, 5],
        vec![1, 4, 1],
    ] {
        let x = tensor(&from, 3);
        let values = x.to_f64();
        let want: Vec<f64> = (0..60)
            .map(|i| broadcast_at(&values, &from, &index(i, &[3, 4, 5])))
            .collect();
        let inputs = std::slice::from_ref(&x);
        check_forward(inputs, &[3, 4, 5], &want, |_, x| x[0].expand([3, 4, 5]));
        check_gradients(inputs, |_, x| x[0].expand([3, 4, 5]).square());
    }
    let x = tensor(&[1, 700], 3);
    let values = x.to_f64();
    let want: Vec<f64> = (0..70 * 700).map(|i| values[i % 700]).collect();
    check_forward(&[x], &[70, 700], &want, |_, x| x[0].expand([70, 700]));
}

#[test]
fn reshapes_keep_the_elements_in_order() {
    let x = tensor(&[3, 4, 5], 4);
    for shape in [vec![60], vec![12, 5], vec![5, 4, 3], vec![1, 60, 1]] {
        check_forward(std::slice::from_ref(&x), &shape, &x.to_f64(), |_, x| {
            x[0].reshape(shape.clone())
        });
    }
    check_forward(std::slice::from_ref(&x), &[3, 20], &x.to_f64(), |_, x| {
        x[0].flatten(1)
    });
    check_gradients(&[x], |_, x| x[0].reshape([12, 5]).square().reshape([60]));
    check_forward(
        &[tensor(&[1], 1)],
        &[],
        &tensor(&[1], 1).to_f64(),
        |_, x| x[0].reshape([]),
    );
}

#[test]
fn fills_have_one_value_everywhere() {
    check_forward(&[tensor(&[3], 1)], &[2, 3], &[0.25; 6], |tracer, x| {
        tracer.fill(x[0].ty().dtype, [2, 3], 0.25)
    });
    let labels = compute(&[], |tracer, _| tracer.fill(DType::I64, [3], 7.0));
    assert_eq!(labels, Tensor::i64([3], [7, 7, 7]));
}

#[test]
fn integers_move_like_other_elements() {
    let x = Tensor::i64([2, 3], [1, 2, 3, 4, 5, 6]);
    let got = compute(&[x], |_, x| {
        let turned = x[0].permute(&[1, 0]);
        Var::concat(&[&turned.slice(0, 1..3), &turned], 0)
            .reshape([1, 10])
            .expand([2, 10])
    });
    let row = [2, 5, 3, 6, 1, 4, 2, 5, 3, 6];
    assert_eq!(got, Tensor::i64([2, 10], [row, row].concat()));
}
