//! Functions that a trainer calls, early stopping, and weights from which a run starts.

use spikelet_core::Result;
use spikelet_data::{Split, synthetic};
use spikelet_train::prelude::*;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

fn net() -> Sequential {
    Sequential::new()
        .add(Flatten)
        .add(Linear::new(784, 10).bias(false))
        .add(Lif::new(2.0))
}

fn settings(epochs: usize) -> Settings {
    Settings {
        time_steps: 2,
        batch_size: 32,
        epochs,
        encoder: Direct.into(),
        ..Settings::default()
    }
}

fn digits() -> Split {
    synthetic::digits_of(0, 200, 50)
}

#[test]
fn every_step_epoch_and_checkpoint_is_reported() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let steps = Arc::new(Mutex::new(vec![]));
    let epochs = Arc::new(Mutex::new(vec![]));
    let files = Arc::new(Mutex::new(Vec::<PathBuf>::new()));
    let (s, e, written) = (steps.clone(), epochs.clone(), files.clone());
    Trainer::new(net(), settings(2))
        .folder(folder.path().join("run"))
        .on_step(move |step, found| {
            assert!(found.get("accuracy").is_some());
            s.lock().expect("no panic").push((step, found.samples));
        })
        .on_epoch(move |epoch| {
            e.lock().expect("no panic").push(epoch.epoch);
            ControlFlow::Continue(())
        })
        .on_checkpoint(move |path, _| written.lock().expect("no panic").push(path.to_path_buf()))
        .fit(&digits())?;
    // 180 training images are five batches.
    let expected: Vec<(u64, usize)> = (1..=10).map(|step| (step, 32)).collect();
    assert_eq!(*steps.lock().expect("no panic"), expected);
    assert_eq!(*epochs.lock().expect("no panic"), [1, 2]);
    let files = files.lock().expect("no panic");
    assert!(
        files.iter().any(|path| path.ends_with("last.safetensors")),
        "{files:?}"
    );
    Ok(())
}

#[test]
fn a_run_without_improvement_stops_early_and_stays_so_when_it_is_resumed() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let still = Settings {
        optimizer: Adam::new(0.0).into(),
        ..settings(9)
    };
    let trainer = || {
        Trainer::new(net(), still.clone())
            .folder(folder.path())
            .early_stopping(2)
    };
    let found = trainer().fit(&digits())?;
    assert!(found.stopped_early && !found.interrupted);
    // The first epoch is the best, and two more follow.
    assert_eq!(found.history.len(), 3);
    let again = trainer().resume(true).fit(&digits())?;
    assert_eq!((again.history.len(), again.epochs_trained), (3, 0));
    Ok(())
}

#[test]
fn early_stopping_needs_validation_images() {
    let all = Settings {
        validation: 0.0,
        ..settings(2)
    };
    let refused = Trainer::new(net(), all).early_stopping(3).fit(&digits());
    assert!(matches!(refused, Err(Error::Invalid { what, .. }) if what == "early stopping"));
}

#[test]
fn a_run_starts_from_the_weights_of_another() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let first = Trainer::new(net(), settings(3))
        .folder(folder.path().join("first"))
        .fit(&digits())?;
    let checkpoint = first.checkpoint.clone().expect("the run has a folder");
    let still = Settings {
        optimizer: Adam::new(0.0).into(),
        ..settings(1)
    };
    let second = Trainer::new(net(), still.clone())
        .init_from(&checkpoint)
        .fit(&digits())?;
    assert_eq!(
        Some(second.test_accuracy()),
        first.best().map(|epoch| epoch.test_accuracy())
    );
    let other = Sequential::new()
        .add(Flatten)
        .add(Linear::new(784, 10).bias(true))
        .add(Lif::new(2.0));
    let refused = Trainer::new(other, still)
        .init_from(&checkpoint)
        .fit(&digits());
    let error = refused.expect_err("the file has no bias");
    assert!(error.to_string().contains("1.bias"), "{error}");
    Ok(())
}
