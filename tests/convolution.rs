//! Convolutions and pooling against plain loops, their gradients against differences, and what
//! networks of them do layer by layer and step by step.

#[path = "layers/loops.rs"]
mod loops;
use crate::probe;

use loops::{Images, Steps, Windows, three};
use probe::{Probe, assert_close, values};
use spikelet::layer::{
    AdaptiveAvgPool1d, AdaptiveAvgPool3d, AdaptiveMaxPool2d, AdaptiveMaxPool3d, AvgPool1d,
    AvgPool3d, Conv, Conv3d, ConvTransposed, ConvTransposed1d, ConvTransposed2d, ConvTransposed3d,
    Dropout2d, MaxPool1d, MaxPool3d,
};
use spikelet::prelude::*;
use spikelet::train::{BatchShape, Step};
use spikelet::{LayerError, LayerProblem};
use std::fmt::Debug;

const ROUNDING: f64 = 1e-12;

fn steps<const D: usize>(conv: &Conv<D>) -> Steps {
    Steps {
        kernel: three(&conv.kernel, 1),
        stride: three(&conv.stride, 1),
        padding: three(&conv.padding, 0),
        dilation: three(&conv.dilation, 1),
        groups: conv.groups,
    }
}

fn check_conv<const D: usize>(conv: Conv<D>, size: [usize; D]) -> Result<()> {
    let what = format!("{conv:?} on {size:?}");
    let mut shape = vec![2, 2, conv.inputs];
    shape.extend(size);
    let mut probe = Probe::new(&conv, Mode::TRAIN, &shape)?;
    let weight = probe.tensor("weight")?;
    let mut own = vec![conv.outputs, conv.inputs / conv.groups];
    own.extend(conv.kernel);
    assert_eq!(probe.parameters[0], ("weight".to_string(), own));
    let bias = match conv.bias {
        true => Some(probe.tensor("bias")?),
        false => None,
    };
    assert_eq!(probe.parameters.len(), 1 + usize::from(conv.bias));
    let x = Images::new(&shape, &probe.x);
    let expected = loops::conv(&x, &weight, bias.as_deref(), conv.outputs, steps(&conv));
    assert_eq!(probe.shape[..3], [2, 2, conv.outputs], "{what}");
    assert_eq!(three(&probe.shape[3..], 1), expected.size, "{what}");
    assert_close(&what, &probe.run("y")?, &expected.values, ROUNDING);
    probe.check_gradients(&what)
}

#[test]
fn convolutions_over_one_axis_are_those_of_plain_loops() -> Result<()> {
    let c = Conv1d::new(3, 4, 3).bias(false);
    check_conv(c, [7])?;
    check_conv(c.padding(1).bias(true), [7])?;
    check_conv(c.stride(2).padding(2), [8])?;
    check_conv(c.dilation(3), [9])?;
    check_conv(Conv1d::new(4, 6, 2).groups(2).bias(true), [5])?;
    check_conv(
        Conv1d::new(3, 6, 5)
            .bias(false)
            .groups(3)
            .padding(4)
            .stride(3),
        [6],
    )?;
    check_conv(Conv1d::new(3, 4, 1).bias(false), [1])
}

#[test]
fn convolutions_over_two_axes_are_those_of_plain_loops() -> Result<()> {
    let c = Conv2d::new(3, 4, 3).bias(false);
    check_conv(c, [5, 4])?;
    check_conv(c.padding(1).bias(true), [5, 4])?;
    check_conv(c.stride([2, 1]).padding([0, 2]), [7, 4])?;
    check_conv(c.stride(2).padding(1), [7, 6])?;
    check_conv(c.dilation([1, 2]).padding([1, 2]), [4, 6])?;
    check_conv(c.dilation(2).stride(2).padding(2).bias(true), [6, 7])?;
    check_conv(Conv2d::new(4, 6, [2, 3]).groups(2).bias(true), [4, 5])?;
    // Depthwise; one by one; as large as the image; larger than it, but for the padding.
    check_conv(
        Conv2d::new(4, 8, 3)
            .bias(false)
            .groups(4)
            .padding(1)
            .stride(2),
        [5, 5],
    )?;
    check_conv(Conv2d::new(5, 3, 1).bias(true), [3, 2])?;
    check_conv(Conv2d::new(5, 3, 1).bias(false).stride(2), [5, 4])?;
    check_conv(Conv2d::new(2, 3, [4, 5]).bias(false), [4, 5])?;
    check_conv(Conv2d::new(2, 3, 5).bias(false).padding(2), [3, 2])
}

#[test]
fn convolutions_over_three_axes_are_those_of_plain_loops() -> Result<()> {
    let c = Conv3d::new(2, 3, [2, 3, 2]).bias(false);
    check_conv(c, [3, 4, 3])?;
    check_conv(c.stride([1, 2, 2]).padding([1, 1, 0]).bias(true), [3, 5, 4])?;
    check_conv(c.dilation([2, 1, 2]), [4, 3, 4])?;
    check_conv(
        Conv3d::new(4, 2, 2).bias(false).groups(2).padding(1),
        [2, 2, 3],
    )
}

fn check_transposed<const D: usize>(up: ConvTransposed<D>, size: [usize; D]) -> Result<()> {
    let what = format!("{up:?} on {size:?}");
    let conv = up.conv;
    let mut shape = vec![2, 2, conv.inputs];
    shape.extend(size);
    let mut probe = Probe::new(&up, Mode::TRAIN, &shape)?;
    let weight = probe.tensor("weight")?;
    let mut own = vec![conv.inputs, conv.outputs / conv.groups];
    own.extend(conv.kernel);
    assert_eq!(probe.parameters[0], ("weight".to_string(), own));
    let bias = match conv.bias {
        true => Some(probe.tensor("bias")?),
        false => None,
    };
    let x = Images::new(&shape, &probe.x);
    let added = three(&up.output_padding, 0);
    let expected = loops::conv_transposed(
        &x,
        &weight,
        bias.as_deref(),
        conv.outputs,
        added,
        steps(&conv),
    );
    assert_eq!(probe.shape[..3], [2, 2, conv.outputs], "{what}");
    assert_eq!(three(&probe.shape[3..], 1), expected.size, "{what}");
    assert_close(&what, &probe.run("y")?, &expected.values, ROUNDING);
    probe.check_gradients(&what)
}

#[test]
fn transposed_convolutions_spread_each_element_over_a_window() -> Result<()> {
    let line = Conv1d::new(3, 2, 3).bias(false);
    check_transposed(ConvTransposed1d::new(line), [4])?;
    let grown = ConvTransposed1d::new(line.stride(3).bias(true)).output_padding(2);
    check_transposed(grown, [4])?;
    let image = Conv2d::new(4, 3, 3).bias(false);
    check_transposed(ConvTransposed2d::new(image), [3, 4])?;
    check_transposed(ConvTransposed2d::new(image.padding(1).bias(true)), [3, 4])?;
    let doubled = ConvTransposed2d::new(image.stride(2).padding(1)).output_padding(1);
    check_transposed(doubled, [3, 4])?;
    check_transposed(
        ConvTransposed2d::new(image.stride([1, 2]).dilation([2, 1])).output_padding([0, 1]),
        [3, 2],
    )?;
    check_transposed(
        ConvTransposed2d::new(Conv2d::new(4, 6, 2).stride(2).groups(2).bias(true)),
        [2, 3],
    )?;
    let volume = Conv3d::new(2, 3, 2)
        .bias(false)
        .stride([2, 1, 2])
        .padding([0, 1, 0]);
    check_transposed(ConvTransposed3d::new(volume), [2, 3, 2])
}

/// How an axis is pooled.
#[derive(Clone, Copy, Debug)]
enum Axis {
    Sliding([usize; 4], bool),
    Adaptive(usize),
}

fn check_pool<const D: usize>(
    pool: impl Module + Debug,
    size: [usize; D],
    max: bool,
    count_padding: bool,
    axes: [Axis; D],
) -> Result<()> {
    let what = format!("{pool:?} on {size:?}");
    let mut shape = vec![2, 2, 3];
    shape.extend(size);
    let mut probe = Probe::new(&pool, Mode::TRAIN, &shape)?;
    let mut windows = [1, 1, 1].map(Windows::each);
    for (k, (axis, n)) in axes.into_iter().zip(size).enumerate() {
        windows[3 - D + k] = match axis {
            Axis::Sliding(window, ceil) => Windows::sliding(n, window, ceil, count_padding),
            Axis::Adaptive(outputs) => Windows::adaptive(n, outputs),
        };
    }
    let expected = loops::pool(&Images::new(&shape, &probe.x), max, &windows);
    assert_eq!(probe.shape[..3], [2, 2, 3], "{what}");
    assert_eq!(three(&probe.shape[3..], 1), expected.size, "{what}");
    assert_close(&what, &probe.run("y")?, &expected.values, ROUNDING);
    probe.check_gradients(&what)
}

#[test]
fn maxima_are_those_of_plain_loops() -> Result<()> {
    let slide = |window| Axis::Sliding(window, false);
    let reach = |window| Axis::Sliding(window, true);
    let blocks = slide([2, 2, 0, 1]);
    check_pool(MaxPool1d::new(2), [7], true, true, [blocks])?;
    check_pool(MaxPool2d::new(2), [4, 6], true, true, [blocks; 2])?;
    check_pool(MaxPool2d::new(2), [5, 7], true, true, [blocks; 2])?;
    check_pool(MaxPool3d::new(2), [2, 5, 4], true, true, [blocks; 3])?;
    let overlapping = MaxPool2d::new(3).stride(2).padding(1);
    check_pool(overlapping, [6, 7], true, true, [slide([3, 2, 1, 1]); 2])?;
    let dense = MaxPool2d::new([3, 2]).stride(1);
    let each = [slide([3, 1, 0, 1]), slide([2, 1, 0, 1])];
    check_pool(dense, [5, 4], true, true, each)?;
    let wide = MaxPool2d::new(3).stride(1).dilation([2, 1]).padding(1);
    let each = [slide([3, 1, 1, 2]), slide([3, 1, 1, 1])];
    check_pool(wide, [6, 5], true, true, each)?;
    let last = MaxPool2d::new(2).ceil(true);
    check_pool(last, [5, 4], true, true, [reach([2, 2, 0, 1]); 2])?;
    let last = MaxPool2d::new(3).stride(2).padding(1).ceil(true);
    check_pool(last, [6, 8], true, true, [reach([3, 2, 1, 1]); 2])?;
    let apart = MaxPool2d::new(2).stride(3).padding(1).ceil(true);
    check_pool(apart, [4, 5], true, true, [reach([2, 3, 1, 1]); 2])
}

#[test]
fn means_are_those_of_plain_loops() -> Result<()> {
    let slide = |window| Axis::Sliding(window, false);
    let reach = |window| Axis::Sliding(window, true);
    let blocks = slide([2, 2, 0, 1]);
    check_pool(AvgPool1d::new(2), [7], false, true, [blocks])?;
    check_pool(AvgPool2d::new(2), [4, 6], false, true, [blocks; 2])?;
    check_pool(AvgPool3d::new(2), [3, 4, 2], false, true, [blocks; 3])?;
    for count_padding in [true, false] {
        let padded = AvgPool2d::new(3).count_padding(count_padding);
        let padded = padded.stride(2).padding(1);
        let each = [slide([3, 2, 1, 1]); 2];
        check_pool(padded, [6, 7], false, count_padding, each)?;
        let each = [reach([3, 2, 1, 1]); 2];
        check_pool(padded.ceil(true), [6, 8], false, count_padding, each)?;
        let each = [reach([3, 2, 0, 1]); 2];
        let bare = padded.padding(0).ceil(true);
        check_pool(bare, [6, 5], false, count_padding, each)?;
        let apart = padded.stride(4).ceil(true);
        let each = [reach([3, 4, 1, 1]); 2];
        check_pool(apart, [6, 9], false, count_padding, each)?;
    }
    Ok(())
}

#[test]
fn adaptive_windows_are_those_of_plain_loops() -> Result<()> {
    for max in [true, false] {
        for (outputs, size) in [
            ([1, 1], [4, 5]),
            ([2, 3], [7, 8]),
            ([4, 5], [4, 5]),
            // More windows than elements: some see the same.
            ([5, 3], [3, 2]),
        ] {
            let axes = outputs.map(Axis::Adaptive);
            match max {
                true => check_pool(AdaptiveMaxPool2d::new(outputs), size, max, true, axes)?,
                false => check_pool(AdaptiveAvgPool2d::new(outputs), size, max, true, axes)?,
            }
        }
    }
    check_pool(
        AdaptiveAvgPool1d::new(3),
        [7],
        false,
        true,
        [Axis::Adaptive(3)],
    )?;
    check_pool(
        AdaptiveMaxPool3d::new(2),
        [3, 4, 2],
        true,
        true,
        [Axis::Adaptive(2); 3],
    )
}

#[test]
fn of_equal_maxima_the_first_takes_the_gradient() -> Result<()> {
    let mut probe = Probe::new(&MaxPool2d::new(2), Mode::TRAIN, &[1, 1, 1, 2, 4])?;
    probe.set_x(vec![0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0])?;
    assert_eq!(probe.run("y")?, [1.0, 1.0]);
    let g = values(2, 7);
    let expected = [0.0, g[0], g[1], 0.0, 0.0, 0.0, 0.0, 0.0];
    assert_eq!(probe.run("grad x")?, expected);
    Ok(())
}

/// A network of everything that passes join: bias, normalization, neuron, pooling, residual.
fn network(v_threshold: f64) -> Sequential {
    let block = Sequential::new()
        .add(Conv2d::new(4, 4, 3).bias(false).padding(1))
        .add(BatchNorm2d::new(4))
        .add(Lif::new(2.0).v_threshold(v_threshold));
    Sequential::new()
        .add(Conv2d::new(2, 4, 3).padding(1).bias(true))
        .add(BatchNorm2d::new(4))
        .add(Plif::new(2.5).v_threshold(v_threshold))
        .add(MaxPool2d::new(2))
        .add(Residual::new(block))
        .add(Conv2d::new(4, 3, 3).bias(true))
        .add(MaxPool2d::new(2))
        .add(If::new().v_threshold(v_threshold).v_reset(None))
        .add(Flatten)
        .add(Linear::new(3, 5).bias(false))
        .add(Lif::new(2.0).v_threshold(0.2))
}

const IMAGES: [usize; 5] = [5, 3, 2, 8, 8];

#[test]
fn a_network_in_evaluation_is_the_same_step_by_step() -> Result<()> {
    let names = |probe: &Probe| -> Vec<String> {
        let grads = probe.parameters.iter().map(|(name, _)| name.clone());
        grads.chain(["x".to_string()]).collect()
    };
    let net = network(0.3);
    let mut whole = Probe::new(&net, Mode::EVAL, &IMAGES)?;
    let spikes = whole.run("y")?;
    assert!(spikes.contains(&1.0) && spikes.contains(&0.0), "{spikes:?}");
    assert_eq!(whole.buffers.len(), 4);
    for propagation in [Propagation::StepByStep, Propagation::StepByStepUnfused] {
        let mut steps = Probe::propagated(&net, Mode::EVAL, &IMAGES, propagation)?;
        assert_eq!(steps.run("y")?, spikes, "{propagation}");
        for name in names(&whole) {
            let grad = format!("grad {name}");
            let expected = whole.run(&grad)?;
            assert!(expected.iter().any(|g| *g != 0.0), "{grad}");
            let what = format!("{propagation}: {grad}");
            assert_close(&what, &steps.run(&grad)?, &expected, 1e-10);
        }
    }
    Ok(())
}

#[test]
fn what_is_joined_computes_what_single_operations_compute() -> Result<()> {
    let net = |v_threshold| {
        Sequential::new()
            .add(network(v_threshold))
            .add(Linear::new(5, 4).bias(true))
            .add(Dropout::new(0.5))
            .add(Plif::new(3.0).spiking(false))
    };
    for v_threshold in [0.3, 1.0] {
        let net = Sequential::new()
            .add(Conv2d::new(2, 2, 3).padding(1).bias(true))
            .add(MaxPool2d::new(3).stride(1).padding(1))
            .add(If::new().v_threshold(0.2))
            .add(Dropout2d::new(0.3))
            .add(net(v_threshold));
        for mode in [Mode::TRAIN, Mode::EVAL] {
            let [joined, apart] = [false, true].map(|apart| {
                let cx = Context::new(mode, DType::F64);
                cx.tracer().disable_fusion(apart);
                Probe::traced(&cx, &net, &IMAGES)
            });
            let (mut joined, mut apart) = (joined?, apart?);
            assert_close("y", &joined.run("y")?, &apart.run("y")?, ROUNDING);
            let parameters = joined.parameters.clone().into_iter();
            for name in parameters.map(|(name, _)| name).chain(["x".to_string()]) {
                let grad = format!("grad {name}");
                let expected = apart.run(&grad)?;
                let what = format!("{mode:?}, threshold {v_threshold}: {grad}");
                assert_close(&what, &joined.run(&grad)?, &expected, 1e-9);
            }
            for name in joined.buffers.clone() {
                assert_close(&name, &joined.tensor(&name)?, &apart.tensor(&name)?, 1e-9);
            }
        }
    }
    Ok(())
}

#[test]
fn a_carried_network_is_the_same_step_by_step() -> Result<()> {
    let net = network(0.3);
    let mut whole = Probe::new(&net, Mode::STREAM, &IMAGES)?;
    let mut steps = Probe::propagated(&net, Mode::STREAM, &IMAGES, Propagation::StepByStep)?;
    let mut seen = vec![];
    for _ in 0..3 {
        seen.push(whole.run("y")?);
        assert_eq!(seen.last(), Some(&steps.run("y")?));
    }
    assert_ne!(seen[0], seen[1]);
    Ok(())
}

#[test]
fn an_image_that_is_constant_over_time_gives_what_its_repetition_gives() -> Result<()> {
    // Presented by the encoder, the image passes the first layers once; as a sequence, T times.
    struct Repeated(Sequential);
    impl Module for Repeated {
        fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
            let image = x.slice(0, 0..1).reshape(&x.shape()[1..]);
            self.0.forward(cx, &image.repeat_over_time(x.dim(0)))
        }
    }
    for mode in [Mode::TRAIN, Mode::EVAL] {
        let mut once = Probe::new(&Repeated(network(0.3)), mode, &IMAGES)?;
        let mut each = Probe::new(&network(0.3), mode, &IMAGES)?;
        let image = each.x[..IMAGES[1..].iter().product()].to_vec();
        each.set_x(image.repeat(IMAGES[0]))?;
        assert_close("spikes", &once.run("y")?, &each.run("y")?, 0.0);
        for (name, _) in each.parameters.clone() {
            let grad = format!("grad {name}");
            assert_close(&grad, &once.run(&grad)?, &each.run(&grad)?, 1e-9);
        }
        for name in each.buffers.clone() {
            assert_close(&name, &once.tensor(&name)?, &each.tensor(&name)?, 1e-9);
        }
    }
    Ok(())
}

#[test]
fn gradients_through_smooth_neurons_are_those_of_differences() -> Result<()> {
    let net = Sequential::new()
        .add(Conv2d::new(2, 3, 3).padding(1).bias(true))
        .add(BatchNorm2d::new(3))
        .add(Plif::new(2.5).spiking(false).surrogate(Sigmoid::default()))
        .add(MaxPool2d::new(2))
        .add(Conv2d::new(3, 2, 3).bias(true))
        .add(MaxPool2d::new(2))
        .add(Lif::new(2.0).spiking(false).surrogate(Sigmoid::default()))
        .add(AdaptiveAvgPool2d::new(1));
    for mode in [Mode::TRAIN, Mode::EVAL] {
        let mut probe = Probe::new(&net, mode, &[3, 2, 2, 8, 8])?;
        probe.check_gradients(&format!("{mode:?}"))?;
    }
    Ok(())
}

#[test]
fn a_network_trains_in_every_order() -> Result<()> {
    let shape = BatchShape {
        batch: 16,
        image: [1, 28, 28],
    };
    let data = spikelet::data::synthetic::digits_of(1, 64, 10);
    for propagation in Propagation::ALL {
        let net = Sequential::new()
            .add(Conv2d::new(1, 4, 5).bias(false).stride(2))
            .add(BatchNorm2d::new(4))
            .add(Lif::new(2.0))
            .add(MaxPool2d::new(2))
            .add(Flatten)
            .add(Linear::new(4 * 36, 10).bias(false))
            .add(Lif::new(2.0).v_threshold(0.5));
        let settings = Settings {
            time_steps: 3,
            batch_size: 16,
            propagation,
            ..Settings::default()
        };
        let mut store = VarStore::new(spikelet::device::cpu()?);
        let mut step = Step::classifier(&net, &settings, shape)?.compile(&mut store)?;
        let config = spikelet::data::LoaderConfig {
            batch_size: 16,
            drop_last: true,
            ..Default::default()
        };
        let loader = spikelet::data::DataLoader::new(data.train.clone(), config)?;
        let batches = (0..6).flat_map(|epoch| loader.epoch(epoch, 0));
        let losses: Vec<f64> = batches
            .map(|batch| Ok(step.run_batch(&batch?)?.loss))
            .collect::<Result<_>>()?;
        let mean = |losses: &[f64]| losses.iter().sum::<f64>() / losses.len() as f64;
        let (first, last) = (mean(&losses[..4]), mean(&losses[losses.len() - 4..]));
        assert!(last < 0.95 * first, "{propagation}: {losses:?}");
    }
    Ok(())
}

/// The error of a layer that cannot be traced.
#[track_caller]
fn layer_error(module: &dyn Module, shape: &[usize]) -> LayerError {
    let error = Probe::new(module, Mode::EVAL, shape).err();
    match error.expect("it was accepted").downcast() {
        Ok(error) => error,
        Err(other) => panic!("another error: {other}"),
    }
}

/// The layer of an operation that the graph refuses.
#[track_caller]
fn graph_error(module: &dyn Module, shape: &[usize]) -> String {
    match Probe::new(module, Mode::EVAL, shape)
        .err()
        .expect("it was accepted")
    {
        Error::Graph(spikelet::graph::Error::Shape { layer, help, .. }) => {
            assert!(!help.is_empty());
            layer
        }
        other => panic!("another error: {other}"),
    }
}

#[test]
fn a_layer_that_does_not_fit_names_itself_and_says_what_to_do() {
    let net = Sequential::new()
        .add(Conv2d::new(3, 4, 3).bias(false))
        .add(MaxPool2d::new(2))
        .add(Conv2d::new(8, 4, 3).bias(false));
    let found = layer_error(&net, &[2, 2, 3, 12, 12]);
    assert_eq!(found.layer, "convolution `2`");
    assert!(
        matches!(found.problem, LayerProblem::Channels { expected: 8, .. }),
        "{found}"
    );
    assert_eq!(found.problem.help(), "build it for 4 channels");

    for (module, what, axes) in [
        (
            Box::new(Conv1d::new(3, 4, 3).bias(false)) as Box<dyn Module>,
            "convolution",
            "[T, N, C, L]",
        ),
        (
            Box::new(Conv3d::new(3, 4, 3).bias(false)),
            "convolution",
            "[T, N, C, D, H, W]",
        ),
        (
            Box::new(ConvTransposed1d::new(Conv1d::new(3, 4, 3).bias(false))),
            "transposed convolution",
            "[T, N, C, L]",
        ),
        (Box::new(MaxPool1d::new(2)), "pooling", "[T, N, C, L]"),
        (
            Box::new(AdaptiveAvgPool3d::new(2)),
            "pooling",
            "[T, N, C, D, H, W]",
        ),
    ] {
        let found = layer_error(&*module, &[2, 2, 3, 12, 12]);
        assert_eq!(found.layer, what);
        assert!(
            matches!(&found.problem, LayerProblem::Axes { expected, given }
                if *expected == axes && given.shape == [2, 2, 3, 12, 12]),
            "{found}"
        );
    }
    let found = layer_error(&Conv2d::new(3, 4, 3).bias(false), &[2, 3, 12, 12]);
    let expects = "[T, N, C, H, W]";
    assert!(matches!(found.problem, LayerProblem::Axes { expected, .. } if expected == expects));
}

#[test]
fn sizes_that_leave_nothing_are_refused_by_the_layer() {
    let in_net = |module: Box<dyn Fn(Sequential) -> Sequential>, shape: &[usize]| {
        graph_error(&module(Sequential::new().add(AsItIs)), shape)
    };
    let images = [2, 2, 3, 4, 4];
    let layer = in_net(
        Box::new(|net| net.add(Conv2d::new(3, 4, 5).bias(false))),
        &images,
    );
    assert_eq!(layer, "1");
    let layer = in_net(Box::new(|net| net.add(MaxPool2d::new(5))), &images);
    assert_eq!(layer, "1");
    let layer = in_net(
        Box::new(|net| net.add(Conv2d::new(3, 4, 3).bias(false).groups(2))),
        &images,
    );
    assert_eq!(layer, "1");
    let layer = in_net(
        Box::new(|net| net.add(Conv2d::new(3, 4, 3).bias(false).groups(0))),
        &images,
    );
    assert_eq!(layer, "1");
    let layer = in_net(
        Box::new(|net| net.add(Conv2d::new(3, 4, 3).bias(false).stride(0))),
        &images,
    );
    assert_eq!(layer, "1");
    let up = ConvTransposed2d::new(Conv2d::new(3, 4, 1).bias(false).padding(3));
    let found = layer_error(&Sequential::new().add(AsItIs).add(up), &images);
    assert_eq!(found.layer, "transposed convolution `1`");
    assert!(
        matches!(found.problem, LayerProblem::Padding { .. }),
        "{found}"
    );
    // As much output padding as a step is a row that no window reaches.
    let up = ConvTransposed2d::new(Conv2d::new(3, 4, 2).bias(false).stride(2)).output_padding(2);
    let layer = in_net(Box::new(move |net| net.add(up)), &images);
    assert_eq!(layer, "1");
}

#[test]
fn a_kernel_of_no_elements_is_refused() {
    let shape = [2, 2, 3, 6, 6];
    let up = ConvTransposed2d::new(Conv2d::new(3, 4, [3, 0]).bias(false));
    for module in [
        Box::new(MaxPool2d::new([0, 2])) as Box<dyn Module>,
        Box::new(Conv2d::new(3, 4, [0, 3]).bias(false)),
        Box::new(up),
    ] {
        graph_error(&*module, &shape);
    }
}

/// The sequence as it is: so that what follows is not the first.
struct AsItIs;

impl Module for AsItIs {
    fn forward(&self, _: &Context, x: &Var) -> Result<Var> {
        Ok(x.clone())
    }
}
