//! Pooling and its gradients, against plain loops.

use crate::harness::{
    check_forward, check_gradients, compute, for_any_number_of_threads, index, tensor,
};
use spikelet_graph::op::{Pool, PoolGrad, Pooling, Window};
use spikelet_graph::{DType, Tensor};

const ALL: [Pooling; 3] = [Pooling::Max, mean(true), mean(false)];

const fn mean(count_padding: bool) -> Pooling {
    Pooling::Average { count_padding }
}

fn sliding(kernel: usize, stride: usize, padding: usize) -> Window {
    Window::Sliding {
        kernel,
        stride,
        padding,
        dilation: 1,
        ceil: false,
    }
}

fn ceil(kernel: usize, stride: usize, padding: usize) -> Window {
    Window::Sliding {
        kernel,
        stride,
        padding,
        dilation: 1,
        ceil: true,
    }
}

/// The elements of window `o` that lie among `n`, and the length that PyTorch divides by.
fn window(w: Window, n: usize, o: usize, count_padding: bool) -> (Vec<usize>, usize) {
    match w {
        Window::Adaptive { outputs } => {
            let end = ((o + 1) * n).div_ceil(outputs);
            let inside: Vec<usize> = (o * n / outputs..end).collect();
            let count = inside.len();
            (inside, count)
        }
        Window::Sliding {
            kernel,
            stride,
            padding,
            dilation,
            ..
        } => {
            let start = (o * stride) as isize - padding as isize;
            let end = (start + kernel as isize).min((n + padding) as isize);
            let all = (0..kernel).map(|k| start + (k * dilation) as isize);
            let inside: Vec<usize> = all
                .filter(|i| (0..n as isize).contains(i))
                .map(|i| i as usize)
                .collect();
            let count = if count_padding {
                (end - start) as usize
            } else {
                inside.len()
            };
            (inside, count)
        }
    }
}

/// The pooled images, and what the gradient `g` of them is for the images.
fn pooled(x: &Tensor, pooling: Pooling, windows: &[Window], g: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (axes, rank) = (windows.len(), x.shape.len());
    let (size, channels) = (&x.shape[rank - axes - 1..rank - 1], x.shape[rank - 1]);
    let images: usize = x.shape[..rank - axes - 1].iter().product();
    let out: Vec<usize> = size
        .iter()
        .zip(windows)
        .map(|(n, w)| w.outputs(*n))
        .collect();
    let values = x.to_f64();
    let (mut y, mut dx) = (vec![], vec![0.0; values.len()]);
    let positions: usize = out.iter().product();
    for i in 0..images * positions * channels {
        let (c, at) = (i % channels, index(i / channels % positions, &out));
        let counted = pooling == mean(true);
        let along: Vec<_> = (0..axes)
            .map(|k| window(windows[k], size[k], at[k], counted))
            .collect();
        let lengths: Vec<usize> = along.iter().map(|(inside, _)| inside.len()).collect();
        let image = i / channels / positions * size.iter().product::<usize>();
        let elements: Vec<usize> = (0..lengths.iter().product())
            .map(|e| {
                let e = index(e, &lengths);
                let place = (0..axes).fold(0, |p, k| p * size[k] + along[k].0[e[k]]);
                (image + place) * channels + c
            })
            .collect();
        if pooling == Pooling::Max {
            let larger = |a: f64, b: f64| b > a || (b.is_nan() && !a.is_nan());
            let most = elements
                .iter()
                .copied()
                .reduce(|a, b| if larger(values[a], values[b]) { b } else { a });
            y.push(most.map_or(f64::NEG_INFINITY, |at| values[at]));
            if let Some(at) = most {
                dx[at] += g.get(i).copied().unwrap_or(0.0);
            }
        } else {
            let count = along.iter().map(|(_, count)| count).product::<usize>() as f64;
            y.push(elements.iter().map(|&e| values[e]).sum::<f64>() / count);
            for e in elements {
                dx[e] += g.get(i).copied().unwrap_or(0.0) / count;
            }
        }
    }
    (y, dx)
}

fn check(x: &Tensor, windows: &[Window]) {
    let rank = x.shape.len();
    let first = rank - windows.len() - 1;
    let mut shape = x.shape.clone();
    for (n, w) in shape[first..].iter_mut().zip(windows) {
        *n = w.outputs(*n);
    }
    let g = tensor(&shape, 9);
    for pooling in ALL {
        let (y, dx) = pooled(x, pooling, windows, &g.to_f64());
        let inputs = std::slice::from_ref(x);
        check_forward(inputs, &shape, &y, |_, v| v[0].pool(pooling, windows));
        let op = PoolGrad {
            pool: Pool {
                pooling,
                windows: windows.to_vec(),
            },
            size: x.shape[first..rank - 1].to_vec(),
        };
        let both = [g.clone(), x.clone()];
        let operands = if pooling == Pooling::Max { 2 } else { 1 };
        check_forward(&both[..operands], &x.shape, &dx, |tracer, v| {
            let v: Vec<_> = v.iter().collect();
            tracer.apply1(op.clone(), &v)
        });
    }
}

#[test]
fn blocks_and_overlapping_windows_are_pooled() {
    for channels in [1, 3, 16, 70] {
        check(&tensor(&[2, 3, 6, 8, channels], 1), &[Window::blocks(2); 2]);
        check(
            &tensor(&[2, 7, 9, channels], 2),
            &[sliding(3, 2, 0), sliding(2, 1, 0)],
        );
        check(&tensor(&[3, 12, channels], 3), &[Window::blocks(3)]);
        check(
            &tensor(&[1, 4, 5, 6, channels], 4),
            &[Window::blocks(2), sliding(2, 1, 0), Window::blocks(3)],
        );
    }
}

#[test]
fn padding_and_last_windows_that_reach_over_the_end_are_those_of_pytorch() {
    for x in [tensor(&[2, 7, 8, 5], 1), tensor(&[1, 9, 6, 17], 2)] {
        check(&x, &[sliding(3, 2, 1), sliding(3, 1, 1)]);
        check(&x, &[ceil(2, 2, 0), ceil(3, 2, 1)]);
        check(&x, &[ceil(4, 3, 2), ceil(2, 3, 1)]);
        check(&x, &[sliding(2, 3, 1), sliding(5, 4, 2)]);
    }
}

#[test]
fn adaptive_windows_overlap_where_they_do_not_divide_the_image() {
    for outputs in [(1, 1), (3, 4), (7, 5), (9, 2)] {
        let windows = [outputs.0, outputs.1].map(|outputs| Window::Adaptive { outputs });
        check(&tensor(&[2, 7, 10, 3], 1), &windows);
    }
}

#[test]
fn maxima_of_dilated_windows_leave_elements_out() {
    let dilated = |kernel, stride, padding, dilation| Window::Sliding {
        kernel,
        stride,
        padding,
        dilation,
        ceil: false,
    };
    let windows = [dilated(3, 1, 1, 2), dilated(2, 2, 1, 3)];
    let x = tensor(&[2, 8, 9, 4], 1);
    let (y, _) = pooled(&x, Pooling::Max, &windows, &[]);
    let shape = [2, windows[0].outputs(8), windows[1].outputs(9), 4];
    check_forward(&[x], &shape, &y, |_, v| v[0].pool(Pooling::Max, windows));
}

#[test]
fn the_first_of_equal_maxima_takes_the_gradient_and_nan_is_the_largest() {
    let nan = f64::NAN;
    let x = [
        0.0, 1.0, 1.0, 1.0, /**/ 0.0, 0.0, 0.0, 0.0, /**/ 2.0, nan, 3.0, nan,
    ];
    let x = Tensor::f64([3, 2, 2, 1], x);
    let y = compute(std::slice::from_ref(&x), |_, v| {
        v[0].pool(Pooling::Max, [Window::blocks(2); 2])
    });
    let y = y.to_f64();
    assert!(y[..2] == [1.0, 0.0] && y[2].is_nan(), "{y:?}");
    for windows in [[Window::blocks(2); 2], [sliding(2, 1, 0); 2]] {
        let dx = compute(std::slice::from_ref(&x), |tracer, v| {
            let loss = v[0].pool(Pooling::Max, windows).sum_all();
            tracer.gradients(&loss, &[&v[0]]).remove(0)
        });
        let want = [
            0.0, 1.0, 0.0, 0.0, /**/ 1.0, 0.0, 0.0, 0.0, /**/ 0.0, 1.0, 0.0, 0.0,
        ];
        assert_eq!(dx.to_f64(), want);
    }
}

#[test]
fn pooling_has_gradients() {
    let x = [tensor(&[2, 5, 6, 3], 1)];
    for windows in [
        [Window::blocks(1), Window::blocks(2)],
        [sliding(3, 1, 1), sliding(3, 2, 0)],
        [Window::Adaptive { outputs: 3 }, ceil(4, 3, 1)],
    ] {
        for pooling in ALL {
            check_gradients(&x, |_, v| v[0].pool(pooling, windows));
        }
    }
}

#[test]
fn pooling_gives_the_same_bits_for_any_number_of_threads() {
    let x = [tensor(&[9, 20, 21, 70], 1).cast(DType::F32)];
    for pooling in ALL {
        for_any_number_of_threads(&x, |tracer, v| {
            let y = v[0].pool(pooling, [sliding(3, 2, 1); 2]);
            let dx = tracer.gradients(&y.square().sum_all(), &[&v[0]]).remove(0);
            vec![y, dx]
        });
    }
}
