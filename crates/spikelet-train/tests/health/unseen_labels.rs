//! Random labels, in networks and data on which no threshold was chosen.

use crate::health::patterns::{gratings, prototypes, with_random_labels};
use crate::health::support::table;
use spikelet_data::{Split, synthetic};
use spikelet_nn::network::Network;
use spikelet_nn::neuron::{Alif, Psn};
use spikelet_train::health::FindingKind;
use spikelet_train::optim::RmsProp;
use spikelet_train::prelude::*;

/// The only finding.
fn assert_named(kind: FindingKind, trainer: Trainer<'_>, data: &Split) {
    let report = trainer.fit(data).expect("the run ends");
    let kinds: Vec<_> = report.findings.iter().map(|found| found.kind).collect();
    assert_eq!(kinds, [kind], "{}", table(&report));
}

fn sick(net: Sequential, settings: Settings, data: &Split) {
    assert_named(FindingKind::WrongLabels, Trainer::new(net, settings), data);
}

pub fn settings(epochs: usize, seed: u64) -> Settings {
    Settings {
        time_steps: 4,
        batch_size: 10,
        epochs,
        seed,
        optimizer: Adam::new(2e-3).into(),
        encoder: Direct.into(),
        loss: loss::CrossEntropy::new().into(),
        validation: 0.0,
        schedule: LrSchedule::default(),
        ..Settings::default()
    }
}

pub fn mlp(inputs: usize, hidden: usize, classes: usize) -> Sequential {
    Sequential::new()
        .add(Flatten)
        .add(Linear::new(inputs, hidden).bias(true))
        .add(Lif::new(2.5))
        .add(Linear::new(hidden, classes).bias(true))
}

/// Large scores, so that the loss falls for several epochs before it is that of guessing.
struct Scale(f64);

impl Module for Scale {
    fn forward(&self, _: &Context, x: &Var) -> Result<Var> {
        Ok(x * self.0)
    }
}

#[test]
fn gratings_with_random_labels() {
    let net = Sequential::new()
        .add(Conv2d::new(1, 8, 3).bias(false).stride(2))
        .add(BatchNorm2d::new(8))
        .add(Plif::new(2.0))
        .add(Flatten)
        .add(Linear::new(8 * 25, 6).bias(false));
    let data = with_random_labels(&gratings(81, 6, 12, 30.0, [500, 400]), 3);
    sick(net, settings(12, 81), &data);
}

#[test]
#[ignore = "needs minutes"]
fn twenty_patterns_with_random_labels_that_are_too_many_to_memorize() {
    let data = with_random_labels(&prototypes(82, 20, [1, 8, 8], 60.0, [1500, 400]), 5);
    sick(mlp(64, 24, 20), settings(6, 82), &data);
}

#[test]
#[ignore = "needs minutes"]
fn two_patterns_with_random_labels_learned_by_heart() {
    let data = with_random_labels(&prototypes(83, 2, [1, 8, 8], 80.0, [200, 300]), 7);
    sick(mlp(64, 200, 2), settings(30, 83), &data);
}

#[test]
#[ignore = "needs minutes"]
fn recurrent_neurons_with_shuffled_digits() {
    let data = synthetic::digits_of(84, 400, 300);
    let data = with_random_labels(&data, 11);
    let net = Sequential::new()
        .add(AvgPool2d::new(2))
        .add(Flatten)
        .add(Linear::new(196, 60).bias(false))
        .add(Recurrent::new(If::new(), 60))
        .add(Linear::new(60, 10).bias(false));
    let settings = Settings {
        loss: loss::MseOneHot.into(),
        ..settings(14, 84)
    };
    sick(net, settings, &data);
}

#[test]
#[ignore = "needs minutes"]
fn eight_patterns_with_random_labels_and_adaptive_thresholds() {
    let data = with_random_labels(&prototypes(91, 8, [3, 5, 5], 60.0, [800, 300]), 3);
    let net = Sequential::new()
        .add(Flatten)
        .add(Linear::new(75, 40).bias(false))
        .add(Alif::default())
        .add(Linear::new(40, 8).bias(false));
    let settings = Settings {
        optimizer: Adam::new(1e-3).into(),
        ..settings(12, 91)
    };
    // The network does not begin to learn, so that nothing points at the labels.
    let trainer = Trainer::new(net, settings);
    assert_named(FindingKind::LossDoesNotFall, trainer, &data);
}

#[test]
#[ignore = "needs minutes"]
fn three_gratings_with_random_labels_and_sgd() {
    let data = with_random_labels(&gratings(92, 3, 10, 30.0, [300, 250]), 5);
    let net = Sequential::new()
        .add(Conv2d::new(1, 12, 3).bias(false))
        .add(If::new())
        .add(AvgPool2d::new(2))
        .add(Flatten)
        .add(Linear::new(12 * 16, 3).bias(false));
    let settings = Settings {
        optimizer: Sgd {
            momentum: 0.9,
            ..Sgd::new(0.05)
        }
        .into(),
        ..settings(30, 92)
    };
    sick(net, settings, &data);
}

#[test]
#[ignore = "needs minutes"]
fn csnn_with_random_labels() -> Result<()> {
    let small = Network::model("csnn", [("channels", 4.into()), ("hidden", 40.into())])?;
    let data = with_random_labels(&synthetic::digits_of(93, 256, 256), 7);
    let settings = Settings {
        epochs: 14,
        batch_size: 16,
        validation: 0.0,
        ..Settings::of_network(&small)
    };
    let trainer = Trainer::network(&small, settings)?;
    assert_named(FindingKind::WrongLabels, trainer, &data);
    Ok(())
}

#[test]
#[ignore = "needs minutes"]
fn parallel_neurons_with_random_labels() {
    let data = with_random_labels(&prototypes(94, 12, [1, 9, 9], 50.0, [1000, 400]), 9);
    let net = Sequential::new()
        .add(Flatten)
        .add(Linear::new(81, 30).bias(false))
        .add(Psn::default())
        .add(Linear::new(30, 12).bias(false));
    let settings = Settings {
        loss: loss::Tet::default().into(),
        ..settings(8, 94)
    };
    sick(net, settings, &data);
}

#[test]
#[ignore = "needs minutes"]
fn five_patterns_with_random_labels() {
    let data = with_random_labels(&prototypes(111, 5, [1, 10, 10], 60.0, [500, 500]), 3);
    let net = Sequential::new()
        .add(Flatten)
        .add(Linear::new(100, 80).bias(false))
        .add(If::new())
        .add(Linear::new(80, 60).bias(false))
        .add(If::new())
        .add(Linear::new(60, 5).bias(false));
    sick(net, settings(20, 111), &data);
}

#[test]
#[ignore = "needs minutes"]
fn two_gratings_with_random_labels() {
    let data = with_random_labels(&gratings(112, 2, 11, 30.0, [240, 800]), 5);
    let net = Sequential::new()
        .add(Conv2d::new(1, 16, 3).bias(false).stride(2))
        .add(Plif::new(2.0))
        .add(Flatten)
        .add(Linear::new(16 * 25, 40).bias(false))
        .add(Plif::new(2.0))
        .add(Linear::new(40, 2).bias(false));
    sick(net, settings(40, 112), &data);
}

#[test]
#[ignore = "needs minutes"]
fn digits_with_random_labels_and_batch_norm() {
    let data = with_random_labels(&synthetic::digits_of(113, 500, 400), 7);
    let net = Sequential::new()
        .add(Flatten)
        .add(Linear::new(784, 100).bias(false))
        .add(BatchNorm1d::new(100))
        .add(Lif::new(2.0))
        .add(Linear::new(100, 10).bias(false));
    sick(net, settings(12, 113), &data);
}

#[test]
#[ignore = "needs minutes"]
fn large_scores_and_random_labels() {
    let data = with_random_labels(&prototypes(121, 4, [2, 7, 7], 60.0, [400, 400]), 3);
    let net = Sequential::new()
        .add(Flatten)
        .add(Linear::new(98, 60).bias(false))
        .add(Lif::new(2.0))
        .add(Linear::new(60, 60).bias(false))
        .add(Lif::new(2.0))
        .add(Linear::new(60, 4).bias(true))
        .add(Scale(20.0));
    let settings = Settings {
        optimizer: Adam::new(1e-3).into(),
        ..settings(25, 121)
    };
    sick(net, settings, &data);
}

#[test]
#[ignore = "needs minutes"]
fn digits_with_random_labels_and_a_loss_at_each_step() {
    let data = with_random_labels(&synthetic::digits_of(122, 600, 500), 5);
    let net = Sequential::new()
        .add(AvgPool2d::new(4))
        .add(Flatten)
        .add(Linear::new(49, 120).bias(false))
        .add(Plif::new(2.0))
        .add(Linear::new(120, 10).bias(false));
    let settings = Settings {
        loss: loss::Tet::default().into(),
        optimizer: Adam::new(5e-3).into(),
        ..settings(20, 122)
    };
    sick(net, settings, &data);
}

#[test]
#[ignore = "needs minutes"]
fn five_gratings_with_random_labels_and_rmsprop() {
    let data = with_random_labels(&gratings(123, 5, 14, 30.0, [400, 350]), 7);
    let net = Sequential::new()
        .add(Conv2d::new(1, 8, 3).bias(false).stride(2))
        .add(BatchNorm2d::new(8))
        .add(Lif::new(2.0))
        .add(Flatten)
        .add(Linear::new(8 * 36, 5).bias(false));
    let settings = Settings {
        optimizer: RmsProp::new(1e-3).into(),
        ..settings(15, 123)
    };
    sick(net, settings, &data);
}

#[test]
#[ignore = "needs minutes"]
fn twenty_five_patterns_with_random_labels_and_a_squared_error() {
    let data = with_random_labels(&prototypes(124, 25, [1, 8, 8], 50.0, [1000, 500]), 9);
    let settings = Settings {
        loss: loss::MseOneHot.into(),
        ..settings(15, 124)
    };
    sick(mlp(64, 150, 25), settings, &data);
}

#[test]
#[ignore = "needs minutes"]
fn six_patterns_with_random_labels_and_a_high_learning_rate() {
    let data = with_random_labels(&prototypes(131, 6, [1, 9, 9], 60.0, [400, 300]), 3);
    let settings = Settings {
        optimizer: Adam::new(2e-2).into(),
        ..settings(20, 131)
    };
    sick(mlp(81, 60, 6), settings, &data);
}

#[test]
#[ignore = "needs minutes"]
fn three_patterns_with_random_labels_and_few_test_samples() {
    let data = with_random_labels(&prototypes(132, 3, [1, 8, 8], 60.0, [240, 120]), 5);
    sick(mlp(64, 150, 3), settings(25, 132), &data);
}
