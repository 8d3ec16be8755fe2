//! Operations on channels-last images: pooling, statistics, convolutions, pooled scans.

use crate::harness::{Near, SUMS, data, gpu, same, same_on, scaled, tensor, traced};
use spikelet_expr::Expr;
use spikelet_graph::op::{Conv, ConvPart, Op, Pooling, Recurrence, Window};
use spikelet_graph::{DType, Plan, Precision, Tensor, Tracer, Var};
use std::sync::Arc;

fn sliding(kernel: usize, stride: usize, padding: usize, dilation: usize, ceil: bool) -> Window {
    Window::Sliding {
        kernel,
        stride,
        padding,
        dilation,
        ceil,
    }
}

/// Values with many ties.
fn coarse(shape: &[usize], seed: u64) -> Tensor {
    let values = tensor(shape, seed).to_f64();
    Tensor::f32(
        shape,
        values
            .iter()
            .map(|x| (x * 3.0).round() as f32)
            .collect::<Vec<_>>(),
    )
}

fn pool_and_back(x: &Tensor, pooling: Pooling, windows: &[Window], near: Near) {
    let pooled = {
        let tracer = Tracer::new(DType::F32);
        data(&tracer, "x", x)
            .pool(pooling, windows)
            .shape()
            .to_vec()
    };
    let g = tensor(&pooled, 9);
    same(&[("x", x.clone()), ("g", g.clone())], near, |tracer| {
        let (x, g) = (data(tracer, "x", x), data(tracer, "g", &g));
        let y = x.pool(pooling, windows);
        let dx = tracer.gradients_given(&[(&y, &g)], &[&x]);
        tracer.output("y", &y);
        tracer.output("dx", &dx[0]);
    });
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn maxima_and_their_gradients_have_the_bits_of_the_cpu() {
    for channels in [1, 3, 16] {
        let x = coarse(&[2, 3, 9, 8, channels], 3);
        for windows in [
            [Window::blocks(2), Window::blocks(2)],
            [Window::blocks(3), Window::blocks(2)],
            [sliding(3, 2, 1, 1, false), sliding(3, 2, 1, 1, true)],
            [sliding(2, 1, 0, 3, false), sliding(3, 1, 1, 1, false)],
            [
                Window::Adaptive { outputs: 4 },
                Window::Adaptive { outputs: 5 },
            ],
        ] {
            pool_and_back(&x, Pooling::Max, &windows, Near::Bits);
        }
    }
    pool_and_back(
        &coarse(&[5, 17, 4], 4),
        Pooling::Max,
        &[sliding(4, 3, 2, 1, true)],
        Near::Bits,
    );
    let windows = [Window::blocks(2); 3];
    pool_and_back(
        &coarse(&[2, 4, 6, 4, 8], 5),
        Pooling::Max,
        &windows,
        Near::Bits,
    );
    pool_and_back(
        &coarse(&[300, 28, 28, 32], 6),
        Pooling::Max,
        &[Window::blocks(2); 2],
        Near::Bits,
    );
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn means_and_their_gradients_are_those_of_the_cpu() {
    let near = Near::OfLargest(1e-6);
    for count_padding in [true, false] {
        let pooling = Pooling::Average { count_padding };
        let x = tensor(&[2, 3, 9, 8, 6], 3);
        for windows in [
            [Window::blocks(2), Window::blocks(2)],
            [sliding(3, 2, 1, 1, false), sliding(3, 2, 1, 1, true)],
            [
                Window::Adaptive { outputs: 4 },
                Window::Adaptive { outputs: 1 },
            ],
        ] {
            pool_and_back(&x, pooling, &windows, near);
        }
        pool_and_back(
            &tensor(&[5, 17, 4], 4),
            pooling,
            &[sliding(4, 3, 2, 1, true)],
            near,
        );
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn statistics_of_channels_are_those_of_the_cpu() {
    for (shape, shift) in [
        (vec![1, 1], 0.0),
        (vec![7, 3], 100.0),
        (vec![128, 14, 14, 128], 3.0),
        (vec![40, 33, 20], -5.0),
        (vec![3, 2048], 0.0),
    ] {
        let x = scaled(&shape, 2, 2.0, shift);
        let g = [
            tensor(&[shape[shape.len() - 1]], 3),
            tensor(&[shape[shape.len() - 1]], 4),
        ];
        let inputs = [("x", x.clone()), ("g0", g[0].clone()), ("g1", g[1].clone())];
        same(&inputs, Near::OfLargest(5e-6), |tracer| {
            let x = data(tracer, "x", &x);
            let [mean, variance] = x.mean_var();
            let given = [data(tracer, "g0", &g[0]), data(tracer, "g1", &g[1])];
            let pairs = [(&mean, &given[0]), (&variance, &given[1])];
            let dx = tracer.gradients_given(&pairs, &[&x]);
            tracer.output("mean", &mean);
            tracer.output("variance", &variance);
            tracer.output("dx", &dx[0]);
        });
    }
}

/// Convolution and both gradients.
fn convolve(x: &[usize], w: &[usize], op: Conv, near: Near, precision: Precision) {
    let (xs, ws) = (tensor(x, 1), tensor(w, 2));
    let y = {
        let tracer = Tracer::new(DType::F32);
        data(&tracer, "x", &xs)
            .conv(&data(&tracer, "w", &ws), op.clone())
            .shape()
            .to_vec()
    };
    let g = tensor(&y, 3);
    let inputs = [("x", xs.clone()), ("w", ws.clone()), ("g", g.clone())];
    same(&inputs, near, |tracer| {
        tracer.set_precision(precision);
        let (x, w) = (data(tracer, "x", &xs), data(tracer, "w", &ws));
        let (y, g) = (x.conv(&w, op.clone()), data(tracer, "g", &g));
        let grads = tracer.gradients_given(&[(&y, &g)], &[&x, &w]);
        tracer.output("y", &y);
        tracer.output("dx", &grads[0]);
        tracer.output("dw", &grads[1]);
    });
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn convolutions_and_their_gradients_are_those_of_the_cpu() {
    let padded = |axes: usize, padding: usize| Conv {
        padding: vec![padding; axes],
        ..Conv::new(axes)
    };
    let strided = Conv {
        stride: vec![2, 2],
        ..padded(2, 1)
    };
    let dilated = Conv {
        dilation: vec![2, 2],
        ..padded(2, 2)
    };
    let grouped = Conv {
        groups: 2,
        ..padded(2, 1)
    };
    let transposed = Conv {
        stride: vec![2, 2],
        ..Conv::new(2)
    };
    let transposed = transposed.part(ConvPart::Input, [14, 14]);
    let cases: Vec<(Vec<usize>, Vec<usize>, Conv)> = vec![
        (vec![4, 3, 14, 14, 16], vec![32, 3, 3, 16], padded(2, 1)),
        (vec![5, 28, 28, 1], vec![32, 3, 3, 1], padded(2, 1)),
        (vec![2, 2, 32, 32, 3], vec![64, 3, 3, 3], padded(2, 1)),
        (vec![4, 14, 14, 16], vec![8, 3, 3, 16], strided),
        (vec![4, 14, 14, 8], vec![8, 3, 3, 8], dilated),
        (vec![4, 14, 14, 16], vec![32, 3, 3, 8], grouped),
        (vec![4, 14, 14, 24], vec![8, 1, 1, 24], Conv::new(2)),
        (vec![4, 20, 8], vec![16, 5, 8], padded(1, 2)),
        (vec![2, 6, 7, 8, 8], vec![16, 3, 3, 3, 8], padded(3, 1)),
        (vec![4, 7, 7, 16], vec![16, 2, 2, 8], transposed),
        // Over time: cuDNN has no fast input gradient of bf16 here.
        (vec![1, 60, 16, 256], vec![256, 25, 1, 256], Conv::new(2)),
    ];
    for (x, w, op) in cases {
        convolve(&x, &w, op.clone(), SUMS, Precision::F32);
        convolve(&x, &w, op, Near::OfLargest(1e-2), Precision::Bf16);
    }
}

/// Integrate and fire with a hard reset; a triangle stands for the derivative of the step.
fn neuron() -> Arc<Recurrence> {
    let (x, v) = (Expr::symbol("x"), Expr::symbol("v"));
    let h = &v + &x;
    let spike = |h: &Expr| {
        let slope = 1.0 - (h - 1.0).abs();
        let soft = Expr::select(slope.gt(0.0), &slope * h, 0.0);
        Expr::custom_gradient(h.ge(1.0), soft)
    };
    let s = spike(&h);
    let next = &h * (1.0 - &s);
    Arc::new(
        Recurrence::new("if", ["x"], ["v"])
            .output("s", s, true)
            .next(vec![next]),
    )
}

struct Block {
    time: usize,
    /// Images, height, width, channels.
    step: [usize; 4],
    pool: Option<usize>,
    /// Whether the input is the same at all steps.
    constant: bool,
    precision: Precision,
}

impl Block {
    /// Statistics, normalization, neuron and pooling, and all gradients.
    fn check(&self, gpu: &spikelet_cuda::Cuda, near: Near) {
        let [n, h, w, c] = self.step;
        let steps = if self.constant { 1 } else { self.time };
        let x = scaled(&[steps, n, h, w, c], 1, 1.5, 0.4);
        let (gamma, beta) = (scaled(&[c], 2, 0.3, 1.0), scaled(&[c], 3, 0.3, 0.2));
        let k = self.pool.unwrap_or(1);
        let g = tensor(&[self.time, n, h / k, w / k, c], 4);
        let inputs = [
            ("x", x.clone()),
            ("gamma", gamma.clone()),
            ("beta", beta.clone()),
            ("g", g.clone()),
        ];
        let trace = |tracer: &Tracer| {
            tracer.set_precision(self.precision);
            let given = data(tracer, "x", &x);
            let (gamma, beta) = (data(tracer, "gamma", &gamma), data(tracer, "beta", &beta));
            // With a 16-bit precision the product stores the sequence in 16 bits.
            let eye = tracer.input("eye", DType::F32, [c, c]);
            let x = given.linear(&eye);
            let [mean, variance] = x.mean_var();
            let scale = Var::map(&[&gamma, &variance], |v| &v[0] / (&v[1] + 1e-5).sqrt());
            let shift = Var::map(&[&beta, &mean, &scale], |v| &v[0] - &v[1] * &v[2]);
            let y = Var::map(&[&x, &scale, &shift], |v| &v[0] * &v[1] + &v[2]);
            let y = match self.constant {
                true => y.expand([self.time, n, h, w, c]),
                false => y,
            };
            let v = tracer.fill(DType::F32, [], 0.0);
            let mut s = Var::scan(&neuron(), self.time, &[&y], &[&v], &[]).swap_remove(0);
            if let Some(k) = self.pool {
                s = s.pool(Pooling::Max, [Window::blocks(k); 2]);
            }
            let g = data(tracer, "g", &g);
            let grads = tracer.gradients_given(&[(&s, &g)], &[&given, &gamma, &beta]);
            tracer.output("s", &s);
            for (name, grad) in ["dx", "dgamma", "dbeta"].iter().zip(&grads) {
                tracer.output(name, grad);
            }
        };
        let eye: Vec<f32> = (0..c * c)
            .map(|i| f32::from(u8::from(i % (c + 1) == 0)))
            .collect();
        let mut all = inputs.to_vec();
        all.push(("eye", Tensor::f32([c, c], eye)));
        let by = |name: &str| {
            if name == "s" {
                Near::OfLargest(0.0)
            } else {
                near
            }
        };
        same_on(gpu, &all, by, trace);
        let plan = Plan::new(traced(trace), gpu);
        let grads: Vec<_> = plan
            .graph
            .nodes
            .iter()
            .filter_map(|n| match &n.op {
                Op::ScanGrad(op) => Some(op),
                _ => None,
            })
            .collect();
        let sums = grads.iter().any(|op| op.channel_sums);
        assert_eq!(sums, self.time <= 16 && self.time * k * k <= 64, "{plan}");
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn neurons_behind_a_normalization_have_the_spikes_and_gradients_of_the_cpu() {
    let gpu = gpu();
    for (time, step, pool, constant) in [
        (4, [3, 6, 4, 16], Some(2), false),
        (4, [3, 6, 4, 16], Some(2), true),
        (1, [2, 4, 4, 3], Some(2), false),
        (5, [2, 6, 9, 5], Some(3), true),
        (8, [2, 4, 4, 8], None, false),
        // A block's steps are more than a thread keeps.
        (16, [2, 6, 9, 8], Some(3), false),
        (16, [2, 4, 4, 8], Some(2), false),
        (20, [2, 4, 4, 8], None, false),
        (40, [2, 4, 4, 8], None, false),
        (4, [64, 14, 14, 128], Some(2), false),
        (4, [64, 28, 28, 64], Some(2), true),
        (4, [1, 2, 2, 512], Some(2), false),
    ] {
        for precision in [Precision::F32, Precision::Bf16] {
            let block = Block {
                time,
                step,
                pool,
                constant,
                precision,
            };
            block.check(
                &gpu,
                if precision == Precision::F32 {
                    Near::OfLargest(2e-5)
                } else {
                    Near::OfLargest(2e-2)
                },
            );
        }
    }
}
