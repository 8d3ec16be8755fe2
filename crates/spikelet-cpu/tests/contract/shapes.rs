//! Shapes and places that are composed of slices, concatenations and permutations; reversed axes.

use crate::harness::{check_forward, check_gradients, compute, index, tensor};
use spikelet_graph::{DType, Tensor, Tracer, Var};

fn moved(x: &Tensor, shape: &[usize], from: impl Fn(&[usize]) -> Option<Vec<usize>>) -> Vec<f64> {
    let values = x.to_f64();
    let one = |i| {
        let from = from(&index(i, shape))?;
        let at = from.iter().zip(&x.shape).fold(0, |o, (i, n)| o * n + i);
        Some(values[at])
    };
    (0..shape.iter().product())
        .map(|i| one(i).unwrap_or(0.25))
        .collect()
}

#[test]
fn a_reversed_axis_has_its_last_element_first() {
    for shape in [&[7][..], &[3, 4, 5], &[2, 1, 3], &[3, 20_001]] {
        for axis in 0..shape.len() {
            let x = tensor(shape, 1);
            let inputs = std::slice::from_ref(&x);
            let want = moved(&x, shape, |at| {
                let mut from = at.to_vec();
                from[axis] = shape[axis] - 1 - at[axis];
                Some(from)
            });
            check_forward(inputs, shape, &want, |_, x| x[0].flip(axis));
            if x.len() < 100 {
                check_gradients(inputs, |_, x| x[0].flip(axis).square());
            }
        }
    }
    let labels = Tensor::i64([2, 3], [1, 2, 3, 4, 5, 6]);
    let got = compute(&[labels], |_, x| x[0].flip(1));
    assert_eq!(got, Tensor::i64([2, 3], [3, 2, 1, 6, 5, 4]));
    let half = tensor(&[2, 3], 5).cast(DType::BF16);
    let got = compute(std::slice::from_ref(&half), |_, x| x[0].flip(0).flip(0));
    assert_eq!(got, half);
    check_forward(&[tensor(&[0, 2], 1)], &[0, 2], &[], |_, x| x[0].flip(0));
}

#[test]
fn a_rolled_axis_wraps_around() {
    let x = tensor(&[3, 5], 2);
    for axis in 0..2 {
        for shift in [0_isize, 1, -1, 4, 5, -7, 23] {
            let n = x.shape[axis] as isize;
            let want = moved(&x, &[3, 5], |at| {
                let mut from = at.to_vec();
                from[axis] = (at[axis] as isize - shift).rem_euclid(n) as usize;
                Some(from)
            });
            let inputs = std::slice::from_ref(&x);
            check_forward(inputs, &[3, 5], &want, |_, x| x[0].roll(axis, shift));
            check_gradients(inputs, |_, x| x[0].roll(axis, shift).square());
        }
    }
}

#[test]
fn padding_surrounds_an_axis_with_one_value() {
    let x = tensor(&[3, 4], 3);
    for (axis, before, after) in [(0, 2, 1), (1, 0, 3), (1, 1, 0), (0, 0, 0)] {
        let mut shape = [3, 4];
        shape[axis] += before + after;
        let want = moved(&x, &shape, |at| {
            let mut from = at.to_vec();
            from[axis] = at[axis].checked_sub(before)?;
            (from[axis] < x.shape[axis]).then_some(from)
        });
        let inputs = std::slice::from_ref(&x);
        let pad = |x: &Var| x.pad(axis, before, after, 0.25);
        check_forward(inputs, &shape, &want, |_, x| pad(&x[0]));
        check_gradients(inputs, |_, x| pad(&x[0]).square());
    }
}

#[test]
fn stacked_and_split_tensors_are_the_same_elements() {
    let (a, b) = (tensor(&[3, 4], 1), tensor(&[3, 4], 2));
    let inputs = [a.clone(), b.clone()];
    for axis in 0..3 {
        let mut shape = vec![3, 4];
        shape.insert(axis, 2);
        let values = [a.to_f64(), b.to_f64()];
        let want: Vec<f64> = (0..24)
            .map(|i| {
                let mut at = index(i, &shape);
                let k = at.remove(axis);
                values[k][at[0] * 4 + at[1]]
            })
            .collect();
        check_forward(&inputs, &shape, &want, |_, x| {
            Var::stack(&[&x[0], &x[1]], axis)
        });
        check_gradients(&inputs, |_, x| Var::stack(&[&x[0], &x[1]], axis).square());
    }
    let same = |x: &[Var], parts: Vec<Var>| {
        let axis = parts[0]
            .shape()
            .iter()
            .zip(x[0].shape())
            .position(|(a, b)| a != b);
        Var::concat(&parts.iter().collect::<Vec<_>>(), axis.unwrap_or(0))
    };
    let a = std::slice::from_ref(&a);
    let want = a[0].to_f64();
    check_forward(a, &[3, 4], &want, |_, x| same(x, x[0].split(1, &[1, 3])));
    check_forward(a, &[3, 4], &want, |_, x| same(x, x[0].chunk(1, 2)));
    check_forward(a, &[3, 4], &want, |_, x| x[0].unsqueeze(1).squeeze(1));
    check_gradients(a, |_, x| x[0].chunk(0, 3)[1].square());
    let turned = moved(&a[0], &[4, 3], |at| Some(vec![at[1], at[0]]));
    check_forward(a, &[4, 3], &turned, |_, x| x[0].transpose(1, 0));
}

#[test]
fn wrong_axes_and_lengths_are_errors_that_name_the_operation() {
    type Wrong = fn(&Var) -> Var;
    let cases: [(Wrong, &str); 12] = [
        (
            |x| x.squeeze(0),
            "squeeze in `layer`: axis 0 has 3 elements",
        ),
        (|x| x.squeeze(2), "squeeze in `layer`: axis 2"),
        (|x| x.unsqueeze(3), "unsqueeze in `layer`: axis 3"),
        (
            |x| x.split(1, &[1, 2]).remove(0),
            "split in `layer`: parts of [1, 2]",
        ),
        (|x| x.split(1, &[usize::MAX, 5]).remove(0), "split"),
        (
            |x| x.chunk(1, 3).remove(0),
            "chunk in `layer`: 3 equal parts",
        ),
        (|x| x.flip(2), "flip in `layer`: axis 2"),
        (|x| x.roll(2, 1), "roll in `layer`: axis 2"),
        (|x| x.pad(5, 1, 1, 0.0), "pad in `layer`: axis 5"),
        (|x| x.transpose(0, 2), "transpose in `layer`: axis 2"),
        (|x| x.cumsum(2), "cumsum in `layer`: axis 2"),
        (
            |x| Var::stack(&[x, &x.slice(0, 0..1)], 0),
            "concat in `layer`",
        ),
    ];
    for (wrong, text) in cases {
        let tracer = Tracer::new(DType::F32);
        let x = tracer.input("x", DType::F32, [3, 4]);
        tracer.scope("layer", || wrong(&x).sum_all());
        let error = tracer.finish().unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
        assert!(
            error.contains("3, 4]") && error.contains("help: "),
            "{error}"
        );
    }
}
