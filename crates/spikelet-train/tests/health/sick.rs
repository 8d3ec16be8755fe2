//! Networks that are made sick on purpose: exactly one finding, of the right kind and layer.

use crate::health::changed_images::changed_images;
use crate::health::support::{digits, settings, table, train};
use spikelet_data::{Dataset, Split};
use spikelet_train::FitReport;
use spikelet_train::health::{Finding, FindingKind};
use spikelet_train::prelude::*;
use std::sync::Arc;

/// The only finding.
fn only(report: &FitReport, kind: FindingKind, layer: Option<&str>) -> Finding {
    let [finding] = &report.findings[..] else {
        panic!("{}", table(report));
    };
    assert_eq!(
        (finding.kind, finding.layer.as_deref()),
        (kind, layer),
        "{}",
        table(report)
    );
    finding.clone()
}

fn common(v_threshold: f64) -> Common {
    Common {
        v_threshold,
        surrogate: Arc::new(Atan::default()),
        ..Common::default()
    }
}

fn if_node(v_threshold: f64) -> If {
    If {
        common: common(v_threshold),
    }
}

fn surrogate(alpha: f64) -> Common {
    Common {
        surrogate: Arc::new(Sigmoid { alpha }),
        ..Common::default()
    }
}

/// A convolution, then two linear layers.
fn conv_net(first: impl Module + 'static, second: impl Module + 'static) -> Sequential {
    Sequential::new()
        .add_named("conv", Conv2d::new(1, 6, 3).bias(false).stride(2))
        .add_named("conv_neuron", first)
        .add(Flatten)
        .add_named("hidden", Linear::new(6 * 13 * 13, 40).bias(false))
        .add_named("hidden_neuron", second)
        .add_named("out", Linear::new(40, 10).bias(false))
        .add_named("out_neuron", If::default())
}

/// Linear layers of one size with batch norm.
fn deep(layers: usize, neuron: &Common) -> Sequential {
    let mut net = Sequential::new().add(Flatten);
    let mut inputs = 784;
    for k in 0..layers {
        net = net
            .add_named(&format!("fc{k}"), Linear::new(inputs, 48).bias(false))
            .add_named(
                &format!("neuron{k}"),
                Plif {
                    common: neuron.clone(),
                    ..Plif::new(2.0)
                },
            );
        inputs = 48;
    }
    net.add_named("out", Linear::new(inputs, 10).bias(false))
}

#[test]
fn a_layer_with_a_threshold_that_is_never_reached_is_dead() {
    let net = conv_net(if_node(1.0), if_node(1000.0));
    let report = train(
        net,
        Settings {
            epochs: 4,
            ..settings()
        },
        &digits(5),
    );
    let found = only(&report, FindingKind::DeadLayer, Some("hidden_neuron"));
    assert_eq!(
        found.sentence,
        "No neuron of `hidden_neuron` fires at the end of epoch 4 (0 of 40): nothing passes this layer."
    );
    assert_eq!(found.epoch, 4);
    assert!(found.advice.contains("v_threshold=0.5"));
}

#[test]
fn a_layer_with_a_large_bias_is_saturated() {
    struct Shift(f64);
    impl Module for Shift {
        fn forward(&self, _: &Context, x: &Var) -> Result<Var> {
            Ok(x + self.0)
        }
    }
    let net = conv_net(
        if_node(1.0),
        Sequential::new()
            .add(Shift(50.0))
            .add_named("lif", Lif::new(3.0)),
    );
    let report = train(
        net,
        Settings {
            epochs: 4,
            ..settings()
        },
        &digits(6),
    );
    let found = only(
        &report,
        FindingKind::SaturatedLayer,
        Some("hidden_neuron.lif"),
    );
    assert!(
        found.sentence.starts_with("100.0 % of the 40 neurons"),
        "{found}"
    );
}

#[test]
fn shuffled_labels_are_named() {
    let data = digits(7);
    let shuffled =
        |images: &dyn Dataset| changed_images(images, |_, labels| labels.rotate_right(17));
    let data = Split::new(shuffled(&*data.train), shuffled(&*data.test));
    let net = conv_net(if_node(1.0), if_node(1.0));
    let report = train(
        net,
        Settings {
            epochs: 12,
            ..settings()
        },
        &data,
    );
    let found = only(&report, FindingKind::WrongLabels, None);
    assert!(
        found.sentence.contains("guessing one of 10 classes"),
        "{found}"
    );
}

#[test]
fn a_learning_rate_of_10_is_named() {
    for optimizer in [
        Adam::new(10.0).into(),
        Sgd {
            momentum: 0.9,
            ..Sgd::new(10.0)
        }
        .into(),
    ] {
        let settings = Settings {
            optimizer,
            loss: loss::CrossEntropy::new().into(),
            ..settings()
        };
        let report = train(deep(2, &surrogate(4.0)), settings, &digits(8));
        let found = report.findings.first().map(|found| found.kind);
        assert_eq!(
            found,
            Some(FindingKind::LearningRateTooHigh),
            "{}",
            table(&report)
        );
    }
}

#[test]
fn a_constant_input_is_named() {
    let data = digits(9);
    let gray = |images: &dyn Dataset| changed_images(images, |pixels, _| pixels.fill(128));
    let data = Split::new(gray(&*data.train), gray(&*data.test));
    let net = conv_net(if_node(1.0), if_node(1.0));
    let report = train(
        net,
        Settings {
            epochs: 4,
            ..settings()
        },
        &data,
    );
    let found = only(&report, FindingKind::ConstantInput, None);
    assert_eq!(
        found.sentence,
        "The input `images` is the same for all samples of the batches measured up to epoch 4 (mean 0.502)."
    );
}

#[test]
fn gradients_vanish_through_wide_surrogates_without_batch_norm() {
    let neuron = Common {
        v_threshold: 0.1,
        ..surrogate(0.8)
    };
    let report = train(deep(9, &neuron), settings(), &digits(10));
    let found = only(&report, FindingKind::VanishingGradients, Some("fc0"));
    assert!(
        found.sentence.contains("of that of `out.weight`"),
        "{found}"
    );
}

#[test]
fn gradients_explode_through_steep_surrogates() {
    let neuron = Common {
        v_threshold: 0.1,
        ..surrogate(200.0)
    };
    let report = train(deep(16, &neuron), settings(), &digits(11));
    let found = only(&report, FindingKind::ExplodingGradients, Some("fc0"));
    assert!(
        found.sentence.contains("before the first update"),
        "{found}"
    );
}

#[test]
fn a_layer_that_is_not_used_gets_no_gradient() {
    struct Ignoring;
    impl Module for Ignoring {
        fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
            let unused = cx.child("unused", |cx| {
                Linear::new(40, 40).bias(false).forward(cx, x)
            })?;
            Ok(x + unused * 0.0)
        }
    }
    let net = conv_net(
        if_node(1.0),
        Sequential::new()
            .add_named("gate", Ignoring)
            .add_named("neuron", If::default()),
    );
    let report = train(
        net,
        Settings {
            epochs: 4,
            ..settings()
        },
        &digits(12),
    );
    only(
        &report,
        FindingKind::NoGradient,
        Some("hidden_neuron.gate.unused"),
    );
}

#[test]
fn a_network_that_learns_some_wrong_labels_by_heart_overfits() {
    // Half of the training labels are wrong.
    let data = spikelet_data::synthetic::digits_of(13, 200, 256);
    let half_wrong = |labels: &mut [u32]| {
        for (k, label) in labels.iter_mut().enumerate().step_by(2) {
            *label = (*label + 1 + k as u32 % 7) % 10;
        }
    };
    let train_set = changed_images(&*data.train, |_, labels| half_wrong(labels));
    let data = Split::new(train_set, data.test);
    let net = Sequential::new()
        .add(Flatten)
        .add(Linear::new(784, 200).bias(false))
        .add(Lif {
            decay_input: false,
            ..Lif::new(2.0)
        })
        .add(Linear::new(200, 10).bias(false));
    let settings = Settings {
        epochs: 60,
        loss: loss::CrossEntropy::new().into(),
        optimizer: Adam::new(5e-3).into(),
        schedule: LrSchedule::default(),
        ..settings()
    };
    let report = train(net, settings, &data);
    only(&report, FindingKind::Overfitting, None);
}
