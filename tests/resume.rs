//! A run that was stopped and resumed ends with the bits of the unbroken one.

use crate::changed_images::changed_images;
use spikelet::data::{image_shape, synthetic};
use spikelet::network::Network;
use spikelet::optim::schedule::Plateau;
use spikelet::optim::{LrSchedule, OPTIMIZERS};
use spikelet::prelude::*;
use spikelet::tensors::TensorFile;
use spikelet::train::checkpoint::{CheckpointError, CheckpointProblem, Difference};
use spikelet::train::run::RunFolderError;
use spikelet::train::{Checkpoint, evaluate};
use spikelet::{Error, MemoryBudget, graph::Tensor};
use std::path::Path;
use std::time::Duration;

fn network() -> Network {
    Network::model("mnist-fc", [("hidden", 24.into())]).expect("it is sound")
}

fn settings(epochs: usize) -> Settings {
    Settings {
        epochs,
        time_steps: 3,
        batch_size: 32,
        schedule: LrSchedule::default(),
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
    Ok(outcome.test_accuracy())
}

fn tensors(folder: &Path) -> TensorFile {
    TensorFile::read(folder.join("last.safetensors")).expect("a checkpoint")
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
fn a_resumed_run_with_any_optimizer_and_a_plateau_ends_with_the_same_tensors() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    // No epoch improves by so much: the rate is reduced after the second and the third epoch.
    let plateau = Plateau {
        patience: 0,
        threshold: 0.99,
        ..Plateau::default()
    };
    let run = |name: &str, schedule: &LrSchedule, epochs| -> Result<Settings> {
        Ok(Settings {
            optimizer: name.parse().expect("an optimizer"),
            schedule: schedule.clone(),
            ..settings(epochs)
        })
    };
    let plateau = LrSchedule::from(plateau);
    for name in OPTIMIZERS.names() {
        let of = |part: &str| folder.path().join(format!("{name} {part}"));
        let (unbroken, broken, constant) = (of("unbroken"), of("broken"), of("constant"));
        train(&unbroken, run(name, &plateau, 4)?, 2, false)?;
        train(&broken, run(name, &plateau, 3)?, 2, false)?;
        train(&broken, run(name, &plateau, 4)?, 2, true)?;
        assert_eq!(
            tensors(&broken).tensors,
            tensors(&unbroken).tensors,
            "{name}"
        );
        train(&constant, run(name, &LrSchedule::default(), 4)?, 2, false)?;
        assert_ne!(
            tensors(&constant).tensors,
            tensors(&unbroken).tensors,
            "{name}"
        );
    }
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
    let net = Sequential::new()
        .add(Flatten)
        .add(Linear::new(784, 10).bias(false));
    let settings = Settings {
        optimizer: Sgd::new(1e30).into(),
        ..settings(1)
    };
    let data = synthetic::digits_of(0, 512, 128);
    let error = Trainer::new(net, settings).fit(&data).expect_err("refused");
    assert!(
        matches!(
            error.downcast_ref(),
            Some(spikelet::train::TrainError::Diverged {
                step: 2,
                epoch: 1,
                batch: 2,
                ..
            })
        ),
        "{error}"
    );
}

#[test]
fn a_run_does_not_go_on_from_another_run_s_checkpoint() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    train(folder.path(), settings(1), 2, false)?;
    let other = Settings {
        optimizer: Adam::new(0.5).into(),
        seed: 3,
        ..settings(2)
    };
    let refused = problem(train(folder.path(), other, 2, true));
    let difference = |field: &str, checkpoint: &str, here: &str| Difference {
        field: field.to_string(),
        checkpoint: checkpoint.to_string(),
        here: here.to_string(),
    };
    let expected = vec![
        difference("optimizer.lr", "0.002", "0.5"),
        difference("training.seed", "0", "3"),
    ];
    assert_eq!(refused, CheckpointProblem::OtherRun(expected));

    let more = synthetic::digits_of(0, 640, 128);
    let trainer = Trainer::network(&network(), settings(2))?.folder(folder.path());
    let CheckpointProblem::OtherRun(found) = problem(trainer.resume(true).fit(&more)) else {
        panic!("another problem");
    };
    assert!(found.contains(&difference("dataset.train_samples", "461", "576")));

    // As many images, of which one has another label.
    let mut other = synthetic::digits_of(0, 512, 128);
    other.train = changed_images(&*other.train, |_, labels| labels[7] = (labels[7] + 1) % 10);
    let trainer = Trainer::network(&network(), settings(2))?.folder(folder.path());
    let CheckpointProblem::OtherRun(found) = problem(trainer.resume(true).fit(&other)) else {
        panic!("another problem");
    };
    let fields: Vec<&str> = found.iter().map(|d| d.field.as_str()).collect();
    assert_eq!(fields, ["dataset.sha256"]);
    Ok(())
}

/// Why a checkpoint was refused.
fn problem<T>(result: Result<T>) -> CheckpointProblem {
    match result.err() {
        Some(error) => {
            let error: CheckpointError = error.downcast().expect("a checkpoint's");
            error.problem
        }
        None => panic!("it was accepted"),
    }
}

/// A run of an epoch, whose last checkpoint was changed afterwards.
fn changed(settings: Settings, change: impl FnOnce(&mut TensorFile)) -> CheckpointProblem {
    let folder = tempfile::tempdir().expect("a folder");
    let longer = Settings {
        epochs: settings.epochs + 1,
        ..settings.clone()
    };
    train(folder.path(), settings, 2, false).expect("an epoch");
    let path = folder.path().join("last.safetensors");
    let mut file = TensorFile::read(&path).expect("a checkpoint");
    change(&mut file);
    file.write(&path).expect("writable");
    problem(train(folder.path(), longer, 2, true))
}

#[test]
fn a_checkpoint_of_an_older_format_is_refused_with_its_format() {
    for format in ["spikelet checkpoint 1", "spikelet checkpoint 2"] {
        let problem = changed(settings(2), |file| {
            let entry = file.metadata.get_mut("format").expect("a format");
            *entry = format.to_string();
        });
        assert!(
            matches!(&problem, CheckpointProblem::Format { found, .. } if found == format),
            "{problem}"
        );
    }
}

#[test]
fn a_checkpoint_must_have_exactly_the_tensors_of_the_run() {
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let weight = "fc.1.weight";
    let found = changed(settings(1), |file| {
        file.tensors.remove(weight);
    });
    assert_eq!(found, CheckpointProblem::MissingTensors(names(&[weight])));
    let found = changed(settings(1), |file| {
        (file.tensors).retain(|name, _| !name.starts_with("optimizer."));
    });
    let CheckpointProblem::MissingTensors(missing) = found else {
        panic!("{found}");
    };
    assert_eq!(missing.len(), 4);
    let found = changed(settings(1), |file| {
        let zero = Tensor::f32([1], [0.0]);
        file.tensors.insert("fc.9.weight".to_string(), zero);
    });
    assert_eq!(
        found,
        CheckpointProblem::UnknownTensors(names(&["fc.9.weight"]))
    );
    let found = changed(settings(1), |file| {
        let zero = Tensor::f32([1], [0.0]);
        file.tensors.insert(weight.to_string(), zero);
    });
    assert!(matches!(
        found,
        CheckpointProblem::TensorType { tensor, found, expected }
            if tensor == weight && found.shape == [1] && expected.shape == [24, 784]
    ));
}

#[test]
fn a_checkpoint_must_be_finite_and_its_numbers_in_range() {
    type Problem = fn(Vec<String>) -> CheckpointProblem;
    let second = "optimizer.variance.fc.3.weight";
    for (name, value, problem) in [
        (
            "fc.1.weight",
            f32::NAN,
            CheckpointProblem::NotFinite as Problem,
        ),
        (second, f32::INFINITY, CheckpointProblem::NotFinite),
        (second, -1e-8, CheckpointProblem::Negative),
    ] {
        let found = changed(settings(1), |file| {
            let tensor = file.tensors.get_mut(name).expect("a tensor");
            let mut values: Vec<f32> = tensor.to_f64().iter().map(|x| *x as f32).collect();
            values[5] = value;
            *tensor = Tensor::f32(tensor.shape.clone(), values);
        });
        assert_eq!(found, problem(vec![name.to_string()]));
    }
    let halves = Settings {
        precision: spikelet::module::Precision::F16,
        ..settings(1)
    };
    let found = changed(halves, |file| {
        let zero = Tensor::f32([], [0.0]);
        file.tensors.insert("loss_scale".to_string(), zero);
    });
    assert!(matches!(found, CheckpointProblem::LossScale { .. }));
    for (field, value) in [
        ("batch", "4611686018427387904"),
        ("epoch", "2147483648"),
        ("samples", "17"),
        ("step", "4611686018427387904"),
        ("history", "[]"),
    ] {
        let found = changed(settings(1), |file| {
            let text = file.metadata.get_mut("progress").expect("progress");
            let mut progress: serde_json::Value = serde_json::from_str(text).expect("JSON");
            progress[field] = serde_json::from_str(value).expect("JSON");
            *text = progress.to_string();
        });
        assert!(
            matches!(found, CheckpointProblem::Progress { .. }),
            "{field}: {found}"
        );
    }
    let found = changed(settings(1), |file| {
        let text = r#"{"oops":1}"#.to_string();
        file.metadata.insert("settings".to_string(), text);
    });
    assert!(matches!(found, CheckpointProblem::Settings(_)));
}

/// A network of a program's own, with what a chain of layers does not have.
struct Custom(Sequential);

impl Module for Custom {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        cx.child("inner", |cx| self.0.forward(cx, x))
    }
}

fn own() -> Custom {
    let layers = Sequential::new()
        .add(Flatten)
        .add(Linear::new(784, 16).bias(true))
        .add(BatchNorm1d::new(16))
        .add(Plif::new(3.0))
        .add(Linear::new(16, 10).bias(false))
        .add(Lif::new(2.0));
    Custom(layers)
}

#[test]
fn a_module_of_one_s_own_is_resumed_bit_for_bit() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let (unbroken, broken) = (folder.path().join("a"), folder.path().join("b"));
    let data = synthetic::digits_of(0, 512, 128);
    let trainer =
        |folder: &Path, epochs: usize| Trainer::new(own(), settings(epochs)).folder(folder);
    let expected = trainer(&unbroken, 3).fit(&data)?;
    trainer(&broken, 1).fit(&data)?;
    let found = trainer(&broken, 3).resume(true).fit(&data)?;
    assert_eq!((found.epochs_trained, expected.epochs_trained), (2, 3));
    assert_eq!(found.test_accuracy(), expected.test_accuracy());
    assert_eq!(tensors(&broken).tensors, tensors(&unbroken).tensors);
    assert!(tensors(&broken).tensors.contains_key("inner.1.weight"));

    let again = trainer(&broken, 3).resume(true).fit(&data)?;
    assert_eq!(again.epochs_trained, 0);
    Ok(())
}

#[test]
fn a_checkpoint_is_restored_into_its_own_network_alone() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let data = synthetic::digits_of(0, 512, 128);
    let image = image_shape(&*data.test)?;
    let outcome = Trainer::new(own(), settings(1))
        .folder(folder.path())
        .fit(&data)?;
    let best = outcome.best().expect("a best epoch").test_accuracy();
    let path = outcome.checkpoint.expect("a checkpoint");
    assert!(path.ends_with("best.safetensors"));
    for path in [path.clone(), folder.path().join("last.safetensors")] {
        let checkpoint = Checkpoint::read(&path)?;
        let mut store = VarStore::new(spikelet::device::cpu()?);
        checkpoint.restore(&own(), image, &mut store)?;
        let found = evaluate(&own(), checkpoint.settings()?, &data.test, &mut store)?;
        assert_eq!(found.accuracy, best);
    }
    let checkpoint = Checkpoint::read(&path)?;
    let mut store = VarStore::new(spikelet::device::cpu()?);
    // The same layers under other names.
    let problem = problem(checkpoint.restore(&own().0, image, &mut store));
    assert!(matches!(
        problem,
        CheckpointProblem::MissingTensors(names) if names.contains(&"1.weight".to_string())
    ));
    assert_eq!(store.names().count(), 0);
    Ok(())
}

#[test]
fn shapes_are_compared_before_weights_are_drawn() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    train(folder.path(), settings(1), 2, false)?;
    let path = folder.path().join("best.safetensors");
    let mut file = TensorFile::read(&path)?;
    let text = file.metadata.get_mut("network").expect("a network");
    *text = text.replace("\"hidden\":24", "\"hidden\":1000000");
    file.write(&path)?;
    let checkpoint = Checkpoint::read(&path)?;
    let network = checkpoint.network().cloned().expect("a network");
    let mut store = VarStore::new(spikelet::device::cpu()?);
    // Its first layer's weights would take 3 GB.
    let refused = checkpoint.restore(&*network.module()?, network.image(), &mut store);
    assert!(
        refused
            .as_ref()
            .is_err_and(|e| e.to_string().contains("best.safetensors"))
    );
    assert!(matches!(
        problem(refused),
        CheckpointProblem::TensorType { found, expected, .. }
            if found.shape.contains(&24) && expected.shape.contains(&1_000_000)
    ));
    Ok(())
}

#[test]
fn the_best_epoch_is_chosen_by_validation_or_there_is_none() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let data = synthetic::digits_of(0, 512, 128);
    let run = |name: &str, validation: f64| {
        let settings = Settings {
            validation,
            ..settings(3)
        };
        let trainer = Trainer::network(&network(), settings)?;
        trainer.folder(folder.path().join(name)).fit(&data)
    };
    let with = run("with", 0.25)?;
    let accuracies: Vec<f64> = (with.history.iter())
        .filter_map(|record| record.validation_accuracy())
        .collect();
    assert_eq!(accuracies.len(), 3);
    let best = with.best().expect("a best epoch");
    let highest = accuracies.iter().copied().fold(0.0, f64::max);
    assert_eq!(best.validation_accuracy(), Some(highest));
    let checkpoint = Checkpoint::read(with.checkpoint.as_ref().expect("a checkpoint"))?;
    assert_eq!(checkpoint.progress.epoch, best.epoch);
    assert_eq!(
        (
            checkpoint.dataset.train_samples,
            checkpoint.dataset.validation_samples
        ),
        (384, 128)
    );

    let without = run("without", 0.0)?;
    assert!(without.best().is_none());
    assert!(
        without
            .history
            .iter()
            .all(|r| r.validation_accuracy().is_none())
    );
    assert!(
        without
            .checkpoint
            .is_some_and(|path| path.ends_with("last.safetensors"))
    );
    assert!(!folder.path().join("without/best.safetensors").exists());
    Ok(())
}

/// Why a folder was refused.
fn folder_problem<T>(result: Result<T>) -> RunFolderError {
    match result.err() {
        Some(error) => error.downcast().expect("a run folder's"),
        None => panic!("it was accepted"),
    }
}

#[test]
fn a_folder_belongs_to_one_run_at_a_time() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let data = synthetic::digits_of(0, 512, 128);
    let trainer =
        || Ok::<_, Error>(Trainer::network(&network(), settings(1))?.folder(folder.path()));
    trainer()?.fit_with(&data, |run| {
        assert_eq!(run.folder, Some(folder.path()));
        let second = trainer().and_then(|trainer| trainer.force(true).fit(&data));
        assert!(matches!(
            folder_problem(second),
            RunFolderError::InUse { pid, .. } if pid == Some(std::process::id())
        ));
    })?;
    assert!(matches!(
        folder_problem(trainer()?.fit(&data)),
        RunFolderError::HoldsRun { .. }
    ));
    trainer()?.force(true).fit(&data)?;
    let nowhere = folder.path().join("nowhere");
    let trainer = Trainer::network(&network(), settings(1))?.folder(&nowhere);
    assert!(matches!(
        folder_problem(trainer.resume(true).fit(&data)),
        RunFolderError::NothingToResume { .. }
    ));
    assert!(!nowhere.exists());
    Ok(())
}

#[test]
fn a_run_that_replaces_another_leaves_nothing_of_it_or_all() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let data = synthetic::digits_of(0, 512, 128);
    train(folder.path(), settings(2), 2, false)?;
    let files = || {
        let entries = std::fs::read_dir(folder.path()).expect("a folder");
        let mut names: Vec<String> = entries
            .map(|entry| {
                entry
                    .expect("an entry")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        names.sort();
        names
    };
    let before = files();
    // It cannot begin.
    let too_large = Settings {
        batch_size: 1000,
        ..settings(1)
    };
    let trainer = Trainer::network(&network(), too_large)?.folder(folder.path());
    assert!(trainer.force(true).fit(&data).is_err());
    assert_eq!(files(), before);
    assert!(folder.path().join("best.safetensors").exists());
    // It begins, and ends before its first checkpoint.
    let runs_away = Settings {
        optimizer: Sgd::new(1e30).into(),
        ..settings(1)
    };
    let net = Sequential::new()
        .add(Flatten)
        .add(Linear::new(784, 10).bias(false));
    let trainer = Trainer::new(net, runs_away).folder(folder.path());
    assert!(trainer.force(true).fit(&data).is_err());
    assert_eq!(
        files(),
        [
            ".lock",
            "epochs.jsonl",
            "health.jsonl",
            "report.html",
            "tensorboard"
        ]
    );
    Ok(())
}

#[test]
fn a_run_that_cannot_begin_leaves_no_folder_behind() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let runs = folder.path().join("runs");
    let data = synthetic::digits_of(0, 512, 128);
    let too_small = Settings {
        memory_budget: Some(MemoryBudget::Bytes(1000)),
        ..settings(1)
    };
    let trainer = || Trainer::network(&network(), too_small.clone());
    let parent = runs.join("mnist-fc");
    assert!(trainer()?.new_folder_in(&parent).fit(&data).is_err());
    assert!(!runs.exists());
    assert!(trainer()?.folder(&parent).fit(&data).is_err());
    assert!(!runs.exists());
    // A folder that is not this run's stays.
    std::fs::create_dir_all(&parent).expect("writable");
    assert!(trainer()?.new_folder_in(&parent).fit(&data).is_err());
    assert!(parent.is_dir());
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
