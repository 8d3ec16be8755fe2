//! Errors for images, windows and kernels that do not match.

use crate::graphs::{F, neuron};
use insta::assert_snapshot;
use spikelet_expr::Expr;
use spikelet_graph::op::{
    Conv, ConvPart, MeanVar, Pool, PoolGrad, Pooling, Port, Recurrence, Scan, ScanGrad, Window,
};
use spikelet_graph::{DType, Tracer};
use std::sync::Arc;

/// The first error of a trace.
fn error(build: impl FnOnce(&Tracer)) -> String {
    let tracer = Tracer::new(F);
    build(&tracer);
    tracer.check().unwrap_err().to_string()
}

/// The error for a product of tensors of these shapes.
fn conv(a: &[usize], b: &[usize], op: Conv) -> String {
    error(|t| {
        t.input("a", F, a).conv(&t.input("b", F, b), op);
    })
}

fn pool(shape: &[usize], pooling: Pooling, windows: &[Window]) -> String {
    error(|t| {
        t.input("x", F, shape).pool(pooling, windows);
    })
}

const MEAN: Pooling = Pooling::Average {
    count_padding: true,
};

#[test]
fn a_convolution_names_channels_groups_and_sizes_that_do_not_fit() {
    assert_snapshot!(error(|t| {
        let (x, w) = (t.input("x", F, [4, 2, 8, 8, 3]), t.parameter("w", [5, 3, 3, 1]));
        t.scope("conv", || t.scope("0", || x.conv(&w, Conv::new(2))));
    }), @"
    conv2d in `conv.0`: 1 groups of 1 input channels; the input has 3 channels, the output 5
      given: f32[4, 2, 8, 8, 3] and f32[5, 3, 3, 1]
      help: input and output channels must be multiples of the groups, and the weight fit the input
    ");
    let grouped = Conv {
        groups: 2,
        ..Conv::new(2)
    };
    assert_snapshot!(conv(&[2, 8, 8, 4], &[5, 3, 3, 2], grouped.clone()), @"
    conv2d: 2 groups of 2 input channels; the input has 4 channels, the output 5
      given: f32[2, 8, 8, 4] and f32[5, 3, 3, 2]
      help: input and output channels must be multiples of the groups, and the weight fit the input
    ");
    assert_snapshot!(conv(&[2, 8, 8, 3], &[4, 3, 3, 1], grouped), @"
    conv2d: 2 groups of 1 input channels; the input has 3 channels, the output 4
      given: f32[2, 8, 8, 3] and f32[4, 3, 3, 1]
      help: input and output channels must be multiples of the groups, and the weight fit the input
    ");
    assert_snapshot!(conv(&[2, 4, 8, 3], &[5, 5, 5, 3], Conv::new(2)), @"
    conv2d: kernel [5, 5] on images of [4, 8] does not give images of [0, 4]
      given: f32[2, 4, 8, 3] and f32[5, 5, 5, 3]
      help: use larger images, a smaller kernel, or more padding
    ");
    let wide = Conv {
        dilation: vec![4],
        ..Conv::new(1)
    };
    assert_snapshot!(conv(&[2, 8, 3], &[5, 3, 3], wide), @"
    conv1d: kernel [3] on images of [8] does not give images of [0]
      given: f32[2, 8, 3] and f32[5, 3, 3]
      help: use larger images, a smaller kernel, or more padding
    ");
}

#[test]
fn a_convolution_names_axes_and_types_that_do_not_fit() {
    assert_snapshot!(conv(&[8, 8, 3], &[5, 3, 3, 3], Conv::new(2)), @"
    conv2d: an operand has the wrong number of axes
      given: f32[8, 8, 3] and f32[5, 3, 3, 3]
      help: images are [batch, 2 spatial, channels], weights [out, 2 kernel, in]
    ");
    assert_snapshot!(conv(&[2, 8, 8, 3], &[5, 3, 3], Conv::new(2)), @"
    conv2d: an operand has the wrong number of axes
      given: f32[2, 8, 8, 3] and f32[5, 3, 3]
      help: images are [batch, 2 spatial, channels], weights [out, 2 kernel, in]
    ");
    assert_snapshot!(conv(&[2, 8, 3], &[5, 3, 3], Conv::new(0)), @"
    conv0d: strides [], padding [], dilation []
      given: f32[2, 8, 3] and f32[5, 3, 3]
      help: pass one value of each for every spatial axis, of one to three axes
    ");
    let uneven = Conv {
        padding: vec![1],
        ..Conv::new(2)
    };
    assert_snapshot!(conv(&[2, 8, 8, 3], &[5, 3, 3, 3], uneven), @"
    conv2d: strides [1, 1], padding [1], dilation [1, 1]
      given: f32[2, 8, 8, 3] and f32[5, 3, 3, 3]
      help: pass one value of each for every spatial axis, of one to three axes
    ");
    let still = Conv {
        stride: vec![1, 0],
        ..Conv::new(2)
    };
    assert_snapshot!(conv(&[2, 8, 8, 3], &[5, 3, 3, 3], still), @"
    conv2d: a stride, a dilation or the number of groups is 0
      given: f32[2, 8, 8, 3] and f32[5, 3, 3, 3]
      help: use at least 1
    ");
    assert_snapshot!(error(|t| {
        t.input("x", F, [2, 8, 3]).conv(&t.input("w", DType::F64, [5, 3, 3]), Conv::new(1));
    }), @"
    conv1d: cannot convolve f32 with f64
      given: f32[2, 8, 3] and f64[5, 3, 3]
      help: convert the operands to one floating-point type
    ");
    assert_snapshot!(error(|t| {
        t.input("x", DType::I64, [2, 8, 3]).conv(&t.input("w", DType::I64, [5, 3, 3]), Conv::new(1));
    }), @"
    conv1d: cannot convolve i64 with i64
      given: i64[2, 8, 3] and i64[5, 3, 3]
      help: convert the operands to one floating-point type
    ");
    assert_snapshot!(error(|t| { t.apply(Conv::new(1), &[&t.input("x", F, [2, 8, 3])]); }), @"
    conv1d: takes 2 operands; 1 were given
      given: f32[2, 8, 3]
      help: pass exactly the operands of the operation
    ");
}

#[test]
fn the_other_parts_of_a_convolution_say_what_they_miss() {
    // Their sizes.
    let part = |part, size: &[usize]| Conv::new(1).part(part, size);
    assert_snapshot!(conv(&[2, 6, 5], &[5, 3, 3], part(ConvPart::Input, &[])), @"
    conv1d_input: strides [1], padding [0], dilation [1]
      given: f32[2, 6, 5] and f32[5, 3, 3]
      help: pass one value of each for every spatial axis, of one to three axes
    ");
    // Images of seven elements have five windows of three, not six.
    assert_snapshot!(conv(&[2, 6, 5], &[5, 3, 3], part(ConvPart::Input, &[7])), @"
    conv1d_input: kernel [3] on images of [7] does not give images of [6]
      given: f32[2, 6, 5] and f32[5, 3, 3]
      help: use larger images, a smaller kernel, or more padding
    ");
    assert_snapshot!(conv(&[2, 6, 4], &[5, 3, 3], part(ConvPart::Input, &[8])), @"
    conv1d_input: kernel [3] on images of [8] does not give images of [6]
      given: f32[2, 6, 4] and f32[5, 3, 3]
      help: use larger images, a smaller kernel, or more padding
    ");
    // Batches that differ.
    assert_snapshot!(conv(&[2, 8, 3], &[4, 6, 5], part(ConvPart::Weight, &[3])), @"
    conv1d_weight: kernel [3] on images of [8] does not give images of [6]
      given: f32[2, 8, 3] and f32[4, 6, 5]
      help: use larger images, a smaller kernel, or more padding
    ");
}

#[test]
fn pooling_names_windows_that_do_not_fit() {
    let blocks = [Window::blocks(3); 2];
    assert_snapshot!(pool(&[8, 8, 3], Pooling::Max, &blocks), @"
    max_pool2d: cannot pool 2 spatial axes of a tensor with 3 axes
      given: f32[8, 8, 3]
      help: pass floating-point images [batch, spatial, channels] with one to three spatial axes
    ");
    assert_snapshot!(pool(&[4, 2, 2, 8, 3], Pooling::Max, &blocks), @"
    max_pool2d: windows [Sliding { kernel: 3, stride: 3, padding: 0, dilation: 1, ceil: false }, Sliding { kernel: 3, stride: 3, padding: 0, dilation: 1, ceil: false }] do not fit images of [2, 8]
      given: f32[4, 2, 2, 8, 3]
      help: use a window that is no larger than the image, padded by at most half a window
    ");
    assert_snapshot!(pool(&[2, 8, 3], Pooling::Max, &[Window::Adaptive { outputs: 0 }]), @"
    max_pool1d: windows [Adaptive { outputs: 0 }] do not fit images of [8]
      given: f32[2, 8, 3]
      help: use a window that is no larger than the image, padded by at most half a window
    ");
    assert_snapshot!(pool(&[2, 8, 3], Pooling::Max, &[]), @"
    max_pool0d: cannot pool 0 spatial axes of a tensor with 3 axes
      given: f32[2, 8, 3]
      help: pass floating-point images [batch, spatial, channels] with one to three spatial axes
    ");
    let window = |padding, dilation| Window::Sliding {
        kernel: 3,
        stride: 1,
        padding,
        dilation,
        ceil: false,
    };
    assert_snapshot!(pool(&[2, 8, 3], MEAN, &[window(2, 1)]), @"
    avg_pool1d: windows [Sliding { kernel: 3, stride: 1, padding: 2, dilation: 1, ceil: false }] do not fit images of [8]
      given: f32[2, 8, 3]
      help: use a window that is no larger than the image, padded by at most half a window
    ");
    assert_snapshot!(pool(&[2, 8, 3], MEAN, &[window(0, 2)]), @"
    avg_pool1d: dilated average pooling is not implemented
      given: f32[2, 8, 3]
      help: use a dilation of 1
    ");
    assert_snapshot!(pool(&[2, 8, 3], MEAN, &[window(0, 0)]), @"
    avg_pool1d: windows [Sliding { kernel: 3, stride: 1, padding: 0, dilation: 0, ceil: false }] do not fit images of [8]
      given: f32[2, 8, 3]
      help: use a window that is no larger than the image, padded by at most half a window
    ");
    assert_snapshot!(error(|t| {
        t.input("x", DType::I64, [2, 8, 3]).pool(Pooling::Max, [Window::blocks(2)]);
    }), @"
    max_pool1d: cannot pool 1 spatial axes of a tensor with 3 axes
      given: i64[2, 8, 3]
      help: pass floating-point images [batch, spatial, channels] with one to three spatial axes
    ");
}

#[test]
fn the_gradient_of_a_pooling_is_of_the_pooled_tensor() {
    let grad = |pooling, size: &[usize]| PoolGrad {
        pool: Pool {
            pooling,
            windows: vec![Window::blocks(2)],
        },
        size: size.to_vec(),
    };
    assert_snapshot!(error(|t| { t.apply(grad(MEAN, &[9]), &[&t.input("g", F, [2, 5, 3])]); }), @"
    avg_pool1d_grad: the gradient does not match a pooled f32[2, 9, 3]
      given: f32[2, 5, 3]
      help: pass the gradient of the pooled tensor, and the tensor that was pooled
    ");
    assert_snapshot!(error(|t| { t.apply(grad(MEAN, &[]), &[&t.input("g", F, [2, 5, 3])]); }), @"
    avg_pool1d_grad: the gradient has the wrong number of axes
      given: f32[2, 5, 3]
      help: pass the gradient of the pooled tensor
    ");
    assert_snapshot!(error(|t| {
        let (g, x) = (t.input("g", F, [2, 5, 3]), t.input("x", F, [2, 11, 3]));
        t.apply(grad(Pooling::Max, &[10]), &[&g, &x]);
    }), @"
    max_pool1d_grad: the gradient does not match a pooled f32[2, 10, 3]
      given: f32[2, 5, 3] and f32[2, 11, 3]
      help: pass the gradient of the pooled tensor, and the tensor that was pooled
    ");
    assert_snapshot!(error(|t| {
        let x = t.input("x", F, [2, 8, 3]);
        let y = x.pool(Pooling::Max, [Window::blocks(2)]).square().sum_all();
        let first = t.gradients(&y, &[&x]).remove(0);
        t.gradients(&first.square().sum_all(), &[&x]);
    }), @"no gradient of `max_pool1d_grad`: second derivatives of max pooling are not implemented");
}

#[test]
fn mean_and_variance_are_of_at_least_one_element_a_channel() {
    assert_snapshot!(error(|t| { t.input("x", F, [0, 3]).mean_var(); }), @"
    mean_var: mean and variance need floating-point elements, at least one for each channel
      given: f32[0, 3]
      help: pass a tensor [.., channels] that is not empty
    ");
    assert_snapshot!(error(|t| { t.input("x", F, [3]).mean_var(); }), @"
    mean_var: mean and variance need floating-point elements, at least one for each channel
      given: f32[3]
      help: pass a tensor [.., channels] that is not empty
    ");
    assert_snapshot!(error(|t| { t.input("x", DType::I64, [2, 3]).mean_var(); }), @"
    mean_var: mean and variance need floating-point elements, at least one for each channel
      given: i64[2, 3]
      help: pass a tensor [.., channels] that is not empty
    ");
    assert_snapshot!(error(|t| {
        let x = t.input("x", F, [2, 3]);
        t.apply(MeanVar, &[&x, &x]);
    }), @"
    mean_var: takes 1 operands; 2 were given
      given: f32[2, 3] and f32[2, 3]
      help: pass exactly the operands of the operation
    ");
}

#[test]
fn a_neuron_pools_spikes_in_blocks_that_cover_a_step() {
    let pooled = |shape: &[usize], size, binary: bool| {
        error(|t| {
            let h = Expr::symbol("x") + Expr::symbol("v");
            let graded = Recurrence::new("li", ["x"], ["v"])
                .output("y", h.clone(), false)
                .next(vec![h]);
            let scan = Scan {
                pool: Some(size),
                ..Scan::new(if binary { neuron() } else { Arc::new(graded) }, 4)
            };
            t.apply(scan, &[&t.input("x", F, shape), &t.fill(F, [], 0.0)]);
        })
    };
    assert_snapshot!(pooled(&[4, 2, 8, 7, 3], [2, 2], true), @"
    if: blocks of 2×2 neurons do not cover a step of [2, 8, 7, 3]
      given: f32[4, 2, 8, 7, 3] and f32[]
      help: pool steps [.., height, width, channels] that are multiples of the block
    ");
    assert_snapshot!(pooled(&[4, 8, 3], [2, 2], true), @"
    if: blocks of 2×2 neurons do not cover a step of [8, 3]
      given: f32[4, 8, 3] and f32[]
      help: pool steps [.., height, width, channels] that are multiples of the block
    ");
    assert_snapshot!(pooled(&[4, 2, 8, 6, 3], [0, 2], true), @"
    if: blocks of 0×2 neurons do not cover a step of [2, 8, 6, 3]
      given: f32[4, 2, 8, 6, 3] and f32[]
      help: pool steps [.., height, width, channels] that are multiples of the block
    ");
    assert_snapshot!(pooled(&[4, 2, 8, 6, 3], [2, 2], false), @"
    li: pools outputs that are not spikes
      given: f32[4, 2, 8, 6, 3] and f32[]
      help: pool them by a separate operation
    ");
    let backward = |g: &[usize]| {
        error(|t| {
            let scan = Scan {
                pool: Some([2, 2]),
                ..Scan::new(neuron(), 4)
            };
            let grad = ScanGrad::new(scan, vec![Port::OutputGrad(0)]);
            let (x, g) = (t.input("x", F, [4, 2, 8, 6, 3]), t.input("g", F, g));
            t.apply(grad, &[&x, &t.fill(F, [], 0.0), &g]);
        })
    };
    assert_snapshot!(backward(&[4, 2, 8, 6, 3]), @"
    if_grad: the gradient of an output is f32[4, 2, 8, 6, 3], not f32[4, 2, 4, 3, 3]
      given: f32[4, 2, 8, 6, 3] and f32[] and f32[4, 2, 8, 6, 3]
      help: pass what the scan over the same operands computes, and the gradients of its results
    ");
    assert_snapshot!(backward(&[3, 2, 4, 3, 3]), @"
    if_grad: the gradient of an output is f32[3, 2, 4, 3, 3], not f32[4, 2, 4, 3, 3]
      given: f32[4, 2, 8, 6, 3] and f32[] and f32[3, 2, 4, 3, 3]
      help: pass what the scan over the same operands computes, and the gradients of its results
    ");
}
