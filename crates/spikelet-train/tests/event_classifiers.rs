//! Classifiers of event data: frames of the host and of the device, frames that vary in number, and resuming.

use spikelet_data::{Augment, DataOptions, Dataset, FrameSettings, FramesOn, Split, Subset, find};
use spikelet_nn::prelude::*;
use spikelet_train::{Settings, Trainer};
use std::sync::Arc;

/// The first samples of the generated gestures, with these frames.
fn gestures(frames: &FrameSettings, steps: usize) -> Split {
    let options = DataOptions {
        frames: frames.clone(),
        time_steps: steps,
        ..DataOptions::default()
    };
    let gestures = find("synthetic-gestures-34").expect("it is known");
    let split = gestures.load(&options).expect("it needs no files");
    let first = |data: &Arc<dyn Dataset>, samples: usize| -> Arc<dyn Dataset> {
        Arc::new(Subset::new(data.clone(), (0..samples).collect()).expect("enough samples"))
    };
    Split::new(first(&split.train, 40), first(&split.test, 20))
        .with_validation(Some(first(&split.test, 10)))
}

fn network() -> Sequential {
    Sequential::new()
        .add(Conv2d::new(2, 4, 3).bias(false).stride(2))
        .add(BatchNorm2d::new(4))
        .add(Lif::new(2.0))
        .add(MaxPool2d::new(2))
        .add(Flatten)
        .add(Linear::new(4 * 8 * 8, 10).bias(false))
        .add(Lif::new(2.0))
}

/// The losses and accuracies of two epochs.
fn trained(data: &Split, steps: usize, augment: Augment) -> Result<Vec<f64>> {
    let mut settings = Settings {
        epochs: 2,
        batch_size: 10,
        augment,
        ..Settings::default()
    };
    settings.use_sequences(steps);
    let report = Trainer::new(network(), settings).fit(data)?;
    let values = report.history.iter().flat_map(|epoch| {
        let test = epoch.test.as_ref().expect("there are test samples");
        let validation = epoch
            .validation
            .as_ref()
            .expect("there are validation samples");
        [
            epoch.train.loss,
            test.loss,
            validation.loss,
            test.get("accuracy").unwrap_or(-1.0),
        ]
    });
    Ok(values.collect())
}

#[test]
fn frames_made_on_the_device_train_the_same_network() -> Result<()> {
    for rule in ["number=8", "time=8", "duration=150000"] {
        let frames = |frames_on| FrameSettings {
            rule: Some(rule.parse().expect("a rule")),
            frames_on,
            ..FrameSettings::default()
        };
        let augment = Augment {
            events: ["flip-polarity=0.5", "drop-events=0.2"]
                .map(|t| t.parse().expect("known"))
                .into(),
            ..Augment::default()
        };
        let host = trained(&gestures(&frames(FramesOn::Host), 8), 8, augment.clone())?;
        let device = trained(&gestures(&frames(FramesOn::Device), 8), 8, augment)?;
        assert_eq!(host, device, "{rule}");
        assert!(host.iter().all(|value| value.is_finite()));
    }
    Ok(())
}

#[test]
fn time_steps_beyond_a_recording_do_not_count_in_its_scores() -> Result<()> {
    let frames = FrameSettings {
        rule: Some("duration=150000".parse().expect("a rule")),
        ..FrameSettings::default()
    };
    // Every recording is shorter than 15 or 30 steps: the padding is all that differs. Batch norm counts the padding, so
    // this network has none.
    let scores = |steps: usize| -> Result<Vec<f64>> {
        let net = Sequential::new()
            .add(Flatten)
            .add(Linear::new(2 * 34 * 34, 10).bias(false))
            .add(Lif::new(2.0).v_threshold(0.2));
        let mut settings = Settings {
            epochs: 1,
            batch_size: 10,
            ..Settings::default()
        };
        settings.use_sequences(steps);
        let report = Trainer::new(net, settings).fit(&gestures(&frames, steps))?;
        let last = report.history.last().expect("an epoch");
        let test = last.test.as_ref().expect("there are test samples");
        Ok(vec![last.train.loss, test.loss])
    };
    let (short, long) = (scores(15)?, scores(30)?);
    for (short, long) in short.iter().zip(&long) {
        assert!((short - long).abs() < 1e-5 * short, "{short} {long}");
    }
    Ok(())
}

#[test]
fn changes_of_frames_are_refused_on_the_device() {
    let frames = FrameSettings {
        frames_on: FramesOn::Device,
        ..FrameSettings::default()
    };
    let augment = Augment {
        events: vec!["nda".parse().expect("known")],
        ..Augment::default()
    };
    let error = trained(&gestures(&frames, 16), 16, augment).expect_err("refused");
    assert!(error.to_string().contains("on the device"), "{error}");
}
