//! Right labels, in networks and data on which no threshold was chosen: they are learned late, the signal is weak, or
//! the samples are few. Other findings, such as overfitting, may be right.

use crate::health::patterns::{gratings, prototypes};
use crate::health::support::table;
use crate::health::unseen_labels::{mlp, settings};
use spikelet_data::{Split, synthetic};
use spikelet_train::FitReport;
use spikelet_train::health::{Evidence, FindingKind, findings};
use spikelet_train::prelude::*;

fn run(net: Sequential, settings: Settings, data: &Split) -> FitReport {
    Trainer::new(net, settings).fit(data).expect("the run ends")
}

/// The labels are never accused, from the first epoch on.
fn healthy(report: &FitReport) {
    for epochs in 1..=report.history.len() {
        let early = Evidence {
            run: report.evidence.run.clone(),
            history: report.history[..epochs].to_vec(),
            probes: (report.evidence.probes.iter())
                .filter(|probe| probe.epoch <= epochs)
                .cloned()
                .collect(),
        };
        let found = findings(&early);
        assert!(
            found.iter().all(|f| f.kind != FindingKind::WrongLabels),
            "after epoch {epochs}: {found:?}\n{}",
            table(report)
        );
    }
}

/// Right labels of a weak signal, which 2000 samples show.
fn weak(
    net: fn() -> Sequential,
    classes: usize,
    settings: Settings,
    data: impl Fn(usize) -> Split,
    few: usize,
) {
    let with_many = Split::new(data(few).train, data(2000).test);
    let many = run(net(), settings.clone(), &with_many).highest_test_accuracy();
    let chance = 1.0 / classes as f64;
    let deviation = (chance * (1.0 - chance) / 2000.0).sqrt();
    assert!(many > chance + 5.0 * deviation, "{many}");
    healthy(&run(net(), settings, &data(few)));
}

/// The accuracy on many other samples of the same kind.
fn accuracy_on_many(net: Sequential, settings: Settings, data: &Split, many: &Split) -> f64 {
    let data = Split::new(data.train.clone(), many.test.clone());
    run(net, settings, &data).test_accuracy()
}

#[test]
fn a_deep_network_that_learns_late() {
    let neuron = || Lif {
        decay_input: false,
        ..Lif::new(2.0)
    };
    let mut net = Sequential::new()
        .add(Flatten)
        .add(Linear::new(64, 48).bias(false));
    for _ in 0..3 {
        net = net.add(neuron()).add(Linear::new(48, 48).bias(false));
    }
    let net = net.add(neuron()).add(Linear::new(48, 10).bias(false));
    let data = prototypes(95, 10, [1, 8, 8], 30.0, [1000, 300]);
    let settings = Settings {
        optimizer: Adam::new(5e-5).into(),
        ..settings(25, 95)
    };
    let report = run(net, settings, &data);
    assert!(report.test_accuracy() > 0.25, "{}", table(&report));
    healthy(&report);
}

#[test]
#[ignore = "needs minutes"]
fn a_slow_schedule_with_sgd() {
    let data = gratings(86, 5, 12, 30.0, [800, 300]);
    let net = Sequential::new()
        .add(Conv2d::new(1, 8, 5).bias(false).stride(2))
        .add(If::new())
        .add(Flatten)
        .add(Linear::new(8 * 16, 32).bias(false))
        .add(If::new())
        .add(Linear::new(32, 5).bias(false));
    let settings = Settings {
        optimizer: Sgd::new(3e-3).into(),
        ..settings(30, 86)
    };
    // It learns too slowly to be better than guessing for sure.
    healthy(&run(net, settings, &data));
}

#[test]
#[ignore = "needs minutes"]
fn few_samples_of_many_classes() {
    let with = |test| prototypes(87, 20, [1, 8, 8], 150.0, [120, test]);
    let settings = settings(60, 87);
    let true_accuracy =
        accuracy_on_many(mlp(64, 100, 20), settings.clone(), &with(120), &with(2000));
    assert!(true_accuracy > 0.08, "{true_accuracy}");
    healthy(&run(mlp(64, 100, 20), settings, &with(120)));
}

#[test]
#[ignore = "needs minutes"]
fn a_weak_signal_and_few_test_samples() {
    let with = |test| prototypes(88, 2, [1, 6, 6], 330.0, [300, test]);
    let settings = settings(20, 88);
    let true_accuracy = accuracy_on_many(mlp(36, 60, 2), settings.clone(), &with(150), &with(2000));
    assert!(true_accuracy > 0.56, "{true_accuracy}");
    healthy(&run(mlp(36, 60, 2), settings, &with(150)));
}

#[test]
#[ignore = "needs minutes"]
fn fifteen_patterns_learned_slowly() {
    let data = prototypes(101, 15, [1, 8, 8], 40.0, [800, 300]);
    let net = Sequential::new()
        .add(Flatten)
        .add(Linear::new(64, 50).bias(false))
        .add(Plif::new(2.0))
        .add(Linear::new(50, 15).bias(false));
    let settings = Settings {
        optimizer: Sgd::new(2e-3).into(),
        ..settings(25, 101)
    };
    healthy(&run(net, settings, &data));
}

#[test]
#[ignore = "needs minutes"]
fn a_weak_signal_of_four_classes() {
    let with = |test| prototypes(102, 4, [1, 7, 7], 330.0, [300, test]);
    let net = || mlp(49, 80, 4);
    let settings = settings(30, 102);
    let many = accuracy_on_many(net(), settings.clone(), &with(120), &with(2000));
    assert!(many > 0.29, "{many}");
    healthy(&run(net(), settings, &with(120)));
}

#[test]
#[ignore = "needs minutes"]
fn few_samples_of_eight_gratings() {
    let with = |test| gratings(103, 8, 10, 110.0, [100, test]);
    let net = || {
        Sequential::new()
            .add(Conv2d::new(1, 10, 5).bias(false))
            .add(Lif::new(2.0))
            .add(Flatten)
            .add(Linear::new(360, 8).bias(false))
    };
    let settings = settings(40, 103);
    let many = accuracy_on_many(net(), settings.clone(), &with(110), &with(2000));
    assert!(many > 0.155, "{many}");
    healthy(&run(net(), settings, &with(110)));
}

#[test]
#[ignore = "needs minutes"]
fn recurrent_neurons_with_a_small_learning_rate() {
    let data = synthetic::digits_of(104, 600, 300);
    let net = Sequential::new()
        .add(AvgPool2d::new(2))
        .add(Flatten)
        .add(Linear::new(196, 50).bias(false))
        .add(Recurrent::new(Lif::new(2.0), 50))
        .add(Linear::new(50, 10).bias(false));
    let settings = Settings {
        optimizer: Adam::new(3e-5).into(),
        ..settings(15, 104)
    };
    healthy(&run(net, settings, &data));
}

#[test]
#[ignore = "needs minutes"]
fn a_weak_signal_of_three_classes() {
    let data = |test| prototypes(114, 3, [1, 6, 6], 330.0, [200, test]);
    weak(|| mlp(36, 70, 3), 3, settings(30, 114), data, 150);
}

#[test]
#[ignore = "needs minutes"]
fn a_weak_signal_of_ten_classes() {
    let data = |test| prototypes(115, 10, [1, 8, 8], 250.0, [150, test]);
    weak(|| mlp(64, 120, 10), 10, settings(40, 115), data, 200);
}

#[test]
#[ignore = "needs minutes"]
fn a_weak_signal_and_a_high_learning_rate() {
    let data = |test| prototypes(125, 2, [1, 8, 8], 300.0, [200, test]);
    let settings = Settings {
        optimizer: Adam::new(2e-2).into(),
        ..settings(20, 125)
    };
    weak(|| mlp(64, 50, 2), 2, settings, data, 120);
}

#[test]
#[ignore = "needs minutes"]
fn a_weak_signal_of_six_classes_and_a_squared_error() {
    let data = |test| prototypes(126, 6, [1, 7, 7], 280.0, [240, test]);
    let settings = Settings {
        loss: loss::MseOneHot.into(),
        ..settings(30, 126)
    };
    weak(|| mlp(49, 90, 6), 6, settings, data, 150);
}

#[test]
#[ignore = "needs minutes"]
fn a_weak_signal_of_three_gratings() {
    let data = |test| gratings(127, 3, 10, 90.0, [150, test]);
    let net = || {
        Sequential::new()
            .add(Conv2d::new(1, 12, 5).bias(false))
            .add(Lif::new(2.0))
            .add(Flatten)
            .add(Linear::new(12 * 36, 3).bias(false))
    };
    let settings = Settings {
        optimizer: Adam::new(5e-3).into(),
        ..settings(30, 127)
    };
    weak(net, 3, settings, data, 130);
}

#[test]
#[ignore = "needs minutes"]
fn twelve_patterns_learned_slowly() {
    let data = prototypes(128, 12, [1, 8, 8], 40.0, [600, 250]);
    let net = Sequential::new()
        .add(Flatten)
        .add(Linear::new(64, 50).bias(false))
        .add(Lif {
            decay_input: false,
            ..Lif::new(2.0)
        })
        .add(Linear::new(50, 12).bias(false));
    let settings = Settings {
        optimizer: Sgd::new(0.01).into(),
        ..settings(20, 128)
    };
    healthy(&run(net, settings, &data));
}

#[test]
#[ignore = "needs minutes"]
fn a_weak_signal_of_four_classes_and_a_high_learning_rate() {
    let data = |test| prototypes(133, 4, [1, 7, 7], 250.0, [250, test]);
    let settings = Settings {
        optimizer: Adam::new(2e-2).into(),
        ..settings(20, 133)
    };
    weak(|| mlp(49, 40, 4), 4, settings, data, 160);
}

#[test]
#[ignore = "needs minutes"]
fn a_weak_signal_of_two_classes_and_recurrent_neurons() {
    let data = |test| prototypes(134, 2, [1, 8, 8], 280.0, [160, test]);
    let net = || {
        Sequential::new()
            .add(Flatten)
            .add(Linear::new(64, 40).bias(false))
            .add(Recurrent::new(Lif::new(2.0), 40))
            .add(Linear::new(40, 2).bias(false))
    };
    let settings = Settings {
        optimizer: Adam::new(8e-3).into(),
        ..settings(20, 134)
    };
    weak(net, 2, settings, data, 130);
}
