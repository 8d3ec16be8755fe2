//! A run that was stopped and resumed ends with the bits of the unbroken one.

use spikelet::data::synthetic;
use spikelet::network::{MnistFc, Network};
use spikelet::optim::Schedule;
use spikelet::prelude::*;
use spikelet::tensors::TensorFile;
use std::path::Path;
use std::time::Duration;

fn network() -> Network {
    Network::MnistFc(MnistFc {
        hidden: 24,
        ..MnistFc::default()
    })
}

fn settings(epochs: usize) -> Settings {
    Settings {
        epochs,
        time_steps: 3,
        batch_size: 32,
        schedule: Schedule::Constant,
        ..Settings::default()
    }
}

fn train(folder: &Path, settings: Settings, threads: usize, resume: bool) -> Result<f64> {
    let data = synthetic::digits_of(0, 512, 128);
    let outcome = Trainer::network(&network(), settings)?
        .backend(spikelet::device::find("cpu", threads)?)
        .folder(folder)
        .resume(resume)
        .checkpoint_every(Duration::ZERO)
        .fit(&data)?;
    Ok(outcome.test_accuracy)
}

fn tensors(folder: &Path) -> TensorFile {
    TensorFile::read(&folder.join("last.safetensors")).expect("a checkpoint")
}

#[test]
fn a_resumed_run_ends_with_the_same_tensors_for_any_number_of_threads() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let (unbroken, broken) = (folder.path().join("a"), folder.path().join("b"));
    let expected = train(&unbroken, settings(3), 1, false)?;
    train(&broken, settings(1), 2, false)?;
    train(&broken, settings(2), 8, true)?;
    let accuracy = train(&broken, settings(3), 2, true)?;
    assert_eq!(accuracy, expected);
    assert_eq!(tensors(&broken).tensors, tensors(&unbroken).tensors);
    let lines = |folder: &Path| {
        std::fs::read_to_string(folder.join("epochs.jsonl")).map(|t| t.lines().count())
    };
    assert_eq!(lines(&broken).ok(), Some(3));
    Ok(())
}

#[test]
fn saving_often_or_seldom_does_not_change_the_result() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let (often, seldom) = (folder.path().join("a"), folder.path().join("b"));
    train(&often, settings(2), 2, false)?;
    let data = synthetic::digits_of(0, 512, 128);
    Trainer::network(&network(), settings(2))?
        .folder(&seldom)
        .checkpoint_every(Duration::from_secs(3600))
        .fit(&data)?;
    assert_eq!(tensors(&seldom).tensors, tensors(&often).tensors);
    Ok(())
}

#[test]
fn a_loss_that_is_not_finite_is_reported_with_its_own_step() {
    let net = Sequential::new().add(Flatten).add(Linear::new(784, 10));
    let settings = Settings {
        learning_rate: 1e30,
        optimizer: AnyOptimizer::Sgd(Sgd::default()),
        ..settings(1)
    };
    let data = synthetic::digits_of(0, 512, 128);
    let error = Trainer::new(net, settings)
        .fit(&data)
        .expect_err("refused")
        .to_string();
    assert!(error.contains("in step 2 (epoch 1, batch 2)"), "{error}");
}

#[test]
fn a_run_does_not_go_on_from_another_run_s_checkpoint() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    train(folder.path(), settings(1), 2, false)?;
    let other = Settings {
        learning_rate: 0.5,
        ..settings(2)
    };
    let error = train(folder.path(), other, 2, true)
        .expect_err("refused")
        .to_string();
    assert!(error.contains("other settings"), "{error}");
    assert!(error.contains("help:"), "{error}");
    Ok(())
}

#[test]
fn a_damaged_checkpoint_is_an_error_that_names_the_file() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    train(folder.path(), settings(1), 2, false)?;
    let last = folder.path().join("last.safetensors");
    let bytes = std::fs::read(&last).expect("readable");
    std::fs::write(&last, &bytes[..bytes.len() / 2]).expect("writable");
    let error = train(folder.path(), settings(2), 2, true)
        .expect_err("refused")
        .to_string();
    assert!(error.contains("last.safetensors"), "{error}");
    Ok(())
}
