//! Convolutions and their gradients, against plain loops.

use crate::harness::{
    check_forward, check_gradients, compute, for_any_number_of_threads, index, tensor,
};
use proptest::prelude::*;
use spikelet_graph::op::{Conv, ConvPart};
use spikelet_graph::{DType, Tensor};

/// One convolution.
#[derive(Clone, Debug)]
struct Case {
    batch: Vec<usize>,
    size: Vec<usize>,
    kernel: Vec<usize>,
    channels: (usize, usize),
    op: Conv,
}

impl Case {
    fn new(batch: &[usize], size: &[usize], kernel: &[usize], channels: (usize, usize)) -> Self {
        Self {
            batch: batch.to_vec(),
            size: size.to_vec(),
            kernel: kernel.to_vec(),
            channels,
            op: Conv::new(size.len()),
        }
    }

    fn with(mut self, stride: &[usize], padding: &[usize], dilation: &[usize]) -> Self {
        self.op.stride = stride.to_vec();
        self.op.padding = padding.to_vec();
        self.op.dilation = dilation.to_vec();
        self
    }

    fn groups(mut self, groups: usize) -> Self {
        self.op.groups = groups;
        self
    }

    fn images(&self, size: &[usize], channels: usize) -> Vec<usize> {
        [&self.batch[..], size, &[channels]].concat()
    }

    fn out(&self) -> Vec<usize> {
        let one = |k: usize| {
            let reach = self.op.dilation[k] * (self.kernel[k] - 1) + 1;
            (self.size[k] + 2 * self.op.padding[k] - reach) / self.op.stride[k] + 1
        };
        (0..self.size.len()).map(one).collect()
    }

    fn x(&self) -> Tensor {
        tensor(&self.images(&self.size, self.channels.0), 1)
    }

    fn w(&self) -> Tensor {
        let shape = [
            &[self.channels.1],
            &self.kernel[..],
            &[self.channels.0 / self.op.groups],
        ];
        tensor(&shape.concat(), 2)
    }

    fn g(&self) -> Tensor {
        tensor(&self.images(&self.out(), self.channels.1), 3)
    }

    /// Calls `each` with the elements of x, w and y that meet.
    fn meet(&self, mut each: impl FnMut(usize, usize, usize)) {
        let (out, op) = (self.out(), &self.op);
        let (inputs, outputs) = (self.channels.0 / op.groups, self.channels.1);
        let per_group = outputs / op.groups;
        let batch: usize = self.batch.iter().product();
        let (positions, taps) = (out.iter().product::<usize>(), self.kernel.iter().product());
        let pixels: usize = self.size.iter().product();
        for y in 0..batch * positions * outputs {
            let (o, at) = (y % outputs, index(y / outputs % positions, &out));
            for tap in 0..taps {
                let k = index(tap, &self.kernel);
                let along = |a: usize| {
                    let i = (at[a] * op.stride[a] + k[a] * op.dilation[a])
                        .checked_sub(op.padding[a])?;
                    (i < self.size[a]).then_some(i)
                };
                let place: Option<usize> =
                    (0..at.len()).try_fold(0, |p, a| Some(p * self.size[a] + along(a)?));
                let Some(place) = place else { continue };
                for i in 0..inputs {
                    let pixel = y / outputs / positions * pixels + place;
                    let x = pixel * self.channels.0 + o / per_group * inputs + i;
                    each(x, (o * taps + tap) * inputs + i, y);
                }
            }
        }
    }

    fn check(&self) {
        let (x, w, g) = (self.x(), self.w(), self.g());
        let (xs, ws, gs) = (x.to_f64(), w.to_f64(), g.to_f64());
        let mut y = vec![0.0; gs.len()];
        let (mut dx, mut dw) = (vec![0.0; xs.len()], vec![0.0; ws.len()]);
        self.meet(|i, k, o| {
            y[o] += xs[i] * ws[k];
            dx[i] += gs[o] * ws[k];
            dw[k] += gs[o] * xs[i];
        });
        let run = |left: &Tensor, right: &Tensor, shape: &[usize], want: &[f64], op: Conv| {
            let inputs = [left.clone(), right.clone()];
            check_forward(&inputs, shape, want, |_, v| v[0].conv(&v[1], op.clone()));
        };
        let input = self.op.part(ConvPart::Input, self.size.clone());
        let weight = self.op.part(ConvPart::Weight, self.kernel.clone());
        run(&x, &w, &g.shape, &y, self.op.clone());
        run(&g, &w, &x.shape, &dx, input);
        run(&x, &g, &w.shape, &dw, weight);
    }
}

#[test]
fn convolutions_of_one_two_and_three_axes_are_those_of_plain_loops() {
    for channels in [(1, 1), (1, 8), (3, 17), (8, 3), (17, 8)] {
        Case::new(&[2], &[9], &[3], channels).check();
        Case::new(&[2], &[6, 7], &[3, 2], channels).check();
        Case::new(&[2], &[6, 5], &[3, 3], channels)
            .with(&[1, 1], &[1, 1], &[1, 1])
            .check();
        Case::new(&[1], &[4, 5, 6], &[2, 3, 2], channels)
            .with(&[1, 2, 1], &[0, 1, 1], &[1, 1, 2])
            .check();
    }
}

#[test]
fn strides_padding_and_dilation_go_together() {
    for (stride, padding, dilation) in [
        ([2, 2], [1, 1], [1, 1]),
        ([1, 3], [0, 2], [2, 1]),
        ([3, 1], [4, 0], [1, 2]),
        ([1, 1], [5, 3], [1, 2]),
        ([4, 5], [0, 0], [2, 2]),
    ] {
        for channels in [(1, 4), (3, 5), (16, 16)] {
            Case::new(&[2], &[11, 9], &[3, 3], channels)
                .with(&stride, &padding, &dilation)
                .check();
        }
    }
}

#[test]
fn groups_see_their_own_channels() {
    for (groups, channels) in [
        (2, (4, 6)),
        (4, (16, 32)),
        (6, (6, 12)),
        (8, (8, 8)),
        (3, (51, 9)),
    ] {
        for stride in [1, 2] {
            Case::new(&[2], &[6, 7], &[3, 3], channels)
                .with(&[stride; 2], &[1, 1], &[1, 1])
                .groups(groups)
                .check();
        }
        Case::new(&[3], &[5], &[1], channels).groups(groups).check();
    }
}

#[test]
fn a_kernel_for_each_channel_alone_is_elementwise() {
    for channels in [2, 17, 40] {
        for (stride, dilation) in [(1, 1), (2, 1), (1, 2)] {
            Case::new(&[2], &[15, 9], &[3, 2], (channels, channels))
                .with(&[stride; 2], &[1, 2], &[dilation; 2])
                .groups(channels)
                .check();
        }
        let many = Case::new(&[3, 2], &[70], &[5], (channels, channels)).groups(channels);
        many.check();
    }
}

#[test]
fn kernels_of_one_position_read_images_where_they_are() {
    for channels in [(3, 5), (64, 32), (40, 7)] {
        Case::new(&[2], &[8, 8], &[1, 1], channels).check();
        Case::new(&[1], &[5, 3], &[1, 1], channels).check();
        Case::new(&[2], &[8, 8], &[1, 1], channels)
            .with(&[2, 2], &[0, 0], &[1, 1])
            .check();
        Case::new(&[2], &[4, 4], &[1, 1], channels)
            .with(&[1, 1], &[1, 1], &[1, 1])
            .check();
    }
}

#[test]
fn windows_fill_several_tiles_and_chunks() {
    Case::new(&[2, 3], &[28, 28], &[3, 3], (1, 32))
        .with(&[1, 1], &[1, 1], &[1, 1])
        .check();
    Case::new(&[7], &[14, 14], &[3, 3], (8, 16))
        .with(&[1, 1], &[1, 1], &[1, 1])
        .check();
    // So many sums that the channels of a chunk are shared out.
    Case::new(&[2], &[12, 12], &[3, 3], (100, 130)).check();
    Case::new(&[1], &[33, 33], &[7, 7], (12, 8))
        .with(&[2, 2], &[3, 3], &[1, 1])
        .check();
}

#[test]
fn convolutions_have_gradients_of_any_order() {
    let case = Case::new(&[2], &[4, 5], &[3, 2], (2, 4))
        .with(&[1, 2], &[1, 0], &[1, 1])
        .groups(2);
    let op = case.op.clone();
    check_gradients(&[case.x(), case.w()], |_, v| v[0].conv(&v[1], op.clone()));
    let input = op.part(ConvPart::Input, case.size.clone());
    check_gradients(&[case.g(), case.w()], |_, v| {
        v[0].conv(&v[1], input.clone())
    });
    let weight = op.part(ConvPart::Weight, case.kernel.clone());
    check_gradients(&[case.x(), case.g()], |_, v| {
        v[0].conv(&v[1], weight.clone())
    });
}

#[test]
fn an_empty_batch_has_no_results_and_no_gradient() {
    let case = Case::new(&[0], &[4, 4], &[3, 3], (2, 3));
    let y = compute(&[case.x(), case.w()], |_, v| {
        v[0].conv(&v[1], case.op.clone())
    });
    assert_eq!(y.shape, [0, 2, 2, 3]);
    let weight = case.op.part(ConvPart::Weight, case.kernel.clone());
    let dw = compute(&[case.x(), case.g()], |_, v| {
        v[0].conv(&v[1], weight.clone())
    });
    assert!(dw.to_f64().iter().all(|x| *x == 0.0));
}

/// The first images of a batch give the bits that the whole batch gives.
#[test]
fn images_do_not_depend_on_the_rest_of_the_batch() {
    for (channels, size) in [((32, 32), 14), ((1, 32), 28), ((64, 20), 3)] {
        let case = |batch| {
            Case::new(&[batch], &[size, size], &[3, 3], channels).with(&[1, 1], &[1, 1], &[1, 1])
        };
        let (all, w) = (case(5).x().cast(DType::F32), case(5).w().cast(DType::F32));
        let run =
            |x: Tensor| compute(&[x, w.clone()], |_, v| v[0].conv(&v[1], case(5).op)).to_f64();
        let whole = run(all.clone());
        let image = size * size * channels.0;
        let some = |n: usize| {
            let values: Vec<f32> = all.to_f64()[..n * image]
                .iter()
                .map(|x| *x as f32)
                .collect();
            Tensor::f32([n, size, size, channels.0], values)
        };
        for n in [1, 2, 3] {
            let part = run(some(n));
            assert_eq!(part, whole[..part.len()], "{n} of 5 images, {channels:?}");
        }
    }
}

#[test]
fn convolutions_give_the_same_bits_for_any_number_of_threads() {
    for (channels, stride, groups) in [
        ((32, 32), 1, 1),
        ((1, 32), 1, 1),
        ((3, 40), 2, 1),
        ((128, 128), 1, 1),
        ((24, 24), 1, 24),
        ((24, 24), 2, 4),
    ] {
        let case = Case::new(&[9], &[14, 14], &[3, 3], channels)
            .with(&[stride; 2], &[1, 1], &[1, 1])
            .groups(groups);
        let input = case.op.part(ConvPart::Input, case.size.clone());
        let weight = case.op.part(ConvPart::Weight, case.kernel.clone());
        for (left, right, op) in [
            (case.x(), case.w(), case.op.clone()),
            (case.g(), case.w(), input),
            (case.x(), case.g(), weight),
        ] {
            let inputs = [left.cast(DType::F32), right.cast(DType::F32)];
            for_any_number_of_threads(&inputs, |_, v| vec![v[0].conv(&v[1], op.clone())]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_convolution_is_that_of_plain_loops(
        axes in prop::collection::vec((1_usize..8, 1_usize..4, 1_usize..4, 0_usize..3, 1_usize..3), 1..4),
        batch in 1_usize..3,
        groups in 1_usize..4,
        channels in (1_usize..5, 1_usize..5),
    ) {
        let pick = |f: fn(&(usize, usize, usize, usize, usize)) -> usize| -> Vec<usize> {
            axes.iter().map(f).collect()
        };
        let (kernel, padding, dilation) = (pick(|a| a.1), pick(|a| a.3), pick(|a| a.4));
        // At least as large as a window.
        let reach = pick(|a| a.0 + a.4 * (a.1 - 1));
        let channels = (channels.0 * groups, channels.1 * groups);
        Case::new(&[batch], &reach, &kernel, channels)
            .with(&pick(|a| a.2), &padding, &dilation)
            .groups(groups)
            .check();
    }
}
