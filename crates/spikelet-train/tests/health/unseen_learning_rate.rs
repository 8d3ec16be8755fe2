//! Learning rates in networks and data on which no threshold was chosen. The truth is a second run with a learning
//! rate that is 1000 times smaller: a rate was too high if this run works and the first one does not.

use crate::health::patterns::{gratings, prototypes, with_random_labels};
use crate::health::support::table;
use spikelet_data::Split;
use spikelet_train::FitReport;
use spikelet_train::health::FindingKind;
use spikelet_train::optim::{Lion, RmsProp};
use spikelet_train::prelude::*;

fn run(net: Sequential, settings: Settings, data: &Split) -> FitReport {
    Trainer::new(net, settings).fit(data).expect("the run ends")
}

fn kinds(report: &FitReport) -> Vec<FindingKind> {
    report.findings.iter().map(|found| found.kind).collect()
}

/// Three times the accuracy of guessing, or half of the way from it to 1.
fn works(report: &FitReport, classes: usize) -> bool {
    let chance = 1.0 / classes as f64;
    report.test_accuracy() > (3.0 * chance).min(0.5 + 0.5 * chance)
}

fn sick(net: fn() -> Sequential, classes: usize, settings: Settings, data: &Split) {
    let slow = Settings {
        optimizer: settings
            .optimizer
            .with_lr(settings.optimizer.lr() / 1000.0)
            .into(),
        ..settings.clone()
    };
    let slow = run(net(), slow, data);
    assert!(works(&slow, classes), "{}", table(&slow));
    let report = run(net(), settings, data);
    assert!(report.test_accuracy() < 1.5 / classes as f64);
    assert_eq!(
        kinds(&report),
        [FindingKind::LearningRateTooHigh],
        "{}",
        table(&report)
    );
}

/// Not the learning rate.
fn assert_not_the_rate(report: &FitReport) {
    assert!(
        !kinds(report).contains(&FindingKind::LearningRateTooHigh),
        "{}",
        table(report)
    );
}

fn settings(lr: f64, epochs: usize, seed: u64) -> Settings {
    Settings {
        time_steps: 4,
        batch_size: 25,
        epochs,
        seed,
        optimizer: Adam::new(lr).into(),
        encoder: Direct.into(),
        loss: loss::CrossEntropy::new().into(),
        validation: 0.0,
        schedule: LrSchedule::default(),
        ..Settings::default()
    }
}

#[test]
fn a_convolution_with_adam_at_5() {
    let net = || {
        Sequential::new()
            .add(Conv2d::new(1, 8, 5).bias(false).stride(2))
            .add(If::new())
            .add(Flatten)
            .add(Linear::new(8 * 16, 40).bias(false))
            .add(If::new())
            .add(Linear::new(40, 6).bias(false))
    };
    let data = gratings(61, 6, 12, 30.0, [500, 300]);
    sick(net, 6, settings(5.0, 10, 61), &data);
}

#[test]
#[ignore = "needs minutes"]
fn three_hidden_layers_with_rmsprop_at_2() {
    let net = || {
        Sequential::new()
            .add(Flatten)
            .add(Linear::new(64, 60).bias(false))
            .add(Lif::new(2.0))
            .add(Linear::new(60, 60).bias(false))
            .add(Lif::new(2.0))
            .add(Linear::new(60, 60).bias(false))
            .add(Lif::new(2.0))
            .add(Linear::new(60, 12).bias(false))
    };
    let data = prototypes(62, 12, [1, 8, 8], 30.0, [600, 300]);
    let settings = Settings {
        optimizer: RmsProp::new(2.0).into(),
        ..settings(2.0, 10, 62)
    };
    sick(net, 12, settings, &data);
}

#[test]
#[ignore = "needs minutes"]
fn recurrent_neurons_with_lion_at_1() {
    let net = || {
        Sequential::new()
            .add(Flatten)
            .add(Linear::new(49, 50).bias(false))
            .add(Recurrent::new(Lif::new(2.0), 50))
            .add(Linear::new(50, 8).bias(false))
    };
    let data = prototypes(63, 8, [1, 7, 7], 30.0, [500, 300]);
    let settings = Settings {
        optimizer: Lion::new(1.0).into(),
        ..settings(1.0, 10, 63)
    };
    sick(net, 8, settings, &data);
}

#[test]
#[ignore = "needs minutes"]
fn spiking_outputs_with_sgd_at_1000() {
    let net = || {
        Sequential::new()
            .add(Flatten)
            .add(Linear::new(108, 64).bias(false))
            .add(Plif::new(2.0))
            .add(Linear::new(64, 5).bias(false))
            .add(Plif::new(2.0))
    };
    let data = prototypes(64, 5, [3, 6, 6], 30.0, [500, 300]);
    let settings = Settings {
        optimizer: Sgd {
            momentum: 0.9,
            ..Sgd::new(1000.0)
        }
        .into(),
        loss: loss::MseOneHot.into(),
        ..settings(1000.0, 10, 64)
    };
    sick(net, 5, settings, &data);
}

#[test]
#[ignore = "needs minutes"]
fn random_labels_are_not_the_fault_of_the_learning_rate() {
    let net = Sequential::new()
        .add(Flatten)
        .add(Linear::new(64, 400).bias(false))
        .add(Lif::new(2.0))
        .add(Linear::new(400, 7).bias(false));
    let data = with_random_labels(&prototypes(65, 7, [1, 8, 8], 60.0, [500, 300]), 7);
    assert_not_the_rate(&run(net, settings(5e-3, 25, 65), &data));
}

/// A linear layer with small initial weights.
struct Small {
    inputs: usize,
    outputs: usize,
    bound: f64,
}

impl Module for Small {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        let init = Init::Uniform { bound: self.bound };
        Ok(x.linear(&cx.parameter("weight", [self.outputs, self.inputs], init)))
    }
}

#[test]
#[ignore = "needs minutes"]
fn small_initial_weights_may_grow() {
    let net = Sequential::new()
        .add(Flatten)
        .add(Small {
            inputs: 64,
            outputs: 40,
            bound: 1e-4,
        })
        .add(BatchNorm1d::new(40))
        .add(If::new())
        .add(Small {
            inputs: 40,
            outputs: 9,
            bound: 1e-4,
        });
    let data = prototypes(66, 9, [1, 8, 8], 40.0, [500, 300]);
    let report = run(net, settings(1e-2, 10, 66), &data);
    assert!(
        works(&report, 9) && report.findings.is_empty(),
        "{}",
        table(&report)
    );
}

#[test]
#[ignore = "needs minutes"]
fn small_initial_weights_may_grow_with_random_labels() {
    let net = Sequential::new()
        .add(Flatten)
        .add(Small {
            inputs: 100,
            outputs: 60,
            bound: 1e-3,
        })
        .add(BatchNorm1d::new(60))
        .add(Lif::new(2.0))
        .add(Small {
            inputs: 60,
            outputs: 3,
            bound: 1e-3,
        });
    let data = with_random_labels(&prototypes(67, 3, [1, 10, 10], 60.0, [600, 300]), 9);
    assert_not_the_rate(&run(net, settings(3e-2, 20, 67), &data));
}

#[test]
#[ignore = "needs minutes"]
fn a_high_rate_that_works() {
    let net = Sequential::new()
        .add(Conv2d::new(1, 6, 3).bias(false).stride(2))
        .add(BatchNorm2d::new(6))
        .add(Lif::new(2.0))
        .add(Flatten)
        .add(Linear::new(6 * 36, 6).bias(false));
    let data = gratings(68, 6, 14, 25.0, [500, 300]);
    let settings = Settings {
        optimizer: Sgd {
            momentum: 0.9,
            ..Sgd::new(0.5)
        }
        .into(),
        ..settings(0.5, 10, 68)
    };
    let report = run(net, settings, &data);
    assert!(
        works(&report, 6) && report.findings.is_empty(),
        "{}",
        table(&report)
    );
}
