use std::fs;
use std::path::Path;

use spikelet_events::{EventBuffer, Format, write};

use super::*;
use crate::{DataLoader, LoaderConfig, find, named_datasets};

/// Recordings of N-MNIST's layout, whose first event tells split and number.
fn n_mnist(dir: &Path) {
    for (split, count) in [("Train", 12_u16), ("Test", 4)] {
        for k in 0..count {
            let folder = dir.join(format!("n-mnist/{split}/{}", k % 4));
            fs::create_dir_all(&folder).unwrap();
            let mut events = EventBuffer::default();
            for t in 0..40 {
                events.push(1000 * t, k, (t % 34) as u16, t % 3 == 0);
            }
            write(
                folder.join(format!("{k:05}.bin")),
                Format::Atis,
                Sensor::new(34, 34),
                &events,
            )
            .unwrap();
        }
    }
}

/// The fields of a data set before its files are read.
fn fields(name: &str, frames: &FrameSettings) -> Vec<Field> {
    find(name).unwrap().fields(&options(frames)).unwrap()
}

fn load(name: &str, frames: &FrameSettings, folder: impl AsRef<Path>) -> Result<Split> {
    find(name)?.load(&DataOptions {
        folder: folder.as_ref().into(),
        ..options(frames)
    })
}

fn options(frames: &FrameSettings) -> DataOptions {
    DataOptions {
        frames: frames.clone(),
        time_steps: 5,
        ..DataOptions::default()
    }
}

#[test]
fn a_set_is_packed_once_and_its_samples_are_frames() {
    let dir = tempfile::tempdir().unwrap();
    n_mnist(dir.path());
    let frames = FrameSettings::default();
    let known = fields("n-mnist", &frames);
    assert_eq!(known[0].to_string(), "x: f32[10, 2, 34, 34], a sequence");
    let split = load("n-mnist", &frames, dir.path()).unwrap();
    assert_eq!(split.train.fields(), known);
    assert_eq!((split.train.len(), split.test.len()), (12, 4));
    fs::remove_dir_all(dir.path().join("n-mnist")).unwrap();
    // The pack is enough from now on.
    let again = load("n-mnist", &frames, dir.path()).unwrap();
    assert_eq!(split.train.digest().unwrap(), again.train.digest().unwrap());
    let sample = again.train.sample(5).unwrap();
    let x = sample.require("x").unwrap();
    assert_eq!(x.shape, [10, 2, 34, 34]);
    assert_eq!(x.as_f32().unwrap().iter().sum::<f32>(), 40.0);
    assert_eq!(sample.require("labels").unwrap().as_i64(), Some(&[1][..]));
    assert_eq!(again.train.class_names("labels").len(), 10);
}

#[test]
fn unpacked_recordings_have_the_same_samples_and_write_nothing() {
    let dir = tempfile::tempdir().unwrap();
    n_mnist(dir.path());
    let frames = FrameSettings {
        unpacked: true,
        ..FrameSettings::default()
    };
    let read = load("n-mnist", &frames, dir.path()).unwrap();
    assert!(!dir.path().join("n-mnist.events").exists());
    let packed = load("n-mnist", &FrameSettings::default(), dir.path()).unwrap();
    assert!(dir.path().join("n-mnist.events").exists());
    assert_eq!(read.train.len(), packed.train.len());
    for index in 0..read.train.len() {
        let [a, b] = [&read, &packed].map(|split| split.train.sample(index).unwrap());
        for name in ["x", "labels"] {
            assert_eq!(a.require(name).unwrap(), b.require(name).unwrap());
        }
    }
}

#[test]
fn frames_of_a_duration_vary_in_number_and_batches_have_their_lengths() {
    let dir = tempfile::tempdir().unwrap();
    n_mnist(dir.path());
    let frames = FrameSettings {
        rule: Some("duration=20000".parse().unwrap()),
        size: Some([17, 17]),
        ..FrameSettings::default()
    };
    let split = load("n-mnist", &frames, dir.path()).unwrap();
    let known = fields("n-mnist", &frames);
    assert_eq!(
        known[0].to_string(),
        "x: f32[5, 2, 17, 17], a sequence, padded with 0"
    );
    let config = LoaderConfig {
        batch_size: 4,
        ..LoaderConfig::default()
    };
    let loader = DataLoader::new(split.train, config).unwrap();
    let batch = loader.epoch(0, 0).next().unwrap().unwrap();
    assert_eq!(batch.require("x").unwrap().shape, [5, 4, 2, 17, 17]);
    assert_eq!(batch.i64("x_length").unwrap(), [2; 4]);
}

#[test]
fn augmentation_changes_events_by_seed_and_epoch_and_not_those_of_evaluations() {
    let dir = tempfile::tempdir().unwrap();
    n_mnist(dir.path());
    let split = load("n-mnist", &FrameSettings::default(), dir.path()).unwrap();
    let events = ["flip-x=0.5", "drop-events=0.3", "nda"];
    let augment = crate::Augment {
        events: events.map(|text| text.parse().unwrap()).into(),
        ..crate::Augment::default()
    };
    let batch = |augment: &crate::Augment, epoch, threads| {
        let config = LoaderConfig {
            batch_size: 12,
            augment: augment.clone(),
            threads,
            ..LoaderConfig::default()
        };
        let loader = DataLoader::new(split.train.clone(), config).unwrap();
        let batch = loader.epoch(epoch, 0).next().unwrap().unwrap();
        batch.f32("x").unwrap().to_vec()
    };
    let plain = crate::Augment::default();
    assert_eq!(batch(&plain, 0, 1).iter().sum::<f32>(), 12.0 * 40.0);
    assert!(batch(&augment, 0, 1).iter().sum::<f32>() < 12.0 * 36.0);
    assert_eq!(batch(&augment, 3, 1), batch(&augment, 3, 2));
    assert_ne!(batch(&augment, 3, 1), batch(&augment, 4, 1));
    let text = serde_json::to_string(&augment).unwrap();
    assert_eq!(
        serde_json::from_str::<crate::Augment>(&text).unwrap(),
        augment
    );
}

#[test]
fn data_sets_without_events_refuse_their_augmentation() {
    let augment = crate::Augment {
        events: vec!["flip-x".parse().unwrap()],
        ..crate::Augment::default()
    };
    let config = LoaderConfig {
        augment,
        ..LoaderConfig::default()
    };
    let digits = crate::synthetic::digits_of(0, 10, 0).train;
    let error = DataLoader::new(digits, config).unwrap_err();
    assert!(matches!(error, Error::NoEvents { .. }), "{error}");
}

#[test]
fn own_recordings_are_divided_by_class_or_by_their_folders() {
    let dir = tempfile::tempdir().unwrap();
    let mut events = EventBuffer::default();
    events.push(5, 3, 2, true);
    let sensor = Sensor::new(12, 10);
    for class in ["cat", "dog"] {
        let folder = dir.path().join("recordings").join(class);
        fs::create_dir_all(&folder).unwrap();
        for k in 0..10 {
            write(folder.join(format!("{k}.es")), Format::Es, sensor, &events).unwrap();
        }
    }
    let known = fields("recordings", &FrameSettings::default());
    assert_eq!(known[0].shape, [Some(16), None, None, None]);
    let load = |split: Option<&str>| {
        find("recordings").unwrap().load(&DataOptions {
            folder: dir.path().into(),
            split: split.map(String::from),
            ..DataOptions::default()
        })
    };
    for split in [None, Some("random-90-seed-3")] {
        let split = load(split).unwrap();
        assert_eq!((split.train.len(), split.test.len()), (18, 2));
        let sample = split.train.sample(0).unwrap();
        assert_eq!(sample.require("x").unwrap().shape, [16, 2, 10, 12]);
    }
    fs::rename(dir.path().join("recordings"), dir.path().join("train")).unwrap();
    fs::create_dir_all(dir.path().join("recordings")).unwrap();
    for part in ["train", "test"] {
        let to = dir.path().join("recordings").join(part);
        let from = dir.path().join("train");
        for class in ["cat", "dog"] {
            fs::create_dir_all(to.join(class)).unwrap();
            for k in 0..10 {
                let name = format!("{class}/{k}.es");
                fs::copy(from.join(&name), to.join(&name)).unwrap();
            }
        }
    }
    assert_eq!(load(None).unwrap().sizes(), [20, 20]);
}

#[test]
fn too_few_recordings_of_a_class_are_told_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    for class in ["cat", "dog"] {
        let folder = dir.path().join(class);
        fs::create_dir_all(&folder).unwrap();
        for k in 0..2 {
            fs::write(folder.join(format!("{k}.bin")), [3, 7, 0x80, 0, 40]).unwrap();
        }
    }
    let frames = FrameSettings {
        sensor: Some([34, 34]),
        ..FrameSettings::default()
    };
    let error = load("recordings", &frames, dir.path()).unwrap_err();
    assert!(
        matches!(
            error,
            Error::FewRecordings {
                len: 4,
                classes: 2,
                ..
            }
        ),
        "{error}"
    );
    let text = error.to_string();
    for part in ["at least 10 of each class", "test/CLASS", "recordings.csv"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn recordings_without_a_sensor_need_one_in_the_settings() {
    let dir = tempfile::tempdir().unwrap();
    for class in ["cat", "dog"] {
        let folder = dir.path().join(class);
        fs::create_dir_all(&folder).unwrap();
        for k in 0..10 {
            fs::write(folder.join(format!("{k}.bin")), [3, 7, 0x80, 0, 40]).unwrap();
        }
    }
    let error = load("recordings", &FrameSettings::default(), dir.path()).unwrap_err();
    assert!(matches!(error, Error::NoSensor { .. }), "{error}");
    let frames = FrameSettings {
        sensor: Some([34, 34]),
        ..FrameSettings::default()
    };
    let split = load("recordings", &frames, dir.path()).unwrap();
    assert_eq!(split.train.len(), 18);
}

#[test]
fn every_set_has_frames_of_its_sensor() {
    for dataset in named_datasets() {
        let name = dataset.name();
        let x = &fields(name, &FrameSettings::default())[0];
        if x.image {
            continue;
        }
        assert!(x.shape[0] > Some(0), "{name}");
        assert!(x.shape.iter().all(Option::is_some) || name == "recordings");
        assert!(!dataset.splits().is_empty(), "{name}");
    }
}

#[test]
fn generated_recordings_need_no_files() {
    let (name, frames) = ("synthetic-gestures-34", FrameSettings::default());
    let split = load(name, &frames, "there is no such folder").unwrap();
    let classes = find(name).unwrap().classes(&options(&frames)).unwrap();
    assert_eq!(split.class_names(), classes);
    let sample = split.test.sample(3).unwrap();
    let x = sample.require("x").unwrap();
    assert_eq!(x.shape, [16, 2, 34, 34]);
    assert!(x.as_f32().unwrap().iter().sum::<f32>() > 100.0);
    assert_eq!(split.test.sample(3).unwrap(), sample);
}
