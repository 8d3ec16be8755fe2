//! Findings from evidence that is written by hand.

use super::{
    Evidence, FindingKind, InputProbe, LayerProbe, ParameterProbe, Probe, RunFacts, findings,
};
use crate::checkpoint::EpochRecord;
use crate::metric::MetricValues;

/// A probe of a healthy network of two layers.
fn probe(step: u64, epoch: usize) -> Probe {
    let layer = |name: &str| LayerProbe {
        name: name.to_string(),
        neurons: 100,
        rate: 0.1,
        dead: 0.2,
        ..LayerProbe::default()
    };
    let weight = |name: &str| ParameterProbe {
        name: name.to_string(),
        shape: vec![100, 100],
        norm: 5.0,
        gradient: 0.1,
    };
    Probe {
        step,
        epoch,
        loss: 2.0 / (epoch as f64),
        inputs: vec![InputProbe {
            name: "images".to_string(),
            elements: 784,
            mean: 0.2,
            spread: 1.0,
        }],
        layers: vec![layer("1"), layer("3")],
        parameters: vec![weight("0.weight"), weight("2.weight")],
    }
}

/// An epoch with these losses and accuracies of training and validation.
fn record(epoch: usize, train: [f64; 2], validation: [f64; 2]) -> EpochRecord {
    let values = |[loss, accuracy]: [f64; 2]| MetricValues::new(loss, [("accuracy", accuracy)]);
    EpochRecord {
        epoch,
        train: values(train),
        validation: Some(values(validation)),
        test: None,
        monitor: "accuracy".to_string(),
        best: Some(validation[1]),
        samples_per_second: 1.0,
        seconds: 1.0,
    }
}

/// A run of six epochs, the last of which has this training loss, and these accuracies.
fn evidence(loss: f64, accuracies: [f64; 2]) -> Evidence {
    let [train, validation] = accuracies;
    let each = (1..=6).map(|epoch| {
        let loss = 2.0 + (loss - 2.0) * epoch as f64 / 6.0;
        record(epoch, [loss, train], [loss, validation])
    });
    Evidence {
        run: RunFacts {
            classes: Some(10),
            train_samples: 1000,
            validation_samples: 1000,
            steps_per_epoch: 100,
            ..RunFacts::default()
        },
        history: each.collect(),
        probes: (0..=6).map(|k| probe(100 * k, k.max(1) as usize)).collect(),
    }
}

fn healthy() -> Evidence {
    evidence(0.4, [0.95, 0.9])
}

fn failing() -> Evidence {
    evidence(1.99, [0.1, 0.1])
}

/// The training samples are learned by heart, the loss on others rises.
fn wrong_labels() -> Evidence {
    let mut evidence = evidence(1.0, [0.6, 0.11]);
    for (record, k) in evidence.history.iter_mut().zip(1..) {
        let loss = 2.3 + 0.1 * f64::from(k);
        record.validation = Some(MetricValues::new(loss, [("accuracy", 0.11)]));
    }
    evidence
}

/// The kind and the layer of the only finding.
fn only(evidence: &Evidence) -> (FindingKind, Option<String>) {
    match &findings(evidence)[..] {
        [found] => (found.kind, found.layer.clone()),
        other => panic!("{other:?}"),
    }
}

fn at(layer: &str) -> Option<String> {
    Some(layer.to_string())
}

#[test]
fn a_healthy_run_and_no_evidence_have_no_findings() {
    assert_eq!(findings(&healthy()), []);
    assert_eq!(findings(&Evidence::default()), []);
    assert_eq!(findings(&Evidence::of_history(healthy().history)), []);
}

#[test]
fn the_first_dead_layer_is_the_cause() {
    let mut sick = failing();
    for layer in &mut sick.probes[6].layers {
        (layer.rate, layer.dead) = (0.0, 1.0);
    }
    assert_eq!(only(&sick), (FindingKind::DeadLayer, at("1")));
    // A silent branch of a network that works.
    let mut works = healthy();
    works.probes[6].layers[1].rate = 0.0;
    assert_eq!(findings(&works), []);
}

#[test]
fn a_layer_that_is_silent_from_the_start_is_named_in_a_short_run() {
    let short = |steps: u64, first: f64, last: f64| {
        let mut run = evidence(2.0, [0.1, 0.1]);
        run.history.truncate(1);
        run.run.steps_per_epoch = steps as usize;
        run.probes = vec![probe(0, 1), probe(steps, 1)];
        for (probe, rate) in run.probes.iter_mut().zip([first, last]) {
            probe.layers[1].rate = rate;
        }
        run
    };
    assert_eq!(
        only(&short(12, 0.0, 0.0)),
        (FindingKind::DeadLayer, at("3"))
    );
    // It began to fire, or it was silenced by few updates; or there were hardly any.
    for (steps, first, last) in [(12, 0.0, 0.1), (12, 0.1, 0.0), (9, 0.0, 0.0)] {
        assert_eq!(
            findings(&short(steps, first, last)),
            [],
            "{steps} {first} {last}"
        );
    }
    // A layer before it began to fire.
    let mut begins = short(12, 0.0, 0.0);
    begins.probes[0].layers[0].rate = 0.0;
    assert_eq!(findings(&begins), []);
    let text = short(12, 0.1, 0.1).too_short();
    assert_eq!(
        text.as_deref(),
        Some("too short to judge (12 of 100 steps)")
    );
    assert_eq!(healthy().too_short(), None);
}

#[test]
fn a_norm_that_overflows_is_not_called_an_element_that_is_not_finite() {
    let sentence = |norm: f64| {
        let mut sick = failing();
        sick.probes[1].parameters[0].norm = norm;
        let found = findings(&sick).remove(0);
        assert_eq!(found.kind, FindingKind::NotFinite);
        found.sentence
    };
    assert_eq!(
        sentence(f64::INFINITY),
        "The weight `0.weight` has a norm above 1.8e19 at the end of epoch 1: it has run away."
    );
    assert_eq!(
        sentence(f64::NAN),
        "The weight `0.weight` has elements that are not numbers at the end of epoch 1."
    );
}

#[test]
fn a_layer_that_always_or_never_fires_is_saturated() {
    let mut sick = failing();
    (
        sick.probes[6].layers[1].saturated,
        sick.probes[6].layers[1].dead,
    ) = (0.6, 0.4);
    assert_eq!(only(&sick), (FindingKind::SaturatedLayer, at("3")));
    let sentence = &findings(&sick)[0].sentence;
    assert_eq!(
        sentence,
        "Of the 100 neurons of `3`, 60.0 % fire at every time step of every sample and 40.0 % never at the end of epoch \
         6: the spikes do not depend on the input."
    );
    // Values other than 0 and 1 carry information at every step.
    sick.probes[6].layers[1].graded = true;
    assert_ne!(only(&sick).0, FindingKind::SaturatedLayer);
}

#[test]
fn gradients_that_explode_before_the_first_update_are_not_the_learning_rate() {
    let mut sick = failing();
    sick.probes[0].parameters[0].gradient = 1e6;
    sick.probes[6].parameters[0].norm = 5e4;
    assert_eq!(only(&sick), (FindingKind::ExplodingGradients, at("0")));
    sick.probes[0].parameters[0].gradient = 0.1;
    assert_eq!(only(&sick), (FindingKind::LearningRateTooHigh, at("0")));
}

#[test]
fn a_loss_that_rises_is_the_learning_rate() {
    assert_eq!(
        only(&evidence(30.0, [0.1, 0.1])),
        (FindingKind::LearningRateTooHigh, None)
    );
}

#[test]
fn gradients_vanish_only_if_two_measurements_say_so() {
    let mut sick = healthy();
    sick.probes[6].parameters[0].gradient = 1e-9;
    assert_eq!(findings(&sick), []);
    sick.probes[5].parameters[0].gradient = 1e-9;
    assert_eq!(only(&sick), (FindingKind::VanishingGradients, at("0")));
}

#[test]
fn a_weight_without_a_gradient_is_named() {
    let mut sick = healthy();
    for probe in &mut sick.probes {
        probe.parameters[1].gradient = 0.0;
    }
    assert_eq!(only(&sick), (FindingKind::NoGradient, at("2")));
    // A branch that starts with a factor of 0.
    sick.probes[2].parameters[1].gradient = 1e-3;
    assert_eq!(findings(&sick), []);
}

#[test]
fn a_gradient_that_is_not_finite_is_named() {
    let mut sick = healthy();
    sick.probes[2].parameters[1].gradient = f64::NAN;
    assert_eq!(only(&sick), (FindingKind::NotFinite, at("2")));
}

#[test]
fn the_same_input_everywhere_is_named() {
    let mut sick = failing();
    for probe in &mut sick.probes {
        probe.inputs[0].spread = 0.0;
        // A small constant input beside it does not matter.
        probe.inputs.push(InputProbe {
            name: "mask".to_string(),
            elements: 1,
            mean: 1.0,
            spread: 0.0,
        });
    }
    assert_eq!(only(&sick), (FindingKind::ConstantInput, None));
    sick.probes[1].inputs[0].spread = 0.5;
    assert_ne!(only(&sick).0, FindingKind::ConstantInput);
}

#[test]
fn samples_learned_by_heart_have_wrong_labels() {
    assert_eq!(only(&wrong_labels()), (FindingKind::WrongLabels, None));
    // A few samples more than by guessing are learned.
    let mut learned = wrong_labels();
    for record in &mut learned.history {
        record.validation = Some(MetricValues::new(3.0, [("accuracy", 0.2)]));
    }
    assert_eq!(findings(&learned), []);
    let mut pretrained = wrong_labels();
    pretrained.run.pretrained = true;
    assert_eq!(findings(&pretrained), []);
}

#[test]
fn labels_are_not_blamed_if_nothing_is_learned() {
    assert_eq!(only(&failing()), (FindingKind::LossDoesNotFall, None));
}

#[test]
fn labels_are_not_blamed_if_the_loss_on_other_samples_has_fallen() {
    let with = |losses: &[f64]| {
        let mut evidence = evidence(0.4, [1.0, 0.1]);
        evidence.run.guessing_loss = Some(2.3);
        let each = losses.iter().zip(1..);
        let each = each.map(|(loss, epoch)| record(epoch, [0.5, 0.9], [*loss, 0.1]));
        evidence.history = each.collect();
        evidence
    };
    let wrong = (FindingKind::WrongLabels, None);
    assert_eq!(only(&with(&[2.31, 2.4, 2.6, 2.9, 3.5])), wrong);
    // To that of guessing.
    assert_eq!(
        only(&with(&[3.0, 2.8, 2.6, 2.4, 2.35, 2.6, 2.9, 3.5])),
        wrong
    );
    // Once, at random.
    assert_eq!(only(&with(&[2.31, 2.33, 2.35, 2.29, 2.4, 2.6, 2.9])), wrong);
    // Once, by more than chance: the likelihoods of 1000 samples have a ratio of e¹⁰.
    let mut once = with(&[2.31, 2.29, 2.35, 2.4, 2.6, 2.9]);
    once.run.guessing_loss = Some(10.0_f64.ln());
    assert_eq!(findings(&once), []);
    once.run.validation_samples = 100;
    assert_eq!(only(&once), wrong);
    // Below that of guessing.
    let right = with(&[2.31, 2.3, 2.29, 2.28, 2.27, 2.6, 2.9, 3.5]);
    assert_eq!(findings(&right), []);
    // It may still fall.
    assert_eq!(findings(&with(&[2.31, 2.32, 2.3, 2.31, 2.32])), []);
}

#[test]
fn labels_are_not_blamed_if_the_mean_accuracy_is_above_guessing() {
    let mut weak = wrong_labels();
    for record in &mut weak.history {
        record.validation = Some(MetricValues::new(3.0, [("accuracy", 0.14)]));
    }
    weak.run.validation_samples = 300;
    assert_eq!(findings(&weak), []);
    weak.run.validation_samples = 200;
    assert_eq!(only(&weak).0, FindingKind::WrongLabels);
}

#[test]
fn overfitting_needs_a_worse_accuracy() {
    let epochs = |accuracies: [f64; 6]| {
        let losses = [1.0, 0.6, 0.5, 0.7, 0.9, 1.1];
        let each = losses.into_iter().zip(accuracies).zip(1..);
        let each = each.map(|((loss, accuracy), epoch)| {
            record(epoch, [1.0 / epoch as f64, 0.99], [loss, accuracy])
        });
        Evidence {
            history: each.collect(),
            ..healthy()
        }
    };
    let found = only(&epochs([0.6, 0.7, 0.75, 0.74, 0.72, 0.7]));
    assert_eq!(found, (FindingKind::Overfitting, None));
    assert_eq!(findings(&epochs([0.6, 0.7, 0.75, 0.76, 0.76, 0.76])), []);
}

#[test]
fn evidence_keeps_values_that_are_not_finite_in_json() {
    let mut evidence = healthy();
    evidence.probes[1].loss = f64::NAN;
    let text = serde_json::to_string(&evidence).expect("plain data");
    let read: Evidence = serde_json::from_str(&text).expect("evidence");
    assert!(read.probes[1].loss.is_nan());
    assert_eq!(read.probes[0], evidence.probes[0]);
    assert_eq!(findings(&read), findings(&evidence));
}

#[test]
fn names_of_kinds_are_those_in_json() {
    for kind in [
        FindingKind::NotFinite,
        FindingKind::ConstantInput,
        FindingKind::ExplodingGradients,
        FindingKind::LearningRateTooHigh,
        FindingKind::DeadLayer,
        FindingKind::SaturatedLayer,
        FindingKind::VanishingGradients,
        FindingKind::NoGradient,
        FindingKind::WrongLabels,
        FindingKind::LossDoesNotFall,
        FindingKind::Overfitting,
    ] {
        let text = serde_json::to_string(&kind).expect("plain data");
        assert_eq!(text, format!("\"{kind}\""));
    }
}
