//! Batch, layer and group normalization against plain loops.

use crate::probe::{Probe, assert_close, values};
use spikelet::LayerProblem;
use spikelet::layer::{BatchNorm, BatchNorm3d, GroupNorm, LayerNorm};
use spikelet::module::TracedTensor;
use spikelet::prelude::*;

/// `[T, N, C, …]` as its parts: steps, images, channels, positions.
fn parts(shape: &[usize]) -> [usize; 4] {
    [shape[0], shape[1], shape[2], shape[3..].iter().product()]
}

/// Mean and biased variance of chosen elements.
fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
    (mean, variance)
}

/// The elements of one channel.
fn channel(shape: &[usize], x: &[f64], c: usize) -> Vec<f64> {
    let [steps, images, channels, positions] = parts(shape);
    let mut all = vec![];
    for n in 0..steps * images {
        let start = (n * channels + c) * positions;
        all.extend(&x[start..start + positions]);
    }
    all
}

/// Each element by its channel.
fn by_channel(shape: &[usize], x: &[f64], of: impl Fn(f64, usize) -> f64) -> Vec<f64> {
    let [_, _, channels, positions] = parts(shape);
    let place = |k: usize| k / positions % channels;
    (x.iter().enumerate())
        .map(|(k, &v)| of(v, place(k)))
        .collect()
}

/// Batch norm with mean and variance of the whole sequence.
fn batch_norm(shape: &[usize], x: &[f64], epsilon: f64, weight: &[f64], bias: &[f64]) -> Vec<f64> {
    let measured: Vec<(f64, f64)> = (0..shape[2])
        .map(|c| moments(&channel(shape, x, c)))
        .collect();
    by_channel(shape, x, |v, c| {
        let (mean, variance) = measured[c];
        (v - mean) / (variance + epsilon).sqrt() * weight[c] + bias[c]
    })
}

fn check_batch_norm<const D: usize>(norm: BatchNorm<D>, shape: &[usize]) -> Result<()> {
    let what = format!("{norm:?} on {shape:?}");
    let mut probe = Probe::new(&norm, Mode::TRAIN, shape)?;
    assert_eq!(probe.buffers, ["running_mean", "running_var"]);
    let (weight, bias) = match norm.affine {
        true => (probe.tensor("weight")?, probe.tensor("bias")?),
        false => (vec![norm.scale; shape[2]], vec![0.0; shape[2]]),
    };
    let expected = batch_norm(shape, &probe.x, norm.epsilon, &weight, &bias);
    assert_close(&what, &probe.run("y")?, &expected, 1e-11);
    probe.check_gradients(&what)?;

    let mut probe = Probe::new(&norm, Mode::EVAL, shape)?;
    let mean = probe.tensor("running_mean")?;
    let variance = probe.tensor("running_var")?;
    let expected = by_channel(shape, &probe.x, |v, c| {
        (v - mean[c]) / (variance[c] + norm.epsilon).sqrt() * weight[c] + bias[c]
    });
    let what = format!("{what} in evaluation");
    assert_close(&what, &probe.run("y")?, &expected, 1e-11);
    probe.check_gradients(&what)?;
    assert_eq!(probe.tensor("running_mean")?, mean);
    assert_eq!(probe.tensor("running_var")?, variance);
    Ok(())
}

#[test]
fn batch_norm_is_that_of_plain_loops() -> Result<()> {
    check_batch_norm(BatchNorm1d::new(4), &[3, 5, 4])?;
    check_batch_norm(BatchNorm1d::new(3), &[2, 3, 3, 5])?;
    check_batch_norm(BatchNorm2d::new(3), &[3, 2, 3, 4, 5])?;
    check_batch_norm(BatchNorm3d::new(2), &[2, 2, 2, 3, 2, 2])?;
    check_batch_norm(BatchNorm2d::new(3).epsilon(0.1), &[2, 2, 3, 2, 3])?;
    check_batch_norm(BatchNorm2d::new(3).affine(false), &[2, 2, 3, 2, 3])?;
    let scaled = BatchNorm2d::threshold_dependent(3, 0.5, 0.8);
    check_batch_norm(scaled, &[2, 2, 3, 2, 3])?;
    check_batch_norm(scaled.affine(false), &[2, 2, 3, 2, 3])?;
    check_batch_norm(BatchNorm2d::new(1), &[2, 2, 1, 3, 3])
}

fn constant(name: &str, shape: Vec<usize>, value: f64) -> TracedTensor {
    TracedTensor {
        name: name.to_string(),
        shape,
        init: Init::Constant(value),
        limits: None,
    }
}

#[test]
fn batch_norm_starts_at_the_scale_of_the_threshold() -> Result<()> {
    let parameters = |norm: BatchNorm2d| -> Result<Vec<TracedTensor>> {
        let cx = Context::new(Mode::TRAIN, DType::F32);
        let x = cx.tracer().input("x", DType::F32, [2, 2, 3, 4, 4]);
        cx.trace(&norm, x)?;
        let traced = cx.traced();
        let start = |name: &str, value| constant(name, vec![3], value);
        assert_eq!(
            traced.buffers,
            [start("running_mean", 0.0), start("running_var", 1.0)]
        );
        Ok(traced.parameters)
    };
    let start = |scale| {
        [("weight", scale), ("bias", 0.0)].map(|(name, value)| constant(name, vec![3], value))
    };
    assert_eq!(parameters(BatchNorm2d::new(3))?, start(1.0));
    let dependent = BatchNorm2d::threshold_dependent(3, 0.5, 0.8);
    assert_eq!(parameters(dependent)?, start(0.4));
    assert_eq!(parameters(dependent.affine(false))?, []);
    let mut temporal = start(1.0).to_vec();
    temporal.push(constant("p", vec![2, 1, 1, 1, 1], 1.0));
    assert_eq!(parameters(BatchNorm2d::temporal_effective(3, 2))?, temporal);
    Ok(())
}

/// The next running statistics: PyTorch's, with the unbiased variance.
fn follow(running: &mut [f64], momentum: f64, measured: impl Fn(usize) -> f64) {
    for (c, value) in running.iter_mut().enumerate() {
        *value = (1.0 - momentum) * *value + momentum * measured(c);
    }
}

fn follow_both(running: &mut [Vec<f64>; 2], momentum: f64, shape: &[usize], x: &[f64]) {
    let of = |c: usize| moments(&channel(shape, x, c));
    let n = (shape.iter().product::<usize>() / shape[2]) as f64;
    follow(&mut running[0], momentum, |c| of(c).0);
    follow(&mut running[1], momentum, |c| of(c).1 * n / (n - 1.0));
}

#[test]
fn running_statistics_follow_what_was_measured_with_the_momentum() -> Result<()> {
    let shape = [3, 2, 4, 2, 3];
    for norm in [
        BatchNorm2d::new(4),
        BatchNorm2d::new(4).momentum(0.7),
        BatchNorm2d::new(4).momentum(1.0).affine(false),
    ] {
        let mut probe = Probe::new(&norm, Mode::TRAIN, &shape)?;
        let mut running = [probe.tensor("running_mean")?, probe.tensor("running_var")?];
        for salt in [3, 4] {
            let x: Vec<f64> = values(144, salt).iter().map(|v| 3.0 * v + 0.5).collect();
            follow_both(&mut running, norm.momentum, &shape, &x);
            probe.set_x(x)?;
            probe.run("y")?;
            let what = format!("{norm:?}, run {salt}");
            assert_close(&what, &probe.tensor("running_mean")?, &running[0], 1e-12);
            assert_close(&what, &probe.tensor("running_var")?, &running[1], 1e-12);
        }
    }
    Ok(())
}

#[test]
fn a_bias_before_batch_norm_is_part_of_the_running_mean() -> Result<()> {
    // The bias moves behind the statistics: the numbers must not show it.
    let net = Sequential::new()
        .add(Conv2d::new(2, 3, 1).bias(true))
        .add(BatchNorm2d::new(3).momentum(1.0));
    let shape = [2, 2, 2, 3, 4];
    let mut probe = Probe::new(&net, Mode::TRAIN, &shape)?;
    let (weight, bias) = (probe.tensor("0.weight")?, probe.tensor("0.bias")?);
    let mut current = vec![];
    for image in probe.x.chunks(24) {
        for c in 0..3 {
            let [a, b] = [0, 1].map(|i: usize| weight[2 * c + i]);
            current.extend((0..12).map(|p| a * image[p] + b * image[12 + p] + bias[c]));
        }
    }
    let (shape, mut running) = ([2, 2, 3, 3, 4], [vec![0.0; 3], vec![0.0; 3]]);
    follow_both(&mut running, 1.0, &shape, &current);
    let (weight, bias) = (probe.tensor("1.weight")?, probe.tensor("1.bias")?);
    let expected = batch_norm(&shape, &current, 1e-5, &weight, &bias);
    assert_close("y", &probe.run("y")?, &expected, 1e-11);
    assert_close("mean", &probe.tensor("1.running_mean")?, &running[0], 1e-11);
    assert_close(
        "variance",
        &probe.tensor("1.running_var")?,
        &running[1],
        1e-11,
    );
    probe.check_gradients("bias before batch norm")
}

#[test]
fn batch_norm_step_by_step_sees_each_step_by_itself() -> Result<()> {
    let (shape, step) = ([3, 4, 2, 2, 3], [1, 4, 2, 2, 3]);
    let norm = BatchNorm2d::new(2).momentum(0.4);
    for propagation in [Propagation::StepByStep, Propagation::StepByStepUnfused] {
        let mut probe = Probe::propagated(&norm, Mode::TRAIN, &shape, propagation)?;
        let (weight, bias) = (probe.tensor("weight")?, probe.tensor("bias")?);
        let mut running = [probe.tensor("running_mean")?, probe.tensor("running_var")?];
        let mut expected = vec![];
        for x in probe.x.chunks(48) {
            follow_both(&mut running, norm.momentum, &step, x);
            expected.extend(batch_norm(&step, x, norm.epsilon, &weight, &bias));
        }
        let what = propagation.name();
        assert_close(what, &probe.run("y")?, &expected, 1e-11);
        assert_close(what, &probe.tensor("running_mean")?, &running[0], 1e-12);
        assert_close(what, &probe.tensor("running_var")?, &running[1], 1e-12);
        probe.check_gradients(what)?;
    }
    Ok(())
}

#[test]
fn temporal_batch_norm_has_a_factor_for_each_step() -> Result<()> {
    let shape = [3, 2, 4, 2, 3];
    let norm = BatchNorm2d::temporal_effective(4, 3);
    let mut probe = Probe::new(&norm, Mode::TRAIN, &shape)?;
    let [weight, bias, p] = ["weight", "bias", "p"].map(|name| probe.tensor(name));
    let mut expected = batch_norm(&shape, &probe.x, norm.epsilon, &weight?, &bias?);
    for (step, p) in expected.chunks_mut(48).zip(p?) {
        step.iter_mut().for_each(|y| *y *= p);
    }
    assert_close("TEBN", &probe.run("y")?, &expected, 1e-11);
    probe.check_gradients("TEBN")
}

#[test]
fn temporal_batch_norm_is_for_as_many_steps_as_it_was_built_for() {
    const LAYER: &str = "temporal effective batch norm `0`";
    let net = || Sequential::new().add(BatchNorm2d::temporal_effective(4, 3));
    for steps in [2, 4] {
        let error = super::layer_error(Probe::new(&net(), Mode::TRAIN, &[steps, 2, 4, 2, 3]));
        assert_eq!(error.layer, LAYER);
        assert!(
            matches!(error.problem, LayerProblem::TimeSteps { expected: 3, .. }),
            "{error}"
        );
    }
    let shape = [3, 2, 4, 2, 3];
    let order = Propagation::StepByStep;
    let error = super::layer_error(Probe::propagated(&net(), Mode::TRAIN, &shape, order));
    assert_eq!(error.layer, LAYER);
    assert!(matches!(error.problem, LayerProblem::StepByStep), "{error}");
}

#[test]
fn temporal_batch_norm_does_not_repeat_a_single_step() {
    let net = Sequential::new().add(BatchNorm2d::temporal_effective(4, 3));
    let error = super::layer_error(Probe::new(&net, Mode::TRAIN, &[1, 2, 4, 2, 3]));
    assert!(
        matches!(error.problem, LayerProblem::TimeSteps { .. }),
        "{error}"
    );
}

/// Normalizes neighbors in groups of `size`.
fn normalize(x: &[f64], size: usize, epsilon: f64) -> Vec<f64> {
    let mut y = vec![];
    for group in x.chunks(size) {
        let (mean, variance) = moments(group);
        y.extend(
            group
                .iter()
                .map(|v| (v - mean) / (variance + epsilon).sqrt()),
        );
    }
    y
}

#[test]
fn layer_norm_is_that_of_plain_loops() -> Result<()> {
    for (own, shape) in [
        (vec![6], vec![3, 2, 6]),
        (vec![5], vec![2, 2, 3, 5]),
        (vec![3, 5], vec![2, 2, 3, 5]),
        (vec![3, 2, 4], vec![2, 2, 3, 2, 4]),
        (vec![4], vec![2, 2, 3, 2, 4]),
    ] {
        let what = format!("layer norm {own:?} on {shape:?}");
        let size = own.iter().product();
        let mut probe = Probe::new(&LayerNorm::new(own.clone()), Mode::TRAIN, &shape)?;
        let (weight, bias) = (probe.tensor("weight")?, probe.tensor("bias")?);
        assert_eq!(probe.parameters[0].1, own);
        let expected = normalize(&probe.x, size, 1e-5);
        let affine = |(k, v): (usize, &f64)| v * weight[k % size] + bias[k % size];
        let expected: Vec<f64> = expected.iter().enumerate().map(affine).collect();
        assert_close(&what, &probe.run("y")?, &expected, 1e-11);
        probe.check_gradients(&what)?;
    }
    Ok(())
}

#[test]
fn group_norm_is_that_of_plain_loops() -> Result<()> {
    for (groups, shape) in [
        (2, vec![2, 2, 4, 3, 2]),
        (1, vec![2, 2, 4, 3, 2]),
        (4, vec![2, 2, 4, 3, 2]),
        (3, vec![2, 3, 6]),
        (2, vec![2, 2, 4, 5]),
    ] {
        let what = format!("{groups} groups on {shape:?}");
        let norm = GroupNorm {
            epsilon: 1e-3,
            ..GroupNorm::new(groups, shape[2])
        };
        let mut probe = Probe::new(&norm, Mode::TRAIN, &shape)?;
        let (weight, bias) = (probe.tensor("weight")?, probe.tensor("bias")?);
        let size = shape[2..].iter().product::<usize>() / groups;
        let expected = normalize(&probe.x, size, 1e-3);
        let expected = by_channel(&shape, &expected, |v, c| v * weight[c] + bias[c]);
        assert_close(&what, &probe.run("y")?, &expected, 1e-11);
        probe.check_gradients(&what)?;
    }
    Ok(())
}
