//! `SPIKELET_GEMM=ordered`: every product is the plain loop of the documentation of [`spikelet_cpu::gemm`], bit for bit.

#[allow(dead_code, reason = "the contract tests use the rest")]
#[path = "contract/harness.rs"]
mod harness;

use harness::{compute, numbers};
use proptest::prelude::*;
use spikelet_cpu::gemm::{GEMM_VARIABLE, GemmLibrary};
use spikelet_expr::Expr;
use spikelet_graph::op::{
    BatchMatMul, Conv, ConvPart, Feedback, MatMul, MatmulPrecision, Recurrence, Scan,
};
use spikelet_graph::{Tensor, Tracer, Var};
use std::sync::Once;

/// Selects the order; all tests of this program begin with it.
fn ordered() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the tests read the environment through the standard library only, which locks it.
        unsafe { std::env::set_var(GEMM_VARIABLE, "ordered") };
        assert_eq!(GemmLibrary::get().unwrap().name(), "ordered");
    });
}

/// Irregular numbers, of which a part is 0.
fn values(count: usize, seed: u64, zeros: f64) -> Vec<f32> {
    let gaps = numbers(count, seed + 100);
    let values = numbers(count, seed).into_iter().zip(gaps);
    let value = |(x, gap): (f64, f64)| {
        if (gap + 1.0) / 2.0 < zeros {
            0.0
        } else {
            x as f32
        }
    };
    values.map(value).collect()
}

/// Compares what `build` makes of the operands with the elements of a plain loop.
fn check(
    operands: &[(&[usize], &[f32])],
    build: impl Fn(&Tracer, &[Var]) -> Var,
    expected: &[f32],
) {
    let operands: Vec<Tensor> = (operands.iter())
        .map(|(shape, values)| Tensor::f32(*shape, values.to_vec()))
        .collect();
    let got = compute(&operands, build);
    let got = got.as_f32().unwrap();
    assert_eq!(got.len(), expected.len());
    for (i, (got, want)) in got.iter().zip(expected).enumerate() {
        assert_eq!(
            got.to_bits(),
            want.to_bits(),
            "element {i}: {got}, not {want}"
        );
    }
}

/// `a[m, k] · b[k, n]`, each stored by rows or by columns.
fn matrix_product(
    [m, n, k]: [usize; 3],
    [transpose_a, transpose_b]: [bool; 2],
    a: &[f32],
    b: &[f32],
) -> Vec<f32> {
    let mut product = vec![0.0; m * n];
    for (e, sum) in product.iter_mut().enumerate() {
        let (i, j) = (e / n, e % n);
        for l in 0..k {
            let a = if transpose_a {
                a[l * m + i]
            } else {
                a[i * k + l]
            };
            let b = if transpose_b {
                b[j * k + l]
            } else {
                b[l * n + j]
            };
            *sum += a * b;
        }
    }
    product
}

fn shape(transposed: bool, rows: usize, columns: usize) -> [usize; 2] {
    match transposed {
        true => [columns, rows],
        false => [rows, columns],
    }
}

/// The sizes of a two-dimensional convolution.
#[derive(Clone, Debug)]
struct Images {
    batch: usize,
    groups: usize,
    /// Channels of a group, of the images and of the result.
    channels: [usize; 2],
    size: [usize; 2],
    kernel: [usize; 2],
    stride: [usize; 2],
    padding: [usize; 2],
    dilation: [usize; 2],
}

impl Images {
    fn op(&self) -> Conv {
        Conv {
            stride: self.stride.to_vec(),
            padding: self.padding.to_vec(),
            dilation: self.dilation.to_vec(),
            groups: self.groups,
            ..Conv::new(2)
        }
    }

    fn out(&self) -> [usize; 2] {
        [0, 1].map(|k| {
            let reach = self.dilation[k] * (self.kernel[k] - 1) + 1;
            (self.size[k] + 2 * self.padding[k] - reach) / self.stride[k] + 1
        })
    }

    /// Calls `each` with the offsets of every pixel, position of the result and tap that meet: those of the images in
    /// ascending order of the position, then of the tap.
    fn meetings(&self, mut each: impl FnMut([usize; 3])) {
        let [height, width] = self.size;
        let [out_height, out_width] = self.out();
        for position in 0..self.batch * out_height * out_width {
            let image = position / out_width / out_height;
            let at = [position / out_width % out_height, position % out_width];
            for tap in 0..self.kernel[0] * self.kernel[1] {
                let tap_at = [tap / self.kernel[1], tap % self.kernel[1]];
                let pixel = [0, 1].map(|k| {
                    (at[k] * self.stride[k] + tap_at[k] * self.dilation[k])
                        .wrapping_sub(self.padding[k])
                });
                if pixel[0] < height && pixel[1] < width {
                    each([
                        (image * height + pixel[0]) * width + pixel[1],
                        position,
                        tap,
                    ]);
                }
            }
        }
    }

    /// The indices of the elements of image, result and kernel of a meeting.
    fn elements(
        &self,
        [pixel, position, tap]: [usize; 3],
        group: usize,
        c: usize,
        o: usize,
    ) -> [usize; 3] {
        let [channels, outputs] = self.channels;
        let taps = self.kernel[0] * self.kernel[1];
        [
            (pixel * self.groups + group) * channels + c,
            (position * self.groups + group) * outputs + o,
            ((group * outputs + o) * taps + tap) * channels + c,
        ]
    }
}

fn images() -> impl Strategy<Value = Images> {
    let pair = |low: usize, high: usize| [low..high, low..high];
    (
        (1usize..4, 1usize..4, [1usize..9, 1usize..40]),
        (pair(5, 9), pair(1, 4), pair(1, 3), pair(0, 3), pair(1, 3)),
        any::<bool>(),
    )
        .prop_map(
            |((batch, groups, channels), (size, kernel, stride, padding, dilation), depthwise)| {
                Images {
                    batch,
                    groups,
                    channels: if depthwise { [1, 1] } else { channels },
                    size,
                    kernel,
                    stride,
                    padding,
                    dilation,
                }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn matrices(size in [1usize..40, 1usize..150, 1usize..300], transposed in any::<[bool; 2]>(), sparse in any::<bool>()) {
        ordered();
        let ([m, n, k], [ta, tb]) = (size, transposed);
        let zeros = if sparse { 0.95 } else { 0.1 };
        let (a, b) = (values(m * k, 1, zeros), values(k * n, 2, 0.0));
        let op = MatMul { sparse: sparse && !ta, ..MatMul::new(ta, tb) };
        check(
            &[(&shape(ta, m, k), &a), (&shape(tb, k, n), &b)],
            |tracer, x| tracer.apply1(op, &[&x[0], &x[1]]),
            &matrix_product(size, transposed, &a, &b),
        );
    }

    #[test]
    fn batches_of_matrices(count in 1usize..4, size in [1usize..40, 1usize..60, 1usize..300], transposed in any::<[bool; 2]>()) {
        ordered();
        let ([m, n, k], [ta, tb]) = (size, transposed);
        let (a, b) = (values(count * m * k, 1, 0.1), values(count * k * n, 2, 0.0));
        let pairs = a.chunks(m * k).zip(b.chunks(k * n));
        let expected: Vec<f32> = pairs.flat_map(|(a, b)| matrix_product(size, transposed, a, b)).collect();
        let op = BatchMatMul { transpose_a: ta, transpose_b: tb, precision: MatmulPrecision::default() };
        let with_count = |shape: [usize; 2]| [count, shape[0], shape[1]];
        check(
            &[(&with_count(shape(ta, m, k)), &a), (&with_count(shape(tb, k, n)), &b)],
            |tracer, x| tracer.apply1(op, &[&x[0], &x[1]]),
            &expected,
        );
    }

    #[test]
    fn convolutions_and_their_gradients(case in images()) {
        ordered();
        let [channels, outputs] = case.channels;
        let (out, taps) = (case.out(), case.kernel[0] * case.kernel[1]);
        let x_shape = [case.batch, case.size[0], case.size[1], case.groups * channels];
        let w_shape = [case.groups * outputs, case.kernel[0], case.kernel[1], channels];
        let y_shape = [case.batch, out[0], out[1], case.groups * outputs];
        let filled = |shape: [usize; 4], seed| values(shape.iter().product(), seed, 0.1);
        let (x, w, g) = (filled(x_shape, 1), filled(w_shape, 2), filled(y_shape, 3));
        let (mut y, mut dx, mut dw) = (vec![0.0f32; g.len()], vec![0.0f32; x.len()], vec![0.0f32; w.len()]);
        case.meetings(|meeting| {
            for group in 0..case.groups {
                for o in 0..outputs {
                    for c in 0..channels {
                        let [image, result, kernel] = case.elements(meeting, group, c, o);
                        y[result] += x[image] * w[kernel];
                        dw[kernel] += x[image] * g[result];
                    }
                }
                for c in 0..channels {
                    let one_chain = case.stride == [1, 1];
                    let [image, ..] = case.elements(meeting, group, c, 0);
                    let start = if one_chain { dx[image] } else { 0.0 };
                    let sum = (0..outputs).fold(start, |sum, o| {
                        let [_, result, kernel] = case.elements(meeting, group, c, o);
                        sum + g[result] * w[kernel]
                    });
                    dx[image] = if one_chain { sum } else { dx[image] + sum };
                }
            }
        });
        prop_assume!(taps > 0);
        let op = case.op();
        let input = op.part(ConvPart::Input, case.size);
        let weight = op.part(ConvPart::Weight, case.kernel);
        check(&[(&x_shape, &x), (&w_shape, &w)], |t, v| t.apply1(op.clone(), &[&v[0], &v[1]]), &y);
        check(&[(&y_shape, &g), (&w_shape, &w)], |t, v| t.apply1(input.clone(), &[&v[0], &v[1]]), &dx);
        check(&[(&x_shape, &x), (&y_shape, &g)], |t, v| t.apply1(weight.clone(), &[&v[0], &v[1]]), &dw);
    }

    #[test]
    fn delayed_products(size in [1usize..80, 1usize..3, 1usize..70, 1usize..40], most in 0usize..20, spikes in any::<bool>()) {
        ordered();
        let [steps, batch, inputs, outputs] = size;
        let mut x = values((most + steps) * batch * inputs, 1, 0.9);
        if spikes {
            x.iter_mut().for_each(|x| *x = f32::from(u8::from(*x != 0.0)));
        }
        let weight = values(inputs * outputs, 2, 0.0);
        let lags = numbers(inputs * outputs, 3);
        let lags: Vec<f32> = lags.iter().map(|x| ((x + 1.0) / 2.0 * most as f64).round() as f32).collect();
        let mut expected = vec![0.0; steps * batch * outputs];
        for (e, sum) in expected.iter_mut().enumerate() {
            let (row, o) = (e / outputs, e % outputs);
            for i in 0..inputs {
                let later = most - lags[i * outputs + o] as usize;
                *sum += weight[i * outputs + o] * x[(row + later * batch) * inputs + i];
            }
        }
        check(
            &[(&[most + steps, batch, inputs], &x), (&[inputs, outputs], &weight), (&[inputs, outputs], &lags)],
            |_, v| v[0].delayed_matmul(&v[1], &v[2], most),
            &expected,
        );
    }

    #[test]
    fn feedback_and_its_gradient(time in 1usize..6, rows in 1usize..20, features in 1usize..150) {
        ordered();
        let elements = rows * features;
        let (x, weight) = (values(time * elements, 1, 0.0), values(features * features, 2, 0.0));
        let (start, g) = (values(elements, 3, 0.5), values(time * elements, 4, 0.0));
        // S = X ≥ 0 with the derivative ½; the spikes feed back.
        let driven = Expr::symbol("x");
        let spike = Expr::custom_gradient(driven.ge(0.0), &driven * 0.5);
        let step = Recurrence::new("threshold", ["x"], ["z"])
            .output("s", spike.clone(), true)
            .next(vec![spike]);
        let run = |v: &[Var]| {
            let op = Scan::new(step.clone().into(), time).feed_back(Feedback::of(0));
            Var::recurrent_scan(op, &[&v[0]], &[&v[1]], &[], &v[2]).swap_remove(0)
        };
        let mut spikes: Vec<f32> = vec![];
        for t in 0..time {
            let before = if t == 0 { start.clone() } else { spikes[(t - 1) * elements..].to_vec() };
            let product = matrix_product([rows, features, features], [false, true], &before, &weight);
            let x = &x[t * elements..];
            spikes.extend(product.iter().zip(x).map(|(p, x)| f32::from(u8::from(x + p >= 0.0))));
        }
        let mut dx = vec![0.0; time * elements];
        for t in (0..time).rev() {
            let later = match t + 1 < time {
                true => matrix_product([rows, features, features], [false; 2], &dx[(t + 1) * elements..], &weight),
                false => vec![0.0; elements],
            };
            for (i, later) in later.into_iter().enumerate() {
                dx[t * elements + i] = (g[t * elements + i] + later) * 0.5;
            }
        }
        let sequence = [time, rows, features];
        let operands = [
            (&sequence[..], &x[..]),
            (&[rows, features], &start),
            (&[features, features], &weight),
            (&sequence, &g),
        ];
        check(&operands[..3], |_, v| run(v), &spikes);
        check(
            &operands,
            |tracer, v| tracer.gradients(&(run(v) * &v[3]).sum_all(), &[&v[0]]).swap_remove(0),
            &dx,
        );
    }
}
