//! Overfitting in networks and data on which no threshold was chosen. The truth is the accuracy on at least 1000 test
//! samples: whether it falls after its best epochs. The diagnosis reads it or a smaller validation set.

use crate::health::patterns::{gratings, prototypes, with_label_noise};
use crate::health::support::table;
use spikelet_data::Split;
use spikelet_train::FitReport;
use spikelet_train::health::FindingKind;
use spikelet_train::prelude::*;

/// The mean accuracy on the test set over the last three epochs, and its largest mean over three epochs.
fn accuracies(report: &FitReport) -> [f64; 2] {
    let each: Vec<f64> = (report.history.iter())
        .map(|record| record.test_accuracy())
        .collect();
    let means: Vec<f64> = each
        .windows(3)
        .map(|three| three.iter().sum::<f64>() / 3.0)
        .collect();
    let best = means.iter().copied().fold(0.0, f64::max);
    [means.last().copied().unwrap_or(0.0), best]
}

fn sick(net: Sequential, settings: Settings, data: &Split) {
    let report = Trainer::new(net, settings).fit(data).expect("the run ends");
    let [last, best] = accuracies(&report);
    assert!(last < best - 0.05, "not sick: {last} {best}");
    let kinds: Vec<_> = report.findings.iter().map(|found| found.kind).collect();
    assert_eq!(kinds, [FindingKind::Overfitting], "{}", table(&report));
}

fn healthy(net: Sequential, settings: Settings, data: &Split) {
    let report = Trainer::new(net, settings).fit(data).expect("the run ends");
    let [last, best] = accuracies(&report);
    assert!(last > best - 0.02, "not healthy: {last} {best}");
    assert!(report.findings.is_empty(), "{}", table(&report));
}

fn settings(epochs: usize, seed: u64) -> Settings {
    Settings {
        time_steps: 4,
        batch_size: 20,
        epochs,
        seed,
        optimizer: Adam::new(3e-3).into(),
        encoder: Direct.into(),
        loss: loss::CrossEntropy::new().into(),
        validation: 0.0,
        schedule: LrSchedule::default(),
        evaluation_batch: Some(250),
        ..Settings::default()
    }
}

fn mlp(inputs: usize, hidden: usize, classes: usize) -> Sequential {
    Sequential::new()
        .add(Flatten)
        .add(Linear::new(inputs, hidden).bias(true))
        .add(Plif::new(2.0))
        .add(Linear::new(hidden, classes).bias(true))
}

#[test]
fn twenty_patterns_with_noisy_labels() {
    let data = prototypes(41, 20, [1, 8, 8], 45.0, [400, 1000]);
    let settings = Settings {
        validation: 0.25,
        ..settings(40, 41)
    };
    sick(mlp(64, 256, 20), settings, &with_label_noise(&data, 0.4, 1));
}

#[test]
#[ignore = "needs minutes"]
fn gratings_with_noisy_labels_and_a_squared_error() {
    let data = gratings(52, 4, 12, 30.0, [300, 1000]);
    let net = Sequential::new()
        .add(Conv2d::new(1, 24, 5).bias(false).stride(2))
        .add(BatchNorm2d::new(24))
        .add(If::new())
        .add(Flatten)
        .add(Linear::new(24 * 16, 128).bias(false))
        .add(If::new())
        .add(Linear::new(128, 4).bias(false));
    let settings = Settings {
        loss: loss::MseOneHot.into(),
        ..settings(60, 52)
    };
    sick(net, settings, &with_label_noise(&data, 0.4, 12));
}

#[test]
#[ignore = "needs minutes"]
fn three_patterns_with_noisy_labels_and_two_hidden_layers() {
    let data = prototypes(53, 3, [2, 6, 6], 80.0, [200, 1000]);
    let net = Sequential::new()
        .add(Flatten)
        .add(Linear::new(72, 96).bias(false))
        .add(Plif::new(2.0))
        .add(Linear::new(96, 96).bias(false))
        .add(Plif::new(2.0))
        .add(Linear::new(96, 3).bias(false));
    let settings = Settings {
        loss: loss::Tet::default().into(),
        ..settings(60, 53)
    };
    sick(net, settings, &with_label_noise(&data, 0.4, 13));
}

#[test]
#[ignore = "needs minutes"]
fn recurrent_neurons_with_noisy_labels() {
    let data = prototypes(44, 6, [1, 7, 7], 60.0, [180, 1000]);
    let net = Sequential::new()
        .add(Flatten)
        .add(Linear::new(49, 80).bias(false))
        .add(Recurrent::new(Lif::new(2.0), 80))
        .add(Linear::new(80, 6).bias(false));
    sick(net, settings(50, 44), &with_label_noise(&data, 0.5, 4));
}

#[test]
#[ignore = "needs minutes"]
fn gratings_with_enough_samples() {
    let data = gratings(45, 4, 12, 40.0, [1000, 1000]);
    let net = Sequential::new()
        .add(Conv2d::new(1, 8, 5).bias(false).stride(2))
        .add(If::new())
        .add(Flatten)
        .add(Linear::new(8 * 16, 4).bias(false));
    let settings = Settings {
        validation: 0.1,
        ..settings(12, 45)
    };
    healthy(net, settings, &data);
}

#[test]
#[ignore = "needs minutes"]
fn twenty_patterns_learned_by_heart_that_generalize() {
    let data = prototypes(46, 20, [1, 8, 8], 60.0, [500, 1000]);
    let settings = Settings {
        validation: 0.2,
        ..settings(50, 46)
    };
    healthy(mlp(64, 256, 20), settings, &data);
}

#[test]
#[ignore = "needs minutes"]
fn noisy_labels_with_weight_decay_and_dropout() {
    let data = prototypes(47, 5, [1, 9, 9], 70.0, [300, 1000]);
    let net = Sequential::new()
        .add(Flatten)
        .add(Dropout::new(0.3))
        .add(Linear::new(81, 32).bias(false))
        .add(Lif::new(2.0))
        .add(Linear::new(32, 5).bias(false));
    let settings = Settings {
        validation: 0.2,
        optimizer: Adam::new(1e-3).into(),
        loss: loss::CrossEntropy::new().label_smoothing(0.1).into(),
        ..settings(40, 47)
    };
    healthy(net, settings, &with_label_noise(&data, 0.15, 5));
}

#[test]
#[ignore = "needs minutes"]
fn two_patterns_and_a_small_validation_set() {
    let data = prototypes(58, 2, [1, 8, 8], 70.0, [300, 1000]);
    let settings = Settings {
        validation: 0.2,
        ..settings(60, 58)
    };
    healthy(mlp(64, 24, 2), settings, &data);
}
