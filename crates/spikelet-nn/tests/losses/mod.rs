//! Losses: values by hand and PyTorch's, gradients by central differences in f64.

mod cases;
mod errors;
mod reference;
mod support;

use spikelet_nn::loss::CrossEntropy;
use spikelet_nn::module::StepOutputs;
use spikelet_nn::prelude::*;
use support::{Given, Probe, assert_close, values};

/// ln softmax of a row.
fn log_softmax(row: &[f64]) -> Vec<f64> {
    let sum: f64 = row.iter().map(|x| x.exp()).sum();
    row.iter().map(|x| x - sum.ln()).collect()
}

/// Cross entropy of rows by its definition.
fn by_hand(scores: &[f64], labels: &[i64], classes: usize, smoothing: f64) -> f64 {
    let rows = scores.chunks(classes);
    let count = rows.len() as f64;
    let each = rows.zip(labels.iter().cycle()).map(|(row, &label)| {
        let logarithms = log_softmax(row);
        let terms = logarithms.iter().enumerate().map(|(class, logarithm)| {
            let hot = f64::from(u8::from(class as i64 == label));
            -logarithm * (hot * (1.0 - smoothing) + smoothing / classes as f64)
        });
        terms.sum::<f64>()
    });
    each.sum::<f64>() / count
}

#[test]
fn label_smoothing_moves_probability_from_the_label_to_all_classes() -> Result<()> {
    // softmax is (1/4, 3/4): −ln ¾ without smoothing.
    let scores = Given::new([1, 2], [0.0, 3.0_f64.ln()]);
    for (smoothing, expected) in [
        (0.0, -0.75_f64.ln()),
        (0.2, -0.9 * 0.75_f64.ln() - 0.1 * 0.25_f64.ln()),
    ] {
        let loss = CrossEntropy::new().label_smoothing(smoothing);
        let mut probe = Probe::new(std::slice::from_ref(&scores), &[1], |x, y| {
            loss.loss(&x[0], y)
        })?;
        assert_close("loss", &[probe.loss()?], &[expected], 1e-14);
    }
    let scores = Given::new([3, 4], values(12, 1));
    let labels = [2, 0, 3];
    let loss = CrossEntropy::new().label_smoothing(0.1);
    let mut probe = Probe::new(std::slice::from_ref(&scores), &labels, |x, y| {
        loss.loss(&x[0], y)
    })?;
    let expected = by_hand(&scores.values, &labels, 4, 0.1);
    assert_close("loss", &[probe.loss()?], &[expected], 1e-14);
    probe.check_grad(0)
}

#[test]
fn rows_of_an_ignored_label_do_not_count() -> Result<()> {
    const CLASSES: usize = 4;
    let scores = Given::new([5, CLASSES], values(20, 6));
    // Without the rows 1 and 3.
    let kept = [0, 2, 4];
    let rows = scores.values.chunks(CLASSES);
    let rows: Vec<&[f64]> = rows
        .enumerate()
        .filter(|(k, _)| kept.contains(k))
        .map(|(_, r)| r)
        .collect();
    let fewer = Given::new([3, CLASSES], rows.concat());
    let losses = [
        CrossEntropy::new(),
        CrossEntropy::new().label_smoothing(0.1),
        CrossEntropy::new().class_weights([0.5, 1.0, 2.0, 0.25]),
        CrossEntropy::new()
            .class_weights([0.5, 1.0, 2.0, 0.25])
            .label_smoothing(0.2),
    ];
    for loss in losses {
        // A number outside the classes, and one of them.
        for ignored in [255, -1, 1] {
            let labels = [2, ignored, 0, ignored, 3];
            let ignoring = loss.clone().ignore_label(ignored);
            let mut probe = Probe::new(std::slice::from_ref(&scores), &labels, |x, y| {
                ignoring.loss(&x[0], y)
            })?;
            let mut expected = Probe::new(std::slice::from_ref(&fewer), &[2, 0, 3], |x, y| {
                loss.loss(&x[0], y)
            })?;
            assert_close("loss", &[probe.loss()?], &[expected.loss()?], 1e-14);
            probe.check_grad(0)?;
            let grad = probe.grad(0)?;
            assert!(grad[CLASSES..2 * CLASSES].iter().all(|g| *g == 0.0));
            assert!(grad[..CLASSES].iter().all(|g| *g != 0.0));
        }
        // Nothing counts.
        let ignoring = loss.ignore_label(255);
        let mut probe = Probe::new(std::slice::from_ref(&scores), &[255; 5], |x, y| {
            ignoring.loss(&x[0], y)
        })?;
        assert_eq!(probe.loss()?, 0.0);
        assert!(probe.grad(0)?.iter().all(|g| *g == 0.0));
    }
    Ok(())
}

#[test]
fn labels_of_each_time_step_are_labels_of_its_rows() -> Result<()> {
    let scores = Given::new([2, 3, 4], values(24, 7));
    let labels = [0, 3, 255, 1, 255, 2];
    let loss = CrossEntropy::new().ignore_label(255);
    let mut sequence = Probe::new(std::slice::from_ref(&scores), &labels, |x, y| {
        loss.loss(&x[0], &y.reshape([2, 3]))
    })?;
    let mut rows = Probe::new(std::slice::from_ref(&scores), &labels, |x, y| {
        loss.loss(&x[0].reshape([6, 4]), y)
    })?;
    assert_eq!(sequence.loss()?, rows.loss()?);
    assert_eq!(sequence.grad(0)?, rows.grad(0)?);
    Ok(())
}

#[test]
fn tet_is_the_mean_of_the_losses_of_all_steps() -> Result<()> {
    let (classes, labels) = (5, [4, 0, 1]);
    let output = Given::new([4, 3, classes], values(60, 2));
    for smoothing in [0.0, 0.1] {
        let expected = by_hand(&output.values, &labels, classes, smoothing);
        let loss = CrossEntropy::new().label_smoothing(smoothing);
        let mut probe = Probe::new(std::slice::from_ref(&output), &labels, |x, y| {
            loss.at_each_step(&x[0], y)
        })?;
        assert_close("loss", &[probe.loss()?], &[expected], 1e-14);
        probe.check_grad(0)?;
        // The same of parts of different lengths.
        let mut parts = Probe::new(std::slice::from_ref(&output), &labels, |x, y| {
            let parts = [0..1, 1..2, 2..4].map(|range| x[0].slice(0, range));
            loss.over_time(&StepOutputs::new(parts.to_vec()), y)
        })?;
        assert_close("loss", &[parts.loss()?], &[expected], 1e-14);
        assert_close("gradient", &parts.grad(0)?, &probe.grad(0)?, 1e-14);
    }
    Ok(())
}

#[test]
fn the_first_spike_is_the_number_of_steps_before_it() -> Result<()> {
    // Neurons that fire at step 0, at steps 2 and 3, and never.
    let spikes = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0];
    let spikes = Given::new([4, 1, 3], spikes);
    for (neuron, expected) in [0.0, 2.0, 4.0].into_iter().enumerate() {
        let mut probe = Probe::new(std::slice::from_ref(&spikes), &[], |x, _| {
            let time = loss::first_spike_time(&x[0]);
            time.slice(1, neuron..neuron + 1).sum_all()
        })?;
        assert_close("time", &[probe.loss()?], &[expected], 0.0);
        probe.check_grad(0)?;
    }
    Ok(())
}

#[test]
fn one_more_spike_is_a_van_rossum_distance_of_a_half() -> Result<()> {
    let mut spikes = vec![0.0; 200];
    spikes[3] = 1.0;
    let spikes = Given::new([200, 1, 1], spikes);
    let silent = Given::new([200, 1, 1], vec![0.0; 200]);
    let tau = 20.0;
    let mut probe = Probe::new(&[spikes, silent], &[], |x, _| {
        loss::van_rossum(&x[0], &x[1], tau)
    })?;
    let loss = probe.loss()?;
    // The sum of a geometric series, 1 / (τ·(1 − e^(−2/τ))).
    let expected = 1.0 / (tau * (1.0 - (-2.0 / tau).exp()));
    assert_close("distance", &[loss], &[expected], 1e-7);
    assert!((expected - 0.5).abs() < 1.0 / tau);
    Ok(())
}
